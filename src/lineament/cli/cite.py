"""`lineament cite`: BibTeX for the papers."""

from typing import Annotated

import typer

from . import completion
from .options import refuse


def cite(
    keys: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID|PAPER",
            help="Claims or papers; all papers if none.",
            show_default=False,
            autocompletion=completion.claims_and_papers,
        ),
    ] = None,
) -> None:
    """Print BibTeX for the papers whose claims are checked."""
    from lineament.claims import PAPERS, all_claims

    known = all_claims()
    wanted = {}
    for key in keys or dict.fromkeys(claim.paper for claim in known.values()):
        if key not in PAPERS and key not in known:
            refuse("ID|PAPER", f"{key!r} is neither a claim nor one of the papers {', '.join(PAPERS)}")
        wanted[key if key in PAPERS else known[key].paper] = None
    typer.echo("\n\n".join(PAPERS[key].bibtex for key in wanted))
