r"""The learning curve of regression from one table, by the theory of :mod:`lineament.theory.learning_curves`.

Spectrum, target and noise enter the expected error on n rows only through the effective ridge κ, by the numbers
D₁(κ) = Σ L_i, D₂(κ) = Σ L_i² and B(κ) = Σ (1 − L_i)² v_i² + σ²:

.. math:: E_n(κ) = \frac{n}{n - D_2(κ)}\,B(κ), \qquad δ = κ\,(n - D_1(κ)).

So no spectrum need be estimated, whose tail a sample hides. A fit with penalty δ on the rows at hand leaves over
m = n − D₁ = tr (I − H), with H the map from labels to fitted values; hence κ = δ/m, and n − D₂ = m²/tr (I − H)² by the
derivative of D₁. The error of rows left out is E_n(κ), whatever the noise, and gives B. The same κ belongs to another
penalty on other numbers of rows, so that one pass over penalties tells the curve, at its best penalty for each number.

Fits that use up most of the rows are not looked at: there real data leave the theory first, as B is the quotient of two
large numbers. For many rows this is a limit: the curve goes on at the least κ that was seen, a bound from above.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .regression import RIDGES, Kernel, decompose, leave_one_out

Array = NDArray[np.float64]

SMALLER = np.concatenate([np.geomspace(1e-8, 0.8e-4, 27), RIDGES])
"""Penalties looked at: also smaller ones than are tuned over, whose κ belongs to more rows."""

REACHES = (0.3, 0.1, 0.03)
"""Least shares of rows, m/n, that a fit must leave over to be looked at; which one, trials on rows held out decide."""


class Estimate(NamedTuple):
    """What the errors of left-out rows tell, for every effective ridge that was seen.

    Attributes:
        kappa: κ, rising, (ridge,).
        modes: D₁(κ).
        squares: D₂(κ).
        left: B(κ).
        spare: the share of rows that the fit leaves over, m/n.
        least: the smallest penalty δ that is tuned over.
    """

    kappa: Array
    modes: Array
    squares: Array
    left: Array
    spare: Array
    least: float


def estimate(X: Array, Y: Array, kernel: Kernel | None) -> Estimate:
    """Leave rows out at every penalty.

    Args:
        X: features, (row, columns).
        Y: labels, (row, outputs).
        kernel: of the regression; None is the linear one.
    """
    basis = decompose(X, kernel)
    n = len(Y)
    found = leave_one_out(basis, Y, SMALLER * basis.unit)
    # One row goes to the mean of the labels.
    spare = n - 1 - found.modes
    squares = n - 1 - spare**2 / (spare - found.moving)
    overfitting = (1 + 1 / n) * (n - 1) / (n - 1 - squares)
    return Estimate(
        found.ridge / spare,
        found.modes,
        np.maximum(squares, 0.0),
        found.error.mean(axis=1) / overfitting,
        spare / (n - 1),
        float(RIDGES[0]) * basis.unit,
    )


def errors(found: Estimate, rows: Array, reach: float) -> tuple[Array, NDArray[np.bool_]]:
    """Expected test error on numbers of rows, and whether it is only a bound from above, each (number,).

    Args:
        found: the estimate.
        rows: numbers of rows, at least 2.
        reach: the least share of rows that a fit must leave over to be looked at.
    """
    first = int(np.argmax(found.spare >= reach)) if found.spare[-1] >= reach else len(found.spare) - 1
    kappa, modes, squares, B = (part[first:] for part in (found.kappa, found.modes, found.squares, found.left))
    n = np.asarray(rows, np.float64)[:, None] - 1
    # A penalty below the smallest that is tuned over, or a negative one, belongs to no fit.
    allowed = kappa * (n - modes) >= found.least
    allowed[:, -1] = True
    error = np.where(allowed, n / np.maximum(n - squares, 1e-12) * B * (1 + 1 / (n + 1)), np.inf)
    best = np.argmin(error, axis=1)
    beyond = (best == 0) & (kappa[0] * (n[:, 0] - modes[0]) > found.least * (1 + 1e-9))
    return error[np.arange(len(best)), best], beyond
