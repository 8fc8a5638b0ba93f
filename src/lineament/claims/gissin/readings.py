"""What is read off a learning curve: when a level is passed, and how far the phases of two values overlap."""

import numpy as np
from numpy.typing import ArrayLike


def crossing(times: ArrayLike, curve: ArrayLike, level: float) -> float:
    """The first time at which a curve reaches a level, between records by a straight line; nan if it never does."""
    times, curve = np.asarray(times, float), np.asarray(curve, float)
    above = curve >= level
    if not above.any():
        return np.nan
    i = int(np.argmax(above))
    if i == 0:
        return float(times[0])
    share = (level - curve[i - 1]) / (curve[i] - curve[i - 1])
    return float(times[i - 1] + share * (times[i] - times[i - 1]))


def overlaps(curves: ArrayLike, goals: ArrayLike, share: float = 0.5) -> np.ndarray:
    """How much of the next value is learnt when a value reaches a share of its goal, for each two consecutive values.

    Definition 1 of Gissin et al. (2020) calls two values (s, f)-incremental if this is at most s at the share f.
    Values learnt together give about `share`, separate phases about 0; a value that never gets there gives nan.

    Args:
        curves: Values over time (time, value), in the order they are to be learnt.
        goals: What each value is to reach.
        share: f, the share at which a value counts as learnt.
    """
    curves, goals = np.asarray(curves, float), np.asarray(goals, float)
    place = np.arange(len(curves))
    shares = []
    for i in range(len(goals) - 1):
        when = crossing(place, curves[:, i], share * goals[i])
        shares.append(np.nan if np.isnan(when) else np.interp(when, place, curves[:, i + 1]) / goals[i + 1])
    return np.array(shares)


def median_interval(values: ArrayLike) -> tuple[float, float]:
    """Two of the values between which the median of their law lies with a probability of 95 % or more, whatever it is.

    Each value is below the median with probability ½, so that how many are follows a binomial law (order statistics).
    """
    from scipy.stats import binom  # takes half a second

    ordered = np.sort(np.asarray(values, float))
    below = int(binom.ppf(0.025, ordered.size, 0.5))  # values left out on either side, one less
    return float(ordered[max(below - 1, 0)]), float(ordered[min(ordered.size - below, ordered.size - 1)])
