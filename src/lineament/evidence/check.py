"""A check: a number, the interval in which it must lie, and where that interval comes from."""

import math
from dataclasses import dataclass, replace

import numpy as np

from ..core import arguments


@dataclass(frozen=True)
class Check:
    """A number and the closed interval in which it must lie. A number that is not a number never passes.

    Attributes:
        name: What the number is, in words.
        value: The number.
        low: The least that passes.
        high: The most that passes.
        origin: Where the bar comes from: a printed value, theory, a solver's accuracy, so many standard errors.
        void: Why the run cannot answer, if it cannot: the peak is the last record, nothing overfits, an optimiser did
            not converge. A void check never passes and never fails.
    """

    name: str
    value: float
    low: float = -math.inf
    high: float = math.inf
    origin: str = ""
    void: str = ""

    @property
    def passed(self) -> bool:
        """Whether the value lies in the interval and the run could tell."""
        return not self.void and bool(self.low <= self.value <= self.high)

    @property
    def failed(self) -> bool:
        """Whether the run could tell, and the value lies outside."""
        return not self.void and not self.passed

    def loosened(self, factor: float) -> "Check":
        """The same number against a bar `factor` times as loose: below 1 it is stricter.

        A bound on one side is multiplied or divided by the factor, so that it moves outwards. An interval keeps its
        centre and becomes `factor` times as wide. A bound at zero has no size to change and stays.
        """
        factor = arguments.number("factor", factor, above=0)
        if math.isfinite(self.low) and math.isfinite(self.high):
            margin = (
                (factor - 1) * (self.high - self.low) / 2
            )  # added to either end, so that a factor of 1 changes nothing
            return replace(self, low=self.low - margin, high=self.high + margin)
        return replace(
            self,
            low=self.low / factor if self.low > 0 else self.low * factor,
            high=self.high * factor if self.high > 0 else self.high / factor,
        )

    def __str__(self) -> str:
        if self.void:
            return f"{self.name}: {self.void}"
        if math.isinf(self.low):
            bar = f"{'≤' if self.passed else '> bar'} {self.high:.3g}"
        elif math.isinf(self.high):
            bar = f"{'≥' if self.passed else '< bar'} {self.low:.3g}"
        else:
            bar = f"{'in' if self.passed else 'outside'} [{self.low:.4g}, {self.high:.4g}]"
        return f"{self.name} = {self.value:.4g} {bar}"


def _number(value: float) -> float:
    """A number that may be infinite, or none at all; a truth value counts as 0 or 1."""
    truth = isinstance(value, bool) or getattr(value, "dtype", None) == np.bool_
    array = np.asarray(value, float) if truth else arguments.numeric("value", value)
    if array.size != 1:
        raise ValueError(f"value must be one number; got shape {array.shape}")
    return float(array.reshape(()))


def at_most(name: str, value: float, bar: float, origin: str = "", *, void: str = "") -> Check:
    """The value must not exceed the bar."""
    return Check(name, _number(value), high=arguments.number("bar", bar, infinite=True), origin=origin, void=void)


def at_least(name: str, value: float, bar: float, origin: str = "", *, void: str = "") -> Check:
    """The value must reach the bar."""
    return Check(name, _number(value), low=arguments.number("bar", bar, infinite=True), origin=origin, void=void)


def within(name: str, value: float, low: float, high: float, origin: str = "", *, void: str = "") -> Check:
    """The value must lie between the two bars."""
    return Check(
        name,
        _number(value),
        arguments.number("low", low, infinite=True),
        arguments.number("high", high, infinite=True),
        origin=origin,
        void=void,
    )
