r"""What the layers of a two-layer linear network minimise when flow starts from ``W1 = √(2γ)P, W2 = 0``.

Varre et al. (2023), in their convention W1 ∈ R^{d×l}, W2 ∈ R^{l×k}, β = W1W2, l ≥ d: the limit minimises

    ‖W1‖² + ‖W2‖² − 2γ log det(W1W1ᵀ)    subject to    XW1W2 = Y.

The poster prints log det(W1ᵀW1), which is −∞ for every l > d; W1W1ᵀ is what the derivation gives.

Why. Among layers with the Gram M = W1W1ᵀ and the product β, the least ‖W2‖² is tr(βᵀM⁻¹β). That leaves

    tr M + tr(βᵀM⁻¹β) − 2γ log det M,

jointly convex in M ≻ 0 and β (the middle term is a matrix fractional function). Layers that satisfy the first-order
conditions satisfy those of the convex problem too, so every stationary point is a global minimum. For given β, M is
stationary where M² − 2γM = ββᵀ, that is at

    M(β) = γI + (γ²I + ββᵀ)^{1/2},

the very relation that flow conserves from this start (see :func:`lambda_modes.final_layer_singular_values`). What
remains is Σᵢ 2√(σᵢ² + γ²) − 2γ log(γ + √(σᵢ² + γ²)) over the singular values of β. It rises with every σᵢ, and its
gradient 2M(β)⁻¹β has its columns in the range of β: at β = X⁺Y they lie in the row space of X, as a
multiplier must. So for every γ > 0 the least-norm interpolator, with M(X⁺Y), is the global minimum.
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
        feasibility: ‖XW1W2 − Y‖/‖Y‖ (absolute for Y = 0).
        multiplier: Xᵀν, the pull of the constraint on β, by least squares, ``(d, k)``.
    """

    stationarity: float
    feasibility: float
    multiplier: Array


class Minimum(NamedTuple):
    """The global minimum over interpolators, in the convex variables.

    Attributes:
        M: W1W1ᵀ, ``(d, d)``.
        beta: W1W2, ``(d, k)``.
        value: the objective.
    """

    M: Array
    beta: Array
    value: float


def objective(W1: ArrayLike, W2: ArrayLike, gamma: float) -> float:
    """``‖W1‖² + ‖W2‖² − 2γ log det(W1W1ᵀ)``; infinite where W1 has not full row rank."""
    W1, W2 = _layers(W1, W2)
    gamma = _gamma(gamma)
    s = np.linalg.svd(W1, compute_uv=False) if W1.shape[0] <= W1.shape[1] else np.zeros(1)
    log_det = 2 * np.sum(np.log(s)) if np.all(s > 0) else -np.inf
    return float(np.sum(W1**2) + np.sum(W2**2) - 2 * gamma * log_det)


def kkt(W1: ArrayLike, W2: ArrayLike, X: ArrayLike, Y: ArrayLike, gamma: float) -> KKT:
    """First-order conditions of the minimisation at given layers.

    With Λ = Xᵀν they read 2W1 − 4γ(W1W1ᵀ)⁻¹W1 = ΛW2ᵀ and 2W2 = W1ᵀΛ. The Λ in the row space of X that comes
    nearest solves a Sylvester equation: its normal equations are MΛ + ΛW2ᵀW2 = (left sides)·(W2; W1).

    Args:
        W1: ``(d, l)``, of full row rank.
        W2: ``(l, k)``.
        X: inputs, ``(n, d)``.
        Y: outputs, ``(n, k)``.
        gamma: γ > 0.
    """
    W1, W2 = _layers(W1, W2)
    X, Y = arguments.matrix("X", X), arguments.matrix("Y", Y)
    gamma = _gamma(gamma)
    if X.shape[1] != W1.shape[0] or Y.shape != (X.shape[0], W2.shape[1]):
        raise ValueError(
            f"X must be (n, {W1.shape[0]}) and Y (n, {W2.shape[1]}) for these layers, got {X.shape} and {Y.shape}"
        )
    U, s, Vt = np.linalg.svd(W1, full_matrices=False)
    if s.size < W1.shape[0] or s[-1] <= np.finfo(float).eps * max(W1.shape) * s[0]:
        raise ValueError(f"W1 must have full row rank {W1.shape[0]}, got the singular values {s}")
    pull = 4 * gamma * (U / s) @ Vt
    first, second = 2 * W1 - pull, 2 * W2

    rows = _row_space(X)
    A, B = rows @ W1, W2.T @ W2
    rhs = rows @ first @ W2 + A @ second
    multiplier = rows.T @ solve_sylvester(A @ A.T, B, rhs)
    left = np.hypot(np.linalg.norm(first - multiplier @ W2.T), np.linalg.norm(second - W1.T @ multiplier))
    terms = np.linalg.norm([np.linalg.norm(2 * W1), np.linalg.norm(pull), np.linalg.norm(second)])
    miss = np.linalg.norm(X @ W1 @ W2 - Y)
    return KKT(float(left / terms), float(miss / (np.linalg.norm(Y) or 1.0)), multiplier)


