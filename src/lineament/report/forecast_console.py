"""A forecast in the terminal."""

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from lineament.forecasting import Comparison, Forecast

from . import forecast_words as words

PLAIN_WIDTH = 140


def show(made: Forecast, run: Comparison | None = None) -> None:
    """Print a forecast, and what training showed, if it was trained."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    console.print(Group(*_parts(made, run)))


def _parts(made: Forecast, run: Comparison | None) -> list:
    sentences = [words.data(made), words.step_size(made), words.pace(made), words.first(made), words.order(made)]
    parts: list = [Text(words.title(made), style="bold"), *map(Text, sentences), Text(words.stop(made)), Text()]
    parts += [_components(made, run), Text(), _premises(made)]
    if made.notices:
        parts += [Text(), *(Text(f"! {notice}", style="yellow") for notice in made.notices)]
    if run is not None:
        colour = "green" if run.holds else "yellow"
        parts += [Text(), Text(f"Trained: {run.verdict}", style=f"bold {colour}"), Text(words.comparison(run))]
        parts += [Text(f"  {check}") for check in run.checks]
    return parts


def _bar(passed: bool) -> str:
    return "at most" if passed else "above the bar"


def _components(made: Forecast, run: Comparison | None) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    names = [words.kind(made), "strength" if made.whiten else "variance", "explains", "10 %", "half", "90 %"]
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    if run is not None:
        table.add_column("half, measured", justify="right", no_wrap=True)
    table.add_column("features", overflow="fold")
    measured = {each.number: each.measured for each in run.halfway} if run is not None else {}
    for each in words.listed(made):
        size = each.strength if made.whiten else each.variance
        row = [str(each.number), f"{size:.3g}", f"{words.percent(each.explained, 1)}"]
        row += [words.steps(made, time) for time in (each.begins, each.half, each.ends)]
        if run is not None:
            row.append(words.count(measured.get(each.number, float("inf"))))
        table.add_row(*row, Text(words.made_of(each.features)))
    return table


def _premises(made: Forecast) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("assumption", "met", "number", "meaning"):
        table.add_column(name, justify="right" if name == "number" else "left", no_wrap=name != "meaning")
    for each in made.premises:
        met = Text("yes", style="green") if each.met else Text("no", style="yellow")
        table.add_row(each.name, met, f"{each.value:.3g}", Text(each.meaning))
    return table
