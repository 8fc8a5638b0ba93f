"""The scoreboard: forecasts against training on a folder of tables, one page, every cell kept as soon as it is known."""

import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from lineament.data import tables
from lineament.data.labels import printable
from lineament.execution import files
from lineament.execution.fingerprint import package
from lineament.forecasting import scoreboard
from lineament.forecasting.scoreboard import Cell, Column

from . import site

Board = dict[str, dict[str, Cell]]

LONGEST = 128
"""Bytes of a table's name in the name of a cell's file: file systems know names of 255."""

MARKS = {"holds": "✓", "differs": "✗", "undecided": "–", "error": "!"}


def found(folder: Path | None) -> dict[str, str]:
    """The tables of a folder by name, or the bundled ones."""
    if folder is None:
        return {name: name for name in tables.BUNDLED}
    paths = sorted(
        path for path in folder.iterdir() if path.name.lower().endswith(tables.ENDINGS) and not path.is_dir()
    )
    short = Counter(path.name.split(".")[0] for path in paths)
    # Tables that differ by their endings alone, or after their first point, go by their whole names.
    names = {path: path.name.split(".")[0] for path in paths}
    return {name if name and short[name] == 1 else path.name: str(path) for path, name in names.items()}


def run(
    sources: dict[str, str],
    out: Path,
    columns: dict[str, Column] | None = None,
    fresh: bool = False,
    tell: Callable[[str], None] = lambda line: None,
    begin: Callable[[str], None] = lambda line: None,
) -> Board:
    """Fill the board, cell by cell; cells that the same code has filled before are read, not run.

    Args:
        sources: Names of tables, and where they are.
        out: The folder for cells and page.
        columns: By default all of them.
        fresh: Run every cell again.
        tell: Called with a line for every cell that was run.
        begin: Called with a line before each of them: one may take minutes.
    """
    columns = columns or scoreboard.COLUMNS
    kept = files.writable(out / "cells")
    board: Board = {}
    for name, source in sources.items():
        for title, column in columns.items():
            path = kept / f"{_short_name(name)}--{title.replace(' ', '_').replace(',', '')}.json"
            stored = None if fresh else _stored(path, source)
            if stored is None:
                begin(f"{name}, {title} …")
                begun = time.process_time()
                stored = _cell(column, source)
                text = json.dumps({"code": package(), "source": source, "cell": stored._asdict()}, ensure_ascii=False)
                files.write(path, text + "\n")
                tell(f"{name}, {title}: {stored.verdict}, {stored.told} ({time.process_time() - begun:.1f} s)")
            board.setdefault(name, {})[title] = stored
    return board


def write(board: Board, out: Path) -> Path:
    """Write the page, and the same table as Markdown beside it; return the path of the page."""
    titles = list(next(iter(board.values())))
    files.write(out / "scoreboard.md", markdown(board))
    page = site.templates().get_template("scoreboard.html.j2").render(
        board=board, titles=titles, marks=MARKS, summary=summary(board)
    )  # fmt: skip
    return files.write(out / "scoreboard.html", page)


def summary(board: Board) -> dict[str, str]:
    """How each column did, in words."""
    titles = next(iter(board.values()))
    told = {}
    for title in titles:
        counts = Counter(cells[title].verdict for cells in board.values())
        decided = counts["holds"] + counts["differs"]
        others = [f"{counts[kind]} {kind}" for kind in ("undecided", "error") if counts[kind]]
        told[title] = ", ".join([f"{counts['holds']} of {decided} hold", *others])
    return told


def markdown(board: Board) -> str:
    """The board as a table in Markdown: a mark, and the number that decided."""
    titles = list(next(iter(board.values())))
    lines = ["| table | " + " | ".join(titles) + " |", "| --- |" + " --- |" * len(titles)]
    for name, cells in board.items():
        first = printable(name).replace("|", "&#124;")
        lines.append(f"| {first} | " + " | ".join(_short(cells[title]) for title in titles) + " |")
    lines.append("| **all** | " + " | ".join(summary(board).values()) + " |")
    return "\n".join(lines) + "\n"


def _short_name(name: str) -> str:
    """A name that leaves room for a column's in the name of a file."""
    whole = os.fsencode(name)
    return name if len(whole) <= LONGEST else f"{name[:32]}-{hashlib.sha256(whole).hexdigest()[:16]}"


def _short(cell: Cell) -> str:
    return MARKS[cell.verdict] + (f" {100 * cell.value:.1f} %" if cell.value is not None else "")


def _cell(column: Column, source: str) -> Cell:
    try:
        table = tables.read(source)
    except (OSError, ValueError, MemoryError) as problem:
        return Cell("error", None, str(problem)[:300])
    return scoreboard.cell(column, table)


def _stored(path: Path, source: str) -> Cell | None:
    """A cell that the same code has filled from the same source; None if there is none."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return Cell(**kept["cell"]) if (kept["code"], kept["source"]) == (package(), source) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
