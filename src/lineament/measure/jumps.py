"""When a path that rests at one point after the other jumps between them."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import arguments

Array = NDArray[np.float64]


def jump_times(times: ArrayLike, path: ArrayLike, points: ArrayLike) -> Array:
    """When a path, coming from each point, is first nearer to the next, (points − 1,); infinity if never.

    A jump is looked for after the jump before: a path that has not come to a point yet may be nearer to a later one.

    Args:
        times: rising, (time,).
        path: where it is then, (time, coordinate).
        points: where it is to rest, in order, at least two, (point, coordinate).
    """
    clock = arguments.rising("times", times)
    seen = arguments.matrix("path", path)
    rests = arguments.matrix("points", points)
    if len(seen) != len(clock):
        raise ValueError(f"path must have a row for each of {len(clock)} times; got shape {seen.shape}")
    if len(rests) < 2 or rests.shape[1] != seen.shape[1]:
        raise ValueError(f"points must be at least two of {seen.shape[1]} coordinates; got shape {rests.shape}")
    distance = np.linalg.norm(seen[:, None, :] - rests, axis=2)
    nearer = distance[:, 1:] < distance[:, :-1]
    found, since = np.full(nearer.shape[1], np.inf), 0
    for p in range(len(found)):
        later = np.flatnonzero(nearer[since:, p])
        if len(later) == 0:
            break
        since += int(later[0])
        found[p] = clock[since]
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
