"""Fully connected networks with an activation between layers, in NTK or standard parameterisation."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from ..core import arguments, checks
from .activations import Activation, activation
from .chain import AbstractChain, Layers
from .layered import AbstractAffine, Affine, Forward, Parameterisation, drop


class MLP(AbstractChain, AbstractAffine):
    """`h_l = φ(c_l W_l h_{l−1} + b_l)` with a linear last layer.

    In the NTK parameterisation (Jacot et al. 2018; Hu et al. 2020, Section 2) c_l = 1/√fan_in and weights start
    standard normal; in the standard one c_l = 1 and they start with variance about 1/fan_in. The functions are the
    same, the gradients are not. With two layers and no bias this is eq. (1) of Hu et al. (2020).

    Attributes:
        widths: Input first, outputs last.
        activation: The name of φ.
        parameterisation: "ntk" or "standard".
        bias: Whether layers have biases, which are added as they are.
        dropout: The share of the last hidden layer that is dropped in training.
    """

    widths: tuple[int, ...] = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)
    parameterisation: Parameterisation = eqx.field(static=True)
    bias: bool = eqx.field(static=True)
    dropout: float = eqx.field(static=True)

    def __init__(
        self,
        widths: Sequence[int],
        activation: Activation = "erf",
        parameterisation: Parameterisation = "ntk",
        bias: bool = False,
        dropout: float = 0.0,
    ) -> None:
        self.widths = checks.sizes("widths", widths, 2)
        self.activation, self.parameterisation = activation, parameterisation
        self.bias = arguments.truth("bias", bias)
        self.dropout = checks.share("dropout", dropout)

    @property
    def drops(self) -> bool:
        """Whether there is dropout."""
        return self.dropout > 0

    @property
    def tap_shapes(self) -> tuple[tuple[int, int], ...]:
        """Positions and outputs at the tap of each layer."""
        return tuple((1, outputs) for outputs, _ in self.layer_shapes)

    def assemble(self, layers: Layers) -> Affine:
        """Parameters of the given matrices, with biases of zero where there are biases."""
        biases = tuple(jnp.zeros(layer.shape[0], layer.dtype) for layer in layers)
        return Affine(layers, biases if self.bias else ())

    def forward(
        self, parameters: Affine, X: Array, taps: Sequence[Array] | None = None, dropout_key: Array | None = None
    ) -> Forward:
        """The outputs on the rows of X, and the input of each layer; with a key, the last hidden layer is dropped."""
        h, last = X, self.depth - 1
        inputs: list[Array] = []
        for layer in range(self.depth):
            if layer == last:
                h = drop(h, self.dropout, dropout_key)
            inputs.append(h)
            z = self.affine(parameters, layer, h)
            z = z if taps is None else z + taps[layer][:, 0]
            h = z if layer == last else activation(self.activation)(z)
        return h, tuple(inputs)
