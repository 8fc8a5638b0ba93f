"""The page of a network's forecast: one self-contained HTML file, and the same as JSON beside it."""

import json
import math
from pathlib import Path
from typing import Any

from markupsafe import Markup

from lineament.execution import files
from lineament.forecasting import network_words
from lineament.forecasting.network import NetworkForecast, answers
from lineament.forecasting.network_train import NetworkComparison
from lineament.linearisation import words

from . import linearised_figures, prose, site
from .embedding import embed
from .forecast_json import strict


def write(folder: str | Path, made: NetworkForecast, run: NetworkComparison | None = None, command: str = "") -> Path:
    """Write `forecast.html` and `forecast.json` into a folder that exists; returns the path of the page."""
    folder = Path(folder)
    files.write(folder / "forecast.json", to_json(made, run) + "\n")
    return files.write(folder / "forecast.html", page(made, run, command))


def write_file(path: Path, made: NetworkForecast, run: NetworkComparison | None = None) -> Path:
    """Write the page alone to a file; its folder is made if it is missing."""
    files.writable(path.parent)
    return files.write(path, page(made, run))


def page(made: NetworkForecast, run: NetworkComparison | None = None, command: str = "") -> str:
    """The page as text."""
    figures = linearised_figures.figures(made.linearised, None if run is None else run.run)
    # The figures count examples from 0, as the network sees them; the page speaks of rows of the table.
    captions = {name: figure.caption for name, figure in figures.items()} | {"examples": network_words.late(made)}
    drawn = {name: (Markup(embed(figure, name)), captions[name]) for name, figure in figures.items()}
    return site.templates().get_template("network.html.j2").render(
        made=made,
        run=run,
        words=network_words,
        plain=words,
        figures=drawn,
        checks=run.checks if run is not None else (),
        facts=_facts(made),
        late=network_words.late_rows(made),
        settings=network_words.settings(made),
        command=command,
    )  # fmt: skip


def to_json(made: NetworkForecast, run: NetworkComparison | None = None) -> str:
    """Everything that was forecast (and measured) as one line of strict JSON; null is what does not happen."""
    lin = made.linearised
    fields: dict[str, Any] = {
        **network_words.settings(made),
        "features": list(made.rows.features),
        "outputs": list(made.rows.outputs),
        "classes": made.rows.classes,
        "training_rows": made.rows.train,
        "test_rows": made.rows.test,
        "largest_stable_step_size": lin.largest_stable,
        "safe_step": lin.safe_step,
        "curve": {"step": lin.at, **lin.curves._asdict()},
        "band": None if lin.band is None else lin.band._asdict(),
        "error_bar": lin.error_bar._asdict(),
        "looks": {"step": lin.safety.steps, "loss": lin.safety.loss, "test_loss": lin.safety.test_loss},
        "learnt_at": lin.learnt_at,
        "answers": answers(made, lin.steps),
        "sentences": list(made.sentences),
        "notices": list(made.notices),
    }
    if run is not None:
        fields["trained"] = {
            "verdict": run.verdict,
            "checks": [
                {"name": check.name, "value": check.value, "passed": check.passed, "origin": check.origin}
                for check in run.checks
            ],
            "agreement": run.agreement,
            "departed": run.departed,
            "covered": run.covered,
            "seconds": run.seconds,
            **run.run,
        }
    return json.dumps(strict(fields), allow_nan=False, ensure_ascii=False)


def _facts(made: NetworkForecast) -> dict[str, str | Markup]:
    """The numbers at the head of the page."""
    lin = made.linearised
    safe = "to the end" if math.isinf(lin.safe_step) else f"until step {words.count(lin.safe_step)}"
    found: dict[str, str | Markup] = {"Test loss at the end": prose.number(float(lin.curves.test_loss[-1]))}
    if lin.classes:
        found["Right answers on test rows"] = f"{100 * lin.curves.test_accuracy[-1]:.1f} %"
    found["Safe"] = safe
    found["Step size"] = prose.number(lin.step_size)
    found["Largest stable"] = prose.number(lin.largest_stable)
    return found
