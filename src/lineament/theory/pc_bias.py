"""Deep linear networks in principal coordinates: the PC-bias (Hacohen & Weinshall, §2 and Appendix A).

Layers are (W_1, …, W_L), widths (m_0 = q, m_1, …, m_L = K). The loss is `½‖WX − Y‖²_F` with W = W_L ⋯ W_1, so Σ_XX =
XXᵀ and Σ_YX = YXᵀ are sums over examples, not means.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import arguments
from ..core.arguments import Array
from .layers import product

SYMMETRIC = 1e-4
"""How far a matrix of moments may be from its transpose, relative to its largest entry: it may come from float32."""


class Scales(NamedTuple):
    """One value, or matrix, per layer of A_l (left, outputs) and of B_l (right, inputs)."""

    A: NDArray[np.float64]
    B: NDArray[np.float64]


def error_matrix(W: ArrayLike, sxx: ArrayLike, syx: ArrayLike) -> Array:
    """`Er = WΣ_XX − Σ_YX` (eq. 1)."""
    W = arguments.matrix("W", W)
    inputs = W.shape[1]
    return W @ arguments.matrix("sxx", sxx, (inputs, inputs)) - arguments.matrix("syx", syx, W.shape)


def optimum(sxx: ArrayLike, syx: ArrayLike) -> Array:
    """The least-squares map `Σ_YX Σ_XX⁻¹`, of least norm where Σ_XX is singular.

    §3.2 prints `W_opt = YXᵀ(XXᵀ)`, without the inverse.
    """
    M = arguments.matrix("syx", syx)
    S = arguments.matrix("sxx", sxx, (M.shape[1], M.shape[1]))
    if (off := np.abs(S - S.T).max()) > SYMMETRIC * np.abs(S).max():
        raise ValueError(f"sxx must be symmetric, as XXᵀ is; got entries that differ by {off:.3g}")
    return M @ np.linalg.pinv(S, hermitian=True)


def scale_matrices(layers: Sequence[ArrayLike]) -> Scales:
    """The gradient scale matrices of every layer (eq. 7): A (L, K, K) and B (L, q, q).

    `A_l = P Pᵀ` with `P = W_L ⋯ W_{l+1}` and `B_l = QᵀQ` with `Q = W_{l−1} ⋯ W_1`; the identity for l = L and l = 1.
    """
    matrices = arguments.layers(layers)
    right = [np.eye(matrices[0].shape[1])]
    for W in matrices[:-1]:
        right.append(W @ right[-1])
    left = [np.eye(matrices[-1].shape[0])]
    for W in matrices[:0:-1]:
        left.append(left[-1] @ W)
    return Scales(np.stack([P @ P.T for P in left[::-1]]), np.stack([Q.T @ Q for Q in right]))


def one_step(layers: Sequence[ArrayLike], sxx: ArrayLike, syx: ArrayLike, step_size: float) -> Array:
    """The map after one step of descent up to O(μ²), `W − μ Σ_l A_l Er B_l` (Theorem 1, eq. 6)."""
    W = product(layers)
    A, B = scale_matrices(layers)
    step_size = arguments.number("step_size", step_size, above=0)
    return W - step_size * np.einsum("lab,bc,lcd->ad", A, error_matrix(W, sxx, syx), B)


def isometric_variances(widths: Sequence[int]) -> Array:
    """The variances of Definition 3: `2/(m_{l−1} + m_l)` inside, `1/m_1` first and `1/m_{L−1}` last; L ≥ 2."""
    m = _widths(widths)
    if len(m) < 3:
        raise ValueError(f"widths must be at least three, as Definition 3 needs a hidden layer; got {tuple(widths)}")
    inner = 2 / (m[1:-2] + m[2:-1])
    return np.concatenate([[1 / m[1]], inner, [1 / m[-2]]])


def glorot_variances(widths: Sequence[int]) -> Array:
    """The variances `2/(m_{l−1} + m_l)` of Glorot's start in every layer, the first and last included."""
    m = _widths(widths)
    return 2 / (m[:-1] + m[1:])


