"""Chains of matrices: models whose layers multiply one after the other, with or without activations between."""

from typing import Any, TypeAlias

import equinox as eqx
from jaxtyping import Array, Float

from ..core.model import AbstractModel, Parameter

Layers: TypeAlias = tuple[Float[Array, "_ _"], ...]


class AbstractChain(AbstractModel):
    """A model of matrices W_1, …, W_N, layer j of shape (widths[j], widths[j−1]): what a start of layers can fit.

    Attributes:
        widths: Input first, outputs last.
    """

    widths: eqx.AbstractVar[tuple[int, ...]]

    @property
    def depth(self) -> int:
        """The number of layers N."""
        return len(self.widths) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and inputs."""
        return self.widths[-1], self.widths[0]

    @property
    def layer_shapes(self) -> tuple[tuple[int, int], ...]:
        """The shape of each layer's matrix, first layer first."""
        return tuple(zip(self.widths[1:], self.widths[:-1], strict=True))

    def assemble(self, layers: Layers) -> Any:
        """The parameters whose matrices are the given layers: the layers themselves, unless there is more to them."""
        return layers


def matrices(shapes: tuple[tuple[int, int], ...]) -> tuple[Parameter, ...]:
    """The layout of plain matrices (outputs, inputs)."""
    return tuple(Parameter((outputs, inputs), fan_in=inputs, fan_out=outputs) for outputs, inputs in shapes)
