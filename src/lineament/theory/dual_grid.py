r"""The expectations of :mod:`lineament.theory.dual_activations` for all pairs of two sets of inputs at once.

They are functions of three numbers only, the standard deviations s, t and the angle θ, and smooth ones (also for
φ with a kink at 0). Where closed forms are missing and pairs are many, they are therefore integrated on a Chebyshev grid
over (s, t, θ) and interpolated: the cost of quadrature no longer depends on the number of inputs,

.. math:: E_{ij} ≈ \sum_k T_k(θ_{ij})\,\left(A\,C_k\,B^\top\right)_{ij}, \qquad A_{ia} = T_a(s_i),\ B_{jb} = T_b(t_j).

The result is compared with quadrature on a sample of the pairs; the grid is refined, and given up, if they differ.
"""

from collections.abc import Sequence

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from numpy.typing import NDArray

from .activations import NAMED, Activation
from .dual_activations import Dual, angle, dual, quadrature_dual

Array = NDArray[np.float64]

GRIDS: Sequence[tuple[int, int]] = ((8, 24), (12, 40), (20, 64))
"""Nodes in a standard deviation and in the angle, tried in turn."""

TOLERANCE = 1e-10
"""Largest difference from quadrature on the sample, relative to the largest value."""


def grid_dual(activation: Activation, p: Array, q: Array, c: Array) -> Dual:
    """E[φ(u)φ(v)] and E[φ′(u)φ′(v)] for all pairs.

    Args:
        activation: φ.
        p: variances of u, ``(n,)``.
        q: variances of v, ``(n',)``.
        c: covariances, ``(n, n')``.
    """
    closed = activation is NAMED["erf"] or activation.slopes is not None
    alike = np.ptp(np.concatenate([p, q])) <= 1e-12 * p.max()
    # A kink at b ≠ 0 brings exp(−(b/s ∓ b/t)²/(2 sin²θ)), which turns within |s − t| of θ = 0: no grid would do.
    smooth = alike or not any(activation.kinks)
    for deviations, angles in GRIDS if smooth and not closed else ():
        nodes = (1 if alike else deviations, angles)
        if c.size < 4 * nodes[0] ** 2 * nodes[1]:
            break
        found = _interpolated(activation, p, q, c, nodes)
        rows, columns = _sample(*c.shape)
        exact = quadrature_dual(activation, p[rows], q[columns], c[rows, columns])
        gaps = [np.abs(ours[rows, columns] - theirs).max() for ours, theirs in zip(found, exact, strict=True)]
        if all(gap <= TOLERANCE * np.abs(theirs).max() for gap, theirs in zip(gaps, exact, strict=True)):
            return found
    return dual(activation, p[:, None], q[None, :], c)


def _interpolated(activation: Activation, p: Array, q: Array, c: Array, nodes: tuple[int, int]) -> Dual:
    s, t, theta = np.sqrt(p), np.sqrt(q), angle(p[:, None], q[None, :], c)
    low, high = min(s.min(), t.min()), max(s.max(), t.max())
    middle, half = (low + high) / 2, (high - low) / 2 or 1.0
    points = [np.cos(np.pi * (np.arange(m) + 0.5) / m) for m in nodes]
    # Interpolation through Chebyshev's points: coefficients are the inverse Vandermonde matrix times values.
    to_s, to_theta = (np.linalg.inv(chebvander(x, x.size - 1)) for x in points)
    variances, at = np.maximum(middle + half * points[0], 0) ** 2, np.pi / 2 * (1 + points[1])
    shape = (nodes[0], nodes[0], nodes[1])
    P, Q = variances[:, None, None], variances[None, :, None]
    values = quadrature_dual(activation, *np.broadcast_arrays(P, Q, np.sqrt(P * Q) * np.cos(at)))
    A, B = (chebvander((x - middle) / half, nodes[0] - 1) for x in (s, t))
    x = theta * (2 / np.pi) - 1
    sums = []
    for value in values:
        C = np.einsum("ax,by,kz,xyz->kab", to_s, to_s, to_theta, value.reshape(shape), optimize=True)
        total, before, now = A @ C[0] @ B.T, np.ones_like(x), x
        for k in range(1, nodes[1]):
            total += now * (A @ C[k] @ B.T)
            before, now = now, 2 * x * now - before
        sums.append(total)
    return Dual(*sums)


def _sample(n: int, m: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """200 pairs spread over the grid without a pattern, by multiples of irrational numbers."""
    k = np.arange(200)
    return (k * 0.6180339887498949 % 1 * n).astype(np.int64), (k * 0.41421356237309515 % 1 * m).astype(np.int64)
