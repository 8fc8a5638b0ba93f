r"""The learning curve of regression from one table, by the theory of :mod:`lineament.theory.learning_curves`.

Spectrum, target and noise enter the expected error on n rows only through the effective ridge κ, by the numbers
D₁(κ) = Σ L_i, D₂(κ) = Σ L_i² and B(κ) = Σ (1 − L_i)² v_i² + σ²:

.. math:: E_n(κ) = \frac{n}{n - D_2(κ)}\,B(κ), \qquad δ = κ\,(n - D_1(κ)).

So no spectrum need be estimated, whose tail a sample hides. A fit with penalty δ on the rows at hand leaves over
m = n − D₁ = tr (I − H), with H the map from labels to fitted values; hence κ = δ/m, and n − D₂ = m²/tr (I − H)² by the
derivative of D₁. The error of rows left out is E_n(κ), whatever the noise, and gives B. The same κ belongs to another
penalty on other numbers of rows, so that one pass over penalties tells the curve, at its best penalty for each number.
Least squares is the case δ = 0, hence κ = 0.

Fits that use up most of the rows are not looked at: there real data leave the theory first, as B is the quotient of two
large numbers. More rows have smaller κ than any fit that is left. Towards these D₁ goes on as κ^{−a}, with the slope
a = 1 − D₂/D₁ that it has at the least κ seen, and B as a power law in κ with a floor, fitted to those seen.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import power_law
from .regression import Learner, decompose, leave_one_out

Array = NDArray[np.float64]

SMALLER = np.geomspace(1e-8, 0.8e-4, 27)
"""Penalties looked at besides those that are tuned over: smaller ones, whose κ belongs to more rows."""

SPARE = 0.3
"""The least share of rows, m/n, that a fit must leave over to be looked at."""

LEARNT = 0.1
"""Fits that use up a smaller share of the rows than this tell nothing of how B goes on."""

BEYOND = np.geomspace(1e-6, 0.95, 80)
"""Effective ridges beyond the least that was seen, as shares of it."""


class Estimate(NamedTuple):
    """What the errors of left-out rows tell, for every effective ridge κ that is looked at.

    Attributes:
        kappa: κ, rising, (ridge,).
        modes: D₁(κ).
        squares: D₂(κ).
        left: B(κ).
        least: the smallest penalty δ that is tuned over.
    """

    kappa: Array
    modes: Array
    squares: Array
    left: Array
    least: float


def estimate(X: Array, Y: Array, learner: Learner) -> Estimate:
    """Leave rows out at every penalty.

    Args:
        X: features, (row, columns).
        Y: labels, (row, outputs).
        learner: what is fitted. Least squares needs more rows than directions in which they vary.
    """
    basis = decompose(X, learner.kernel)
    n = len(Y)
    ridges = np.concatenate([SMALLER, learner.ridges]) if learner.tuned else learner.ridges
    found = leave_one_out(basis, Y, ridges * basis.unit)
    # One row goes to the mean of the labels.
    spare = n - 1 - found.modes
    squares = np.maximum(n - 1 - spare**2 / (spare - found.moving), 0.0)
    left = found.error.mean(axis=1) / ((1 + 1 / n) * (n - 1) / (n - 1 - squares))
    enough = spare >= SPARE * (n - 1)
    first = int(np.argmax(enough)) if enough.any() else len(spare) - 1
    kappa, modes, squares, left = (part[first:] for part in (found.ridge / spare, found.modes, squares, left))
    least = float(learner.ridges[0]) * basis.unit
    used = modes >= LEARNT * (n - 1)
    if not learner.tuned or np.count_nonzero(used) < 3:
        return Estimate(kappa, modes, squares, left, least)
    # B falls towards small κ as a test error falls towards many rows, 1/κ.
    law = power_law.fit(1 / kappa[used], left[used])
    further = kappa[0] * BEYOND
    slope = 1 - squares[0] / modes[0]
    more = modes[0] * BEYOND**-slope
    return Estimate(
        np.concatenate([further, kappa]),
        np.concatenate([more, modes]),
        np.concatenate([more * (1 - slope), squares]),
        np.concatenate([law(1 / further) * (left[0] / law(1 / kappa[:1])), left]),
        least,
    )


def errors(found: Estimate, rows: Array) -> Array:
    """Expected test error on numbers of rows, (number,).

    Args:
        found: the estimate.
        rows: numbers of rows, at least 2; for least squares, more than there are directions.
    """
    n = np.asarray(rows, np.float64)[:, None] - 1
    # A penalty below the smallest that is tuned over, or a negative one, belongs to no fit.
    allowed = found.kappa * (n - found.modes) >= found.least
    allowed[:, -1] = True
    error = np.where(allowed, n / np.maximum(n - found.squares, 1e-12) * found.left * (1 + 1 / (n + 1)), np.inf)
    # Above 0, so that a fit without any error has a logarithm.
    return np.maximum(np.min(error, axis=1), np.finfo(float).tiny)
