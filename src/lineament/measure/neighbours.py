"""Exact nearest neighbours by brute force, made quick in many dimensions by a filter that never loses one.

For a projection p on some orthonormal directions with residual r, the distance in the projected space with the length
of the residual as one more coordinate is a lower bound, `‖p(x) − p(y)‖² + (‖r(x)‖ − ‖r(y)‖)² ≤ ‖x − y‖²`. Neighbours
nearest by the bound are measured in full; once the k-th of them is nearer than the bound of all the others, they are
proven right. Examples for which that fails are searched in full. Principal directions make the bound tight, but the
answer does not depend on them.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import arguments

FILTER = 384
SMALL = 4000
SAMPLE = 2000
WIDTHS = (6, 24)
ROWS = 2048
PAIRS = 512
LARGEST_EXPONENT = 30  # of two: features that are larger, or smaller, than so are rescaled


def neighbours(features: ArrayLike, k: int) -> NDArray[np.int64]:
    """The k nearest other examples of each example by Euclidean distance, (n, k), in no particular order.

    Exact up to the rounding of distances in the precision of the features; ties are broken arbitrarily.

    Args:
        features: Examples (n, …), flattened.
        k: How many neighbours.
    """
    X = arguments.numeric("features", features)
    if X.ndim < 2 or X.size == 0 or not np.issubdtype(X.dtype, np.floating) or not np.isfinite(X).all():
        raise ValueError(f"features must be finite floating-point numbers (n, …); got {X.dtype} of shape {X.shape}")
    X = _settled(X.reshape(len(X), -1))
    k = arguments.count("k", k, 1, len(X) - 1)
    n, q = X.shape
    if n <= SMALL or q <= 2 * FILTER:
        return _search(X, X, np.arange(n), k)[1]
    Z = _filtered(X)
    # Bounds and distances are rounded in the precision of the features; the margin is wider than that.
    margin = 64 * np.finfo(X.dtype).eps * float(np.linalg.norm(Z, axis=1).max())
    nearest = np.empty((n, k), np.int64)
    left = np.arange(n)
    for width in WIDTHS:
        if width * k >= n:
            break
        unproven = []
        for rows in np.array_split(left, -(-len(left) // ROWS)):
            near, proven = _refined(X, Z, rows, k, width * k, margin)
            nearest[rows] = near
            unproven.append(rows[~proven])
        left = np.concatenate(unproven)
        if left.size == 0:
            return nearest
    nearest[left] = _search(X, X[left], left, k)[1]
    return nearest


def _settled(X: NDArray) -> NDArray:
    """Features around their mean, contiguous, in a precision that sums of squares fit; distances stay in proportion.

    Distances come from products, as differences of squares: these lose the digits of neighbours far from the origin, and
    overflow or vanish at sizes of 1e200 or 1e-200. Powers of two change no digit.
    """
    exponent = int(np.frexp(np.abs(X).max())[1])
    if abs(exponent) > LARGEST_EXPONENT:
        X = np.ldexp(X.astype(np.float64) if X.dtype.itemsize < 8 else X, -exponent)
    X = X.astype({2: np.float32, 4: np.float32}.get(X.dtype.itemsize, np.float64), copy=False)
    return np.ascontiguousarray(X - X.mean(axis=0, dtype=np.float64).astype(X.dtype))


def _filtered(X: NDArray) -> NDArray:
    """Coordinates along the leading principal directions of a sample, and the length of the residual."""
    sample = X[:: max(1, len(X) // SAMPLE)][:SAMPLE]
    leading = np.linalg.eigh(sample @ sample.T)[1][:, : -FILTER - 1 : -1]
    directions = np.linalg.qr(sample.T @ leading)[0]
    Z = X @ directions
    # Measured, not ‖x‖² − ‖p(x)‖²: that would lose half the digits of a small residual.
    parts = [slice(begin, begin + ROWS) for begin in range(0, len(X), ROWS)]
    residual = np.concatenate([np.linalg.norm(X[rows] - Z[rows] @ directions.T, axis=1) for rows in parts])
    return np.column_stack([Z, residual])


def _refined(
    X: NDArray, Z: NDArray, rows: NDArray[np.int64], k: int, width: int, margin: float
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The k nearest among the `width` candidates nearest by the bound, and whether they are proven nearest of all."""
    bound, candidates = _search(Z, Z[rows], rows, width)
    measured = np.full(bound.shape, np.inf)
    measured[:, :k] = _distances(X, np.repeat(rows, k), candidates[:, :k].ravel()).reshape(-1, k)
    # Only candidates whose bound is below the k-th distance so far can still be among the k nearest.
    row, column = np.nonzero((bound < measured[:, :k].max(axis=1)[:, None] + margin) & np.isinf(measured))
    measured[row, column] = _distances(X, rows[row], candidates[row, column])
    chosen = np.argpartition(measured, k - 1, axis=1)[:, :k]
    furthest = np.take_along_axis(measured, chosen, axis=1).max(axis=1)
    return np.take_along_axis(candidates, chosen, axis=1), furthest + margin <= bound[:, -1]


def _search(
    points: NDArray, queries: NDArray, rows: NDArray[np.int64], k: int
) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
    """Distances and indices of the k nearest points to each query in rising order, the query's own row left out."""
    from sklearn.neighbors import NearestNeighbors

    search: NearestNeighbors = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(points)
    distance, index = search.kneighbors(queries)
    # Among many copies of one example the query itself may be missing: then the last goes.
    own = index == rows[:, None]
    own[~own.any(axis=1), -1] = True
    return distance[~own].reshape(-1, k), index[~own].reshape(-1, k)


def _distances(X: NDArray, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.floating]:
    distances = np.empty(len(first), X.dtype)
    for begin in range(0, len(first), PAIRS):
        pairs = slice(begin, begin + PAIRS)
        gap = X[first[pairs]] - X[second[pairs]]
        distances[pairs] = np.sqrt(np.einsum("ij,ij->i", gap, gap))
    return distances
