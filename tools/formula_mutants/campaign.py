"""A hundred mutants, each met by the cheapest claims that execute its line, until one of them turns red."""

import json
import random
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..exercise import module_of
from . import trial
from .formulas import Mutant, formula_mutants
from .reach import Reach, formula_files

PATIENCE = 6.0  # a claim whose CPU time grows so many times has not come to an end
NO_RESULT = ("error", "no end")


class Outcome(NamedTuple):
    """What became of a mutant.

    Attributes:
        mutant: The change.
        word: "red", "undecided", "error" (the claim raised), "no end", or "green" where every claim stayed as it was.
        claims: The claim that noticed it, or all that did not.
        why: The checks that did not pass, or the error.
    """

    mutant: Mutant
    word: str
    claims: tuple[str, ...]
    why: str


class Trials:
    """What each claim said of each mutant; kept in a file, so that a campaign goes on where it was stopped."""

    def __init__(self, kept: Path) -> None:
        self.kept = kept
        rows = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
        self.known = {(row["key"], row["claim"], row["fingerprint"]): row for row in rows}

    def said(self, mutant: Mutant, reach: Reach) -> tuple[str, str]:
        """The verdict of a claim on a mutant, and why; run only if it is not kept."""
        name = (mutant.key, reach.claim, reach.fingerprint)
        if name not in self.known:
            change = trial.Change(mutant.module, mutant.source)
            told = trial.run(reach.claim, change, max(30.0, PATIENCE * reach.seconds))
            row = dict(zip(("key", "claim", "fingerprint"), name, strict=True))
            self.known[name] = row | {"verdict": told["verdict"], "why": told["why"][:300], "seconds": told["seconds"]}
            with self.kept.open("a") as file:
                file.write(json.dumps(self.known[name]) + "\n")
        return self.known[name]["verdict"], self.known[name]["why"]


def population(reaches: Iterable[Reach]) -> list[Mutant]:
    """Every mutant of a formula that some claim executes."""
    lines: dict[str, set[int]] = {}
    for reach in reaches:
        for module, found in reach.lines.items():
            lines.setdefault(module, set()).update(found)
    return [
        mutant
        for path in formula_files()
        for mutant in formula_mutants(path.read_text(), module_of(path), lines.get(module_of(path), ()))
    ]


def sample(mutants: Sequence[Mutant], count: int, seed: int, aside: Container[str] = ()) -> list[Mutant]:
    """So many mutants, one of each function before any has two: every formula counts alike.

    Those aside are passed over after the draw, so that naming one leaves all others as they were drawn.
    """
    rng = random.Random(seed)
    by_function: dict[tuple[str, str], list[Mutant]] = {}
    for mutant in mutants:
        by_function.setdefault((mutant.module, mutant.function), []).append(mutant)
    for group in by_function.values():
        rng.shuffle(group)
    order = list(by_function)
    rng.shuffle(order)
    wanted = [name for name in order if ".".join(name) not in aside]
    groups = [[mutant for mutant in by_function[name] if mutant.key not in aside] for name in wanted]
    turns = max(map(len, groups), default=0)
    return [group[turn] for turn in range(turns) for group in groups if turn < len(group)][:count]


def claims_of(mutant: Mutant, reaches: Iterable[Reach], most: int) -> list[Reach]:
    """The cheapest claims that execute the line of a mutant; undecided ones, which have less to lose, come last."""
    reached = [reach for reach in reaches if mutant.line in reach.lines.get(mutant.module, ())]
    return sorted(reached, key=lambda reach: (reach.verdict == "undecided", reach.seconds))[:most]


def run(
    chosen: Sequence[Mutant], reaches: Sequence[Reach], most: int, trials: Trials, tell: Callable[[Outcome], None]
) -> list[Outcome]:
    """Meet every mutant with its claims."""
    outcomes = []
    for mutant in chosen:
        outcomes.append(meet(mutant, claims_of(mutant, reaches, most), trials))
        tell(outcomes[-1])
    return outcomes


def meet(mutant: Mutant, claims: Sequence[Reach], trials: Trials) -> Outcome:
    """Run claims one after the other until one says something else than without the mutant."""
    for reach in claims:
        verdict, why = trials.said(mutant, reach)
        if verdict != reach.verdict:
            return Outcome(mutant, word_of(verdict), (reach.claim,), f"{verdict}: {why}")
    return Outcome(mutant, "green", tuple(reach.claim for reach in claims), "")


def word_of(verdict: str) -> str:
    """What a changed verdict counts as: any other verdict than before is red, unless the claim says it cannot tell."""
    return verdict if verdict in ("undecided", *NO_RESULT) else "red"