def scale_means(widths: Sequence[int], variances: ArrayLike) -> Scales:
    """The means α_l and β_l of the gradient scale matrices at a random start (Theorem 3): `E A_l = α_l I`.

    `β_l = ∏_{n<l} m_n σ_n²` and `α_l = ∏_{n>l} m_{n−1} σ_n²`, for independent entries of mean 0.
    """
    m, v = _start(widths, variances)
    beta = np.cumprod(np.append(np.ones(1), m[1:-1] * v[:-1]))
    alpha = np.cumprod(np.append(np.ones(1), (m[1:-1] * v[1:])[::-1]))[::-1]
    return Scales(np.asarray(alpha, float), np.asarray(beta, float))


class Spreads(NamedTuple):
    """Variances over random starts of the entries of A_l and B_l, each (layer,)."""

    A_diagonal: Array
    A_off: Array
    B_diagonal: Array
    B_off: Array


def scale_variances(widths: Sequence[int], variances: ArrayLike, kurtosis: float = 3.0) -> Spreads:
    """The variances of the entries of the gradient scale matrices at a random start, exactly; O(1/m) by Theorem 4.

    For unit vectors e, f and u = Qe, v = Qf the moments of |u|⁴, |u|²|v|², (u·v)², Σu⁴ and Σu²v² go through each layer
    of independent entries linearly, so the variances follow by recursion. Off the diagonal they are for K, q ≥ 2.

    Args:
        widths: (m_0, …, m_L).
        variances: σ_l² of every layer.
        kurtosis: `E w⁴/σ⁴` of the entries: 3 for normal ones, 9/5 for uniform ones.
    """
    m, v = _start(widths, variances)
    kurtosis = arguments.number("kurtosis", kurtosis, least=1)
    alpha, beta = scale_means(widths, variances)
    B = np.array(_moments(m[1:-1], v[:-1], kurtosis))
    A = np.array(_moments(m[1:-1][::-1], v[1:][::-1], kurtosis))[::-1]
    return Spreads(A[:, 0] - alpha**2, A[:, 1], B[:, 0] - beta**2, B[:, 1])


def _moments(fans: Array, variances: Array, kurtosis: float) -> list[tuple[float, float]]:
    """`E|u|⁴` and `E(u·v)²` before the first of the layers, and after each; a fan is how many entries u gets."""
    excess = kurtosis - 3
    lengths, products, inner, fourth, mixed = 1.0, 1.0, 0.0, 1.0, 0.0
    moments = [(lengths, inner)]
    for m, variance in zip(fans, variances, strict=True):
        # E(g·u)⁴ and E(g·u)²(g·v)² of one row g of the layer, over σ⁴.
        alone = 3 * lengths + excess * fourth
        pair = products + 2 * inner + excess * mixed
        scale = m * variance**2
        lengths, products, inner, fourth, mixed = (
            scale * (alone + (m - 1) * lengths),
            scale * (pair + (m - 1) * products),
            scale * (pair + (m - 1) * inner),
            scale * alone,
            scale * pair,
        )
        moments.append((lengths, inner))
    return moments


