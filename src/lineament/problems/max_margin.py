"""The max-margin separator, which classifiers trained on separable examples are compared with, in NumPy."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import arguments


def max_margin(X: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """The least `‖w‖` with `y_i ⟨w, x_i⟩ ≥ 1` for all examples: the max-margin separator through the origin.

    Linear networks without a bias tend to it at depth 1 (Soudry et al. 2018). Support vector machines of common
    libraries fit an intercept, soften the margin, or both, and end up elsewhere. This is Lawson & Hanson's reduction
    of least distance programming to non-negative least squares (1974, chapter 23), exact to rounding.

    Args:
        X: Examples (n, inputs).
        y: Labels −1 and +1.
    """
    from scipy.optimize import nnls

    X = arguments.matrix("X", X)
    y = arguments.vector("y", y, len(X))
    if not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError(f"y must be the labels −1 and +1; got {np.unique(y)[:5]}")
    scale = np.abs(X).max() or 1.0
    system = np.vstack([(y[:, None] * X / scale).T, np.ones(len(y))])
    goal = np.append(np.zeros(X.shape[1]), 1.0)
    residual = goal - system @ nnls(system, goal)[0]
    if residual[-1] < 1e-12:  # the goal is then reached: a convex combination of the y_i x_i vanishes
        raise ValueError(
            "X and y must be separable by a plane through the origin; got examples that cannot be separated"
        )
    return -residual[:-1] / residual[-1] / scale
