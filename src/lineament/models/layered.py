"""What fully connected and convolutional networks share: layers `z_p = c W a_p + b`, activations between, and taps.

c = 1/√fan_in in the NTK parameterisation and 1 in the standard one. `lineament.core.layered` says what a tap is.
"""

import abc
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import checks
from ..core.layered import AbstractLayered
from ..core.model import Map, Parameter
from .activations import ACTIVATIONS, Activation, gain
from .chain import Layers

Parameterisation = Literal["ntk", "standard"]
Product: TypeAlias = Callable[[Array, Array], Array]  # of inputs and a matrix
Forward: TypeAlias = tuple[Array, tuple[Array, ...]]  # outputs, and the input of each layer


class Affine(NamedTuple):
    """Matrices (fan_out, fan_in), first layer first, and their biases (an empty tuple where there are none)."""

    layers: Layers
    biases: tuple[Float[Array, " _"], ...] = ()


class AbstractAffine(AbstractLayered):
    """A network of affine layers. Its parameters are `Affine`: matrices (fan_out, fan_in) and biases.

    Attributes:
        activation: The name of the activation after every layer but the last.
        parameterisation: "ntk" or "standard".
        bias: Whether layers have biases.
    """

    activation: eqx.AbstractVar[Activation]
    parameterisation: eqx.AbstractVar[Parameterisation]
    bias: eqx.AbstractVar[bool]

    @property
    @abc.abstractmethod
    def layer_shapes(self) -> tuple[tuple[int, int], ...]:
        """Outputs and inputs of each layer, first layer first."""

    @abc.abstractmethod
    def forward(
        self, parameters: Affine, X: Array, taps: Sequence[Array] | None = None, dropout_key: Array | None = None
    ) -> Forward:
        """The outputs on the rows of X, and the input of each layer; with taps added to the layers' products."""

    def __check_init__(self) -> None:
        checks.one_of("activation", self.activation, tuple(ACTIVATIONS))
        checks.one_of("parameterisation", self.parameterisation, ("ntk", "standard"))

    @property
    def kernel_areas(self) -> tuple[int, ...]:
        """Height times width of each layer's kernel; 1 for dense layers."""
        return (1,) * len(self.layer_shapes)

    def layout(self) -> Affine:
        """Matrices and biases; a kernel's fan_out is its filters times its height times its width."""
        fans = [(o, i, area) for (o, i), area in zip(self.layer_shapes, self.kernel_areas, strict=True)]
        factor = gain(self.activation)
        layers = tuple(Parameter((o, i), i, area * o, gain=factor) for o, i, area in fans)
        biases = tuple(Parameter((o,), i, area * o, kind="bias") for o, i, area in fans)
        return Affine(layers, biases if self.bias else ())  # type: ignore[arg-type]  # a tree of descriptions

    def apply(
        self, parameters: Affine, X: Float[Array, "n in"], dropout_key: Array | None = None
    ) -> Float[Array, "n out"]:
        """The outputs on the rows of X; with a key, with dropout."""
        return self.forward(parameters, X, None, dropout_key)[0]

    def dropped(self, parameters: Affine, key: Array) -> Map:
        """The map in one step of training: what is dropped is the same for all examples it is applied to at once."""
        return lambda X: self.apply(parameters, X, key)

    def penultimate(self, parameters: Affine, X: Float[Array, "n in"]) -> Float[Array, "n features"]:
        """What enters the last layer."""
        return self.forward(parameters, X)[1][-1]

    def tapped(
        self, parameters: Affine, X: Float[Array, "n in"], taps: Sequence[Array]
    ) -> tuple[Float[Array, "n out"], tuple[Array, ...]]:
        """The outputs when taps of shape `(n, *tap_shape)` are added to the layers' products, and the layers' inputs."""
        return self.forward(parameters, X, taps)

    def rows(self, layer: int, inputs: Array) -> Float[Array, "n p in1"]:
        """What a layer's parameters are multiplied by at each position: `c a`, and 1 for the bias."""
        flat = self.multiplier(inputs.shape[-1]) * inputs.reshape(inputs.shape[0], -1, inputs.shape[-1])
        return jnp.concatenate([flat, jnp.ones((*flat.shape[:2], 1), flat.dtype)], axis=2) if self.bias else flat

    def multiplier(self, fan_in: int) -> float:
        """The number c that a layer's product is multiplied by."""
        return fan_in**-0.5 if self.parameterisation == "ntk" else 1.0

    def affine(
        self, parameters: Affine, layer: int, a: Float[Array, "*n in"], product: Product = lambda a, W: a @ W.T
    ) -> Float[Array, "*n out"]:
        """`c W a + b`, the product of one layer."""
        W = parameters.layers[layer]
        z = product(a, self.multiplier(W.shape[1]) * W)
        return z + parameters.biases[layer].reshape((1,) * (z.ndim - 1) + (-1,)) if self.bias else z


def drop(h: Array, rate: float, key: Array | None) -> Array:
    """Apply inverted dropout: an entry becomes zero with probability `rate`, and is divided by 1 − rate otherwise."""
    if key is None or rate == 0:
        return h
    return jnp.where(jax.random.bernoulli(key, 1 - rate, h.shape), h / (1 - rate), 0)
