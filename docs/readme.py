"""Write the README's table of claims from the registry, the evidence of the last atlas and `results/`: `make readme`."""

import sys
from pathlib import Path

from lineament.claims import PAPERS, SIZES, Claim, all_claims
from lineament.execution.store import load_folder
from lineament.report.entries import Entry, gather, legend

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- claims: written by `make readme`, checked by the tests -->\n", "<!-- end of claims -->"
HEAD = ["| claim | place | what it says | quick | full |", "| --- | --- | --- | --- | --- |"]


def row(claim: Claim, entry: Entry) -> str:
    """One line of the table; the id leads to the file of the check."""
    path = claim.source.path.relative_to(ROOT).as_posix()
    verdicts = " | ".join(entry.label(size) for size in SIZES)
    return f"| [`{claim.id}`]({path}) | {claim.place} | {claim.title} | {verdicts} |"


def table(entries: dict[str, Entry]) -> str:
    """What marks say, and one table per paper: id, place, title, the verdict at quick size and, where run, at full."""
    claims = all_claims().values()
    missing = [claim.id for claim in claims if "quick" not in entries[claim.id].runs]
    if missing:
        sys.exit(f"no quick evidence for {', '.join(missing)} in the atlas: run `make atlas` first")
    marks = legend(entries[claim.id].label(size) for claim in claims for size in SIZES)
    lines = ["", *marks] if marks else []
    for key, paper in PAPERS.items():
        rows = [row(claim, entries[claim.id]) for claim in claims if claim.paper == key]
        if rows:
            lines += [f"\n**{paper.short}**, *{paper.title}*\n", *HEAD, *rows]
    return "\n".join(lines) + "\n\n"


if __name__ == "__main__":
    before, rest = (ROOT / "README.md").read_text(encoding="utf-8").split(BEGIN)
    stored = [record for folder in ("results", "atlas/evidence") for record in load_folder(ROOT / folder)[0]]
    written = table({entry.id: entry for entry in gather(stored, all_claims())})
    (ROOT / "README.md").write_text(before + BEGIN + written + END + rest.split(END)[1], encoding="utf-8")