def convex_objective(M: ArrayLike, beta: ArrayLike, gamma: float) -> float:
    """``tr M + tr(βᵀM⁻¹β) − 2γ log det M``, jointly convex; infinite unless M is positive definite.

    Args:
        M: W1W1ᵀ, symmetric ``(d, d)``.
        beta: W1W2, ``(d, k)``.
        gamma: γ > 0.
    """
    beta, gamma = arguments.matrix("beta", beta), _gamma(gamma)
    M = arguments.matrix("M", M, (len(beta), len(beta)))
    if np.abs(M - M.T).max() > 1e-10 * np.abs(M).max():
        raise ValueError(f"M must be symmetric; got entries that differ by {np.abs(M - M.T).max():.3g}")
    values, vectors = np.linalg.eigh(M)
    if values[0] <= 0:
        return np.inf
    fraction = np.sum((vectors.T @ beta) ** 2 / values[:, None])
    return float(np.sum(values) + fraction - 2 * gamma * np.sum(np.log(values)))


def best_gram(beta: ArrayLike, gamma: float) -> Array:
    """The Gram ``M(β) = γI + (γ²I + ββᵀ)^{1/2}`` that minimises :func:`convex_objective` for given β."""
    beta, gamma = arguments.matrix("beta", beta), _gamma(gamma)
    U, s, _ = np.linalg.svd(beta, full_matrices=False)
    # Added to 2γI, the root counts from γ: √(γ² + s²) − γ, which is small without cancellation.
    return 2 * gamma * np.eye(len(beta)) + (U * (s * (s / (np.hypot(gamma, s) + gamma)))) @ U.T


def least_objective(singular_values: ArrayLike, gamma: float, input_size: int) -> float:
    """The objective at the best layers for a given β: Σᵢ 2√(σᵢ² + γ²) − 2γ log(γ + √(σᵢ² + γ²)).

    Args:
        singular_values: those of β, at most ``input_size`` of them; missing ones are zero.
        gamma: γ > 0.
        input_size: d, the number of terms.
    """
    s, gamma = arguments.vector("singular_values", singular_values, least=0), _gamma(gamma)
    input_size = arguments.count("input_size", input_size, s.size)
    root = np.hypot(np.pad(s, (0, input_size - s.size)), gamma)
    return float(np.sum(2 * root - 2 * gamma * np.log(gamma + root)))


def minimum(X: ArrayLike, Y: ArrayLike, gamma: float) -> Minimum:
    """The global minimum over interpolators: β = X⁺Y and M(β), for every γ > 0.

    Raises:
        ValueError: if no β interpolates, or an argument has the wrong shape or values.
    """
    X, Y = arguments.matrix("X", X), arguments.matrix("Y", Y)
    gamma = _gamma(gamma)
    if len(X) != len(Y):
        raise ValueError(f"X and Y must have as many rows, got {X.shape} and {Y.shape}")
    beta = np.linalg.lstsq(X, Y)[0].astype(np.float64)
    miss = np.linalg.norm(X @ beta - Y)
    if miss > 1e-10 * np.linalg.norm(Y):
        raise ValueError(f"Y must lie in the range of X: the nearest Xβ misses it by {miss / np.linalg.norm(Y):.3g}")
    s = np.linalg.svd(beta, compute_uv=False)
    return Minimum(best_gram(beta, gamma), beta, least_objective(s, gamma, X.shape[1]))


def _row_space(X: Array) -> Array:
    """An orthonormal basis of the row space of X, as rows."""
    _, s, Vt = np.linalg.svd(X, full_matrices=False)
    return Vt[s > np.finfo(float).eps * max(X.shape) * s[0]]


def _layers(W1: ArrayLike, W2: ArrayLike) -> tuple[Array, Array]:
    A, B = arguments.matrix("W1", W1), arguments.matrix("W2", W2)
    if A.shape[1] != B.shape[0]:
        raise ValueError(f"W1 (d × l) and W2 (l × k) must share l, got shapes {A.shape} and {B.shape}")
    return A, B


def _gamma(gamma: float) -> float:
    return arguments.number("gamma", gamma, above=0)