def convergence(
    steps: ArrayLike, d: ArrayLike, start: ArrayLike, moment: ArrayLike, step_size: float, scale: float
) -> Array:
    """The map in principal coordinates after s steps of descent, while the scale matrices keep still (eq. 10).

    `w_j(s) = λ_jˢ w_j(0) + (1 − λ_jˢ) m_j/d_j` with `λ_j = 1 − μ c d_j`. Equations (4) and (10) print `w_j^{s+1}` on the
    left: the exponent is one behind, since eq. (9) starts its products and sums at ν = 1 in place of 0. Where d_j = 0,
    the limit `w_j(0) + μ c s m_j`.

    Args:
        steps: Numbers of steps s ≥ 0, (time,).
        d: Eigenvalues of Σ_XX, (component,).
        start: The map W(0) in principal coordinates, (outputs, component).
        moment: M = Σ_YX in principal coordinates, (outputs, component).
        step_size: μ > 0.
        scale: `c = Σ_l α_l β_l` of Theorem 3; the depth L under Definition 3.

    Returns:
        (time, outputs, component); infinite where a step beyond stability, μ c d_j > 2, has taken it out of float64.
    """
    s = arguments.vector("steps", np.atleast_1d(arguments.real("steps", steps, least=0)))
    if (s != np.round(s)).any():
        raise ValueError(f"steps must be whole numbers; got {s[s != np.round(s)][0]:g}")
    W = arguments.matrix("start", start)
    M = arguments.matrix("moment", moment, W.shape)
    d = arguments.vector("d", d, W.shape[1], least=0)
    speed = arguments.number("step_size", step_size, above=0) * arguments.number("scale", scale, above=0)
    with np.errstate(over="ignore"):
        x, optimum = speed * d, M / np.where(d > 0, d, 1.0)
    if not (np.isfinite(speed) and np.isfinite(optimum).all()):
        raise ValueError(f"step_size × scale, {speed:g}, and moment / d must fit float64; rescale the data")
    # λˢ and the sum of the first s powers of λ; for small x by logarithms, so that slow components keep their digits.
    small = (x > 0) & (x < 0.5)
    rate = np.log1p(-np.where(small, x, 0.0))
    with np.errstate(over="ignore", invalid="ignore"):
        power = np.where(small, np.exp(s[:, None] * rate), (1 - x) ** s[:, None])
        gone = np.where(small, -np.expm1(s[:, None] * rate), 1 - power)
        series = np.where(x > 0, gone / np.where(d > 0, d, 1.0), speed * s[:, None])
        path = power[:, None, :] * W + series[:, None, :] * M
        # What grows out of float64 is the distance from the optimum, and where that is 0 nothing does.
        away = np.where(optimum == W, optimum, power[:, None, :] * (W - optimum) + optimum)
        return np.where(np.isfinite(path) | (d == 0), path, away)


def paired_relu_update(W: ArrayLike, a: ArrayLike, X: ArrayLike, y: ArrayLike, step_size: float) -> Array:
    """The first update of a two-layer ReLU network, first layer trained, for many symmetric data (Appendix B.2).

    `W(1) − W(0) ≈ −μ [¼ aaᵀWΣ_XX − M̃]`, where row r of M̃ is a_r times the sum of `y_i x_i` in the half-space of w_r.
    The paper prints `−(μ/2)[aaᵀWΣ_XX − M̃]`: one half comes from Ψ = ½aᵀW and another from the half-space, which holds
    half of Σ_XX, and neither falls on M̃.

    Args:
        W: First layer (hidden, inputs), rows in opposite pairs.
        a: Last layer (hidden,), in opposite pairs as well.
        X: Examples (n, inputs) from a symmetric distribution.
        y: Labels −1 and +1.
        step_size: μ; the loss is a sum over examples.
    """
    W, X = arguments.matrix("W", W), arguments.matrix("X", X)
    a, y = arguments.vector("a", a, len(W)), arguments.vector("y", y, len(X))
    step_size = arguments.number("step_size", step_size, above=0)
    if X.shape[1] != W.shape[1]:
        raise ValueError(f"X must be of as many columns as W, {W.shape[1]}; got shape {X.shape}")
    if not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError(f"y must be labels −1 and +1; got {np.unique(y)[:5]}")
    for name, array in (("W", W), ("a", a)):
        if len(array) % 2 or not np.array_equal(array[0::2], -array[1::2]):
            raise ValueError(f"{name} must be opposite pairs: rows 1, 3, … the negatives of rows 0, 2, …; got others")
    half = (X @ W.T >= 0).astype(float)
    sums = (half * y[:, None]).T @ X
    return -step_size * (np.outer(a, a @ W @ (X.T @ X)) / 4 - a[:, None] * sums)


def _widths(widths: Sequence[int]) -> Array:
    m = np.array(arguments.counts("widths", widths), dtype=np.float64)
    if m.size < 2:
        raise ValueError(f"widths must be at least two numbers; got {tuple(widths)}")
    return m


def _start(widths: Sequence[int], variances: ArrayLike) -> tuple[Array, Array]:
    m = _widths(widths)
    return m, arguments.vector("variances", variances, m.size - 1, above=0)
