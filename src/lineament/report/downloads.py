"""What a page offers to save: the figure as an SVG file of its own, and the numbers behind it as a table.

Both are made from what is there already, the drawing of the page and the data of the figure, so that they cost next to
nothing. PNG and PDF are made by the page itself (`templates/save.js`).
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lineament.evidence.figure import Figure, Mark
from lineament.execution import files
from lineament.execution.store import Stored

from . import style

FOLDER = "figures"
COLUMNS = ("panel", "kind", "role", "label", "group", "x", "x_to", "y", "y_to", "value")


def write(record: Stored, drawing: str, folder: Path) -> None:
    """Write the figure of a run, as drawn for its page, and its data into `<folder>/figures`."""
    if record.figure is not None and "<svg" in drawing:
        place = files.writable(folder / FOLDER)
        for name, text in zip(names(record), (standalone(drawing), table(record.figure)), strict=True):
            if not (place / name).exists() or (place / name).read_text(encoding="utf-8") != text:
                files.write(place / name, text, settle=False)


def names(record: Stored) -> tuple[str, str]:
    """The files of a run: its figure and its data."""
    return f"{record.id}.{record.size}.svg", f"{record.id}.{record.size}.csv"


def prune(folder: Path, records: Iterable[Stored]) -> None:
    """Remove the files of runs that are no longer shown."""
    shown = {name for record in records if record.figure is not None for name in names(record)}
    for path in (folder / FOLDER).glob("*.*"):
        if path.name not in shown:
            path.unlink(missing_ok=True)


def standalone(drawing: str) -> str:
    """A drawing that was made for a page as a file of its own: in plain colours, with a size.

    The first element is the whole drawing; those after it are windows on its panels, for narrow pages.
    """
    colours = style.tokens(style.LIGHT)
    whole = drawing[drawing.index("<svg") : drawing.index("</svg>") + len("</svg>")]
    text = re.sub(r"var\((--[\w-]+)\)", lambda found: colours[found[1]], whole)
    text = re.sub(r' style="min-width:[^"]*"', "", text, count=1)
    width, height = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text).groups()  # type: ignore[union-attr]
    return text.replace("<svg", f'<svg width="{width}pt" height="{height}pt"', 1)


def table(figure: Figure) -> str:
    """The data of a figure as CSV, one row for each point; pixels of pictures are left out."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(COLUMNS)
    for place, panel in enumerate(figure.panels, 1):
        for mark in panel.marks:
            head = (panel.title or f"{place}", mark.kind, mark.role, mark.label, mark.group)
            writer.writerows((*head, *row) for row in _rows(mark))
    return target.getvalue()


def _rows(mark: Mark) -> Iterator[tuple[Any, ...]]:
    """The points of a mark: x, x_to (the other edge of a bar), y, y_to (the upper end of a band), value (of a field)."""
    if mark.x is None or mark.y is None:
        return
    x, y = _told(mark.x), _told(mark.y)
    if mark.kind == "bars":
        yield from zip(x, x[1:], y, [""] * len(y), [""] * len(y), strict=False)
    elif mark.z is not None:
        for row, values in zip(y, np.atleast_2d(mark.z), strict=False):
            yield from ((column, "", row, "", value) for column, value in zip(x, _told(values), strict=False))
    else:
        high = [""] * len(x) if mark.high is None else _told(mark.high)
        yield from ((a, "", b, c, "") for a, b, c in zip(x, y, high, strict=False))


def _told(values: np.ndarray) -> list[str]:
    return [f"{value:.9g}" for value in np.ravel(values).tolist()]
