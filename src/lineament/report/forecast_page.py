"""The page of a forecast: one self-contained HTML file, and the same as JSON beside it."""

import shlex
from pathlib import Path

from markupsafe import Markup

from lineament.execution import files
from lineament.forecasting import Comparison, Forecast, LearningCurve, words

from . import curve_figure, forecast_figures, forecast_json, prose, site
from .embedding import embed


def write(
    folder: str | Path,
    made: Forecast,
    run: Comparison | None = None,
    command: str = "",
    curve: LearningCurve | None = None,
) -> Path:
    """Write `forecast.html` and `forecast.json`.

    Args:
        folder: Where they go; it must exist.
        made: The forecast.
        run: The run to lay under it, if it was trained.
        command: What makes the page again.
        curve: What more rows would bring, if that was asked.

    Returns:
        The path of the page.
    """
    folder = Path(folder)
    files.write(folder / "forecast.json", forecast_json.to_json(made, run, curve) + "\n")
    return files.write(folder / "forecast.html", page(made, run, command, curve))


def write_file(path: Path, made: Forecast, run: Comparison | None = None) -> Path:
    """Write the page alone to a file; its folder is made if it is missing."""
    files.writable(path.parent)
    return files.write(path, page(made, run))


def page(made: Forecast, run: Comparison | None = None, command: str = "", curve: LearningCurve | None = None) -> str:
    """The page as text."""
    figures = forecast_figures.figures(made, run)
    if curve is not None:
        figures["rows"] = curve_figure.figure(curve)
    drawn = {name: (Markup(embed(figure, name)), figure.caption) for name, figure in figures.items()}
    return site.templates().get_template("forecast.html.j2").render(
        made=made,
        run=run,
        curve=curve,
        words=words,
        figures=drawn,
        checks=run.checks if run is not None else (),
        facts=_facts(made),
        settings=words.settings(made) | ({"network trained": " → ".join(map(str, run.widths))} if run else {}),
        command=command,
        measured={component.number: component.measured for component in run.halfway} if run is not None else {},
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
    stopping = made.stopping
    if stopping is None or made.learnt < words.LEARNS:
        stop = "not known"
    elif stopping.gain < words.SAVES_LITTLE:
        stop = "train to the end"
    elif not stopping.within_range:
        stop = f"after step {words.count(made.steps)}"
    else:
        stop = f"near step {words.steps(made, stopping.best)}"
    when = {
        "Loss half-way": f"step {words.count(words.step_when(made, 0.5))}",
        "Loss 99 % of the way": f"step {words.count(words.step_when(made, 0.99))}",
        "When to stop": stop,
    }
    if made.step_size > made.largest_stable:
        when = dict.fromkeys(when, "not at this step size")
    return {
        "Can be explained": words.percent(made.r2, 1),
        "Step size": prose.number(made.step_size),
        "Largest stable": prose.number(made.largest_stable),
        **when,
    }
