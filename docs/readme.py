"""Write the README's table of claims from the registry and the evidence of the last atlas: `make readme`."""

import sys
from pathlib import Path

from lineament.claims import PAPERS, all_claims
from lineament.report.store import load_folder

BEGIN, END = "<!-- claims: written by `make readme`, checked by the tests -->\n", "<!-- end of claims -->"


def table(evidence: Path) -> str:
    """One table per paper: id, place, title and the verdict at quick scale."""
    verdicts = {stored.id: stored.verdict for stored in load_folder(evidence)[0] if stored.scale == "quick"}
    missing = [id for id in all_claims() if id not in verdicts]
    if missing:
        sys.exit(f"no quick evidence for {', '.join(missing)} in {evidence}: run `make atlas` first")
    lines = []
    for key, paper in PAPERS.items():
        claims = [claim for claim in all_claims().values() if claim.paper == key]
        if claims:
            lines += [
                f"\n**{paper.short}**, *{paper.title}*\n",
                "| claim | place | what it says | verdict |",
                "| --- | --- | --- | --- |",
            ]
            lines += [f"| `{claim.id}` | {claim.place} | {claim.title} | {verdicts[claim.id]} |" for claim in claims]
    return "\n".join(lines) + "\n\n"


if __name__ == "__main__":
    root = Path(__file__).parents[1]
    text = (root / "README.md").read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    (root / "README.md").write_text(
        before + BEGIN + table(root / "atlas" / "evidence") + END + rest.split(END)[1], encoding="utf-8"
    )
