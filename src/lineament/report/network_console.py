"""A network's forecast in the terminal."""

from rich.console import Group
from rich.table import Table
from rich.text import Text

from lineament.forecasting import network_words
from lineament.forecasting.network import NetworkForecast
from lineament.forecasting.network_train import NetworkComparison

from .forecast_console import PLAIN_WIDTH
from .terminal import Terminal


def show(made: NetworkForecast, run: NetworkComparison | None = None) -> None:
    """Print a forecast, and what training showed, if it was trained."""
    console = Terminal()
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    parts: list = [Text(network_words.title(made), style="bold"), *map(Text, made.sentences), Text(), _late(made)]
    if made.notices:
        parts += [Text(), *(Text(f"! {notice}", style="yellow") for notice in made.notices)]
    if run is not None:
        colour = "green" if run.holds else "yellow"
        parts += [Text(), Text(f"Trained: {run.verdict}", style=f"bold {colour}"), Text(network_words.comparison(run))]
        parts += [Text(f"  {check}") for check in run.checks]
    console.print(Group(*parts))


def _late(made: NetworkForecast) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("row, learnt last first", "learnt at step", "target", "said at the end"):
        table.add_column(name, justify="right", no_wrap=True)
    for row, when, right, said in network_words.late_rows(made):
        table.add_row(str(row), when, Text(right), Text(said))
    return table
