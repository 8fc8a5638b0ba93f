"""The two losses that are forecast: values and slopes over outputs, in NumPy."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

Array = NDArray[np.float64]

Loss = Literal["square", "cross-entropy"]
LOSSES: tuple[Loss, ...] = ("square", "cross-entropy")


def each(loss: Loss, f: Array, y: Array) -> Array:
    """The loss of every example: ½‖f − y‖², or the negative log-likelihood of softmax(f); f is `(*any, n, k)`."""
    with np.errstate(over="ignore", invalid="ignore"):
        if loss == "square":
            return 0.5 * np.sum((f - y) ** 2, axis=-1)
        return logsumexp(f, axis=-1) - np.sum(f * y, axis=-1)


def mean(loss: Loss, f: Array, y: Array) -> Array:
    """The mean over examples, `(*any,)`."""
    with np.errstate(over="ignore", invalid="ignore"):
        return each(loss, f, y).mean(axis=-1)


def slope(loss: Loss, f: Array, y: Array) -> Array:
    """The derivative of every example's loss by its outputs."""
    return (f if loss == "square" else softmax(f, axis=-1)) - y


def accuracy(f: Array, y: Array) -> Array:
    """The share of examples whose largest output is their class, `(*any,)`."""
    return np.mean(np.argmax(f, axis=-1) == np.argmax(y, axis=-1), axis=-1)
