"""Fully connected networks with an activation between layers, in NTK or standard parameterisation."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import checks
from . import layered
from .activations import ACTIVATIONS, Activation, activation
from .layered import Affine, Applied, Law, Parameterisation
from .linear import DeepLinear


@dataclass(frozen=True)
class MLP:
    """`h_l = φ(c_l W_l h_{l−1} + b_l)` with a linear last layer.

    In the NTK parameterisation (Jacot et al. 2018; Hu et al. 2020, Section 2) c_l = 1/√fan_in and weights start
    standard normal; in the standard one c_l = 1 and they start with variance about 1/fan_in. The functions are the
    same, the gradients are not. With two layers and no bias this is eq. (1) of Hu et al. (2020).

    Attributes:
        widths: Input first, outputs last.
        activation: The name of φ.
        parameterisation: "ntk" or "standard".
        bias: Whether layers have biases, which start at zero and are added as they are.
        dropout: The share of the last hidden layer that is dropped when a dropout key is given, as `descend` does.
    """

    widths: tuple[int, ...]
    activation: Activation = "erf"
    parameterisation: Parameterisation = "ntk"
    bias: bool = False
    dropout: float = 0.0

    def __init__(
        self,
        widths: Sequence[int],
        activation: Activation = "erf",
        parameterisation: Parameterisation = "ntk",
        bias: bool = False,
        dropout: float = 0.0,
    ) -> None:
        checks.one_of("activation", activation, tuple(ACTIVATIONS))
        checks.one_of("parameterisation", parameterisation, ("ntk", "standard"))
        layered.share("dropout", dropout)
        for name, value in (
            ("widths", layered.sizes("widths", widths, 2)),
            ("activation", activation),
            ("parameterisation", parameterisation),
            ("bias", bool(bias)),
            ("dropout", float(dropout)),
        ):
            object.__setattr__(self, name, value)

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and inputs."""
        return self.widths[-1], self.widths[0]

    @property
    def drops(self) -> bool:
        """Whether there is dropout."""
        return self.dropout > 0

    @property
    def linear(self) -> DeepLinear:
        """The linear network of the same widths; its layers can be this network's."""
        return DeepLinear(self.widths)

    @property
    def layer_shapes(self) -> tuple[tuple[int, int], ...]:
        """Outputs and inputs of each layer."""
        return self.linear.layer_shapes

    @property
    def kernel_areas(self) -> tuple[int, ...]:
        """Height times width of each layer's kernel: 1, for none is a convolution."""
        return (1,) * len(self.layer_shapes)

    @property
    def tap_shapes(self) -> tuple[tuple[int, int], ...]:
        """Positions and outputs at the tap of each layer."""
        return tuple((1, out) for out, _ in self.layer_shapes)

    def start(self, key: jax.Array, dtype: jnp.dtype = jnp.float32, law: Law = "he") -> Affine:
        """Standard normal weights in the NTK parameterisation, He's or Glorot's law in the standard one; no biases."""
        return layered.draw(self, key, dtype, law)

    def check(self, params: Affine, members: bool = False) -> None:
        """Refuse parameters that are not this network's."""
        layered.check(self, params, members)

    def end_to_end(self, params: Affine) -> Applied:
        """The function that the parameters compute on the rows of a matrix of examples."""
        return Applied(self, params)

    def apply(
        self, params: Affine, X: Float[Array, "n in"], dropout_key: jax.Array | None = None
    ) -> Float[Array, "n out"]:
        """The outputs on the rows of X; with a key, entries of the last hidden layer are dropped."""
        return self._forward(params, X, None, dropout_key)[0]

    def penultimate(self, params: Affine, X: Float[Array, "n in"]) -> Float[Array, "n features"]:
        """What enters the last layer."""
        return self._forward(params, X, None, None)[1][-1]

    def tapped(
        self, params: Affine, X: Float[Array, "n in"], taps: Sequence[jax.Array]
    ) -> tuple[Float[Array, "n out"], tuple[jax.Array, ...]]:
        """The outputs when taps of shape `(n, *tap_shape)` are added to the layers' products, and the layers' inputs."""
        return self._forward(params, X, taps, None)

    def rows(self, layer: int, inputs: Float[Array, "n in"]) -> Float[Array, "n 1 in1"]:
        """What the parameters of a layer are multiplied by, from the layer's input."""
        return layered.rows(self, inputs)

    def _forward(
        self, params: Affine, X: jax.Array, taps: Sequence[jax.Array] | None, key: jax.Array | None
    ) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        h, inputs, last = X, [], len(self.layer_shapes) - 1
        for layer in range(last + 1):
            if layer == last:
                h = layered.drop(h, self.dropout, key)
            inputs.append(h)
            z = layered.affine(self, params, layer, h)
            z = z if taps is None else z + taps[layer][:, 0]
            h = z if layer == last else activation(self.activation)(z)
        return h, tuple(inputs)
