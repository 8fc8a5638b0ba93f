r"""What the layers of a two-layer linear network minimise when flow starts from ``W1 = √(2γ)P, W2 = 0``.

Layers are W1 ∈ R^{l×d} and W2 ∈ R^{k×l}, l ≥ d, the map is W = W2W1 ∈ R^{k×d}; P has orthonormal columns. Varre et al.
(2023) print all of them transposed, β = Wᵀ. The limit minimises

    ‖W1‖² + ‖W2‖² − 2γ log det(W1ᵀW1)    subject to    X(W2W1)ᵀ = Y.

The poster prints log det(W1W1ᵀ) in this layout, which is −∞ for every l > d; W1ᵀW1 is what the derivation gives.

Why. Among layers with the Gram M = W1ᵀW1 and the product W, the least ‖W2‖² is tr(WM⁻¹Wᵀ). That leaves

    tr M + tr(WM⁻¹Wᵀ) − 2γ log det M,

jointly convex in M ≻ 0 and W (the middle term is a matrix fractional function). Layers that satisfy the first-order
conditions satisfy those of the convex problem too, so every stationary point is a global minimum. For given W, M is
stationary where M² − 2γM = WᵀW, that is at

    M(W) = γI + (γ²I + WᵀW)^{1/2},

the very relation that flow conserves from this start (see :func:`lambda_modes.final_layer_singular_values`). What
remains is Σᵢ 2√(σᵢ² + γ²) − 2γ log(γ + √(σᵢ² + γ²)) over the singular values of W. It rises with every σᵢ, and its
gradient 2WM(W)⁻¹ has its rows in the row space of W: at W = (X⁺Y)ᵀ they lie in the row space of X, as a
multiplier must. So for every γ > 0 the least-norm interpolator, with its M(W), is the global minimum.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_sylvester

from ..core import arguments
from ..core.arguments import Array


class KKT(NamedTuple):
    """How far layers are from satisfying the first-order conditions.

    Attributes:
        stationarity: ‖∇objective − (gradient of the constraint)·multiplier‖ over the norm of the terms of ∇objective.
        feasibility: ‖X(W2W1)ᵀ − Y‖/‖Y‖ (absolute for Y = 0).
        multiplier: νX, the pull of the constraint on the map, by least squares, ``(k, d)``.
    """

    stationarity: float
    feasibility: float
    multiplier: Array


class Minimum(NamedTuple):
    """The global minimum over interpolators, in the convex variables.

    Attributes:
        M: W1ᵀW1, ``(d, d)``.
        W: W2W1, ``(k, d)``.
        value: the objective.
    """

    M: Array
    W: Array
    value: float


def objective(W1: ArrayLike, W2: ArrayLike, gamma: float) -> float:
    """``‖W1‖² + ‖W2‖² − 2γ log det(W1ᵀW1)``; infinite where W1 has not full column rank, to rounding."""
    (W1, W2), gamma = _layers(W1, W2), _gamma(gamma)
    return float(np.sum(W1**2) + np.sum(W2**2) - 2 * gamma * _log_det_gram(W1))


def kkt(W1: ArrayLike, W2: ArrayLike, X: ArrayLike, Y: ArrayLike, gamma: float) -> KKT:
    """First-order conditions of the minimisation at given layers.

    With Λ = νX they read 2W1 − 4γW1(W1ᵀW1)⁻¹ = W2ᵀΛ and 2W2 = ΛW1ᵀ. The Λ in the row space of X that comes nearest
    solves a Sylvester equation: its normal equations are ΛM + W2W2ᵀΛ = W2·(first left side) + (second left side)·W1.

    Args:
        W1: ``(l, d)``, of full column rank.
        W2: ``(k, l)``.
        X: inputs, ``(n, d)``.
        Y: outputs, ``(n, k)``.
        gamma: γ > 0.
    """
    (W1, W2), gamma = _layers(W1, W2), _gamma(gamma)
    X, Y = arguments.matrix("X", X), arguments.matrix("Y", Y)
    if X.shape[1] != W1.shape[1]:
        raise ValueError(f"X must be (n, {W1.shape[1]}) for these layers; got {X.shape}")
    if Y.shape != (len(X), len(W2)):
        raise ValueError(f"Y must be of shape {(len(X), len(W2))} for these layers and X; got {Y.shape}")
    U, s, Vt = np.linalg.svd(W1, full_matrices=False)
    if s.size < W1.shape[1] or s[-1] <= np.finfo(float).eps * max(W1.shape) * s[0]:
        raise ValueError(f"W1 must be of full column rank {W1.shape[1]}; got the singular values {s}")
    pull = 4 * gamma * (U / s) @ Vt
    first, second = 2 * W1 - pull, 2 * W2

    rows = _row_space(X)
    A = W1 @ rows.T
    multiplier = solve_sylvester(W2 @ W2.T, A.T @ A, W2 @ first @ rows.T + second @ A) @ rows
    left = np.hypot(np.linalg.norm(first - W2.T @ multiplier), np.linalg.norm(second - multiplier @ W1.T))
    terms = np.linalg.norm([np.linalg.norm(2 * W1), np.linalg.norm(pull), np.linalg.norm(second)])
    miss = np.linalg.norm(X @ (W2 @ W1).T - Y)
    return KKT(float(left / terms), float(miss / (np.linalg.norm(Y) or 1.0)), multiplier)


def convex_objective(M: ArrayLike, W: ArrayLike, gamma: float) -> float:
    """``tr M + tr(WM⁻¹Wᵀ) − 2γ log det M``, jointly convex; infinite unless M is positive definite.

    Args:
        M: W1ᵀW1, symmetric ``(d, d)``.
        W: W2W1, ``(k, d)``.
        gamma: γ > 0.
    """
    W, gamma = arguments.matrix("W", W), _gamma(gamma)
    M = arguments.matrix("M", M, (W.shape[1], W.shape[1]))
    if np.abs(M - M.T).max() > 1e-10 * np.abs(M).max():
        raise ValueError(f"M must be symmetric; got entries that differ by {np.abs(M - M.T).max():.3g}")
    values, vectors = np.linalg.eigh(M)
    if values[0] <= 0:
        return np.inf
    fraction = np.sum((W @ vectors) ** 2 / values)
    return float(np.sum(values) + fraction - 2 * gamma * np.sum(np.log(values)))


def best_gram(W: ArrayLike, gamma: float) -> Array:
    """The Gram ``M(W) = γI + (γ²I + WᵀW)^{1/2}`` that minimises :func:`convex_objective` for a given map."""
    W, gamma = arguments.matrix("W", W), _gamma(gamma)
    _, s, Vt = np.linalg.svd(W, full_matrices=False)
    # Added to 2γI, the root counts from γ: √(γ² + s²) − γ, which is small without cancellation.
    return 2 * gamma * np.eye(W.shape[1]) + (Vt.T * (s * (s / (np.hypot(gamma, s) + gamma)))) @ Vt


def least_objective(singular_values: ArrayLike, gamma: float, input_size: int) -> float:
    """The objective at the best layers for a given map: Σᵢ 2√(σᵢ² + γ²) − 2γ log(γ + √(σᵢ² + γ²)).

    Args:
        singular_values: those of the map, at most ``input_size`` of them; missing ones are zero.
        gamma: γ > 0.
        input_size: d, the number of terms.
    """
    s, gamma = arguments.vector("singular_values", singular_values, least=0), _gamma(gamma)
    input_size = arguments.count("input_size", input_size, s.size, 10**8)
    root = np.hypot(np.pad(s, (0, input_size - s.size)), gamma)
    return float(np.sum(2 * root - 2 * gamma * np.log(gamma + root)))


def minimum(X: ArrayLike, Y: ArrayLike, gamma: float) -> Minimum:
    """The global minimum over interpolators: W = (X⁺Y)ᵀ and M(W), for every γ > 0.

    Raises:
        ValueError: if no map interpolates, or an argument has the wrong shape or values.
    """
    X, Y, gamma = arguments.matrix("X", X), arguments.matrix("Y", Y), _gamma(gamma)
    if len(X) != len(Y):
        raise ValueError(f"Y must be of as many rows as X, {len(X)}; got shape {Y.shape}")
    W = np.linalg.lstsq(X, Y)[0].T.astype(np.float64)
    miss = np.linalg.norm(X @ W.T - Y)
    if miss > 1e-10 * np.linalg.norm(Y):
        raise ValueError(f"Y must be in the range of X; got one that XWᵀ misses by {miss / np.linalg.norm(Y):.3g}")
    s = np.linalg.svd(W, compute_uv=False)
    return Minimum(best_gram(W, gamma), W, least_objective(s[: X.shape[1]], gamma, X.shape[1]))


def _log_det_gram(W: Array) -> float:
    """`log det(WᵀW)`, −∞ without full column rank: told from columns of length 1, so that none counts as rounding."""
    largest = np.abs(W).max(axis=0)
    if len(W) < W.shape[1] or not largest.all():
        return -np.inf
    columns = W / largest
    length = np.linalg.norm(columns, axis=0)
    s = np.linalg.svd(columns / length, compute_uv=False)
    if s[-1] <= np.finfo(float).eps * max(W.shape) * s[0]:
        return -np.inf
    return 2 * float(np.sum(np.log(s)) + np.sum(np.log(length)) + np.sum(np.log(largest)))


def _row_space(X: Array) -> Array:
    """An orthonormal basis of the row space of X, as rows."""
    _, s, Vt = np.linalg.svd(X, full_matrices=False)
    return Vt[s > np.finfo(float).eps * max(X.shape) * s[0]]


def _layers(W1: ArrayLike, W2: ArrayLike) -> tuple[Array, Array]:
    A, B = (arguments.matrix(*pair, most=arguments.SQUARED) for pair in (("W1", W1), ("W2", W2)))
    if len(A) != B.shape[1]:
        raise ValueError(f"W2 must be of {len(A)} columns to follow W1 of shape {A.shape}; got shape {B.shape}")
    return A, B


def _gamma(gamma: float) -> float:
    return arguments.number("gamma", gamma, above=0)
