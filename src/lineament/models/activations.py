"""The common activations by name."""

from collections.abc import Callable, Mapping
from typing import Literal

import jax
import jax.numpy as jnp

from ..core import checks

Activation = Literal["erf", "relu", "leaky_relu", "tanh", "sigmoid", "softplus", "gelu", "elu", "linear"]

ACTIVATIONS: Mapping[Activation, Callable[[jax.Array], jax.Array]] = {
    "erf": jax.scipy.special.erf,
    "relu": jax.nn.relu,
    "leaky_relu": lambda z: jnp.where(z > 0, z, 0.01 * z),
    "tanh": jnp.tanh,
    "sigmoid": jax.nn.sigmoid,
    "softplus": jax.nn.softplus,
    "gelu": lambda z: jax.nn.gelu(z, approximate=False),  # z Φ(z), not its tanh approximation
    "elu": jax.nn.elu,
    "linear": lambda z: z,
}

RECTIFIERS = ("relu", "leaky_relu", "gelu", "elu")


def activation(name: str) -> Callable[[jax.Array], jax.Array]:
    """The activation of that name; "leaky_relu" has slope 0.01 below zero, "gelu" is the exact form z Φ(z)."""
    checks.one_of("name", name, tuple(ACTIVATIONS))
    return ACTIVATIONS[name]  # type: ignore[index]


def gain(name: str) -> float:
    """The variance, times the fan-in, that He's start gives a weight: 2 for rectifiers, which halve a signal, else 1."""
    checks.one_of("activation", name, tuple(ACTIVATIONS))
    return 2.0 if name in RECTIFIERS else 1.0
