r"""Gradient flow of a two-layer linear network on white inputs, exactly, from any λ-balanced start.

The network is :math:`x \mapsto W_2W_1x` with :math:`W_1 \in R^{h×i}, W_2 \in R^{o×h}`, the loss ½‖Y − W₂W₁‖²:

.. math:: \dot W_1 = W_2^\top(Y - W_2W_1), \qquad \dot W_2 = (Y - W_2W_1)W_1^\top .

The imbalance :math:`Δ = W_2^\top W_2 - W_1W_1^\top` is conserved. Stack :math:`Q = [W_1^\top; W_2]`, with
i + o rows and h columns. Since :math:`2W_2^\top W_2 = Q^\top Q + Δ` and :math:`2W_1W_1^\top = Q^\top Q - Δ`,

.. math:: \dot Q = \begin{pmatrix} 0 & Y^\top \\ Y & 0 \end{pmatrix} Q - \tfrac12 QQ^\top Q
          + \tfrac12 \begin{pmatrix} -I_i & 0 \\ 0 & I_o \end{pmatrix} QΔ .

This closes in Q, with the symmetric :math:`F = \begin{pmatrix} -λ/2 & Y^\top \\ Y & λ/2 \end{pmatrix}` of
:mod:`lineament.theory.riccati`, when

.. math:: QΔ = λQ, \qquad\text{that is}\qquad Δ = λ\,Π, \quad Π = \text{projector on the row space of } Q .

It holds at all times if it holds at one, for the rows of Q never leave that space. The class contains

- ``W2ᵀW2 − W1W1ᵀ = λI`` (Dominé et al. 2025), which for λ > 0 needs h ≤ o and for λ < 0 needs h ≤ i;
- its analogue for wider networks, where some hidden directions are unused by both layers;
- ``W1 = √(2γ)Pᵀ, W2 = 0`` with orthonormal rows of P ∈ R^{i×h} (Varre et al. 2023, whose W1, W2 are the
  transposes of ours): Δ = −2γPᵀP is a multiple of a projector, not of the identity, and λ = −2γ;
- λ = 0, the balanced starts of Fukumizu (1998), Arora et al. (2018) and Braun et al. (2022).

Direct sums of such starts, each with its own λ on orthogonal inputs, hidden units and outputs that Y respects,
are solved block by block. Blocks of size one are the modes of :mod:`lineament.theory.lambda_modes`.

Nothing else is assumed: the layers need not be aligned with Y, of full rank or of any shape, and singular values
of Y may repeat or vanish. As t → ∞ the Gram QQᵀ tends to 2f on the leading eigenvectors of F that the start can
reach. A mode that the start misses altogether is never learnt. Hidden directions that meet no growing mode decay
to zero, which only λ = 0 allows, and there it is common: with i = o ≤ h and balanced layers of full rank i the
sign of det W2W1 is conserved, and a start on the wrong side of det Y ends at a saddle of rank below i.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import arguments
from ..core.arguments import Array
from . import riccati, settled

TOGETHER = 16
"""Times at which what has not settled is solved for together."""


class Balance(NamedTuple):
    """How λ-balanced a start is.

    Attributes:
        value: the λ that comes nearest, ⟨Q, QΔ⟩/‖Q‖²; 0 where that is rounding.
        violation: ‖QΔ − λQ‖ / (‖Q‖ ‖Q‖₂²), zero in the solvable class and free of the scale of the weights.
    """

    value: float
    violation: float


class Grams(NamedTuple):
    """The end-to-end matrix and the Gram matrices of both layers; leading axis of times unless t is a number.

    Attributes:
        product: W2 W1, ``(…, o, i)``.
        first: W1ᵀW1, ``(…, i, i)``.
        second: W2 W2ᵀ, ``(…, o, o)``.
    """

    product: Array
    first: Array
    second: Array


class Layers(NamedTuple):
    """The two layers, up to one orthogonal change of hidden units; leading axis of times unless t is a number."""

    W1: Array
    W2: Array


def balance(W1: ArrayLike, W2: ArrayLike) -> Balance:
    """Measure λ and the distance from the solvable class ``QΔ = λQ``."""
    A, B = _checked_layers(W1, W2)
    largest = max(np.abs(A).max(), np.abs(B).max())
    if largest == 0:
        return Balance(0.0, 0.0)
    A, B = A / largest, B / largest
    Q = np.concatenate([A.T, B])
    QD = Q @ (B.T @ B - A @ A.T)
    value = float(np.sum(Q * QD) / np.sum(Q * Q))
    squared_norm = np.linalg.norm(Q, 2) ** 2
    violation = float(np.linalg.norm(QD - value * Q) / (np.linalg.norm(Q) * squared_norm))
    rounding = np.finfo(float).eps * sum(Q.shape) * squared_norm
    return Balance(0.0 if abs(value) <= rounding else float(value * largest * largest), violation)


def trajectory(t: ArrayLike, W1: ArrayLike, W2: ArrayLike, target: ArrayLike, *, tolerance: float = 1e-10) -> Array:
    """The end-to-end matrix ``W2 W1`` at the times t.

    Args:
        t: times ≥ 0, a number or 1-D; `inf` gives the limit.
        W1: first layer at time 0, ``(h, i)``.
        W2: second layer at time 0, ``(o, h)``.
        target: Y, ``(o, i)``.
        tolerance: largest violation of λ-balance (see :func:`balance`) that counts as rounding.

    Returns:
        ``(T, o, i)``, or ``(o, i)`` if t is a number.

    Raises:
        ValueError: if the start is not in the solvable class, or an argument has the wrong shape or values.
    """
    basis, start, _ = _prepared(W1, W2, target, tolerance)
    times, invertible = _times(t), settled.invertible(start)
    products = np.empty((times.size, len(basis.U), len(basis.V)))
    order = np.argsort(times, axis=None)
    for begin in range(0, times.size, TOGETHER):
        some = order[begin : begin + TOGETHER]
        bounded = np.isfinite(times.flat[some[-1]])
        late = _late(times.flat[some], basis, invertible) if invertible is not None and bounded else None
        if late is not None:
            products[some] = late
            continue
        for k in some:
            first, second = _factors(times.flat[k], basis, start)
            np.matmul(second, first.T, out=products[k])
    return products.reshape(times.shape + products.shape[1:])


def grams(t: ArrayLike, W1: ArrayLike, W2: ArrayLike, target: ArrayLike, *, tolerance: float = 1e-10) -> Grams:
    """The product and both layers' Gram matrices at the times t; arguments as in :func:`trajectory`."""
    first, second = layers(t, W1, W2, target, tolerance=tolerance)
    return Grams(second @ first, np.swapaxes(first, -1, -2) @ first, second @ np.swapaxes(second, -1, -2))


