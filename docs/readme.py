"""Write the README's table of claims from the registry, the evidence of the last atlas and `results/`: `make readme`."""

import sys
from pathlib import Path

from lineament.claims import PAPERS, all_claims
from lineament.execution.store import load_folder

BEGIN, END = "<!-- claims: written by `make readme`, checked by the tests -->\n", "<!-- end of claims -->"


def verdicts_of(folder: Path, scale: str) -> dict[str, str]:
    """The verdicts that a folder of evidence holds at one scale."""
    return {stored.id: stored.verdict for stored in load_folder(folder)[0] if stored.scale == scale}


def table(verdicts: dict[str, str], full: dict[str, str]) -> str:
    """One table per paper: id, place, title, the verdict at quick scale, and that at full scale where it was run."""
    missing = [id for id in all_claims() if id not in verdicts]
    if missing:
        sys.exit(f"no quick evidence for {', '.join(missing)} in the atlas: run `make atlas` first")
    lines = []
    for key, paper in PAPERS.items():
        claims = [claim for claim in all_claims().values() if claim.paper == key]
        if claims:
            lines += [
                f"\n**{paper.short}**, *{paper.title}*\n",
                "| claim | place | what it says | quick | full |",
                "| --- | --- | --- | --- | --- |",
            ]
            lines += [
                f"| `{claim.id}` | {claim.place} | {claim.title} | {verdicts[claim.id]} | {full.get(claim.id, '–')} |"
                for claim in claims
            ]
    return "\n".join(lines) + "\n\n"


if __name__ == "__main__":
    root = Path(__file__).parents[1]
    text = (root / "README.md").read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    written = table(verdicts_of(root / "atlas" / "evidence", "quick"), verdicts_of(root / "results", "full"))
    (root / "README.md").write_text(before + BEGIN + written + END + rest.split(END)[1], encoding="utf-8")
