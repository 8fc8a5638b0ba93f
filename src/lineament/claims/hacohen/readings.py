"""How the experiments read their curves: errors over networks, best records, and what a run cannot answer."""

import numpy as np

ERRORS = 2.0
TWO_ERRORS = "two standard errors over networks: the direction of a difference at about 95 %"


def in_errors(differences: np.ndarray) -> float:
    """The mean of paired differences over networks, in its standard errors."""
    values = np.asarray(differences, float)
    error = values.std(ddof=1) / np.sqrt(values.size)
    return float(values.mean() / max(error, 1e-12))


def standard_error(curves: np.ndarray) -> np.ndarray:
    """The standard error over networks, the first axis."""
    return curves.std(axis=0, ddof=1) / np.sqrt(len(curves))


def first_best(curves: np.ndarray) -> int:
    """The first record whose mean over networks lies within one standard error of the highest, (network, record).

    On a plateau the highest record is there by chance; the first that it cannot be told from is not.
    """
    mean = curves.mean(axis=0)
    best = int(np.argmax(mean))
    return int(np.argmax(mean >= mean[best] - standard_error(curves)[best]))


def smoothed(curves: np.ndarray, width: int) -> np.ndarray:
    """The moving average over records, the last axis, of odd width; as many records as before, fewer at the ends."""
    half = width // 2
    padded = np.cumsum(np.concatenate([np.zeros((*curves.shape[:-1], 1)), curves], axis=-1), axis=-1)
    index = np.arange(curves.shape[-1])
    low, high = np.maximum(index - half, 0), np.minimum(index + half + 1, curves.shape[-1])
    return (padded[..., high] - padded[..., low]) / (high - low)
