r"""The flow :math:`\dot Q = FQ - \tfrac12 QQ^\top Q` with symmetric F, solved at any time from any start.

Its Gram :math:`M = QQ^\top` obeys the matrix Riccati equation :math:`\dot M = FM + MF - M^2`, whose solution

.. math:: M(t) = e^{Ft}Q_0\,\bigl[I + Q_0^\top \tfrac{e^{2Ft} - I}{2F} Q_0\bigr]^{-1} Q_0^\top e^{Ft}

needs no inverse of F or of Q₀ (Fukumizu 1998; Braun et al. 2022). Evaluated as printed it loses every
digit near t = 30/‖F‖: the rows of :math:`e^{Ft}Q_0` differ by the ratio of the exponentials. Here the hidden
coordinates, which M does not see, are turned once so that the matrix of modes B = VᵀQ₀ (rows sorted by falling
rate f) is a lower staircase. Column j, whose first row is p(j), then divided by :math:`e^{f_{p(j)}t}`, holds
:math:`e^{(f_k - f_{p(j)})t} B_{kj}` with k ≥ p(j): every exponent is at most zero, at any t, ∞ included.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs, qr

from ..core import arguments
from ..core.arguments import Array

_syrk, _trsm = get_blas_funcs(("syrk", "trsm"), dtype=np.float64)
_potrf, _pocon = get_lapack_funcs(("potrf", "pocon"), dtype=np.float64)

# Normal equations err by about eps/rcond: above this they keep ten digits, below it a QR factorisation is used.
_LEAST_RCOND = 1e-6
# What is set to zero is an error in the start: at most this much of it, however ill conditioned the pivots are.
_MOST_DROPPED = 1e-10


class Modes(NamedTuple):
    """A start in the eigenbasis of F, turned into staircase form.

    Attributes:
        rates: eigenvalues f of F, in the order of the rows, ``(m,)``.
        overlaps: the staircase B, ``(m, n)``; n is the rank of the start.
        decay: ``f[k] − max(f[p(j)], 0)``, at most 0 wherever ``overlaps`` is not zero, ``(m, n)``.
        growth: ``max(f[p(j)], 0)``, the rate that is divided out of column j, ``(n,)``.
    """

    rates: Array
    overlaps: Array
    decay: Array
    growth: Array


def staircase(overlaps: Array, rounding: float, growing: int) -> tuple[Array, list[int]]:
    """Turn the columns by one orthogonal matrix so that the rows form a lower staircase.

    An overlap within rounding of zero counts as zero: it would otherwise grow like ``e^{ft}`` and carry a start
    away from the saddle it converges to. What rounding can do is followed through the elimination: a row is freed
    of the earlier pivot rows with weights y, so its rounding grows by √(1 + ‖y‖²); reflections mix the rounding of
    the columns, whose variances are carried along, so that a column of size 1e-30 is judged by its own scale.

    Args:
        overlaps: ``(m, h)``, rows in the order in which they may become pivots.
        rounding: size of the rounding in a column, relative to its norm.
        growing: how many of the rows, from the first, belong to growing modes.

    Returns:
        The staircase ``(m, n)`` and the pivot row of each of its n columns, increasing.
    """
    overlaps = arguments.matrix("overlaps", overlaps)
    rounding = arguments.number("rounding", rounding, above=0)
    growing = arguments.count("growing", growing, 0, len(overlaps))
    B, variance = overlaps.copy(), np.sum((rounding * overlaps) ** 2, axis=0)
    most = max(1.0, _MOST_DROPPED / rounding) ** 2
    inverse = np.zeros((B.shape[1], B.shape[1]))  # of the triangle of pivot rows
    pivots: list[int] = []
    for k in range(B.shape[0]):
        j = len(pivots)
        x, y = B[k, j:], B[k, :j] @ inverse[:j, :j]
        blur = min(1 + y @ y, most) if k < growing else 1.0
        x[x**2 <= variance[j:] * blur] = 0.0
        if not x.any():
            continue
        # The largest entry leads, or the reflection would cancel what is small in the others.
        lead = j + int(np.argmax(np.abs(x)))
        B[:, [j, lead]], variance[[j, lead]] = B[:, [lead, j]], variance[[lead, j]]
        v = x / abs(x[0])
        v[0] += np.copysign(np.linalg.norm(v), v[0])
        beta = 2.0 / (v @ v)
        B[k:, j:] -= np.outer(beta * (B[k:, j:] @ v), v)
        B[k, j + 1 :] = 0.0
        tail = variance[j:]
        variance[j:] = np.maximum(tail * (1 - 2 * beta * v**2) + (beta * v) ** 2 * (v**2 @ tail), 0.0)
        inverse[j, :j], inverse[j, j] = -y / B[k, j], 1 / B[k, j]
        pivots.append(k)
    return B[:, : len(pivots)], pivots


def prepare(rates: Array, gaps: Array, overlaps: Array, rounding: float) -> Modes:
    """Prepare a start for evaluation at many times.

    Args:
        rates: eigenvalues of F, falling, ``(m,)``.
        gaps: ``gaps[k, p] = rates[k] − rates[p]``. Asked for because the caller may know them without cancellation.
        overlaps: VᵀQ₀, ``(m, h)``.
        rounding: size of the rounding in a column of ``overlaps``, relative to its norm.
    """
    rates = arguments.vector("rates", rates)
    gaps = arguments.matrix("gaps", gaps, (rates.size, rates.size))
    if (np.diff(rates) > 0).any():
        raise ValueError(f"rates must be falling numbers; got {rates}")
    if len(overlaps := arguments.matrix("overlaps", overlaps)) != rates.size:
        raise ValueError(f"overlaps must be of one row for each of {rates.size} rates; got shape {overlaps.shape}")
    stairs, pivots = staircase(overlaps, rounding, int(np.count_nonzero(rates > 0)))
    lead = rates[pivots]
    decay = np.where(lead > 0, gaps[:, pivots], rates[:, None])
    # Above a pivot the staircase is zero; a zero exponent there keeps exp from overflowing into 0·∞.
    return Modes(rates, stairs, np.where(stairs == 0, 0.0, decay), np.maximum(lead, 0.0))


def square_root(t: float, start: Modes) -> Array:
    r"""A factor S of the Gram matrix in the eigenbasis of F, :math:`M(t) = SS^\top`.

    S is Q(t) itself up to an orthogonal change of hidden coordinates. At ``t = inf`` only the columns that
    meet a growing mode are left: the others have decayed.
    """
    t = arguments.number("t", t, least=0, infinite=True)
    rates, B, decay, growth = arguments.instance("start", start, Modes)
    unstable = int(np.count_nonzero(rates > 0))
    if np.isinf(t):
        grows = growth > 0
        X, C = np.where(decay == 0, B, 0.0)[:, grows], np.zeros(np.count_nonzero(grows))
        G = X[:unstable] / np.sqrt(2 * rates[:unstable, None])
    else:
        with np.errstate(over="ignore"):  # e^{−∞} is the right answer
            X, C = B * np.exp(decay * t), np.exp(-growth * t)
        # The integral of e^{2fs} comes divided by e^{2ft} where f > 0: there, the factor is in X already.
        G = np.concatenate([X[:unstable], B[unstable:] * C])
        G *= np.sqrt(_integral(rates, t))[:, None]
    if not X.size:
        return X
    scale = 1 / np.maximum(C, np.abs(G).max(axis=0, initial=0.0))
    X *= scale
    G *= scale
    # M = X (diag(C)² + GᵀG)⁻¹ Xᵀ. Fortran routines read a C array as its transpose: R⁻ᵀ Xᵀ, from the left.
    return _trsm(1.0, _triangle(C * scale, G), X.T, trans_a=1, overwrite_b=True).T


def _triangle(C: Array, G: Array) -> Array:
    """Upper triangular R with ``RᵀR = diag(C)² + GᵀG``."""
    K = _syrk(1.0, G.T)
    np.einsum("ii->i", K)[:] += C**2
    magnitudes = np.abs(K)
    norm = magnitudes.sum(axis=0).max() + magnitudes.sum(axis=1).max()  # at least the 1-norm of the whole
    R, failed = _potrf(K, overwrite_a=True)
    if not failed and _pocon(R, norm)[0] > _LEAST_RCOND:
        return R
    return np.asarray(qr(np.concatenate([G, np.diag(C)]), mode="r", check_finite=False)[0])[: C.size]


def _integral(rates: Array, t: float) -> Array:
    """The integral of ``e^{2fs}`` over [0, t], divided by ``e^{2ft}`` where f > 0."""
    rate = 2 * np.abs(rates)
    with np.errstate(over="ignore"):
        return np.where(rate == 0, t, -np.expm1(-rate * t) / np.where(rate == 0, 1.0, rate))
