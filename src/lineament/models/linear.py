"""Deep linear networks: `W = W_N ··· W_1`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import jax.numpy as jnp
from jaxtyping import Array, Float

Layers: TypeAlias = tuple[Float[Array, "_ _"], ...]


@dataclass(frozen=True)
class DeepLinear:
    """A linear network with the given widths, input first: layer j is a matrix of shape (widths[j], widths[j−1]).

    Its parameters are the tuple of layers (W_1, …, W_N), made by the functions of `lineament.starts`.
    """

    widths: tuple[int, ...]

    def __init__(self, widths: Sequence[int]) -> None:
        if len(widths) < 2 or any(int(width) != width or width < 1 for width in widths):
            raise ValueError(f"widths must be at least two positive integers, input first; got {tuple(widths)}")
        object.__setattr__(self, "widths", tuple(int(width) for width in widths))

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

    @property
    def rank(self) -> int:
        """The largest rank the end-to-end map can have."""
        return min(self.widths)

    def end_to_end(self, layers: Layers) -> Float[Array, "out in"]:
        """The product `W_N ··· W_1`, multiplied in the cheapest order."""
        return layers[0] if self.depth == 1 else jnp.linalg.multi_dot(layers[::-1])

    def check(self, layers: Layers, members: bool = False) -> None:
        """Refuse parameters that are not this network's."""
        shapes = tuple(layer.shape[1:] if members else layer.shape for layer in layers)
        if shapes != self.layer_shapes:
            raise ValueError(
                f"start has layers of shape {shapes}; a network of widths {self.widths} has {self.layer_shapes}"
            )
