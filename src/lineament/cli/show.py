"""`lineament show`: all that is known of one claim."""

from pathlib import Path
from typing import Annotated

import typer

from .options import choose, evidence_folders


def show(
    name: Annotated[str, typer.Argument(metavar="ID|PLACE", help='A claim: its id, or its place ("Theorem 3.2").')],
    results: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where stored evidence lies.", show_default="results and atlas, if there"),
    ] = None,
) -> None:
    """Show one claim: its statement in words, the verdicts so far, and where its check is written."""
    (claim,) = choose([name], None)
    from lineament.report import claim_console

    claim_console.show(claim, evidence_folders(results))
