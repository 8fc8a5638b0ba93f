"""When a path that rests at one point after the other jumps between them."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import arguments

Array = NDArray[np.float64]


def jump_times(times: ArrayLike, path: ArrayLike, points: ArrayLike) -> Array:
    """When a path that rests at one point after the other leaves each for the next, (points − 1,); infinity if never.

    It is the last time at which it is nearer to the point than to the next, before it leaves that. Looked for from the
    end: on its way to a point a path may pass near a later one, or not have come to it yet.

    Args:
        times: rising, (time,).
        path: where it is then, (time, coordinate).
        points: where it is to rest, in order, at least two, (point, coordinate).
    """
    clock = arguments.rising("times", times)
    seen = arguments.matrix("path", path)
    rests = arguments.matrix("points", points)
    if len(seen) != len(clock):
        raise ValueError(f"path must be of {len(clock)} rows, one for each time; got shape {seen.shape}")
    if len(rests) < 2 or rests.shape[1] != seen.shape[1]:
        raise ValueError(f"points must be at least two of {seen.shape[1]} coordinates; got shape {rests.shape}")
    # Halves: the difference of two opposite numbers may be larger than any.
    gap = np.abs(seen[:, None] / 2 - rests / 2)
    # Two distances in units of the largest coordinate of both: squares of 1e200 overflow, and those of 1e-200 are zero.
    largest = gap.max(axis=2, keepdims=True)
    unit = np.maximum(largest[:, 1:], largest[:, :-1])
    unit[unit == 0] = 1.0
    nearer = np.linalg.norm(gap[:, 1:] / unit, axis=2) < np.linalg.norm(gap[:, :-1] / unit, axis=2)
    found, until = np.full(nearer.shape[1], np.inf), len(clock)
    for p in reversed(range(len(found))):
        away = np.flatnonzero(~nearer[:until, p])
        left = int(away[-1]) + 1 if len(away) else 0
        if len(away) == until or left == len(clock):  # it has not come to the next point, or has gone back
            continue
        found[p], until = clock[left], left
    return found


def share_along(W: ArrayLike, direction: ArrayLike) -> Array:
    """The share ‖Wb‖²/‖W‖² of matrices (…, hidden, inputs) that lies along a direction of the inputs, b of length 1."""
    stack = arguments.matrices("W", W)
    b = arguments.vector("direction", direction, stack.shape[-1])
    length = float(np.linalg.norm(b))
    if not length > 0:
        raise ValueError("direction must be a vector other than zero; got zero")
    largest = np.max(np.abs(stack), axis=(-2, -1), keepdims=True)
    scaled = stack / np.where(largest > 0, largest, 1.0)  # the squares of a map of 1e-200 are zero
    whole = np.sum(scaled**2, axis=(-2, -1))
    return np.sum((scaled @ (b / length)) ** 2, axis=-1) / np.where(whole > 0, whole, 1.0)
