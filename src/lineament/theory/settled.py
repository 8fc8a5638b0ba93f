r"""The Gram of :mod:`lineament.theory.riccati` where leading modes have settled, from those alone that have not.

Let the start meet every growing mode, B₊ its overlaps with them, square, and B₋ those with the others, of rates −g ≤ 0.
With H = B₊⁻¹ and X = B₋H the solution reads

.. math:: M_{++}^{-1} = N
          = \tfrac{1 - e^{-2ft}}{2f} + e^{-ft}\bigl(H^\top H + X^\top \tfrac{1 - e^{-2gt}}{2g} X\bigr)e^{-ft}, \qquad
          M = \begin{pmatrix} I \\ X_t \end{pmatrix} M_{++} \begin{pmatrix} I & X_t^\top \end{pmatrix},
          \quad X_t = e^{-gt}Xe^{-ft} .

The row and column of a mode in N and its column of :math:`X_t` vanish as :math:`e^{-ft}`. Once they are below rounding
the mode is settled: it stands at its limit 2f, apart from all others, and a problem of the modes that are not is left.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ..core.arguments import Array
from .riccati import Modes

# As for normal equations: the inverse of N errs by eps/rcond.
_LEAST_RCOND = 1e-6
# What is left out of a sum of numbers of order 1: less than a singular vector is off.
_ROUNDING = np.finfo(float).eps / 4


class Invertible(NamedTuple):
    """A start that meets all growing modes.

    Attributes:
        growing: their rates f, falling, ``(u,)``.
        others: g ≥ 0, ``(m − u,)``.
        square: HᵀH, ``(u, u)``.
        X: B₋H, ``(m − u, u)``.
        held: the diagonal of XᵀX/(2g) over modes that decay, and of XᵀX over those that do neither, each ``(u,)``.
    """

    growing: Array
    others: Array
    square: Array
    X: Array
    held: tuple[Array, Array]


def invertible(start: Modes) -> Invertible | None:
    """The start in this form, or None where it misses growing modes or nearly so."""
    u = int(np.count_nonzero(start.rates > 0))
    if u == 0 or start.overlaps.shape[1] != u:
        return None
    B = start.overlaps[:u]  # a lower staircase, here with a pivot in every row
    if not np.diag(B).all():
        return None
    H = solve_triangular(B, np.eye(u), lower=True)
    if np.linalg.norm(B, 2) * np.linalg.norm(H, 2) > _LEAST_RCOND**-0.5:
        return None
    X, growing, others = start.overlaps[u:] @ H, start.rates[:u], -start.rates[u:]
    decays = others > 0
    held = X[decays] ** 2 / (2 * others[decays, None])
    return Invertible(growing, others, H.T @ H, X, (held.sum(axis=0), np.sum(X[~decays] ** 2, axis=0)))


def settled(t: float, start: Invertible) -> int:
    """How many of the growing modes, from the fastest, stand at their limit to rounding, at a finite time."""
    f, (decaying, idle) = start.growing, start.held
    meets = np.sqrt(2 * f * (np.diag(start.square) + decaying + t * idle)) + np.abs(start.X).max(axis=0, initial=0.0)
    moves = np.exp(-f * t) * meets > _ROUNDING
    return int(np.argmax(moves)) if moves.any() else moves.size


def unsettled(t: Array, count: int, start: Invertible) -> tuple[Array, Array] | None:
    """Rows of a factor of M at several times, for the growing modes after the first `count` and for the others.

    None where N is so ill conditioned that its inverse would not keep ten digits.
    """
    f, g, X = start.growing[count:], start.others, start.X[:, count:]
    shrunk = np.exp(-f * t[:, None])
    kept = np.where(g > 0, -np.expm1(-2 * g * t[:, None]) / np.where(g > 0, 2 * g, 1.0), t[:, None])
    N = X.T @ (kept[:, :, None] * X)
    N += start.square[count:, count:]
    N *= shrunk[:, :, None] * shrunk[:, None, :]
    diagonal = np.einsum("tii->ti", N)
    diagonal -= np.expm1(-2 * f * t[:, None]) / (2 * f)
    scale = 1 / np.sqrt(diagonal)
    N *= scale[:, :, None] * scale[:, None, :]
    try:
        inverse = np.linalg.inv(np.linalg.cholesky(N))
    except np.linalg.LinAlgError:
        return None
    if np.any(np.linalg.norm(N, axis=(1, 2)) * np.sum(inverse**2, axis=(1, 2)) > 1 / _LEAST_RCOND):
        return None
    root = scale[:, :, None] * inverse.swapaxes(1, 2)  # N⁻¹ = root·rootᵀ
    shown = X * shrunk[:, None, :]
    shown *= np.exp(-g * t[:, None])[:, :, None]
    shown[:, np.abs(shown).max(axis=(0, 2)) <= _ROUNDING] = 0.0
    return root, shown @ root
