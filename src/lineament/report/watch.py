"""A recording in the terminal while it grows, and its page beside it."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from lineament import recording as rec
from lineament.recording import Recording, join, store

from . import prose, recording_page
from .claim_console import console

BLOCKS = "▁▂▃▄▅▆▇█"
WIDTH = 40
"""Signs of a curve."""
SHARE = 10.0
"""A page takes this many times as long until it is drawn again: at most a tenth of a core is taken from training."""


class Reader:
    """Reads a growing recording file by file, each once, and all again where a resumed run has gone back."""

    def __init__(self, folder: Path) -> None:
        """Take a folder that a recorder fills, or will fill."""
        self._folder = folder
        self._parts: list[Recording] = []
        self._last: tuple[int, int] | None = None

    def new(self) -> Recording | None:
        """Everything recorded so far if that has changed since the last call, else None."""
        before = len(self._parts)
        if before and self._mark(before - 1) != self._last:
            self._parts, before = [], 0
        while (mark := self._mark(len(self._parts))) is not None:
            try:
                part = store.read_file(self._folder / store.name(len(self._parts)))
            except ValueError:
                if self._mark(len(self._parts)) == mark:
                    raise
                break  # removed meanwhile, by a run that goes back: read at the next look
            self._parts.append(part)
            self._last = mark
        return join(self._parts) if len(self._parts) > before else None

    def _mark(self, number: int) -> tuple[int, int] | None:
        """What tells one version of a file from the next; None if there is no such file."""
        try:
            status = (self._folder / store.name(number)).stat()
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns


def watch(folder: Path, page: Path | None, *, every: float = 2.0, once: bool = False) -> None:
    """Show a recording until it is interrupted, and write its page whenever there is something new.

    Args:
        folder: That a recorder fills, or a file that `Recording.save` wrote.
        page: Where to write the page; nowhere if None.
        every: After how many seconds to look again.
        once: Show what there is and end.
    """
    if once or folder.is_file():
        recording = Recording.load(folder)
        console().print(shown(recording))
        _finish(recording, page)
        return
    recording = None
    with Live(Text("waiting for the first record …"), console=console(), auto_refresh=False) as live:
        try:
            for recording in _growing(Reader(folder), page, every):
                live.update(shown(recording), refresh=True)
        except KeyboardInterrupt:
            pass  # the way to end it
    if not live.console.is_terminal:
        live.console.print()  # the last picture has no end of line there
    if recording is not None:
        _finish(recording, page)


def _growing(reader: Reader, page: Path | None, every: float) -> Iterator[Recording]:
    """Each state of a recording that is new; its page is drawn after it, no more often than `SHARE` allows."""
    recording, drawn, rest = None, None, 0.0
    while True:
        new = reader.new()
        if new is not None:
            recording = new
            yield new
        begun = time.perf_counter()
        if page is not None and recording is not None and recording is not drawn and begun >= rest:
            recording_page.write(recording, page, refresh=max(5, round(every)))
            drawn, ended = recording, time.perf_counter()
            rest = ended + SHARE * (ended - begun)
        time.sleep(every)


def _finish(recording: Recording, page: Path | None) -> None:
    if page is not None:
        console().print(f"page: {recording_page.write(recording, page)}", soft_wrap=True)


def shown(recording: Recording) -> RenderableType:
    """The state of a recording: where it is, its curves in signs, and what to do."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(no_wrap=True)
    table.add_row("step", f"{recording.steps[-1]:g}", f"{len(recording)} records of {recording.examples:,} examples")
    for name, value, course, log in _courses(recording):
        table.add_row(name, value, signs(course, log=log))
    spent = recording.between[np.isfinite(recording.between)]
    if spent.size:
        table.add_row("a record every", prose.duration(float(np.median(spent))), _overhead(recording))
    todo = [Text(f"• {one.text}", style="red" if one.kind == "trouble" else "") for one in rec.advice(recording)]
    return Group(table, *([Text(), *todo] if todo else []))


def _courses(recording: Recording) -> Iterator[tuple[str, str, np.ndarray, bool]]:
    if recording.reported.any():
        loss = recording.loss[recording.reported]
        yield "loss", f"{loss[-1]:.3g}", loss, True
    if recording.labels is not None:
        error, classes = recording.error, recording.predictions is not None
        yield (
            "wrong" if classes else "squared error",
            f"{error[-1]:.1%}" if classes else f"{error[-1]:.3g}",
            error,
            False,
        )
    norm = recording.gradient_norm
    if np.isfinite(norm).any():
        yield "gradient", f"{norm[np.isfinite(norm)][-1]:.3g}", norm[np.isfinite(norm)], True


def signs(course: np.ndarray, *, log: bool = False) -> str:
    """A curve in blocks, from the least to the largest of its finite values."""
    y = np.asarray(course, float)
    if log and (y[np.isfinite(y)] > 0).all():
        y = np.log(np.where(np.isfinite(y), y, np.nan))
    places = np.unique(np.linspace(0, len(y) - 1, min(len(y), WIDTH)).round().astype(int))
    y = y[places]
    finite = np.isfinite(y)
    if not finite.any():
        return "?" * len(y)
    low, span = y[finite].min(), np.ptp(y[finite])
    levels = np.round((len(BLOCKS) - 1) * np.where(finite, y - low, 0) / (span or 1)).astype(int)
    return "".join(BLOCKS[level] if known else "?" for level, known in zip(levels, finite, strict=True))


def _overhead(recording: Recording) -> str:
    return f"{recording.overhead:.1%} of it in the recorder" if np.isfinite(recording.overhead) else ""
