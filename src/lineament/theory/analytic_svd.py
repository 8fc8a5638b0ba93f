r"""Analytic singular value decompositions of sampled curves, and how their values move (Cohen & Razin, §4.3).

Along gradient flow the end-to-end matrix is an analytic curve, so it has a decomposition W(t) = U(t) S(t) V(t)ᵀ
whose three factors are analytic (Definition 4, Proposition 4; Bunse-Gerstner et al. 1991). Its values may cross,
and carry a sign. A library returns something else at each time: values sorted and positive, vectors of arbitrary
sign, arbitrary bases where values coincide. :func:`track` puts the samples together: branches are matched by the
overlap of their vectors, signs follow the vectors, and where values coincide the basis is turned to meet its
neighbours in time.

By analyticity values coincide at isolated times or always. Tracking therefore begins at the sample whose values are
best separated and runs from there both ways, so a degenerate start (a multiple of the identity) inherits its basis
from later times.
"""

from typing import NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from ..core import arguments
from ..core.arguments import Array


class AnalyticSVD(NamedTuple):
    """`W[k] = U[k] diag(s[k]) V[k]ᵀ` with branches that are continuous in k; d is the smaller side of W.

    Attributes:
        U: left singular vectors as columns, `(T, outputs, d)`.
        s: singular values, signed and in no particular order, `(T, d)`.
        V: right singular vectors as columns, `(T, inputs, d)`.
    """

    U: Array
    s: Array
    V: Array


def track(
    Ws: ArrayLike, times: ArrayLike | None = None, *, coincidence: float = 1e-9, overlap: float = 0.5
) -> AnalyticSVD:
    """The analytic singular value decomposition of a curve known at sampled times (Proposition 4).

    Branches are ordered by falling |s| at the sample where tracking begins. Vectors are accurate to rounding where
    values are apart, and to the square of the sampling interval where they coincide. A curve on which two values avoid
    each other more closely than the samples resolve is followed as if they crossed.

    Args:
        Ws: the samples, `(T, outputs, inputs)`.
        times: when they were taken, rising; by default 0, 1, 2, ….
        coincidence: values closer than this times the largest are taken to coincide, and those below it to be zero.
        overlap: least |u·u'||v·v'| between neighbouring samples of a branch.

    Raises:
        ValueError: if a branch cannot be followed because the samples are too far apart, with the times.
    """
    Ws = arguments.matrices("Ws", Ws)
    if Ws.ndim != 3:
        raise ValueError(f"Ws must be the samples of a curve, (T, outputs, inputs); got shape {Ws.shape}")
    t = arguments.rising("times", np.arange(len(Ws)) if times is None else times, len(Ws))
    coincidence = arguments.number("coincidence", coincidence, least=0, below=1)
    overlap = arguments.number("overlap", overlap, least=0, most=1)
    if Ws.shape[1] > Ws.shape[2]:
        U, s, V = _track(np.swapaxes(Ws, 1, 2), t, coincidence, overlap)
        return AnalyticSVD(V, s, U)
    return _track(Ws, t, coincidence, overlap)


def _track(Ws: Array, t: Array, coincidence: float, overlap: float) -> AnalyticSVD:
    """:func:`track` of maps that have no more rows than columns."""
    samples = [_Sample(W, coincidence) for W in Ws]
    first = max(range(t.size), key=lambda k: (samples[k].distinct, samples[k].separation))
    d = Ws.shape[1]
    U, V = np.empty((t.size, d, d)), np.empty((t.size, Ws.shape[2], d))
    U[first], V[first] = samples[first].U, samples[first].V[:, :d]
    outwards = [(k, k - 1) for k in range(first + 1, t.size)] + [(k, k + 1) for k in range(first - 1, -1, -1)]
    for k, before in outwards:
        U[k], V[k], met = samples[k].nearest(U[before], V[before])
        if met < overlap:
            a, b = sorted((t[before], t[k]))
            raise ValueError(
                f"Ws is sampled too coarsely to follow its vectors: between t = {a:.6g} and t = {b:.6g} a branch "
                f"overlaps with itself by {met:.3g} only, below {overlap:.3g}; sample more often there"
            )
    for k in _inner_first(t.size):  # a basis that this sample leaves free goes on the line through its neighbours
        if samples[k].free and t.size > 2:
            i, j = (k - 1, k + 1) if 0 < k < t.size - 1 else (k + 1, k + 2) if k == 0 else (k - 2, k - 1)
            x = (t[k] - t[i]) / (t[j] - t[i])
            U[k], V[k], _ = samples[k].nearest((1 - x) * U[i] + x * U[j], (1 - x) * V[i] + x * V[j])
    return AnalyticSVD(U, np.einsum("tor,toi,tir->tr", U, Ws, V), V)


