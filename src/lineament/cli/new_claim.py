"""`lineament new-claim`: a claim to begin with, which runs as it stands."""

from pathlib import Path
from typing import Annotated

import typer

from .options import refuse


def new_claim(
    id: Annotated[str, typer.Argument(metavar="ID", help="A key, a hyphen and a short name, such as mine-edge.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the files go.", show_default="a folder named ID")
    ] = None,
) -> None:
    """Write a claim of your own to begin with: a module that runs as it stands, its test, and a project file.

    `lineament reproduce FILE` runs it. After `pip install -e DIR` it is listed, run and drawn like any other claim.
    """
    from lineament.data.labels import printable
    from lineament.execution import new_claim as skeleton

    folder = out or Path(id)
    try:
        module, test, _ = written = skeleton.write(id, folder)
    except ValueError as error:
        refuse("ID", str(error))
    for path in written:
        typer.echo(printable(path))
    typer.echo(f"\nRun it:      lineament reproduce {printable(module)}")
    typer.echo(f"Test it:     python -m pytest {printable(test)}")
    typer.echo(f"Register it: pip install -e {printable(folder)}")
