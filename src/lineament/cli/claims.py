"""`lineament claims`: list the claims."""

from typing import Annotated

import typer

from . import completion
from .options import PaperOption, choose


def claims(
    papers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PAPER",
            help="Only the claims of these papers.",
            show_default=False,
            autocompletion=completion.papers,
        ),
    ] = None,
    paper: PaperOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each claim, one a line.")] = False,
) -> None:
    """List the claims: what each states, where it is printed, and what it costs to check."""
    wanted = dict.fromkeys([*(papers or ()), *filter(None, (paper,))] or [None])
    chosen = [claim for name in wanted for claim in choose((), name, "--paper" if name == paper else "PAPER")]
    if as_json:
        import json

        for claim in chosen:
            names = ("id", "paper", "place", "title", "statement", "words", "kind", "cost")
            typer.echo(json.dumps({name: getattr(claim, name) for name in names}))
    else:
        from lineament.report import claim_console

        claim_console.table(chosen)
