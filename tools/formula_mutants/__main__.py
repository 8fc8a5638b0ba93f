"""Change the formulas behind the claims and see which claims turn red: `python -m tools.formula_mutants`.

A hundred changes (a sign, an exponent, a factor, one per cent on a constant), drawn alike every time, on lines of
`theory` and `measure` that quick claims execute. Each is met by the cheapest claims that execute its line, until one says
something else than before. The run can be stopped and goes on where it was; its page is written at the end.
"""

import argparse
from pathlib import Path

from . import campaign, page, reach, trial

FOLDER = Path("build/formula_mutants")
NOTE = """\
# Mutants of the formulas

What a claim's verdict is worth is seen by breaking a formula that it rests on. `python -m tools.formula_mutants` draws
{count} changes on lines of `theory` and `measure` that quick claims execute, one for each function before any has two
(seed {seed}), and meets each with at most {most} claims, the cheapest that execute the line, at quick size and seed 0.
*Red* is any other verdict than before; *no result* is an error or no end. At least {bar:.0%} must be noticed, or be
slack: a one-sided bound that is looser than the change.
"""


def main() -> None:
    """Run the campaign and write its page."""
    parser = argparse.ArgumentParser(prog="python -m tools.formula_mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="mutants (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--claims", type=int, default=6, help="claims for each mutant (default: %(default)s)")
    parser.add_argument(
        "--cheap", type=float, default=30.0, help="leave out claims whose stored evidence took more seconds"
    )
    parser.add_argument("--key", help="this mutant alone, by the digest that the page shows")
    parser.add_argument("--out", type=Path, default=FOLDER / "page.md")
    asked = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    trial.load()
    reaches = []
    for found in reach.reaches(trial.cheap_claims(asked.cheap), FOLDER / "reach.jsonl", limit=20 * asked.cheap):
        tell_reach(found)
        if found.verdict not in campaign.NO_RESULT:
            reaches.append(found)
    slack, aside = page.reasons("slack"), page.reasons("no formula")
    # What only undecided claims execute is left alone; they may notice what others execute too.
    mutants = campaign.population([found for found in reaches if found.verdict != "undecided"])
    chosen = campaign.sample(mutants, asked.count, asked.seed, aside)
    if asked.key:
        chosen = [mutant for mutant in mutants if mutant.key == asked.key]
    print(f"{len(chosen)} of {len(mutants)} mutants, {len(reaches)} claims", flush=True)
    outcomes = campaign.run(chosen, reaches, asked.claims, campaign.Trials(FOLDER / "trials.jsonl"), tell)
    heading = NOTE.format(count=len(outcomes), seed=asked.seed, most=asked.claims, bar=page.BAR)
    asked.out.write_text(page.page(outcomes, heading, slack, aside))
    print(f"{page.share(outcomes, slack):.0%} noticed or slack; written to {asked.out}")


def tell_reach(found: reach.Reach) -> None:
    """Print one line for a claim."""
    count = sum(map(len, found.lines.values()))
    print(f"{found.claim:24} {found.verdict:18} {found.seconds:5.1f} s  {count} lines of formulas", flush=True)


def tell(outcome: campaign.Outcome) -> None:
    """Print one line for a mutant."""
    m = outcome.mutant
    place = f"{m.module.removeprefix('lineament.')}:{m.line} {m.function}"
    print(f"{outcome.word:9} {m.key} {place} [{m.kind}] {', '.join(outcome.claims)} {outcome.why[:90]}", flush=True)


if __name__ == "__main__":
    main()
