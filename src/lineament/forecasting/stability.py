r"""The largest steps of gradient descent that a deep linear network bears at its optima.

Where the gradient of ℓ vanishes, the Hessian of ℓ(W_N ⋯ W_1) over the layers is JᵀHJ with J the derivative of the
product. At balanced layers JJᵀ is the implicit preconditioner P_W of Cohen & Razin (Corollary 1), so that for
½E‖Wx − y‖² the eigenvalues that are not zero are those of

.. math:: E \mapsto P_{W^*}\bigl[E\,Σ_{xx}^{1/2}\bigr]\,Σ_{xx}^{1/2},

whatever the hidden widths. Descent with steps beyond 2/λmax leaves the balanced optimum, and with it the path of the
flow. It need not diverge: the same map has other factors, with layers scaled by numbers of product 1, whose Hessian is
that of Σ_j t_j P_j with P_j the j-th term of P_W and Π t_j = 1. With several features of different variance the balanced
ones are not the flattest, and descent settles at flatter, unbalanced ones as long as a step is below 2/λmax there. With
one output these scales are all the freedom there is, and beyond the flattest no minimum is stable: descent ends in a
cycle (:mod:`lineament.theory.large_steps`), wanders, or diverges.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.sparse.linalg import LinearOperator, eigsh

from lineament.theory import end_to_end

Array = NDArray[np.float64]


def sharpness(W: Array, d: Array, depth: int) -> float:
    """The largest eigenvalue λmax of the Hessian over balanced layers whose product is the optimum W*.

    At other maps it is that of the Gauss–Newton matrix, the Hessian without the curvature of the product itself.

    Args:
        W: the map in principal components, (outputs, component).
        d: the variance of every component, (component,).
        depth: N ≥ 1.
    """
    if depth == 1:
        return float(d.max())
    values, U, V = end_to_end.eigensystem(W, depth)
    return _largest(values, U, V, W.shape, np.sqrt(d))


def sharpness_of_layers(layers: Sequence[Array], sxx: Array) -> float:
    """The same for layers that need not be balanced: of Σ_j L_jL_jᵀ (E√Σ) R_jᵀR_j √Σ, products after and before layer j.

    Args:
        layers: (W_1, …, W_N).
        sxx: covariance of the inputs.
    """
    values, V = np.linalg.eigh(sxx)
    root = np.sqrt(np.maximum(values, 0.0))
    before: list[Array] = [V * root]  # inputs in principal components, of unit variance
    for W in layers[:-1]:
        before.append(W @ before[-1])
    grams = [R.T @ R for R in before]
    after, lefts = np.eye(len(layers[-1])), []
    for W in reversed(layers):
        lefts.append(after @ after.T)
        after = after @ W
    shape = (len(layers[-1]), sxx.shape[0])
    terms = list(zip(reversed(lefts), grams, strict=True))
    return _top(lambda e: sum((L @ e.reshape(shape) @ R for L, R in terms), np.zeros(shape)).ravel(), shape)


def flattest(W: Array, d: Array, depth: int) -> float:
    """The least λmax of the Hessian over layers of the same product, scaled against each other.

    With several outputs the layers are scaled in one way only, by powers of one number in the order of the layers; the
    true least may then be smaller yet.

    Args:
        W: the optimum in principal components, (outputs, component).
        d: the variance of every component, (component,).
        depth: N ≥ 1.
    """
    if depth == 1:
        return float(d.max())
    length = float(np.linalg.norm(W, 2))
    if length == 0:
        return sharpness(W, d, depth)
    top = (
        (lambda tilt: _one_output(W[0], d, depth, tilt)) if len(W) == 1 else (lambda tilt: _tilted(W, d, depth, tilt))
    )
    # λmax is convex in the logarithms of the scales; by a factor of e^{±20} one term alone is left.
    found = minimize_scalar(top, bounds=(-20.0, 20.0), method="bounded", options={"xatol": 1e-9})
    return min(float(found.fun), sharpness(W, d, depth))


def _one_output(w: Array, d: Array, depth: int, tilt: float) -> float:
    """λmax of A diag(d) + c uuᵀ, u = √d w: A = e^tilt times that of balanced layers, the other layers scaled alike."""
    length = float(np.linalg.norm(w)) ** (2 - 2 / depth)
    A = length * np.exp(tilt)
    c = (depth - 1) * length * np.exp(-tilt / (depth - 1)) / float(w @ w)
    u2 = d * w**2
    # The secular equation has one root above A max(d), below that plus c‖u‖².
    low, high = A * float(d.max()), A * float(d.max()) + c * float(u2.sum())
    excess = lambda x: float(c * np.sum(u2 / (x - A * d)) - 1)  # noqa: E731
    just_above = low * (1 + 1e-13)
    if excess(just_above) <= 0:
        return low
    root: Any = brentq(excess, just_above, high * (1 + 1e-12), xtol=1e-14 * high)
    return float(root)


def _tilted(W: Array, d: Array, depth: int, tilt: float) -> float:
    """λmax with the j-th term of P_W times e^{tilt (j − (N + 1)/2)}."""
    U, s, Vt = np.linalg.svd(W, full_matrices=True)
    left, right = np.zeros(len(W)), np.zeros(W.shape[1])
    left[: len(s)], right[: len(s)] = s, s
    j = np.arange(1, depth + 1)
    terms = np.exp(tilt * (j - (depth + 1) / 2))
    with np.errstate(divide="ignore"):
        after = np.where(j[:, None] == depth, 1.0, left ** (2 * (depth - j[:, None]) / depth))
        before = np.where(j[:, None] == 1, 1.0, right ** (2 * (j[:, None] - 1) / depth))
    values = np.einsum("j,ja,jb->ab", terms, after, before)
    return _largest(values, U, Vt.T, W.shape, np.sqrt(d))


def _largest(values: Array, U: Array, V: Array, shape: tuple[int, ...], root: Array) -> float:
    """The largest eigenvalue of E ↦ (U (values · Uᵀ (E√Σ) V) Vᵀ) √Σ."""

    def apply(e: Array) -> Array:
        G = e.reshape(shape) * root
        return ((U @ (values * (U.T @ G @ V)) @ V.T) * root).ravel()

    return _top(apply, shape)


def _top(apply: Callable[[Array], Array], shape: tuple[int, ...]) -> float:
    """The largest eigenvalue of a symmetric operator on matrices of a shape."""
    n = int(np.prod(shape))
    if n == 1:
        return float(apply(np.ones(1))[0])
    # A fixed vector to begin with, so that the same data give the same digits.
    begin = np.random.default_rng(0).standard_normal(n)
    operator = LinearOperator((n, n), matvec=apply, dtype=np.float64)  # type: ignore[call-arg]
    return float(eigsh(operator, k=1, which="LA", v0=begin, return_eigenvectors=False)[0])
