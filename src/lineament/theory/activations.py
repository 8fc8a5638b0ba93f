r"""Activations as NumPy functions of float64, with what their Gaussian integrals need to know of them.

A kink, where the derivative jumps, spoils every quadrature rule whose panels cross it, so each activation carries its
kinks. For a plain callable they are looked for, and its derivative is a fourth-order difference that never reaches
across one. φ(z) = az (z < 0), bz (z ≥ 0) also carries its slopes (a, b): its integrals are known in closed form.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import erf, expit, ndtr

from ..core import arguments
from ..core.arguments import Array

REACH = 12.0
"""Beyond this many standard deviations a Gaussian weighs less than 1e-31: integrals stop here."""


class Activation(NamedTuple):
    """A scalar function applied entry by entry.

    Attributes:
        function: φ, from arrays to arrays of the same shape.
        derivative: φ′; at a kink, the derivative from the right.
        kinks: where φ or one of its first two derivatives jumps, rising.
        slopes: (a, b) of a function that is linear on either side of 0, otherwise None.
    """

    function: Callable[[Array], Array]
    derivative: Callable[[Array], Array]
    kinks: tuple[float, ...] = ()
    slopes: tuple[float, float] | None = None


def piecewise_linear(left: float, right: float = 1.0) -> Activation:
    """The activation φ(z) = left·z for z < 0, right·z for z ≥ 0 (Assumption 3.2 (ii) of Hu et al. 2020)."""
    left, right = arguments.number("left", left), arguments.number("right", right)

    def slope(z: Array) -> Array:
        return np.where(z < 0, left, right)

    return Activation(lambda z: slope(z) * z, slope, () if left == right else (0.0,), (left, right))


NAMED: dict[str, Activation] = {
    "elu": Activation(
        lambda z: np.where(z < 0, np.expm1(np.minimum(z, 0)), z), lambda z: np.exp(np.minimum(z, 0)), (0.0,)
    ),
    "erf": Activation(erf, lambda z: 2 / np.sqrt(np.pi) * np.exp(-(z**2))),
    # zΦ(z) itself, not its tanh approximation, which is another function by up to 5e-4.
    "gelu": Activation(lambda z: z * ndtr(z), lambda z: ndtr(z) + z * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)),
    "leaky_relu": piecewise_linear(0.01),
    "linear": piecewise_linear(1.0),
    "relu": piecewise_linear(0.0),
    "sigmoid": Activation(expit, lambda z: expit(z) * expit(-z)),
    "softplus": Activation(lambda z: np.logaddexp(0, z), expit),
    "tanh": Activation(np.tanh, lambda z: 1 / np.cosh(np.minimum(np.abs(z), 300)) ** 2),
}


def resolve(activation: str | Activation | Callable[[Array], Array]) -> Activation:
    """The activation of a name, or around a callable: kinks found, derivative by differences.

    Args:
        activation: one of the names in :data:`NAMED`, an :class:`Activation`, or a function that maps a float64 array
            to a float64 array of the same shape.
    """
    if isinstance(activation, Activation):
        return activation
    if not callable(activation):
        return NAMED[arguments.one_of("activation", activation, NAMED, "an Activation or a function")]

    def function(z: Array) -> Array:
        value = np.asarray(activation(z))
        if value.shape != np.shape(z) or value.dtype != np.float64 or not np.isfinite(value).all():
            raise ValueError(
                "activation must map a float64 array to finite float64 values of the same shape; "
                f"shape {np.shape(z)} gave shape {value.shape} of {value.dtype}"
            )
        return value

    kinks = find_kinks(function)
    return Activation(function, lambda z: _difference(function, z, kinks), kinks)


def find_kinks(function: Callable[[Array], Array]) -> tuple[float, ...]:
    """Where the slope of a function jumps, between −8 and 8, no two of them closer than 1/16.

    The second difference over h, divided by h, is O(h) where φ is smooth and tends to the jump of the slope at a kink.
    Each suspicious panel is narrowed to h = 1e-6; then the tangents from the two sides meet at the kink. A jump of the
    second derivative only, as in ELU, is not seen: such functions should come as an :class:`Activation`.
    """
    arguments.function("function", function)
    h = 1 / 64
    centres = np.arange(-8, 8 + h / 2, h)
    bend = _bend(function, centres, h)
    scale = max(float(np.max(np.abs(np.diff(function(centres))))) / h, np.finfo(float).tiny)
    # A kink shows in the two panels that hold it: keep the larger.
    peaks = np.flatnonzero((bend > 1e-4 * scale) & (bend >= np.roll(bend, 1)) & (bend > np.roll(bend, -1)))
    kinks = []
    for centre in centres[peaks]:
        width = h
        while width > 1e-6:
            finer = centre + width * np.linspace(-1, 1, 17)
            width /= 8
            centre = finer[np.argmax(_bend(function, finer, width))]
        if _bend(function, np.array([centre]), width)[0] > 1e-3 * scale:
            kinks.append(_meeting(function, float(centre), width))
    return tuple(kinks)


def _bend(function: Callable[[Array], Array], z: Array, h: float) -> Array:
    return np.abs(function(z + h) - 2 * function(z) + function(z - h)) / h


def _meeting(function: Callable[[Array], Array], centre: float, width: float) -> float:
    """Where the tangents from the left and the right of a kink meet, if that is near; else the centre (a jump)."""
    step = 1e-4
    points = centre + np.array([-2 * width - step, -2 * width, 2 * width, 2 * width + step])
    a, b, c, d = function(points)
    left, right = (b - a) / step, (d - c) / step
    meets = (b - left * points[1] - c + right * points[2]) / (right - left)
    return float(meets if abs(meets - centre) < 2 * width else centre)


def _difference(function: Callable[[Array], Array], z: Array, kinks: tuple[float, ...]) -> Array:
    """φ′ by the five-point rule, its step shortened so that it stays on one side of every kink."""
    z = np.asarray(z, dtype=np.float64)
    h = np.full(z.shape, 2e-3)
    for kink in kinks:
        h = np.minimum(h, np.maximum(np.abs(z - kink) / 2.5, 1e-9))
    near, far = function(z + h) - function(z - h), function(z + 2 * h) - function(z - 2 * h)
    return (8 * near - far) / (12 * h)