def layers(t: ArrayLike, W1: ArrayLike, W2: ArrayLike, target: ArrayLike, *, tolerance: float = 1e-10) -> Layers:
    """Layers with the product and the Grams of the flow at the times t; arguments as in :func:`trajectory`.

    They are those of the flow up to ``W1 → OW1, W2 → W2Oᵀ`` with O orthogonal, to which the flow is
    indifferent: it may be restarted from them.
    """
    basis, start, width = _prepared(W1, W2, target, tolerance)
    times = _times(t)
    first, second = np.zeros((times.size, width, len(basis.V))), np.zeros((times.size, len(basis.U), width))
    for k, time in enumerate(times.flat):
        a, b = _factors(time, basis, start)
        first[k, : a.shape[1]], second[k, :, : b.shape[1]] = a.T, b
    return Layers(*(x.reshape(times.shape + x.shape[1:]) for x in (first, second)))


class _Basis(NamedTuple):
    """Eigenvectors of F: singular vectors of Y, the vector (cos, sin) of +f on each pair, and the order of rates."""

    Y: Array
    s: Array
    U: Array
    V: Array
    cos: Array
    sin: Array
    order: NDArray[np.intp]


def _prepared(W1: ArrayLike, W2: ArrayLike, target: ArrayLike, tolerance: float) -> tuple[_Basis, riccati.Modes, int]:
    """The start in the eigenbasis of F, and the number of hidden units.

    With Y = U diag(s) Vᵀ, F acts on the pair (v, u) of a singular value as [[−c, s], [s, c]], c = λ/2: eigenvalues ±f,
    f = √(s² + c²). Inputs that Y ignores have the eigenvalue −c, outputs it never reaches have +c.
    """
    W1, W2 = _checked_layers(W1, W2)
    Y = arguments.matrix("target", target, (len(W2), W1.shape[1]))
    tolerance = arguments.number("tolerance", tolerance, least=0)
    value, violation = _solvable(W1, W2, tolerance)
    c = value / 2
    U, s, Vt = np.linalg.svd(Y)
    s = _clustered(s, sum(Y.shape))
    inputs, outputs = len(Vt) - s.size, len(U) - s.size

    # Each component of the eigenvectors comes out to full relative precision; where s = c = 0 any direction will do.
    large = np.hypot(s, c) + abs(c)
    large[large == 0] = 1.0
    pair = np.stack([s, large])[:, :, None] / np.hypot(s, large)[:, None]
    cos, sin = pair if c >= 0 else pair[::-1]

    # |f| = |c| + excess: gaps between growing modes keep their digits even where c dwarfs s.
    excess = np.concatenate([s * (s / large), s * (s / large), np.zeros(inputs + outputs)])
    signs = np.repeat([1.0, -1.0, -np.sign(c), np.sign(c)], [s.size, s.size, inputs, outputs])
    order = np.lexsort((-signs * excess, -signs))
    basis = _Basis(Y, s, U, Vt.T, cos, sin, order)
    signs, excess = signs[order], excess[order]
    rates = signs * (abs(c) + excess)
    alike = (signs[:, None] == signs) & (signs != 0)
    gaps = np.where(alike, signs * (excess[:, None] - excess), rates[:, None] - rates)

    rounding = np.finfo(float).eps * rates.size + violation
    overlaps = _to_modes(basis, Vt @ W1.T, U.T @ W2)
    return basis, riccati.prepare(rates, gaps, overlaps, rounding), len(W1)


