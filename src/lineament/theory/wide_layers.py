r"""One layer of infinite width in closed form, from standard deviations and angles alone.

Let u, v be normal with standard deviations s, t at the angle θ, cos θ their correlation. A layer φ takes (s, t, θ) to

.. math:: s'^2 = E[φ(u)^2], \quad t'^2 = E[φ(v)^2], \quad \cosθ' = \frac{E[φ(u)φ(v)]}{s't'}, \quad
          g = \frac{st\,E[φ'(u)φ'(v)]}{s't'} ,

and a tangent kernel in the same units, Θ = stT, to T′ = cos θ′ + gT. Written so, nothing overflows, and no difference of
nearly equal numbers is taken:

- φ(z) = az (z < 0), bz (z ≥ 0) is homogeneous (Cho & Saul 2009): s′ = s√((a² + b²)/2), and with κ = (b − a)²/(π(a² + b²))
  and f(x) = sin x − x cos x one has 1 ∓ cos θ′ = 1 ∓ cos θ ∓ κf(θ), and the like in π − θ;
- erf (Williams 1997): E[φφ] = (2/π) arctan(2st cos θ/N) and E[φ′φ′] = 4/(πN) with N² = 1 + 2s² + 2t² + 4s²t² sin²θ.
  As printed, with (1 + 2s²)(1 + 2t²) − 4c² in the place of N², all digits are gone at s = 1e8.

Errors against 50-digit references, relative to √(K(x, x)K(y, y)): below 1e-13, for inputs between 1e-300 and 1e300.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..core.arguments import Array
from .activations import NAMED, Activation
from .angles import Angles, from_cosine

SMALL = 0.7
"""Angles below which sin x − x cos x is summed from its series."""


class Layer(NamedTuple):
    """What comes out of a layer: s′, t′, θ′, cos θ′ and the gain g."""

    s: Array
    t: Array
    angles: Angles
    cos: Array
    gain: Array


def closed_form(activation: Activation) -> Callable[[Array, Array, Angles], Layer] | None:
    """Return the layer as a function of s, t and θ that broadcast, where a closed form is known."""
    if activation is NAMED["erf"]:
        return erf_layer
    if activation.slopes is not None:
        left, right = activation.slopes
        return lambda s, t, angles: piecewise_linear_layer(left, right, s, t, angles)
    return None


def piecewise_linear_layer(left: float, right: float, s: Array, t: Array, angles: Angles) -> Layer:
    """A layer of φ(z) = left·z (z < 0), right·z (z ≥ 0)."""
    norm = np.hypot(left, right)
    if norm == 0:
        zeros = np.zeros(angles.half_sin.shape)
        return Layer(0 * s, 0 * t, from_cosine(zeros), zeros, zeros)
    a, b = left / norm, right / norm  # so that a² + b² = 1
    kappa, even = (b - a) ** 2 / np.pi, 2 * a * b
    cosine, supplement, bend, mirrored = _bends(angles)
    # 1 ∓ cos θ′, without cancellation but where θ is near π and φ is even.
    minus = np.asarray(2 * angles.half_sin**2 - kappa * bend)
    square = 2 * angles.half_cos**2
    blunt = supplement < SMALL
    if blunt.any():
        minus[blunt] = np.asarray((a + b) ** 2 - even * square - kappa * mirrored)[blunt]
    turned = Angles(np.sqrt(np.maximum(minus, 0.0) / 2), np.sqrt((square + kappa * bend) / 2))
    root = norm / np.sqrt(2)
    return Layer(root * s, root * t, turned, even * cosine + kappa * mirrored, even + kappa * supplement)


def erf_layer(s: Array, t: Array, angles: Angles) -> Layer:
    """A layer of φ = erf."""
    (out_s, shrink_s), (out_t, shrink_t) = _erf_deviation(s), _erf_deviation(t)
    if np.all(s < 1e70) and np.all(t < 1e70):
        N = np.sqrt(1 + 2 * s**2 + 2 * t**2 + (2 * s * t * angles.sin) ** 2)
        ratio, tangent = 1 / (shrink_s * shrink_t * N), s * t / N  # st/(N s′t′) and st/N
    else:
        ratio, tangent = _large_erf(s, t, angles.sin, out_s * out_t, shrink_s * shrink_t)
    z = 2 * angles.cos * tangent
    slant = np.divide(np.arctan(z), z, out=np.ones_like(z), where=z != 0)
    cosine = np.clip(4 / np.pi * slant * angles.cos * ratio, -1, 1)
    return Layer(out_s, out_t, from_cosine(cosine), cosine, 4 / np.pi * ratio)


def _large_erf(s: Array, t: Array, sine: Array, deviations: Array, shrink: Array) -> tuple[Array, Array]:
    """st/(N s′t′) and st/N, where squares of s and t overflow: N itself for st ≤ 1, N/(st) beyond."""
    with np.errstate(all="ignore"):  # each form overflows where the other is taken
        N = np.hypot(np.hypot(1.0, np.sqrt(2) * s), np.hypot(np.sqrt(2) * t, 2 * s * t * sine))
        M = np.hypot(np.hypot(1 / s / t, np.sqrt(2) / t), np.hypot(np.sqrt(2) / s, 2 * sine))
        small = s * t <= 1
        return np.where(small, 1 / (shrink * N), 1 / (M * deviations)), np.where(small, s * t / N, 1 / M)


def _erf_deviation(s: Array) -> tuple[Array, Array]:
    """s′ = √((2/π) arctan(2s²/√(1 + 4s²))) and s′/s."""
    with np.errstate(all="ignore"):
        large = np.sqrt(2 / np.pi * np.arctan2(2 * s, np.hypot(1 / s, 2.0)))
        shrink = np.where(s < 1e-4, 2 / np.sqrt(np.pi) * np.sqrt(1 - 2 * s**2), large / s)
    return np.where(s < 1e-4, s * shrink, large), shrink


def _bends(angles: Angles) -> tuple[Array, Array, Array, Array]:
    """The cosine of θ, π − θ, f(θ) and f(π − θ) with f(x) = sin x − x cos x, each precise where it is small."""
    cosine, sine, theta = angles.cos, angles.sin, angles.theta
    supplement = np.asarray(np.pi - theta)
    bend, mirrored = np.asarray(sine - theta * cosine), np.asarray(sine + supplement * cosine)
    sharp, blunt = np.asarray(theta < SMALL), supplement < SMALL
    if sharp.any():
        bend[sharp] = _series(np.asarray(theta)[sharp])
    if blunt.any():
        supplement[blunt] = np.asarray(angles.supplement)[blunt]
        mirrored[blunt] = _series(supplement[blunt])
    return cosine, supplement, bend, mirrored


def _series(x: Array) -> Array:
    """The function sin x − x cos x for small x, by its series."""
    total, power, factorial = np.zeros_like(x), x.copy(), 1.0
    for k in range(1, 9):
        power, factorial = -power * x**2, factorial * (2 * k) * (2 * k + 1)
        total -= 2 * k * power / factorial
    return total
