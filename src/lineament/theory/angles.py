r"""Lengths of and angles between the rows of two matrices, at every scale that a float can hold.

An angle θ is kept as sin(θ/2) and cos(θ/2), halves of the chords ‖u − v‖ and ‖u + v‖ of unit vectors: θ near 0 and π − θ
near 0 are then both known to full relative precision, where the arc cosine of ⟨u, v⟩ would lose half of the digits.
Chords come from one matrix product, but for rows that are nearly parallel. There sin θ is the length of what is left
of one row when the other is taken out of it, the first products without rounding (Dekker 1971): its error is near 1e-23,
so that a relative 1e-13 is kept for angles down to 1e-10.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import Array

NEAR = 0.995
"""Rows whose cosine exceeds this are compared one pair at a time: beyond it a product keeps thirteen digits."""

NEAR_PAIRS = 1000
"""From this many near pairs on, a product of centred rows is tried first."""

BLOCK = 1 << 20
"""Numbers held at a time for pairs that are nearly parallel."""

SIDE = 64
"""Rows that are looked at together, so that what is computed of them stays in the cache."""


class Angles(NamedTuple):
    """sin(θ/2) and cos(θ/2) of every pair."""

    half_sin: Array
    half_cos: Array

    @property
    def cos(self) -> Array:
        """The cosine of θ."""
        return (self.half_cos - self.half_sin) * (self.half_cos + self.half_sin)

    @property
    def sin(self) -> Array:
        """The sine of θ."""
        return 2 * self.half_sin * self.half_cos

    @property
    def theta(self) -> Array:
        """θ in [0, π], precise near 0."""
        return 2 * np.arctan2(self.half_sin, self.half_cos)

    @property
    def supplement(self) -> Array:
        """π − θ, precise near 0."""
        return 2 * np.arctan2(self.half_cos, self.half_sin)


def from_cosine(cosine: Array) -> Angles:
    """Return the angles of given cosines, which are known to rounding."""
    cosine = np.clip(cosine, -1, 1)
    return Angles(np.sqrt((1 - cosine) / 2), np.sqrt((1 + cosine) / 2))


def between(X: Array, Y: Array | None = None) -> Angles:
    """Return the angles between the rows of X and of Y, or of X itself; a right angle where a row is zero."""
    A = _scaled(X)
    B = A if Y is None else _scaled(Y)
    a, b = (np.linalg.norm(rows, axis=1) for rows in (A, B))
    U, V = A / np.where(a > 0, a, 1.0)[:, None], B / np.where(b > 0, b, 1.0)[:, None]
    cosine = U @ V.T
    half_sin, half_cos = np.empty(cosine.shape), np.empty(cosine.shape)
    near = np.zeros(cosine.shape, bool)
    for begin in range(0, len(A), SIDE):
        part = slice(begin, begin + SIDE), slice(None if Y is not None else begin + SIDE)
        half_sin[part], half_cos[part] = from_cosine(cosine[part])
        near[part] = np.abs(cosine[part]) > NEAR
        if Y is None:  # the other half is its mirror image
            near[part] &= np.tri(*near[part].shape, k=begin - 1, dtype=bool)
    if np.count_nonzero(near) > NEAR_PAIRS:
        near &= ~_by_chord(U, V, near, half_sin, half_cos)
    rows, columns = np.nonzero(near)
    pairs = max(1, BLOCK // X.shape[1])
    for begin in range(0, rows.size, pairs):
        i, j = rows[begin : begin + pairs], columns[begin : begin + pairs]
        sign = np.sign(cosine[i, j])
        sine = _sine(A[i], sign[:, None] * B[j])
        long = np.sqrt((1 + np.sqrt((1 - sine) * (1 + sine))) / 2)
        short = sine / (2 * long)
        half_sin[i, j], half_cos[i, j] = np.where(sign > 0, (short, long), (long, short))
    if Y is None:
        alike = np.flatnonzero(a > 0)
        for part, own in ((half_sin, 0.0), (half_cos, 1.0)):
            mirror(part)
            part[alike, alike] = own
    return Angles(half_sin, half_cos)


def mirror(square: Array) -> None:
    """Write what is below the diagonal above it, too."""
    for begin in range(0, len(square), SIDE):
        rows = slice(begin, begin + SIDE)
        square[:begin, rows] = square[rows, :begin].T
        corner = square[rows, rows]
        np.copyto(corner, corner.T.copy(), where=~np.tri(len(corner), dtype=bool))


def _by_chord(U: Array, V: Array, near: NDArray[np.bool_], half_sin: Array, half_cos: Array) -> NDArray[np.bool_]:
    """Fill in pairs whose chord one more product gives, and say which they are.

    Taken from the mean of all rows, unit vectors that lie close together are short, and the squares of their distances
    keep their digits, but for pairs much closer than the others.
    """
    centre = (U.sum(axis=0) + V.sum(axis=0)) / (len(U) + len(V))
    u, v = U - centre, V - centre
    sizes = np.einsum("ij,ij->i", u, u)[:, None] + np.einsum("ij,ij->i", v, v)
    square = sizes - 2 * (u @ v.T)
    known = near & (square > 0.01 * sizes) & (square > 1e-4) & (square < 1)
    half_sin[known] = np.sqrt(square[known]) / 2
    half_cos[known] = np.sqrt((1 - half_sin[known]) * (1 + half_sin[known]))
    return known


def lengths(X: Array) -> Array:
    """Return root mean squares of the rows, without overflow or underflow of squares."""
    return np.ldexp(np.sqrt(np.mean(_scaled(X) ** 2, axis=1)), _exponents(X)[:, 0])


def _scaled(X: Array) -> Array:
    """Rows multiplied by powers of two, without rounding, so that their largest entry is between ½ and 1."""
    return np.ldexp(X, -_exponents(X))


def _exponents(X: Array) -> NDArray[np.int32]:
    return np.frexp(np.max(np.abs(X), axis=1, keepdims=True))[1]


def _sine(x: Array, y: Array) -> Array:
    """Sines of the angles between rows that are nearly parallel: y taken out of x, twice."""
    square = np.einsum("ij,ij->i", y, y)
    ratio = _leading(np.einsum("ij,ij->i", x, y) / square)[:, None]
    head = _leading(y)
    residual = (x - ratio * head) - ratio * (y - head)  # both products are exact, and so is the first difference
    residual -= (np.einsum("ij,ij->i", residual, y) / square)[:, None] * y
    return np.linalg.norm(residual, axis=1) / np.linalg.norm(x, axis=1)


def _leading(x: Array) -> Array:
    """The leading 26 bits of every number (Veltkamp's splitting)."""
    spread = x * (2.0**27 + 1)
    return spread - (spread - x)
