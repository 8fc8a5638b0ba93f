"""A forecast in the terminal."""

from rich.console import Group
from rich.table import Table
from rich.text import Text

from lineament.forecasting import Comparison, Forecast, LearningCurve, words

from .terminal import Terminal

PLAIN_WIDTH = 140


def show(made: Forecast, run: Comparison | None = None, curve: LearningCurve | None = None) -> None:
    """Print a forecast, what training showed, if it was trained, and what more rows would bring, if that was asked."""
    console = Terminal()
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    parts = _parts(made, run)
    if curve is not None:
        parts += [Text(), Text("Would more rows help?", style="bold"), *map(Text, curve.sentences)]
    console.print(Group(*parts))


def _parts(made: Forecast, run: Comparison | None) -> list:
    parts: list = [Text(words.title(made), style="bold"), *map(Text, made.sentences), Text()]
    parts += [_components(made, run), Text(), _premises(made)]
    if made.notices:
        parts += [Text(), *(Text(f"! {notice}", style="yellow") for notice in made.notices)]
    if run is not None:
        colour = "green" if run.holds else "yellow"
        parts += [Text(), Text(f"Trained: {run.verdict}", style=f"bold {colour}"), Text(words.comparison(run))]
        parts += [Text(f"  {check}") for check in run.checks]
    return parts


def _components(made: Forecast, run: Comparison | None) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    names = [words.kind(made), "strength" if made.whiten else "variance", "explains", "10 %", "half", "90 %"]
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    if run is not None:
        table.add_column("half, measured", justify="right", no_wrap=True)
    table.add_column("features", overflow="fold")
    measured = {component.number: component.measured for component in run.halfway} if run is not None else {}
    for component in words.listed(made):
        size = component.strength if made.whiten else component.variance
        row = [str(component.number), f"{size:.3g}", f"{words.percent(component.explained, 1)}"]
        row += [words.steps(made, time) for time in (component.begins, component.half, component.ends)]
        if run is not None:
            row.append(words.count(measured.get(component.number, float("inf"))))
        table.add_row(*row, Text(words.made_of(component.features)))
    return table


def _premises(made: Forecast) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("assumption", "met", "number", "meaning"):
        table.add_column(name, justify="right" if name == "number" else "left", no_wrap=name != "meaning")
    for premise in made.premises:
        met = Text("yes", style="green") if premise.met else Text("no", style="yellow")
        table.add_row(premise.name, met, f"{premise.value:.3g}", Text(premise.meaning))
    return table
