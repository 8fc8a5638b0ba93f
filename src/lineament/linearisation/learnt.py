"""When each example is learnt: the step from which its answer is right for good."""

import numpy as np

from .tangents import Array

CLOSE = 0.5
"""A number is learnt when it is nearer than this share of the typical error at the start."""


def right(outputs: Array, y: Array, classes: bool) -> np.ndarray:
    """Which answers are right, (step, n): the class, or a number within half the root mean square error at the start."""
    if classes:
        return np.argmax(outputs, axis=-1) == np.argmax(y, axis=-1)
    with np.errstate(over="ignore", invalid="ignore"):  # of a network that diverges, no answer is right
        error = np.sqrt(np.sum((outputs - y) ** 2, axis=-1))
    return error <= CLOSE * np.sqrt(np.mean(error[0] ** 2))


def learnt_at(at: np.ndarray, is_right: np.ndarray) -> Array:
    """The first of the steps `at` from which every later answer is right; infinity where the last is wrong."""
    stays = np.logical_and.accumulate(is_right[::-1], axis=0)[::-1]
    first = np.argmax(stays, axis=0)
    return np.where(stays[-1], at[first].astype(float), np.inf)
