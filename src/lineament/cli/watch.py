"""`lineament watch`: a recording in the terminal while a network trains, and its page."""

from pathlib import Path
from typing import Annotated

import typer

from .options import refuse, writable


def watch(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="What a recorder fills, or a saved recording.")],
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Write the page here.", show_default="report.html in the folder"),
    ] = None,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="How long to wait before looking again.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Show what there is and end.")] = False,
) -> None:
    """Watch a recording grow: loss, errors and what to do, with a page that a browser reads again by itself.

    Ctrl-C ends it; the training goes on.
    """
    if not folder.exists():
        refuse("FOLDER", f"{str(folder)!r} does not exist: give the path that the recorder was given")
    if not every > 0:
        refuse("--every", f"must be positive; got {every:g}")
    page = page or (folder if folder.is_dir() else folder.parent) / "report.html"
    writable("--page", page.parent)
    from lineament.report.watch import watch as show

    try:
        show(folder, page, every=every, once=once)
    except ValueError as error:
        refuse("FOLDER", str(error))
