"""Write the README's table of claims from the registry, the evidence of the last atlas and `results/`: `make readme`."""

import sys
from pathlib import Path

from lineament.claims import PAPERS, Claim, all_claims
from lineament.execution.pooled import Pooled, by_claim
from lineament.execution.store import Stored, load_folder

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- claims: written by `make readme`, checked by the tests -->\n", "<!-- end of claims -->"
HEAD = ["| claim | place | what it says | quick | full |", "| --- | --- | --- | --- | --- |"]


def labels(records: list[Stored], size: str) -> dict[str, str]:
    """The verdicts at one size with the seeds behind them, such as "holds 5/5"."""
    return {id: label(pool) for id, pool in by_claim(records, size).items()}


def label(pool: Pooled) -> str:
    """The verdict and the seeds behind it, marked where the settings behind it cannot be compared with today's."""
    return pool.label + ("" if pool.comparable else " †")


def row(claim: Claim, quick: dict[str, str], full: dict[str, str]) -> str:
    """One line of the table; the id leads to the file of the check."""
    path = claim.source.path.relative_to(ROOT).as_posix()
    verdicts = f"{quick[claim.id]} | {full.get(claim.id, '–')}"
    return f"| [`{claim.id}`]({path}) | {claim.place} | {claim.title} | {verdicts} |"


def table(quick: dict[str, str], full: dict[str, str]) -> str:
    """One table per paper: id, place, title, the verdict at quick size, and that at full size where it was run."""
    claims = all_claims().values()
    missing = [claim.id for claim in claims if claim.id not in quick]
    if missing:
        sys.exit(f"no quick evidence for {', '.join(missing)} in the atlas: run `make atlas` first")
    lines = []
    for key, paper in PAPERS.items():
        rows = [row(claim, quick, full) for claim in claims if claim.paper == key]
        if rows:
            lines += [f"\n**{paper.short}**, *{paper.title}*\n", *HEAD, *rows]
    return "\n".join(lines) + "\n\n"


if __name__ == "__main__":
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    stored = [record for folder in ("results", "atlas/evidence") for record in load_folder(ROOT / folder)[0]]
    written = table(labels(stored, "quick"), labels(stored, "full"))
    (ROOT / "README.md").write_text(before + BEGIN + written + END + rest.split(END)[1], encoding="utf-8")
