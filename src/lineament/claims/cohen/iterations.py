"""When a run has arrived: for the claims on the number of iterations."""

import numpy as np


def first_step(at: np.ndarray, reached: np.ndarray) -> np.ndarray:
    """The first recorded step at which a run has arrived, or infinity."""
    return np.where(reached.any(axis=1), at[np.argmax(reached, axis=1)], np.inf)
