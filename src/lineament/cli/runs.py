"""`lineament runs`: list what a store holds, compare two runs, delete."""

from pathlib import Path
from typing import Annotated

import typer

from .options import refuse, tell


def runs(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The folder of a sweep.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="ADDRESS", help="An experiment to list, or two points to compare.", show_default=False),
    ] = None,
    delete: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Delete this experiment with all its points, or this point.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write the page of an experiment here.")
    ] = None,
) -> None:
    """List the experiments of a store; the points of one; how two points differ; or delete.

    The first letters of an address, as they are listed, are enough.
    """
    from lineament.execution.stores import Store

    given = names or []
    if len(given) > 2:
        refuse("ADDRESS", "name one experiment, or two points to compare")
    try:
        held = Store(store)
        if delete is not None:
            tell(f"deleted {held.delete(delete)}")
        elif len(given) == 2:
            tell(held.compare(*given))
        elif page is not None:
            from lineament.report import sweep_page

            tell(sweep_page.write(held.open(*given), page))
        else:
            from lineament.report import sweep_console

            if given:
                sweep_console.points(held, given[0])
            else:
                sweep_console.experiments(held)
    except ValueError as error:
        refuse("STORE", str(error))
