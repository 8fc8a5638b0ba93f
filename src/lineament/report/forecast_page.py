"""The page of a forecast: one self-contained HTML file, and the same as JSON beside it."""

import shlex
from pathlib import Path

from markupsafe import Markup

from lineament.execution import files
from lineament.forecasting import Comparison, Forecast

from . import draw, forecast_figures, prose, site
from . import forecast_words as words


def write(folder: str | Path, made: Forecast, run: Comparison | None = None, command: str = "") -> Path:
    """Write `forecast.html` and `forecast.json`.

    Args:
        folder: Where they go; it must exist.
        made: The forecast.
        run: The run to lay under it, if it was trained.
        command: What makes the page again.

    Returns:
        The path of the page.
    """
    folder = Path(folder)
    files.write(folder / "forecast.json", words.to_json(made, run) + "\n")
    return files.write(folder / "forecast.html", page(made, run, command))


def page(made: Forecast, run: Comparison | None = None, command: str = "") -> str:
    """The page as text."""
    drawn = {
        name: (Markup(draw.embed(figure, name)), figure.caption)
        for name, figure in forecast_figures.figures(made, run).items()
    }
    return site.templates().get_template("forecast.html.j2").render(
        made=made,
        run=run,
        words=words,
        figures=drawn,
        checks=run.checks if run is not None else (),
        facts=_facts(made),
        settings=words.settings(made) | ({"network trained": " → ".join(map(str, run.widths))} if run else {}),
        command=command,
        measured={each.number: each.measured for each in run.halfway} if run is not None else {},
    )  # fmt: skip


def command_line(table: str, options: dict[str, object]) -> str:
    """The command that makes a forecast again: options that are None or false are left out."""
    given = [
        part
        for name, value in options.items()
        if value is not None and value is not False
        for part in ([f"--{name}"] if value is True else [f"--{name}", str(value)])
    ]
    return shlex.join(["lineament", "forecast", table, *given])


def _facts(made: Forecast) -> dict[str, str | Markup]:
    """The numbers at the head of the page."""
    found = made.stopping
    if found is None:
        stop = "not known"
    elif found.gain < words.SAVES_LITTLE:
        stop = "train to the end"
    else:
        stop = f"near step {words.steps(made, found.best)}"
    when = {
        "Half learnt": f"step {words.count(words.step_when(made, 0.5))}",
        "99 % learnt": f"step {words.count(words.step_when(made, 0.99))}",
        "When to stop": stop,
    }
    if made.lr > made.largest_stable:
        when = dict.fromkeys(when, "not at this step size")
    return {
        "Can be explained": words.percent(made.r2, 1),
        "Step size": prose.number(made.lr),
        "Largest stable": prose.number(made.largest_stable),
        **when,
    }
