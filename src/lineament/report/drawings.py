"""Drawings of figures for pages, kept by content so that nothing is drawn twice."""

import inspect
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from markupsafe import Markup

from lineament.evidence import Figure
from lineament.execution import engines, files
from lineament.execution.fingerprint import digest
from lineament.execution.store import Stored

from . import cells, colours, draw, embedding, labels, legends, marks, style

ENOUGH = 8  # figures that take longer to draw than a process takes to begin


def draw_ahead(record: Stored, folder: Path) -> None:
    """Draw the figure of a run for its page, and keep the drawing in `<folder>/drawn` until the page is written."""
    if record.figure is not None:
        _drawn(record.figure, folder / "drawn", record.size)


def draw_all(records: Iterable[Stored], folder: Path, workers: int | None = None) -> None:
    """Draw the figures of these runs that are not drawn yet, several at a time where there are enough of them."""
    missing = [
        record
        for record in records
        if record.figure is not None and not (folder / _name(record.figure, record.size)).exists()
    ]
    workers = min(workers or engines.cores(), len(missing) // ENOUGH)
    if workers > 1:
        with engines.Processes(workers) as pool:
            list(pool.map(picture, missing, [folder] * len(missing)))


def picture(record: Stored, folder: Path) -> Markup:
    """The figure of a run. One that cannot be drawn, from another version perhaps, must not cost the whole atlas."""
    if record.figure is None:
        return Markup("")
    try:
        return Markup(_drawn(record.figure, folder, record.size).read_text(encoding="utf-8"))
    except ValueError as error:
        return Markup("<p>The figure could not be drawn: {}</p>").format(error)


def prune(folder: Path, records: Iterable[Stored]) -> None:
    """Remove drawings that none of these runs shows any longer."""
    shown = {_name(record.figure, record.size) for record in records if record.figure is not None}
    for path in folder.glob("*.svg"):
        if path.name not in shown:
            path.unlink(missing_ok=True)


def _drawn(figure: Figure, folder: Path, name: str) -> Path:
    """Draw a figure for a page, unless there is a drawing of the same data in the same style."""
    path = folder / _name(figure, name)
    if not path.exists():
        files.write(files.writable(folder) / path.name, embedding.embed(figure, name))
    return path


def _name(figure: Figure, name: str) -> str:
    return f"{digest(figure, _style())}.{name}.svg"


@cache
def _style() -> str:
    return "".join(map(inspect.getsource, (cells, colours, draw, embedding, labels, legends, marks, style)))
