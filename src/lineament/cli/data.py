"""`lineament data`: list, fetch, verify and show data sets."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from . import completion
from .options import refuse, tell

sets = typer.Typer(help="List, fetch, verify and show data sets.", no_args_is_help=True, rich_markup_mode=None)
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help="Data sets by name; all if none.", autocompletion=completion.data_sets),
]


@sets.command("list")
def list_data(names: Names = None) -> None:
    """List the data sets, what they are and whether they are at hand; with names, all that is known of each."""
    from lineament.report import datasets

    if not names:
        datasets.list_sets()
    for name in _sets(names or ()):
        datasets.describe(name)


@sets.command()
def fetch(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME", help="Data sets by name.", autocompletion=completion.data_sets),
    ],
) -> None:
    """Download what data sets lack into the user's cache, checking every file; those at hand are left alone."""
    from lineament.report import datasets

    try:
        datasets.fetch(_sets(names))
    except (ValueError, FileNotFoundError) as error:
        refuse("NAME", str(error))


@sets.command()
def verify(names: Names = None) -> None:
    """Check the files of data sets against their checksums. The exit code is 1 when one is missing or altered."""
    from lineament.data import catalogue
    from lineament.report import datasets

    raise typer.Exit(0 if datasets.verify(_sets(names or catalogue.names())) else 1)


@sets.command()
def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A data set by name.", autocompletion=completion.data_sets)
    ],
    out: Annotated[Path, typer.Option(metavar="FILE.png", help="Where to save the contact sheet.")],
    partial: Annotated[bool, typer.Option("--partial", help="Make do with the training batches at hand.")] = False,
) -> None:
    """Save a contact sheet: the first training images of every class."""
    from lineament.data import catalogue
    from lineament.report import datasets

    _sets([name])
    try:
        tell(datasets.show(catalogue.load(name, partial=partial), out))
    except (ValueError, FileNotFoundError) as error:
        refuse("NAME" if out.suffix.lower() == ".png" else "--out", str(error))


def _sets(names: Sequence[str]) -> Sequence[str]:
    from lineament.data import catalogue

    try:
        return [catalogue.entry(name).name for name in names]
    except ValueError as error:
        refuse("NAME", str(error))
