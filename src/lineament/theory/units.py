r"""The clock of the theory against the clock of gradient descent.

The theory's time t is that of gradient flow on the normalised losses of Gissin et al. (2020, eq. 2 and 5):

- `shared`, the toy model σ = w^N with one weight per mode: ‖w^N − σ*‖²/(2N²);
- `factors`, the deep product W = W_N ⋯ W_1 with separate factors: ‖W − W*‖²/(2N).

Both give σ̇ = σ^{2−2/N}(σ* − σ). Training code minimises something else, ℓ = k · (normalised loss), by steps
of size η. Flow on ℓ runs k times as fast, and descent follows it with η per step, hence t = k η steps:

===========  ====================  =======  ======
loss         ℓ                     factors  shared
===========  ====================  =======  ======
normalised   c × (as above)        c        c
half         ½ c ‖W − W*‖²         c N      c N²
mse          c ‖W − W*‖²           2 c N    2 c N²
===========  ====================  =======  ======

The curvature c is what the data put in front: the variance of white inputs, and 1 for the mean over
measurements ⟨A, W⟩ with standard normal entries. Keras's `mse` also averages over the outputs: divide c by
their number.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Parametrisation = Literal["factors", "shared"]
Loss = Literal["normalised", "half", "mse"]

_POWERS = {"factors": 1, "shared": 2}
_HALVES = {"half": 1.0, "mse": 2.0}


def clock_rate(
    depth: ArrayLike,
    parametrisation: Parametrisation = "factors",
    loss: Loss = "half",
    curvature: ArrayLike = 1.0,
) -> NDArray[np.float64]:
    """The theory's time that passes per unit of (step size × steps); see the table of the module.

    Args:
        depth: N ≥ 1, finite.
        parametrisation: `factors` (separate matrices or weights) or `shared` (one weight, to the power N).
        loss: `half` (½ c ‖W − W*‖²), `mse` (no ½) or `normalised` (the loss of the theory, times c).
        curvature: c > 0.
    """
    depth = _checked("depth", depth, 1.0)
    curvature = _checked("curvature", curvature, 0.0, strict=True)
    if parametrisation not in _POWERS:
        raise ValueError(f"parametrisation must be one of {sorted(_POWERS)}, got {parametrisation!r}")
    if loss == "normalised":
        return curvature * np.ones_like(depth)
    if loss not in _HALVES:
        raise ValueError(f"loss must be one of {['normalised', *_HALVES]}, got {loss!r}")
    return _HALVES[loss] * curvature * depth ** _POWERS[parametrisation]


def paper_time(
    steps: ArrayLike,
    step_size: ArrayLike,
    depth: ArrayLike,
    parametrisation: Parametrisation = "factors",
    loss: Loss = "half",
    curvature: ArrayLike = 1.0,
) -> NDArray[np.float64]:
    """The theory's time after so many steps of gradient descent, exact in the limit of small steps.

    Args:
        steps: number of steps ≥ 0.
        step_size: η > 0.
        depth: as in :func:`clock_rate`, like the arguments that follow.
        parametrisation: `factors` or `shared`.
        loss: `half`, `mse` or `normalised`.
        curvature: c > 0.
    """
    rate = clock_rate(depth, parametrisation, loss, curvature)
    return rate * _checked("step_size", step_size, 0.0, strict=True) * _checked("steps", steps, 0.0)


def steps(
    time: ArrayLike,
    step_size: ArrayLike,
    depth: ArrayLike,
    parametrisation: Parametrisation = "factors",
    loss: Loss = "half",
    curvature: ArrayLike = 1.0,
) -> NDArray[np.float64]:
    """The (real) number of descent steps in a time of the theory: the inverse of :func:`paper_time`.

    Args:
        time: the theory's time ≥ 0; `inf` for what never happens.
        step_size: η > 0.
        depth: as in :func:`clock_rate`, like the arguments that follow.
        parametrisation: `factors` or `shared`.
        loss: `half`, `mse` or `normalised`.
        curvature: c > 0.
    """
    rate = clock_rate(depth, parametrisation, loss, curvature)
    per_step = rate * _checked("step_size", step_size, 0.0, strict=True)
    return _checked("time", time, 0.0, endless=True) / per_step


def _checked(
    name: str, given: ArrayLike, least: float, *, strict: bool = False, endless: bool = False
) -> NDArray[np.float64]:
    """The argument as float64; a ValueError that names it when it is out of range."""
    array = np.asarray(given, dtype=np.float64)
    good = (array > least if strict else array >= least) & (endless | np.isfinite(array))
    if not np.all(good):
        allowed = f"{'' if endless else 'finite '}numbers {'above' if strict else 'of at least'} {least:g}"
        raise ValueError(f"{name} must hold {allowed}, got {array[~good].flat[0]}")
    return array
