r"""The Gaussian constants of an activation that its linear twin is made of (Hu et al. 2020, eqs. 5 and 9).

With g standard normal, and with what partial integration makes of them in terms of φ alone:

.. math::
    ζ &= E[φ'(g)] = E[g\,φ(g)], \\
    ϑ_0 &= E[φ(g)], \\
    ϑ_1 &= E[g\,φ'(g)] = E[φ''(g)] = E[(g^2 - 1)φ(g)], \\
    ϑ_2 &= E[(\tfrac12 g^3 - g)φ'(g)] = \tfrac12 E[g^2 φ''(g)] = E[(\tfrac12 g^4 - \tfrac52 g^2 + 1)φ(g)].

They are Taylor coefficients: E φ(sg) = ϑ0 + ϑ1(s − 1) + ϑ2(s − 1)² + O((s − 1)³), while ζ is the slope of
E[φ(g)φ(g′)]^½ in the correlation at 0. No derivative of φ is needed.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.integrate import quad_vec
from scipy.special import ndtr

from ..core.arguments import Array
from .activations import REACH, Activation, resolve


class Constants(NamedTuple):
    """ζ, ϑ0, ϑ1 and ϑ2 of an activation."""

    zeta: float
    theta0: float
    theta1: float
    theta2: float


ROOT_PI, ROOT_2PI = float(np.sqrt(np.pi)), float(np.sqrt(2 * np.pi))
_TAIL = float(np.exp(0.5) * ndtr(-1.0))  # E[e^g; g < 0]

CLOSED: dict[str, Constants] = {
    "elu": Constants(0.5 + _TAIL, 1 / ROOT_2PI + _TAIL - 0.5, _TAIL, _TAIL - 0.5 / ROOT_2PI),
    "erf": Constants(2 / (3**0.5 * ROOT_PI), 0.0, 0.0, 0.0),
    "gelu": Constants(0.5, 0.5 / ROOT_PI, 0.75 / ROOT_PI, 0.0625 / ROOT_PI),
}
"""Closed forms, beside those of every function linear on either side of 0."""


def constants(activation: str | Activation | Callable[[Array], Array]) -> Constants:
    """ζ, ϑ0, ϑ1, ϑ2: closed form where one is known, otherwise :func:`quadrature`.

    Args:
        activation: see :func:`lineament.theory.activations.resolve`.
    """
    if isinstance(activation, str) and activation in CLOSED:
        return CLOSED[activation]
    resolved = resolve(activation)
    if resolved.slopes is not None:
        left, right = resolved.slopes
        jump = (right - left) / ROOT_2PI
        return Constants((left + right) / 2, jump, jump, 0.0)
    return quadrature(resolved)


def quadrature(activation: str | Activation | Callable[[Array], Array]) -> Constants:
    """ζ, ϑ0, ϑ1, ϑ2 by adaptive Gauss–Kronrod quadrature with breaks at the kinks, to about 1e-12."""
    resolved = resolve(activation)

    def integrand(z: float) -> Array:
        polynomials = np.array([z, 1.0, z**2 - 1, z**4 / 2 - 2.5 * z**2 + 1])
        value = float(resolved.function(np.array([z]))[0])
        return polynomials * (value * np.exp(-(z**2) / 2) / ROOT_2PI)

    breaks = [0.0, *(kink for kink in resolved.kinks if abs(kink) < REACH)]
    integrals, _ = quad_vec(integrand, -REACH, REACH, epsabs=1e-13, epsrel=1e-13, norm="max", points=breaks)  # type: ignore[misc]
    return Constants(*map(float, integrals))
