"""The steps at which a descent is recorded."""

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments, checks

RECORDED_BY_DEFAULT = 200


def recorded_steps(steps: int, every: int | None, at: ArrayLike | None) -> np.ndarray:
    """Rising steps from 0 to `steps`: those of `at`, or every so many and the last."""
    steps = checks.whole("steps", steps)
    if at is not None:
        if every is not None:
            raise ValueError(f"only one of every and at must be given; got every = {every} and at = {at}")
        given = arguments.numeric("at", at)
        risen = given.ndim == 1 and given.size and given[0] >= 0 and given[-1] <= steps and (np.diff(given) > 0).all()
        if not risen or (given != np.round(given)).any():
            raise ValueError(f"at must be rising steps between 0 and steps = {steps}; got {arguments.shown(at)}")
        return given.astype(int)
    every = max(1, steps // RECORDED_BY_DEFAULT) if every is None else checks.whole("every", every)
    return np.unique(np.r_[np.arange(0, steps + 1, every), steps])
