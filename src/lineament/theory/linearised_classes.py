r"""Linearised training on cross-entropy: no closed form, but an equation of one coefficient for each training output.

With the mean negative log-likelihood of softmax(f) in the place of square loss, linearised training reads

.. math:: f = f_0 + Kc, \qquad \dot c = -\tfrac1n\,(\operatorname{softmax} f - y + ρ c)

and the same step by step. Steps are taken as they are, compiled by JAX in float64 (float32 for kernels that come in it)
whatever JAX's own flag says; the flow is followed by an adaptive solver. `lineament.theory.linearised` says the rest.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array
from . import kernel_steps
from .kernel_shapes import Shapes, shapes
from .linearised import Outputs

MOST_STEPS = 10**9
"""Steps that are taken; more would take days."""


def descend(
    steps: ArrayLike,
    kernel: ArrayLike,
    y: ArrayLike,
    step_size: float,
    momentum: float = 0.0,
    start: ArrayLike | None = None,
    cross: ArrayLike | None = None,
    start_cross: ArrayLike | None = None,
    ridge: float = 0.0,
) -> Any:
    """Outputs (logits) after steps of gradient descent on cross-entropy.

    Args:
        steps: whole numbers, of any shape.
        kernel: of the training points, (n, n) for outputs that share it, or (n, n, k, k).
        y: the share of each class, (n, k): one-hot for labels.
        step_size: η > 0.
        momentum: μ of heavy-ball momentum, v ← μv + ∇, θ ← θ − ηv, in [0, 1).
        start: outputs at the start, (n, k); zero by default.
        cross: kernel of other points against the training points, (m, n) or (m, n, k, k).
        start_cross: outputs at the start there, (m, k); zero by default.
        ridge: the penalty (ρ/2n)‖θ − θ₀‖².

    Returns:
        Logits on the training points, ``(*steps, n, k)``; with `cross` the pair `Outputs(training, other)`.
    """
    count = arguments.real("steps", steps, least=0, most=MOST_STEPS)
    if not np.equal(count, np.floor(count)).all():
        raise ValueError("steps must be whole numbers; got fractions of steps")
    eta = arguments.number("step_size", step_size, above=0)
    mu = arguments.number("momentum", momentum, least=0, below=1)
    rho = arguments.number("ridge", ridge, least=0)
    given, f0, f0_other = _checked(kernel, y, start, cross, start_cross)
    at, back = np.unique(count, return_inverse=True)
    c = kernel_steps.cross_entropy(given.kernel, given.folded(given.y, given.n), f0, eta, mu, rho, at)
    return _outputs(given, f0, f0_other, c[back].reshape(*count.shape, *c.shape[1:]))


def flow(
    t: ArrayLike,
    kernel: ArrayLike,
    y: ArrayLike,
    start: ArrayLike | None = None,
    cross: ArrayLike | None = None,
    start_cross: ArrayLike | None = None,
    ridge: float = 0.0,
) -> Any:
    """Outputs (logits) after a time t of gradient flow on cross-entropy; arguments as in :func:`descend`."""
    times = arguments.real("t", t, least=0)
    rho = arguments.number("ridge", ridge, least=0)
    given, f0, f0_other = _checked(kernel, y, start, cross, start_cross)
    if not times.size:
        raise ValueError("t must be at least one time; got none")
    at, back = np.unique(times, return_inverse=True)
    c, arrived = kernel_steps.cross_entropy_flow(given.kernel, given.folded(given.y, given.n), f0, rho, at)
    if not arrived:
        raise RuntimeError(f"the flow could not be followed to t = {at[-1]:.6g}: it needs too many steps")
    return _outputs(given, f0, f0_other, c[back].reshape(*times.shape, *c.shape[1:]))


def _checked(
    kernel: ArrayLike, y: ArrayLike, start: ArrayLike | None, cross: ArrayLike | None, start_cross: ArrayLike | None
) -> tuple[Shapes, Array, Array]:
    given = shapes(kernel, y, cross)
    table = given.folded(given.y, given.n)
    if given.vector or given.outputs < 2 or (table < 0).any() or np.abs(table.sum(axis=1) - 1).max() > 1e-6:
        raise ValueError(
            "y must be shares of at least two classes, (n, k), one-hot for labels, that sum to 1 in every row; got "
            f"shape {np.shape(y)}"
        )
    if cross is None and start_cross is not None:
        raise ValueError("start_cross must be left out without cross; got outputs of other points")
    f0 = _start("start", start, given, given.n)
    return given, f0, _start("start_cross", start_cross, given, given.others)


def _start(name: str, value: ArrayLike | None, given: Shapes, points: int) -> Array:
    if value is None:
        return np.zeros((points, given.outputs))
    return arguments.matrix(name, value, (points, given.outputs))


def _outputs(given: Shapes, f0: Array, f0_other: Array, c: Array) -> Any:
    flat = given.flat(c)
    with np.errstate(over="ignore", invalid="ignore"):
        training = f0 + given.folded(given.kernel @ flat, given.n)
        if given.cross is None:
            return training
        return Outputs(training, f0_other + given.folded(given.cross @ flat, given.others))
