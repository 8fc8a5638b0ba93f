r"""Expected test error against the number of rows, for least squares, ridge and kernel regression ("eigenlearning").

Simon et al. 2023 (arXiv 2110.03922). A kernel has eigenvalues λ_i and orthonormal eigenfunctions on the distribution of
the inputs; the target is Σ v_i φ_i and its labels have noise of variance σ². Regression on n rows minimises
Σ (f(x) − y)² + δ‖f‖², in the norm of the kernel; δ = 0 is least squares, or its solution of least norm. Linear
regression is the case in which λ_i are the eigenvalues of the inputs' second moment. The effective ridge κ ≥ 0 solves

.. math:: n = \sum_i \frac{λ_i}{λ_i + κ} + \frac{δ}{κ}, \qquad L_i = \frac{λ_i}{λ_i + κ},

mode i is learnt up to the share L_i in the mean, and the expected squared error on a new row, with its own noise, is

.. math:: E = \frac{n}{n - \sum_i L_i^2} \Bigl(\sum_i (1 - L_i)^2 v_i^2 + σ^2\Bigr).

The first factor is what overfitting costs; it is infinite for δ = 0 and n equal to the number of modes, the peak of
double descent. The formula is asymptotic, and exact to about one part in n for Gaussian inputs.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array

ITERATIONS = 200
"""More than safeguarded Newton steps in log κ need to reach rounding from any bracket that float64 can hold."""


LARGE = 1e100
"""Numbers of rows, eigenvalues and ridges lie below this, so that their products and quotients fit float64."""


class Errors(NamedTuple):
    """What n rows teach in the mean, each of the shape of n and ridge together.

    Attributes:
        kappa: the effective ridge κ; 0 where least squares determines every mode.
        learnt: L_i, the share of each mode that is learnt, (…, mode).
        overfitting: n/(n − Σ L_i²), what overfitting multiplies the error by.
        test: expected squared error on a new row, its own noise included.
        training: expected mean squared error on the rows of the training.
    """

    kappa: Array
    learnt: Array
    overfitting: Array
    test: Array
    training: Array


def effective_ridge(n: ArrayLike, eigenvalues: ArrayLike, ridge: ArrayLike = 0.0) -> Array:
    """The effective ridge κ, of the shape of n and ridge together; 0 for ridge 0 and n at least the number of modes.

    Args:
        n: The number of rows, at least 1e-100; it need not be whole.
        eigenvalues: λ_i ≥ 0 of the kernel, (mode,), at least one above 0.
        ridge: δ ≥ 0, the penalty on the squared norm beside the sum of squared errors.
    """
    values = _eigenvalues(eigenvalues)
    rows, delta = _rows(n, ridge)
    return _kappa(rows, values[values > 0], delta)


def expected_errors(
    n: ArrayLike, eigenvalues: ArrayLike, coefficients: ArrayLike, noise: float = 0.0, ridge: ArrayLike = 0.0
) -> Errors:
    """Expected test and training error of kernel regression on n rows.

    Args:
        n: As in :func:`effective_ridge`.
        eigenvalues: Likewise; modes of eigenvalue 0 are never learnt.
        coefficients: v_i of the target, (mode,), or (outputs, mode) with errors summed over outputs.
        noise: The variance σ² of the labels around the target, summed over outputs.
        ridge: As in :func:`effective_ridge`.
    """
    values = _eigenvalues(eigenvalues)
    rows, delta = _rows(n, ridge)
    v = arguments.real("coefficients", coefficients, least=-arguments.SQUARED, most=arguments.SQUARED)
    if v.ndim not in (1, 2) or v.shape[-1] != values.size:
        raise ValueError(
            f"coefficients must be of shape ({values.size},) or (outputs, {values.size}), one for each eigenvalue; got "
            f"{v.shape}"
        )
    power = np.sum(np.atleast_2d(v) ** 2, axis=0)
    variance = arguments.number("noise", noise, least=0)
    kappa = _kappa(rows, values[values > 0], delta)
    total = values + kappa[..., None]
    learnt = np.where(values > 0, values / np.where(total > 0, total, 1.0), 0.0)
    missed = np.where(values > 0, kappa[..., None] / np.where(total > 0, total, 1.0), 1.0)
    # δ/κ is the part of n that no mode takes up; where κ = 0 it is what the modes leave over.
    spare = np.where(kappa > 0, delta / np.where(kappa > 0, kappa, 1.0), rows - np.count_nonzero(values))
    # n − Σ L² = Σ L(1 − L) + δ/κ: nothing is subtracted that is nearly equal.
    freedom = np.sum(learnt * missed, axis=-1) + spare
    with np.errstate(divide="ignore"):
        overfitting = np.where(freedom > 0, rows / np.where(freedom > 0, freedom, 1.0), np.inf)
    left = missed**2 @ power + variance
    test = np.where(left > 0, overfitting * np.where(left > 0, left, 1.0), 0.0)
    # (δ/nκ)² of the test error; at the peak of double descent the one factor vanishes as the other grows.
    training = np.where(spare > 0, (spare / rows) ** 2 * np.where(spare > 0, test, 0.0), 0.0)
    return Errors(kappa, learnt, overfitting, test, training)


def _eigenvalues(eigenvalues: ArrayLike) -> Array:
    values = arguments.vector("eigenvalues", eigenvalues, least=0, most=LARGE)
    if not values.max() >= 1 / LARGE:
        raise ValueError(f"eigenvalues must hold one of at least {1 / LARGE:g}; got at most {values.max():g}")
    return values


def _rows(n: ArrayLike, ridge: ArrayLike) -> tuple[Array, Array]:
    rows, delta = (
        arguments.real("n", n, least=1 / LARGE, most=LARGE),
        arguments.real("ridge", ridge, least=0, most=LARGE),
    )
    shape = arguments.together(n=rows, ridge=delta)
    return np.broadcast_to(rows, shape), np.broadcast_to(delta, shape)


def _kappa(n: Array, values: Array, ridge: Array) -> Array:
    """Solve for κ by Newton steps in log κ inside a bracket that only shrinks.

    The right side falls in κ. It is at most (Σλ + δ)/κ, and at least what the k largest modes and δ give with the k-th
    eigenvalue in the place of each, kλ_k/(λ_k + κ) + δ/κ: both ends of the bracket are found in closed form.
    """
    free = (ridge == 0) & (n >= values.size)
    sorted_values = np.sort(values)[::-1]
    k = np.arange(1, values.size + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.max(np.where(k > n[..., None], sorted_values * (k / n[..., None] - 1), 0.0), axis=-1)
    low = np.where(free, 1.0, np.maximum(below, ridge / n))
    high = np.where(free, 1.0, np.maximum((values.sum() + ridge) / n, low))
    low, high = np.log(low), np.log(high)
    u = 0.5 * (low + high)
    for _ in range(ITERATIONS):
        kappa = np.exp(u)
        share, missed = values / (values + kappa[..., None]), kappa[..., None] / (values + kappa[..., None])
        # Modes that are nearly learnt count as whole ones less what they miss, which n may leave as it is.
        whole = values > kappa[..., None]
        parts = np.where(whole, -missed, share).sum(-1)
        excess = (np.count_nonzero(whole, axis=-1) - n) + (parts + ridge / kappa)
        low, high = np.where(excess >= 0, u, low), np.where(excess <= 0, u, high)
        slope = np.sum(share * missed, axis=-1) + ridge / kappa
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = u + excess / slope
        inside = (newton > low) & (newton < high)
        following = np.where(inside, newton, 0.5 * (low + high))
        if np.all(np.abs(following - u) <= 4 * np.finfo(float).eps * np.maximum(np.abs(u), 1.0)):
            u = following
            break
        u = following
    return np.where(free, 0.0, np.exp(u))
