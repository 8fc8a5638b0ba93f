"""Claims in the terminal: the list of them, and all that is known of one. Light: nothing here imports JAX."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from lineament.claims import PAPERS, SIZES, Claim

from .terminal import Terminal

PLAIN_WIDTH = 160


def table(listed: Iterable[Claim]) -> None:
    """Print the table of claims."""
    rows = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("claim", "place", "title", "kind", *SIZES):
        rows.add_column(name, no_wrap=name not in ("title", "place"))
    for claim in listed:
        cost = [claim.cost[size] for size in SIZES]
        rows.add_row(claim.id, *map(Text, (claim.place, claim.title, claim.kind, *cost)))
    console().print(rows)


def show(claim: Claim, folders: Sequence[Path]) -> None:
    """Print one claim: what it states, in words; the verdicts stored in the folders; its source, page and command."""
    terminal = console()
    paper = PAPERS.get(claim.paper)
    source = claim.source
    terminal.print(Text(f"{claim.id}  {claim.title}", style="bold"))
    terminal.print(Text(f"{paper.short if paper else claim.paper}, {claim.place} ({claim.kind})"))
    for text in (claim.words, claim.meaning):
        if text:
            terminal.print(Text(f"\n{text}"))
    terminal.print(Text(f"\nStatement (LaTeX): {claim.statement}"))
    terminal.print(Text("\nVerdicts:"))
    lines = _verdicts(claim, folders)
    for line in lines or ["none stored here"]:
        terminal.print(Text(f"  {line}"), soft_wrap=True)
    terminal.print(Text(f"\nCheck:   {_near(source.path)}:{source.line}"), soft_wrap=True)
    pages = [folder.parent / f"{claim.id}.html" for folder in folders if (folder.parent / f"{claim.id}.html").exists()]
    terminal.print(
        Text(f"Page:    {_near(pages[0])}" if pages else "Page:    `lineament atlas` writes it"), soft_wrap=True
    )
    terminal.print(
        Text(f"Command: lineament reproduce {claim.id}  ({claim.quick}; full: {claim.full})"), soft_wrap=True
    )


def console() -> Terminal:
    """Standard output; as wide as tables need where it is no terminal."""
    terminal = Terminal()
    if not terminal.is_terminal:
        terminal.width = PLAIN_WIDTH
    return terminal


def _verdicts(claim: Claim, folders: Sequence[Path]) -> list[str]:
    from lineament.execution import store

    lines = []
    for size in SIZES:
        for path in sorted(path for folder in folders for path in folder.glob(f"{claim.id}.{size}.*.json")):
            try:
                stored = store.load(path)
            except (OSError, ValueError) as error:
                lines.append(str(error))
            else:
                lines.append(f"{size}, seed {stored.seed}: {stored.verdict} ({stored.reason})")
    return lines


def _near(path: Path) -> str:
    """A path as one would type it here."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
