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
from numpy.typing import ArrayLike, NDArray

from ..core import arguments
from ..core.arguments import Array
from .activations import Activation, resolve
from .dual_activations import Dual, quadrature

GRIDS: Sequence[tuple[int, int]] = ((8, 24), (12, 40), (20, 64))
"""Nodes in a standard deviation and in the angle, tried in turn."""

TOLERANCE = 1e-10
"""Largest difference from quadrature on the sample, relative to the largest value."""


def grid_dual(activation: Activation, s: ArrayLike, t: ArrayLike, theta: ArrayLike) -> Dual:
    """E[φ(u)φ(v)] and E[φ′(u)φ′(v)] for all pairs, of an activation without a closed form.

    Args:
        activation: φ.
        s: standard deviations of u, ``(n,)``.
        t: standard deviations of v, ``(n',)``.
        theta: the angles whose cosines are their correlations, ``(n, n')``.
    """
    activation = resolve(activation)
    s, t = arguments.vector("s", s, least=0), arguments.vector("t", t, least=0)
    theta = arguments.matrix("theta", theta, (s.size, t.size))
    alike = np.ptp(np.concatenate([s, t])) <= 1e-12 * s.max()
    # A kink at b ≠ 0 brings exp(−(b/s ∓ b/t)²/(2 sin²θ)), which turns within |s − t| of θ = 0: no grid would do.
    smooth = alike or not any(activation.kinks)
    for deviations, angles in GRIDS if smooth else ():
        nodes = (1 if alike else deviations, angles)
        if theta.size < 4 * nodes[0] ** 2 * nodes[1]:
            break
        duals = _interpolated(activation, s, t, theta, nodes)
        rows, columns = _sample(*theta.shape)
        exact = quadrature(activation, s[rows], t[columns], theta[rows, columns])
        gaps = [np.abs(dual[rows, columns] - values).max() for dual, values in zip(duals, exact, strict=True)]
        if all(gap <= TOLERANCE * np.abs(values).max() for gap, values in zip(gaps, exact, strict=True)):
            return duals
    return quadrature(activation, s[:, None], t[None, :], theta)


def _interpolated(activation: Activation, s: Array, t: Array, theta: Array, nodes: tuple[int, int]) -> Dual:
    low, high = min(s.min(), t.min()), max(s.max(), t.max())
    middle, half = (low + high) / 2, (high - low) / 2 or 1.0
    points = [np.cos(np.pi * (np.arange(m) + 0.5) / m) for m in nodes]
    # Interpolation through Chebyshev's points: coefficients are the inverse Vandermonde matrix times values.
    to_s, to_theta = (np.linalg.inv(chebvander(x, x.size - 1)) for x in points)
    deviations, at = np.maximum(middle + half * points[0], 0), np.pi / 2 * (1 + points[1])
    values = quadrature(activation, deviations[:, None, None], deviations[None, :, None], at)
    A, B = (chebvander((x - middle) / half, nodes[0] - 1) for x in (s, t))
    x = theta * (2 / np.pi) - 1
    sums = []
    for value in values:
        C = np.einsum("ax,by,kz,xyz->kab", to_s, to_s, to_theta, value, optimize=True)
        total, previous, polynomial = A @ C[0] @ B.T, np.ones_like(x), x
        for k in range(1, nodes[1]):
            total += polynomial * (A @ C[k] @ B.T)
            previous, polynomial = polynomial, 2 * x * polynomial - previous
        sums.append(total)
    return Dual(*sums)


def _sample(n: int, m: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """200 pairs spread over the grid without a pattern, by multiples of irrational numbers."""
    k = np.arange(200)
    return (k * 0.6180339887498949 % 1 * n).astype(np.int64), (k * 0.41421356237309515 % 1 * m).astype(np.int64)
