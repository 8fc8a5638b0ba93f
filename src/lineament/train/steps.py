"""The steps at which a descent is recorded."""

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks

RECORDED_BY_DEFAULT = 200


def recorded_steps(steps: int, every: int | None, at: ArrayLike | None) -> np.ndarray:
    """Rising steps from 0 to `steps`: those of `at`, or every so many and the last."""
    steps = checks.whole("steps", steps)
    if at is not None:
        if every is not None:
            raise ValueError(f"only one of every and at must be given; got every = {every} and at = {at}")
        given = np.asarray(at, dtype=int)
        if given.ndim != 1 or not given.size or given[0] < 0 or given[-1] > steps or (np.diff(given) <= 0).any():
            raise ValueError(f"at must be rising steps between 0 and steps = {steps}; got {given}")
        return given
    every = max(1, steps // RECORDED_BY_DEFAULT) if every is None else checks.whole("every", every)
    return np.unique(np.r_[np.arange(0, steps + 1, every), steps])
