"""Sweeps in the terminal: the experiments of a store, and the points of one."""

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from lineament.execution.parts import STATES
from lineament.execution.stores import Store

from . import prose
from .claim_console import console

MOST = 50  # points that are listed


def experiments(store: Store) -> None:
    """Print the experiments of a store, the one that was begun last first."""
    rows = [
        (
            one.address[:12],
            one.name,
            _states(one.states),
            prose.duration(one.seconds),
            one.device or "any",
            one.written,
        )
        for one in store.experiments()
    ]
    _print(("address", "experiment", "points", "time", "device", "begun"), rows)


def points(store: Store, experiment: str) -> None:
    """Print the points of an experiment, with how each ended."""
    held = store.points(experiment)
    names = list(held[0][1].point) if held else []
    rows = [
        (address[:12], *(str(row.point.get(name)) for name in names), STATES[row.state], row.reason)
        for address, row in held[:MOST]
    ]
    _print(("address", *names, "status", "reason"), rows)
    if len(held) > MOST:
        console().print(f"and {len(held) - MOST} more")


def _states(states: dict[str, int]) -> str:
    """How many points ended how, always in the same order, whichever file is read first."""
    return ", ".join(f"{states[state]} {state}" for state in STATES if state in states) or "none"


def _print(names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(name, no_wrap=name != "reason")
    for row in rows:
        table.add_row(*map(Text, row))
    console().print(table)