def singular_value_velocity(U: ArrayLike, s: ArrayLike, V: ArrayLike, grad: ArrayLike, depth: SupportsIndex) -> Array:
    """`σ̇_r = n (σ_r²)^{1−1/n} ⟨−∇ℓ(W), u_r v_rᵀ⟩`, for values of either sign (Theorem 3).

    Args:
        U: left singular vectors as columns, `(…, outputs, d)`.
        s: signed singular values, `(…, d)`.
        V: right singular vectors as columns, `(…, inputs, d)`.
        grad: ∇ℓ(W), `(…, outputs, inputs)`.
        depth: n ≥ 1.
    """
    n, s = arguments.count("depth", depth), arguments.real("s", s)
    U, V, G = (arguments.matrices(*pair) for pair in (("U", U), ("V", V), ("grad", grad)))
    if U.shape[-1:] != V.shape[-1:] or s.shape[-1:] != U.shape[-1:] or G.shape[-2:] != (U.shape[-2], V.shape[-2]):
        raise ValueError(
            "U, s, V and grad must be of shapes (…, outputs, d), (…, d), (…, inputs, d) and (…, outputs, inputs); "
            f"got {U.shape}, {s.shape}, {V.shape} and {G.shape}"
        )
    arguments.together(U=U[..., 0, 0], s=s[..., 0], V=V[..., 0, 0], grad=G[..., 0, 0])
    return -n * (s**2) ** (1 - 1 / n) * np.einsum("...or,...oi,...ir->...r", U, G, V)


class _Sample:
    """The decomposition of one sample, of no more rows than columns, with its values in groups that coincide."""

    def __init__(self, W: Array, coincidence: float):
        self.U, s, Vt = np.linalg.svd(W)
        self.V = Vt.T  # all of it: zero values may take their right vectors from anywhere in the null space
        least = coincidence * s[0]
        gaps = s[:-1] - s[1:]
        # The zeros form a group of their own, however far the least non-zero value is.
        cuts = np.flatnonzero((gaps > least) | ((s[:-1] > least) & (s[1:] <= least))) + 1
        self.groups = np.split(np.arange(s.size), cuts)
        self.zero = s[-1] <= least
        self.distinct = len(self.groups)
        self.free = self.distinct < s.size or (bool(self.zero) and W.shape[1] > s.size)
        self.separation = float(np.min(gaps[cuts - 1], initial=s[0]) / s[0]) if s[0] > 0 else 0.0

    def nearest(self, U: Array, V: Array) -> tuple[Array, Array, float]:
        """The singular vectors of this sample that come nearest to the given ones, and the least overlap with them."""
        frames = [self._frames(group) for group in self.groups]
        scores = np.stack(
            [np.linalg.norm(left.T @ U, axis=0) * np.linalg.norm(right.T @ V, axis=0) for left, right in frames]
        )
        slots = np.repeat(np.arange(len(frames)), [group.size for group in self.groups])
        taken, branches = linear_sum_assignment(-scores[slots])
        owner = np.empty_like(slots)
        owner[branches] = slots[taken]
        new_U, new_V = np.empty_like(U), np.empty_like(V)
        for g, (left, right) in enumerate(frames):
            group = owner == g
            turned = _polar(left.T @ U[:, group]), _polar(right.T @ V[:, group])
            if not (self.zero and g == len(frames) - 1):
                # W = σ left rightᵀ here, so both bases turn together but for signs, which are the signs of the values.
                signs = np.where(np.sum(turned[0] * turned[1], axis=0) < 0, -1.0, 1.0)
                rotation = _polar(turned[0] + turned[1] * signs)
                turned = rotation, rotation * signs
            new_U[:, group], new_V[:, group] = left @ turned[0], right @ turned[1]
        met = np.abs(np.sum(new_U * U, axis=0) * np.sum(new_V * V, axis=0))
        return new_U, new_V, float(np.min(met))

    def _frames(self, group: NDArray[np.intp]) -> tuple[Array, Array]:
        last = self.V.shape[1] if self.zero and group[-1] == self.U.shape[0] - 1 else group[-1] + 1
        return self.U[:, group], self.V[:, group[0] : last]


def _inner_first(count: int) -> list[int]:
    """Samples with two neighbours, then the ends, which depend on them."""
    return [*range(1, count - 1), *({0, count - 1} if count > 1 else ())]


def _polar(M: Array) -> Array:
    """The matrix with orthonormal columns nearest to M."""
    P, _, Qt = np.linalg.svd(M, full_matrices=False)
    return P @ Qt
