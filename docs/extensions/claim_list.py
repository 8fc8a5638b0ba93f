"""The page of all claims, with the verdicts of the evidence that the repository holds."""

from pathlib import Path

from evidence import entries
from lineament.claims import SIZES, Paper
from lineament.report.entries import Entry, legend

HEAD = """# All claims

What is checked, paper by paper, with the verdict at each size and how many seeds agree. `lineament show ID` tells all of a claim;
`lineament reproduce ID` runs it; the {doc}`atlas </atlas>` has its figure and every number. What the verdicts mean is in
{doc}`/claims`.
"""


def page(results: Path) -> str:
    """The page, one table for each paper."""
    listed = entries(results)
    papers = dict.fromkeys(entry.paper for entry in listed)
    marks = legend(entry.label(size) for entry in listed for size in SIZES)
    return "\n".join(
        [HEAD, *marks, "", *(_table(paper, [entry for entry in listed if entry.paper == paper]) for paper in papers)]
    )


def _table(paper: Paper, listed: list[Entry]) -> str:
    source = f", [{paper.link.removeprefix('https://')}]({paper.link})" if paper.link else ""
    lines = [f"## {paper.short}", "", f"*{paper.title}*{source}", ""]
    lines += ["| claim | place | what it says | quick | full |", "| --- | --- | --- | --- | --- |"]
    lines += [
        f"| `{entry.id}` | {entry.place} | {entry.title} | {entry.label('quick')} | {entry.label('full')} |"
        for entry in listed
    ]
    return "\n".join([*lines, ""])
