"""The verdict on a statement, read off its checks.

Nothing states its own verdict. A claim, a forecast and a recording list checks, and the verdict follows from them: so a
verdict can always fail, and its reason always names the number that decided.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

from ..core import arguments
from .check import Check

Kind = Literal["theorem", "experiment"]


class Verdict(StrEnum):
    """What the checks say of a statement."""

    HOLDS = "holds"
    CORRECTED = "holds, corrected"
    DIFFERS = "differs"
    FAILS = "fails"
    UNDECIDED = "undecided"


def all_checks(name: str, given: Sequence[Check]) -> Sequence[Check]:
    """Return a sequence of checks, and refuse anything else."""
    if not isinstance(given, Sequence) or not all(isinstance(check, Check) for check in given):
        raise ValueError(f"{name} must be a sequence of checks; got {arguments.shown(given)}")
    return given


def judge(checks: Sequence[Check], printed: Sequence[Check] = (), kind: Kind = "experiment") -> Verdict:
    """Read the verdict off the checks.

    A check that failed decides, whatever else could not be decided: a theorem then *fails*, an experiment *differs*. If
    none failed but one is void, the run could not answer: *undecided*. If all passed and one of the statement as
    printed failed, it *holds, corrected*.
    """
    arguments.one_of("kind", kind, ("theorem", "experiment"))
    checks, printed = all_checks("checks", checks), all_checks("printed", printed)
    if any(check.failed for check in checks):
        return Verdict.FAILS if kind == "theorem" else Verdict.DIFFERS
    if any(check.void for check in (*checks, *printed)):
        return Verdict.UNDECIDED
    if any(check.failed for check in printed):
        return Verdict.CORRECTED
    return Verdict.HOLDS


def pool(verdicts: Sequence[Verdict], kind: Kind = "experiment") -> tuple[Verdict, int]:
    """The verdict that several seeds give together, and how many of them agree with it.

    One seed in which a theorem fails is a counter-example, and decides. Otherwise the verdict of more than half of the
    seeds stands; where no verdict has that many, the seeds leave the statement undecided.
    """
    words = isinstance(verdicts, Sequence) and all(isinstance(verdict, Verdict) for verdict in verdicts)
    if not words or not verdicts:
        raise ValueError(f"verdicts must hold at least one verdict; got {arguments.shown(verdicts)}")
    arguments.one_of("kind", kind, ("theorem", "experiment"))
    if kind == "theorem" and Verdict.FAILS in verdicts:
        return Verdict.FAILS, verdicts.count(Verdict.FAILS)
    most = max(dict.fromkeys(verdicts), key=verdicts.count)
    if 2 * verdicts.count(most) > len(verdicts):
        return most, verdicts.count(most)
    return Verdict.UNDECIDED, verdicts.count(Verdict.UNDECIDED)


def reason(checks: Sequence[Check], printed: Sequence[Check] = ()) -> str:
    """Name the numbers that decided."""
    checks, printed = all_checks("checks", checks), all_checks("printed", printed)
    failed = [check for check in checks if check.failed]
    if failed:
        return "; ".join(map(str, failed))
    void: dict[str, list[Check]] = {}
    for check in (*checks, *printed):
        if check.void:
            void.setdefault(check.void, []).append(check)
    if void:
        return "; ".join(_once(alike) for alike in void.values())
    misprint = [check for check in printed if check.failed]
    if misprint:
        return f"as printed: {misprint[0]}; corrected: {checks[0]}"
    return "; ".join(map(str, checks[:2]))


def _once(alike: Sequence[Check]) -> str:
    """Checks that are void for one reason, which is said once."""
    first, *others = alike
    return f"{first.name} and {len(others)} more: {first.void}" if others else str(first)
