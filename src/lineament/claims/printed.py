"""Statements as printed that can be read in several ways: the reading that favours them decides."""

from collections.abc import Sequence

from ..evidence import Check, Verdict, judge


def decisive(printed: Sequence[Check]) -> list[Check]:
    """Of the checks of a statement as printed those that decide: one that fails does, whatever else cannot be told."""
    told = [check for check in printed if not check.void]
    return told if any(check.failed for check in told) else list(printed)


def most_favourable(printed: Sequence[Sequence[Check]]) -> list[Check]:
    """The checks that decide on a printed statement that can be read in several ways, given the checks of each reading.

    It holds if some reading shows it, in the first that does. It is refuted only if every reading refutes it, by what
    fails in each. Otherwise it cannot be told: the first reading in which it cannot is returned, whatever others refute.
    """
    outcomes = [judge(reading) for reading in printed]
    for outcome in (Verdict.HOLDS, Verdict.UNDECIDED):
        if outcome in outcomes:
            return list(printed[outcomes.index(outcome)])
    return decisive([check for reading in printed for check in reading])
