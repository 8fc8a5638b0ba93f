"""What the terminal shows: progress while claims run, tables, and one line of JSON for each result.

Progress goes to standard error, so that standard output carries results only. Where standard error is no terminal,
progress is plain lines.
"""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from lineament.claims.sizes import SIZES
from lineament.core.words import several
from lineament.evidence import Verdict
from lineament.execution.agenda import Item
from lineament.execution.campaign import Failure
from lineament.execution.pooled import by_claim
from lineament.execution.store import Stored, summary

from . import prose
from .claim_console import console as standard_output
from .terminal import Terminal

STYLES = {
    Verdict.HOLDS: "green",
    Verdict.CORRECTED: "blue",
    Verdict.DIFFERS: "yellow",
    Verdict.FAILS: "bold red",
    Verdict.UNDECIDED: "cyan",
}


class Watch(AbstractContextManager["Watch"]):
    """Shows which claims are running, how many are done, and the time since the start."""

    def __init__(self, total: int, done: int = 0) -> None:
        self.console = Terminal(stderr=True)
        self.running: list[str] = []
        self.done, self.total = done, total
        self.progress = Progress(
            SpinnerColumn(),
            MofNCompleteColumn(),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
            console=self.console,
            disable=not self.console.is_terminal,
            transient=True,
        )
        self.task = self.progress.add_task("", total=total, completed=done)

    def __enter__(self) -> "Watch":
        if self.done:
            are = "is" if self.done == 1 else "are"
            self.console.print(f"{self.done} of {several(self.total, 'claim')} {are} already there")
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.stop()

    def begin(self, id: str) -> None:
        """Show that a claim has started."""
        self.running.append(id)
        self._show()

    def end(self, outcome: Stored | Failure) -> None:
        """Show that a claim has come to an end."""
        self.running.remove(outcome.id)
        self.done += 1
        line = Text(f"{self.done}/{self.total} {outcome.id} ").append_text(_verdict(outcome))
        self.console.print(line.append(f" {_key(outcome)} ({prose.duration(outcome.seconds)})"), soft_wrap=True)
        self._show()

    def _show(self) -> None:
        self.progress.update(self.task, completed=self.done, description=", ".join(self.running))


def results(outcomes: Sequence[Stored | Failure], *, total: bool = False) -> None:
    """Print the table of results: claim, verdict, key number, time."""
    table = _table("claim", "size", "verdict", "key number", "time")
    for outcome in outcomes:
        time = prose.duration(outcome.seconds)
        table.add_row(outcome.id, outcome.size, _verdict(outcome), Text(_key(outcome)), time)
    if total:
        seconds = sum(outcome.seconds for outcome in outcomes)
        table.add_row("total", "", several(len(outcomes), "claim"), "", prose.duration(seconds))
    _print(table)


def pooled_results(outcomes: Sequence[Stored | Failure]) -> None:
    """Print the verdict that several seeds give together, where a claim was run with several."""
    stored = [outcome for outcome in outcomes if isinstance(outcome, Stored)]
    pools = [pool for size in SIZES for pool in by_claim(stored, size).values() if len(pool.runs) > 1]
    if not pools:
        return
    table = _table("claim", "size", "verdict", "key number", "least", "largest")
    for pool in pools:
        spread = next((s for s in pool.spread("checks") if s.check == pool.shown.key_check), pool.spread("checks")[0])
        label = Text(pool.label, style=STYLES[pool.verdict])
        values = (f"{spread.low:.4g}", f"{spread.high:.4g}")
        table.add_row(pool.shown.id, pool.shown.size, label, Text(spread.check.name), *values)
    _print(table)


def agenda(items: Sequence[Item], done: int, missing: int) -> None:
    """Print what a campaign would run, in its order: claim, seed, why it is there, about how long it takes."""
    table = _table("claim", "size", "seed", "reason", "time")
    for item in items:
        table.add_row(item.job.id, item.job.size, str(item.job.seed), item.reason, prose.duration(item.seconds))
    seconds = sum(item.seconds for item in items)
    table.add_row(
        "total", "", "", f"{len(items)} of {missing} missing runs; {done} are there", prose.duration(seconds)
    )
    _print(table)


def result_line(outcome: Stored | Failure) -> str:
    """A result as one line of strict JSON; a claim that raised has the verdict "error"."""
    if isinstance(outcome, Stored):
        return json.dumps(summary(outcome), allow_nan=False)
    fields: dict[str, Any] = {"id": outcome.id, "verdict": "error", "reason": outcome.message, "numbers": {}}
    return json.dumps({**fields, "size": outcome.size, "seed": outcome.seed, "seconds": outcome.seconds})


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(
            name, no_wrap=name not in ("title", "key number"), justify="right" if name == "time" else "left"
        )
    return table


def _print(table: Table) -> None:
    standard_output().print(table)


def _verdict(outcome: Stored | Failure) -> Text:
    if isinstance(outcome, Failure):
        return Text("error", style="bold magenta")
    return Text(str(outcome.verdict), style=STYLES[outcome.verdict])


def _key(outcome: Stored | Failure) -> str:
    return outcome.message if isinstance(outcome, Failure) else str(outcome.key_check)
