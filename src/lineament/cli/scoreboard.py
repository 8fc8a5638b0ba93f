"""`lineament scoreboard`: forecasts against training on a folder of tables."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from .options import interrupted, refuse, tell, writable


def scoreboard(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="FOLDER", help="A folder of tables.", show_default="the bundled data sets"),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="WORDS", help="Columns whose title holds these words, such as MLP.", show_default="all"),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where cells and page go.")] = Path("scoreboard"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what an earlier run has finished.")] = False,
) -> None:
    """Run forecasts against training on every table of a folder, and write one page, failures included.

    The target is the last column of each table. Every cell is kept as soon as it is known: Ctrl-C loses no other, and the
    same command goes on from there, as long as the code is the same.
    """
    if folder is not None and not folder.is_dir():
        refuse("FOLDER", f"{str(folder)!r} is not a folder")
    writable("--out", out)
    from lineament.core.words import several
    from lineament.execution import worker
    from lineament.forecasting.scoreboard import COLUMNS
    from lineament.report import scoreboard as board

    columns = {title: column for title, column in COLUMNS.items() if not only or any(word in title for word in only)}
    if not columns:
        refuse("--only", f"{' '.join(only or [])!r} must be words of a column's title; there are {'; '.join(COLUMNS)}")

    sources = board.found(folder)
    if not sources:
        refuse("FOLDER", f"{str(folder)!r} holds no table")
    worker.prepare()
    size = f"{several(len(sources), 'table')}, {several(len(columns), 'column')}"
    tell(f"{size}: finished cells are kept in {out}", err=True)
    try:
        cells = board.run(sources, out, columns, fresh=fresh, tell=tell, begin=partial(tell, err=True))
    except KeyboardInterrupt:
        interrupted("finished cells are kept; give the same command to go on")
    tell(board.write(cells, out))
    for title, told in board.summary(cells).items():
        tell(f"{title}: {told}")