def _factors(t: float, basis: _Basis, start: riccati.Modes) -> tuple[Array, Array]:
    """W1ᵀ and W2, up to a rotation of hidden units."""
    first, second = _from_modes(basis, riccati.square_root(t, start))
    return basis.V @ first, basis.U @ second


def _late(times: Array, basis: _Basis, start: settled.Invertible) -> Array | None:
    """The products at rising times at which some modes have settled, Y but for the others; None where none have."""
    count, growing = settled.settled(times[0], start), len(start.growing)
    if count == growing:
        return np.broadcast_to(basis.Y, (len(times), *basis.Y.shape))
    unsettled = settled.unsettled(times, count, start) if count > 0 else None
    if unsettled is None:
        return None
    roots, others = unsettled
    met = np.flatnonzero(others.any(axis=(0, 2)))
    places = basis.order[np.r_[count:growing, growing + met]]
    left = _some_of(basis, places)
    modes = np.zeros((len(times), len(left.order), growing - count))
    modes[:, np.searchsorted(left.order, places)] = np.concatenate([roots, others[:, met]], axis=1)
    first, second = _from_modes(left._replace(order=np.arange(len(left.order))), modes)
    difference = second @ first.swapaxes(1, 2)
    own = np.flatnonzero(np.isin(left.order[: len(left.s)], places[: growing - count]))
    difference[:, own, own] -= left.s[own]
    rows = (left.U @ difference).reshape(len(times) * len(left.U), left.V.shape[1])
    products = (rows @ left.V.T).reshape(len(times), *basis.Y.shape)
    products += basis.Y
    return products


