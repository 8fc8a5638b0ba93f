r"""Descent with large steps on one mode of a deep linear network: where it settles, cycles, and is lost.

Balanced layers with one singular value w = σ^{1/N} each move, on ½d(σ − σ*)², by w ← w − ηd(w^N − σ*)w^{N−1}. In units of
the optimum, x = w/σ*^{1/N}, that is one map with one number,

.. math:: x \mapsto x - c\,(x^N - 1)\,x^{N-1}, \qquad c = η\,d\,σ^{*\,2-2/N}.

The optimum x = 1 is stable below c = 2/N, the largest stable step. Beyond it descent ends in a cycle of two points, one
on each side of the optimum (Ghosh et al. 2025, arXiv 2502.20531), which itself is stable up to a larger step; then follow
longer cycles and chaos. At depth 2 all of it is closed: with x₁² and x₂² the roots of z² − (1 + 1/c)z + 1/c² = 0, the
cycle is stable for c < √5 − 1, and beyond c = 2 almost every start diverges.

`ratio` is the step in units of the largest stable one, cN/2.
"""

from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..core import arguments
from ..core.arguments import Array

CANDIDATES = 4000
"""Points among which the first change of sign below the optimum is looked for."""

MOST = 4.0
"""Steps in units of the largest stable one; no depth bears more without diverging."""


def advance(x: Array, ratio: float, depth: float) -> Array:
    """One step of descent from w = x σ*^{1/N}, in the same units.

    Args:
        x: Where it is.
        ratio: The step, in units of the largest stable one.
        depth: N ≥ 2.
    """
    x = arguments.real("x", x, least=0, most=1e6)
    return _advance(x, *_settings(ratio, depth))


def two_cycle(ratio: float, depth: float) -> tuple[float, float]:
    """The two points x₁ < 1 < x₂ between which descent jumps, nearest to the optimum.

    Args:
        ratio: The step, in units of the largest stable one, above 1.
        depth: N ≥ 2.
    """
    c, N = _settings(ratio, depth, above=1)
    if N == 2:
        # The difference of nearly equal numbers is avoided: the product of the roots is 1/c².
        large = ((1 + c) + np.sqrt(max((1 + c) ** 2 - 4, 0.0))) / (2 * c)
        return float(np.sqrt(1 / (c**2 * large))), float(np.sqrt(large))
    again = lambda x: float(_advance(_advance(np.asarray(x), c, N), c, N) - x)  # noqa: E731
    # Below the optimum, but nearer than the cycle, two steps lead away from it.
    near = 1e-2 * np.sqrt(min(ratio - 1, 1.0))
    grid = 1 - np.geomspace(near, 1 - 1e-9, CANDIDATES)
    back = np.array([again(x) for x in grid]) >= 0
    i = int(np.argmax(back))
    first: Any = brentq(again, grid[i], grid[i - 1], xtol=1e-15) if i else grid[0]
    first = float(first)
    return first, float(_advance(np.asarray(first), c, N))


def multiplier(ratio: float, depth: float) -> float:
    """By what two steps multiply a small distance from the cycle; it is stable where this lies between −1 and 1."""
    c, N = _settings(ratio, depth, above=1)
    slope = lambda x: 1 - c * ((2 * N - 1) * x ** (2 * N - 2) - (N - 1) * x ** (N - 2))  # noqa: E731
    low, high = two_cycle(ratio, depth)
    return float(slope(low) * slope(high))


def largest_cycle(depth: float) -> float:
    """The step, in units of the largest stable one, up to which the cycle of two points is stable: √5 − 1 at depth 2."""
    arguments.number("depth", depth, least=2, most=100)
    found: Any = brentq(lambda ratio: multiplier(ratio, depth) + 1, 1 + 1e-4, _last(depth), xtol=1e-12)
    return float(found)


def _last(depth: float) -> float:
    """A step beyond which the cycle is no longer stable: the first of a grid."""
    ratios = np.linspace(1.01, MOST, 300)
    return float(next(ratio for ratio in ratios if multiplier(float(ratio), depth) < -1))


def _settings(ratio: float, depth: float, above: float = 0) -> tuple[float, float]:
    N = arguments.number("depth", depth, least=2, most=100)
    return 2 / N * arguments.number("ratio", ratio, above=above, most=MOST), N


def _advance(x: Array, c: float, N: float) -> Array:
    return x - c * (x**N - 1) * x ** (N - 1)
