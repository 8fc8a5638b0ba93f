"""How the experiments read their curves: errors over networks, best records, and what a run cannot answer."""

import numpy as np

from ...evidence import Check, at_least

ERRORS = 2.0
TWO_ERRORS = "two standard errors over networks: the direction of a difference at about 95 %"


def in_errors(differences: np.ndarray) -> float:
    """The mean of paired differences over networks, in its standard errors."""
    values = np.asarray(differences, float)
    error = values.std(ddof=1) / np.sqrt(values.size)
    return float(values.mean() / max(error, 1e-12))


def shown(name: str, differences: np.ndarray, least: float, *, void: str = "", over: str = "networks") -> Check:
    """Check whether paired differences are above zero, in their standard errors.

    Two standard errors show a difference. If there are not so many, the run shows that there is none worth the name
    where two standard errors more would still not make it `least`; otherwise it cannot tell.

    Args:
        name: What the differences are.
        differences: One for each network.
        least: The least difference worth the name.
        void: Why the run cannot answer, if that is known already.
        over: What the standard errors are over.
    """
    values = np.asarray(differences, float)
    mean, error = float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else np.nan
    if not void and not (mean >= ERRORS * error or mean + ERRORS * error < least):
        void = f"{mean:.2g} ± {error:.1g} over {values.size} {over} is told neither from 0 nor from {least:g}"
    origin = f"two standard errors over {over}; none if it is below {least:g} by as many"
    return at_least(f"{name}, in standard errors", in_errors(values), ERRORS, origin, void=void)


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
