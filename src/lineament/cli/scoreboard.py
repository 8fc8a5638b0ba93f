"""`lineament scoreboard`: forecasts against training on a folder of tables."""

from pathlib import Path
from typing import Annotated

import typer

from .options import interrupted, refuse, writable


def scoreboard(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="FOLDER", help="A folder of tables.", show_default="the bundled data sets"),
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
    from lineament.execution import worker
    from lineament.report import scoreboard as board

    sources = board.found(folder)
    if not sources:
        refuse("FOLDER", f"{str(folder)!r} holds no table")
    worker.prepare()
    try:
        cells = board.run(sources, out, fresh=fresh, tell=typer.echo)
    except KeyboardInterrupt:
        interrupted("finished cells are kept; give the same command to go on")
    typer.echo(board.write(cells, out))
    for title, told in board.summary(cells).items():
        typer.echo(f"{title}: {told}")
