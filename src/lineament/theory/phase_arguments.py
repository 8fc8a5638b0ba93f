"""What the arguments of the learning phases may be: one table for flow, descent and the printed bounds."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import arguments
from ..core.arguments import Array

BOUNDS: dict[str, dict[str, Any]] = {
    "depth": {"least": 1, "infinite": True},
    "ratio": {"above": 1},
    "s": {"above": 0, "most": 0.5},
    "f": {"least": 0.5, "below": 1},
    "share": {"above": 0, "most": 1},
}
"""What the arguments of this module and its siblings may be; those not named here are positive and finite."""


def checked(limits: Mapping[str, dict[str, Any]] = BOUNDS, **named: ArrayLike) -> tuple[Array, ...]:
    """Return the arguments as float64 within their limits, broadcast with each other."""
    arrays = {name: arguments.real(name, value, **limits.get(name, {"above": 0})) for name, value in named.items()}
    arguments.together(**arrays)
    return np.broadcast_arrays(*arrays.values())


def refuse(bad: NDArray[np.bool_], message: str, *arrays: Array) -> None:
    """Raise a ValueError that shows the first bad entries."""
    if np.any(bad):
        raise ValueError(message.format(*(array[bad].flat[0] for array in arrays)))
