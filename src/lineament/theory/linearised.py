r"""Linearised training on square loss: what a network computes after any time, from its tangent kernel alone.

A network that moves little computes f(θ) ≈ f(θ₀) + J(θ − θ₀). Training then stays in the span of the gradients,
θ − θ₀ = Jᵀc with one coefficient for each training output, and with the kernel K = JJᵀ

.. math:: f = f_0 + Kc, \qquad \dot c = -\tfrac1n\,(f - y + ρ c)

is the gradient flow of ½ mean‖f − y‖² + (ρ/2n)‖θ − θ₀‖²: the mean over examples, the sum over outputs (Jacot et al.
2018; Lee et al. 2019). Other points, whose kernel against the training points is K_*, follow as f_* = f_{*0} + K_* c. The
same holds step by step for gradient descent, with or without momentum. Kernels of infinitely wide networks serve as well
as those of a network at its start.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array
from . import kernel_modes, spectral_filters
from .kernel_shapes import Shapes, matrix_of, shapes


class Outputs(NamedTuple):
    """Outputs on training and on other points, each ``(*t, points, outputs)``, or ``(*t, points)`` for targets (n,)."""

    training: Array
    other: Array


def predict(t: ArrayLike, kernel: ArrayLike, y: ArrayLike, cross: ArrayLike | None = None, ridge: float = 0.0) -> Any:
    """Outputs after a time t of gradient flow on ½ mean‖f − y‖² from a network that begins at zero.

    For a network that begins at f₀, predict y − f₀ and add f₀ (its own at other points).

    Args:
        t: the time, of any shape; infinity for the end of training.
        kernel: of the training points, (n, n) for outputs that share it, or (n, n, k, k).
        y: targets, (n,) or (n, k).
        cross: kernel of other points against the training points, (m, n) or (m, n, k, k).
        ridge: ρ ≥ 0, the penalty (ρ/2n)‖θ − θ₀‖² on the distance from the start: at the end f = K(K + ρ)⁻¹y.

    Returns:
        Outputs on the training points, of shape ``(*t, n)`` or ``(*t, n, k)`` as y has it. With `cross` the pair
        `Outputs(training, other)`.
    """
    times = arguments.real("t", t, least=0, infinite=True)
    given = shapes(kernel, y, cross)
    ridge = arguments.number("ridge", ridge, least=0)
    return _outputs(given, times, ridge, lambda h: spectral_filters.flow(times, h, given.n))


def descend(
    steps: ArrayLike,
    kernel: ArrayLike,
    y: ArrayLike,
    step_size: float,
    momentum: float = 0.0,
    cross: ArrayLike | None = None,
    ridge: float = 0.0,
) -> Any:
    """Outputs after steps of gradient descent with its real step size, otherwise as :func:`predict`.

    Args:
        steps: whole numbers, of any shape; infinity for the end of training.
        kernel: see :func:`predict`.
        y: targets.
        step_size: η > 0. Beyond 2n(1 + μ)/(λmax + ρ) outputs grow without bound, as those of the network would.
        momentum: μ of heavy-ball momentum, v ← μv + ∇, θ ← θ − ηv, in [0, 1).
        cross: see :func:`predict`.
        ridge: see :func:`predict`.
    """
    count = arguments.real("steps", steps, least=0, infinite=True)
    if not np.equal(count, np.floor(count)).all():
        raise ValueError("steps must be whole numbers; got fractions of steps")
    given = shapes(kernel, y, cross)
    ridge = arguments.number("ridge", ridge, least=0)
    eta = arguments.number("step_size", step_size, above=0)
    mu = arguments.number("momentum", momentum, least=0, below=1)
    if np.isinf(count).any():
        _refuse_unstable(given, eta, mu, ridge)
    return _outputs(given, count, ridge, lambda h: spectral_filters.descent(count, h, given.n, eta, mu))


def largest_step(kernel: ArrayLike, momentum: float = 0.0, ridge: float = 0.0) -> float:
    """The step size beyond which descent with this kernel grows without bound: 2n(1 + μ)/(λmax + ρ)."""
    K, n = matrix_of(kernel)
    mu = arguments.number("momentum", momentum, least=0, below=1)
    top = kernel_modes.top_value(K) + arguments.number("ridge", ridge, least=0)
    return spectral_filters.largest_step(top / n, mu)


def _refuse_unstable(given: Shapes, step_size: float, momentum: float, ridge: float) -> None:
    most = spectral_filters.largest_step((kernel_modes.top_value(given.kernel) + ridge) / given.n, momentum)
    if step_size >= most:
        raise ValueError(f"step_size must be below {most:.6g} for descent to have an end; got {step_size:g}")


def _outputs(given: Shapes, at: Array, ridge: float, filtered: Callable[[Array], Array]) -> Any:
    n = given.n
    of_values = lambda values: filtered((values + ridge) / n)  # noqa: E731
    found = kernel_modes.modes(given.kernel, given.y, of_values if np.isfinite(at).all() else None)
    learnt = found.sound(of_values(found.values))
    with np.errstate(over="ignore", invalid="ignore"):
        training = given.folded(found.combine(found.basis, learnt * found.values), n)
        if given.cross is None:
            return training
        other = given.folded(found.combine(found.seen_from(given.cross), learnt), given.others)
    return Outputs(training, other)
