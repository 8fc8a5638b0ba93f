r"""Least squares, ridge and kernel regression on the rows of a table; a penalty is tuned by leaving one row out.

On centred rows with Gram matrix K = U diag(s) Uᵀ the fitted values are ȳ + U diag(s/(s + δ)) Uᵀ(y − ȳ). The error of row
i when it is left out needs no further fit: it is its residual over 1 − h_i, with h_i the i-th diagonal entry of the map
from labels to fitted values (Allen 1974). Linear regression has K = ZZᵀ of standardised features Z.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lineament.core import arguments

Array = NDArray[np.float64]
Kernel = Callable[[Array, Array], Array]

RIDGES = np.geomspace(1e-4, 1e5, 61)
"""Penalties δ that are tried, in units of the mean diagonal entry of the centred Gram matrix."""

ROUNDING = 1e-10
"""Directions whose share of the Gram matrix is below this, relative to the largest, are rounding."""


def gaussian(A: Array, B: Array) -> Array:
    """The Gaussian kernel exp(−‖a − b‖²/2p) of standardised rows of p columns: near 1/e for two that are unrelated."""
    squares = np.sum(A**2, axis=1)[:, None] + np.sum(B**2, axis=1) - 2 * A @ B.T
    return np.exp(-np.maximum(squares, 0) / (2 * A.shape[1]))


def relu(A: Array, B: Array) -> Array:
    """The tangent kernel of an infinitely wide network of two hidden layers of ReLU, whose first layer has biases.

    The arc-cosine recursion (Cho & Saul 2009; Jacot et al. 2018) with He's variances, which keep the scale of the inputs.
    """
    A, B = (np.concatenate([Z, np.ones((len(Z), 1))], axis=1) for Z in (A, B))
    lengths = np.outer(np.linalg.norm(A, axis=1), np.linalg.norm(B, axis=1))
    tangent = A @ B.T
    cosine = np.clip(tangent / lengths, -1.0, 1.0)
    for _ in range(2):
        angle = np.arccos(cosine)
        open_share = 1 - angle / np.pi
        cosine = np.minimum(np.sin(angle) / np.pi + open_share * cosine, 1.0)
        tangent = lengths * cosine + open_share * tangent
    return tangent


KERNELS: dict[str, Kernel | None] = {"linear": None, "gaussian": gaussian, "relu": relu}


class Learner(NamedTuple):
    """What is fitted: a kernel, None for the linear one, and the penalties that are tried, in units as `RIDGES`."""

    kernel: Kernel | None
    ridges: Array = RIDGES

    @property
    def tuned(self) -> bool:
        """Whether there is a penalty to tune; if not, this is least squares."""
        return len(self.ridges) > 1


LEAST_SQUARES = Learner(None, np.zeros(1))
"""Linear regression without a penalty; of least norm where columns depend on each other."""


def learner_of(kernel: str, ridge: str = "tuned") -> Learner:
    """What is fitted, by its two names in :func:`lineament.learning_curve`."""
    chosen = KERNELS[arguments.one_of("kernel", kernel, KERNELS)]
    if arguments.one_of("ridge", ridge, ("tuned", "none")) == "tuned":
        return Learner(chosen)
    if chosen is not None:
        raise ValueError(
            f"ridge must be 'tuned' for the kernel {kernel!r}: without a penalty it fits any rows exactly"
        )
    return LEAST_SQUARES


class Basis(NamedTuple):
    """Centred rows in the directions of their Gram matrix.

    Attributes:
        U: orthonormal directions, (row, direction).
        power: the eigenvalues s > 0 of the centred Gram matrix.
        place: coordinates of new rows: fitted values of these are `place(X) @ (√s/(s + δ) · Uᵀy)`.
    """

    U: Array
    power: Array
    place: Callable[[Array], Array]

    @property
    def unit(self) -> float:
        """The mean diagonal entry of the centred Gram matrix."""
        return float(self.power.sum()) / len(self.U)


class LeftOut(NamedTuple):
    """Errors of rows that were left out, one line for each penalty.

    Attributes:
        ridge: δ, (penalty,).
        error: squared error of every row, summed over outputs, (penalty, row).
        modes: Σ g with g = s/(s + δ), how many directions are learnt, (penalty,).
        moving: Σ g(1 − g), (penalty,).
    """

    ridge: Array
    error: Array
    modes: Array
    moving: Array


def decompose(X: Array, kernel: Kernel | None) -> Basis:
    """Standardise rows and find the directions of their centred Gram matrix; None is the linear kernel."""
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    varies = deviation > ROUNDING * np.maximum(np.abs(mean), np.max(deviation, initial=0.0))
    scale = np.where(varies, deviation, np.inf)
    Z = (X - mean) / scale
    if kernel is None and Z.shape[1] < len(Z):
        power, V = _positive(Z.T @ Z)
        return Basis(Z @ V / np.sqrt(power), power, lambda new: (new - mean) / scale @ V)
    gram: Kernel = kernel or (lambda A, B: A @ B.T)
    K = gram(Z, Z)
    columns, whole = K.mean(axis=0), float(K.mean())
    power, U = _positive(K - columns - columns[:, None] + whole)

    def place(new: Array) -> Array:
        cross = gram((new - mean) / scale, Z)
        return (cross - cross.mean(axis=1)[:, None] - columns + whole) @ U / np.sqrt(power)

    return Basis(U, power, place)


def leave_one_out(basis: Basis, Y: Array, ridges: Array) -> LeftOut:
    """The errors of rows left out, for every penalty δ (absolute).

    Args:
        basis: of the rows.
        Y: labels, (row, outputs).
        ridges: δ ≥ 0, (penalty,).
    """
    U, n = basis.U, len(Y)
    g = basis.power / (basis.power + ridges[:, None])
    centred = Y - Y.mean(axis=0)
    seen = U.T @ centred
    outside = centred - U @ seen
    leverage = 1 / n + g @ (U**2).T
    residual = np.stack([outside[:, k] + ((1 - g) * seen[:, k]) @ U.T for k in range(Y.shape[1])])
    error = np.sum(residual**2, axis=0) / np.maximum(1 - leverage, ROUNDING) ** 2
    return LeftOut(ridges, error, g.sum(axis=1), np.sum(g * (1 - g), axis=1))


def test_error(X: Array, Y: Array, new_X: Array, new_Y: Array, learner: Learner) -> float:
    """Mean squared error on new rows of the regression whose penalty has the least error on rows left out."""
    basis = decompose(X, learner.kernel)
    ridges = learner.ridges * basis.unit
    best = int(np.argmin(leave_one_out(basis, Y, ridges).error.mean(axis=1))) if learner.tuned else 0
    weights = (np.sqrt(basis.power) / (basis.power + ridges[best]))[:, None] * (basis.U.T @ (Y - Y.mean(axis=0)))
    return float(np.mean(np.sum((Y.mean(axis=0) + basis.place(new_X) @ weights - new_Y) ** 2, axis=1)))


def _positive(K: Array) -> tuple[Array, Array]:
    """Eigenvalues above rounding, and their vectors."""
    values, vectors = np.linalg.eigh(K)
    kept = values > ROUNDING * max(float(values[-1]), np.finfo(float).tiny)
    if not kept.any():
        raise ValueError("X must hold a feature that varies among the rows used; all are constant there")
    return values[kept], vectors[:, kept]
