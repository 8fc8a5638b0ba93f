"""`lineament show`: all that is known of one claim."""

from pathlib import Path
from typing import Annotated

import typer

from . import completion
from .options import choose, evidence_folders, refuse_unwritten


def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ID|PLACE",
            help='A claim: its id, its place ("Theorem 3.2"), or a file of your own.',
            autocompletion=completion.claims,
        ),
    ],
    results: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where stored evidence lies.", show_default="results and atlas, if there"),
    ] = None,
) -> None:
    """Show one claim: its statement in words, the verdicts so far, and where its check is written."""
    chosen, folders = choose([name], None), evidence_folders(results)
    refuse_unwritten(chosen)
    from lineament.report import claim_console

    for claim in chosen:
        claim_console.show(claim, folders)
