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

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array

Parameterisation = Literal["factors", "shared"]
Loss = Literal["normalised", "half", "mse"]

_POWERS = {"factors": 1, "shared": 2}
_HALVES = {"half": 1.0, "mse": 2.0}


def clock_rate(
    depth: ArrayLike,
    parameterisation: Parameterisation = "factors",
    loss: Loss = "half",
    curvature: ArrayLike = 1.0,
) -> Array:
    """The theory's time that passes per unit of (step size × steps); see the table of the module.

    Args:
        depth: N ≥ 1, finite.
        parameterisation: `factors` (separate matrices or weights) or `shared` (one weight, to the power N).
        loss: `half` (½ c ‖W − W*‖²), `mse` (no ½) or `normalised` (the loss of the theory, times c).
        curvature: c > 0.
    """
    depth, curvature = arguments.real("depth", depth, least=1), arguments.real("curvature", curvature, above=0)
    arguments.together(depth=depth, curvature=curvature)
    power = _POWERS[arguments.one_of("parameterisation", parameterisation, _POWERS)]
    if arguments.one_of("loss", loss, get_args(Loss)) == "normalised":
        return curvature * depth**0
    return _HALVES[loss] * curvature * depth**power


def paper_time(
    steps: ArrayLike,
    step_size: ArrayLike,
    depth: ArrayLike,
    parameterisation: Parameterisation = "factors",
    loss: Loss = "half",
    curvature: ArrayLike = 1.0,
) -> Array:
    """The theory's time after so many steps of gradient descent, exact in the limit of small steps.

    Args:
        steps: number of steps ≥ 0.
        step_size: η > 0.
        depth: as in :func:`clock_rate`, like the arguments that follow.
        parameterisation: `factors` or `shared`.
        loss: `half`, `mse` or `normalised`.
        curvature: c > 0.
    """
    rate = clock_rate(depth, parameterisation, loss, curvature)
    return _per_step(rate, step_size, steps := arguments.real("steps", steps, least=0)) * steps


def steps(
    time: ArrayLike,
    step_size: ArrayLike,
    depth: ArrayLike,
    parameterisation: Parameterisation = "factors",
    loss: Loss = "half",
    curvature: ArrayLike = 1.0,
) -> Array:
    """The (real) number of descent steps in a time of the theory: the inverse of :func:`paper_time`.

    Args:
        time: the theory's time ≥ 0; `inf` for what never happens.
        step_size: η > 0.
        depth: as in :func:`clock_rate`, like the arguments that follow.
        parameterisation: `factors` or `shared`.
        loss: `half`, `mse` or `normalised`.
        curvature: c > 0.
    """
    rate = clock_rate(depth, parameterisation, loss, curvature)
    time = arguments.real("time", time, least=0, infinite=True)
    with np.errstate(over="ignore"):  # more steps than a float can count are endless
        return time / _per_step(rate, step_size, time)


def _per_step(rate: Array, step_size: ArrayLike, quantity: Array) -> Array:
    """The theory's time that passes in one step."""
    step_size = arguments.real("step_size", step_size, above=0)
    arguments.together(depth=rate, step_size=step_size, times=quantity)
    return rate * step_size
