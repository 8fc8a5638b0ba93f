"""The modes of a deep linear network in the time of its training.

`modes` knows one clock for all depths, that of the papers' normalised losses. A network of N layers on the square loss
½ c ‖W − W*‖² runs c N times as fast (`units` has the table), so that a forecast for a run takes the run's own time.
"""

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array
from . import modes, units


def singular_values(
    time: ArrayLike, target: ArrayLike, start: ArrayLike, depth: ArrayLike, *, curvature: ArrayLike = 1.0
) -> Array:
    """The singular values of the product of N layers along gradient flow from an aligned, balanced start.

    Args:
        time: of `lineament.flow`, or step size × steps of `lineament.descend`, in one row (time,).
        target: the singular values σ* of the optimal map, (mode,).
        start: those of the start's product, one number or one for each mode.
        depth: N ≥ 1, the number of layers.
        curvature: the variance c of white inputs.

    Returns:
        (time, mode), as a run records them.
    """
    time, target = arguments.real("time", time, least=0), arguments.real("target", target, least=0)
    if time.ndim != 1 or target.ndim != 1:
        raise ValueError(f"time and target must be one row each; got shapes {time.shape} and {target.shape}")
    depth, curvature = arguments.real("depth", depth), arguments.real("curvature", curvature)
    arguments.together(time=time[:, None], depth=depth, curvature=curvature)
    clock = units.clock_rate(depth, curvature=curvature)
    return modes.trajectory(clock * time[:, None], target[None, :], start, depth)


def time_to(
    value: ArrayLike, target: ArrayLike, start: ArrayLike, depth: ArrayLike, *, curvature: ArrayLike = 1.0
) -> Array:
    """The time of training at which a singular value is reached; all arguments broadcast.

    Args:
        value: to be reached.
        target: the singular value σ* of the optimal map.
        start: that of the start's product.
        depth: N ≥ 1, the number of layers.
        curvature: the variance c of white inputs.
    """
    with np.errstate(over="ignore"):  # longer than a float can say is never
        return modes.time_to(value, target, start, depth) / units.clock_rate(depth, curvature=curvature)