def _some_of(basis: _Basis, places: NDArray[np.intp]) -> _Basis:
    """The basis of some modes and of their partners; its order holds the places of its modes in the whole, rising."""
    r, inputs = len(basis.s), len(basis.V)
    pairs, single = np.unique(places[places < 2 * r] % r), np.sort(places[places >= 2 * r]) - r
    U = basis.U[:, np.r_[pairs, single[single >= inputs] - inputs + r]]
    V = basis.V[:, np.r_[pairs, single[single < inputs]]]
    order = np.r_[pairs, pairs + r, single + r]
    return _Basis(basis.Y, basis.s[pairs], U, V, basis.cos[pairs], basis.sin[pairs], order)


def _to_modes(basis: _Basis, first: Array, second: Array) -> Array:
    cos, sin, r = basis.cos, basis.sin, len(basis.cos)
    a, b = first[:r], second[:r]
    return np.concatenate([cos * a + sin * b, sin * a - cos * b, first[r:], second[r:]])[basis.order]


def _from_modes(basis: _Basis, modes: Array) -> tuple[Array, Array]:
    """Rows of modes, before the last axis, as those of the singular vectors of inputs and of outputs."""
    cos, sin, r, inputs = basis.cos, basis.sin, len(basis.cos), basis.V.shape[1]
    unsorted = np.empty(modes.shape)
    unsorted[..., basis.order, :] = modes
    a, b, unpaired = unsorted[..., :r, :], unsorted[..., r : 2 * r, :], unsorted[..., 2 * r :, :]
    first = np.concatenate([cos * a + sin * b, unpaired[..., : inputs - r, :]], axis=-2)
    return first, np.concatenate([sin * a - cos * b, unpaired[..., inputs - r :, :]], axis=-2)


def _clustered(s: Array, dimension: int) -> Array:
    """Singular values that agree to rounding, made equal; those of rounding size, made zero.

    The decomposition does not know them better, and at t ≫ 1/eps the difference would be taken for a ranking.
    """
    rounding = dimension * np.finfo(float).eps * s[0]
    cluster = np.cumsum(np.append(False, s[:-1] - s[1:] > rounding))
    means = np.bincount(cluster, s) / np.bincount(cluster)
    return np.where(s <= rounding, 0.0, means[cluster])


def _solvable(W1: Array, W2: Array, tolerance: float) -> Balance:
    """The balance, or a ValueError that says how far the start is from the solvable class."""
    measured = value, violation = balance(W1, W2)
    if not violation <= tolerance:
        raise ValueError(
            "W1 and W2 must be λ-balanced: W2ᵀW2 − W1W1ᵀ = λ·(projector on their hidden directions); got layers that are "
            f"not λ-balanced: with Q = [W1ᵀ; W2] and Δ = W2ᵀW2 − W1W1ᵀ, ‖QΔ − λQ‖ is {violation:.3g} of ‖Q‖‖Q‖₂² at "
            f"the best λ = {value:.6g}, and the tolerance is {tolerance:.3g}. Choose others, or integrate this flow "
            "numerically"
        )
    return measured


def _checked_layers(W1: ArrayLike, W2: ArrayLike) -> tuple[Array, Array]:
    W1, W2 = arguments.matrix("W1", W1), arguments.matrix("W2", W2)
    if len(W1) != W2.shape[1]:
        raise ValueError(f"W1 (h × i) and W2 (o × h) must be of one h; got shapes {W1.shape} and {W2.shape}")
    return W1, W2


def _times(given: ArrayLike) -> Array:
    t = arguments.real("t", given, least=0, infinite=True)
    if t.ndim > 1:
        raise ValueError(f"t must be a number or a vector of times; got shape {t.shape}")
    return t
