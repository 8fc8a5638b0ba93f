"""What a claim brings forward, and the verdict that follows from it.

A claim never states its own verdict. It lists checks, each a number with the interval it must fall in, and the
verdict is read off them. So a verdict can always fail, and the reason always names the number that decided.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from .figure import Figure

ClaimKind = Literal["theorem", "experiment"]


class Verdict(StrEnum):
    """How the printed statement fared."""

    HOLDS = "holds"
    CORRECTED = "holds, corrected"
    DIFFERS = "differs"
    FAILS = "fails"


@dataclass(frozen=True)
class Check:
    """A number and the closed interval in which it must lie. A number that is not a number never passes."""

    name: str
    value: float
    low: float = -math.inf
    high: float = math.inf

    @property
    def passed(self) -> bool:
        """Whether the value lies in the interval."""
        return self.low <= self.value <= self.high

    def __str__(self) -> str:
        if math.isinf(self.low):
            bar = f"{'≤' if self.passed else '> bar'} {self.high:.3g}"
        elif math.isinf(self.high):
            bar = f"{'≥' if self.passed else '< bar'} {self.low:.3g}"
        else:
            bar = f"{'in' if self.passed else 'outside'} [{self.low:.4g}, {self.high:.4g}]"
        return f"{self.name} = {self.value:.4g} {bar}"


def at_most(name: str, value: float, bar: float) -> Check:
    """The value must not exceed the bar."""
    return Check(name, float(value), high=float(bar))


def at_least(name: str, value: float, bar: float) -> Check:
    """The value must reach the bar."""
    return Check(name, float(value), low=float(bar))


def within(name: str, value: float, low: float, high: float) -> Check:
    """The value must lie between the two bars."""
    return Check(name, float(value), float(low), float(high))


@dataclass(frozen=True, eq=False)
class Evidence:
    """Everything a claim found.

    Attributes:
        checks: What must be so for the statement (in its corrected form, where there is one) to hold.
        printed: Checks of the statement as printed, given only where a correction is offered. The verdict is
            "holds, corrected" when these fail and `checks` pass.
        correction: The corrected statement in LaTeX, with `printed`.
        numbers: Further numbers worth showing.
        settings: What was run: sizes, depths, grids.
        figure: Data for the figure.
        remarks: Plain sentences on what was seen, shown with the evidence.
    """

    checks: Sequence[Check]
    printed: Sequence[Check] = ()
    correction: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    figure: Figure | None = None
    remarks: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not self.checks:
            raise ValueError("evidence needs at least one check: a claim that cannot fail says nothing")
        if bool(self.printed) != bool(self.correction):
            raise ValueError("`printed` checks and a `correction` come together: one without the other was given")

    def verdict(self, kind: ClaimKind) -> Verdict:
        """Read the verdict off the checks; an experiment that is off *differs*, a theorem *fails*."""
        if not all(check.passed for check in self.checks):
            return Verdict.FAILS if kind == "theorem" else Verdict.DIFFERS
        if not all(check.passed for check in self.printed):
            return Verdict.CORRECTED
        return Verdict.HOLDS

    def reason(self) -> str:
        """Name the numbers that decided."""
        failed = [check for check in self.checks if not check.passed]
        if failed:
            return "; ".join(map(str, failed))
        misprint = [check for check in self.printed if not check.passed]
        if misprint:
            return f"as printed: {misprint[0]}; corrected: {self.checks[0]}"
        return "; ".join(map(str, self.checks[:2]))
