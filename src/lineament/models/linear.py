"""Deep linear networks: `W = W_N ··· W_1`."""

from functools import partial

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import checks
from ..core.model import Parameter
from .chain import AbstractChain, Layers, matrices


class DeepLinear(AbstractChain):
    """A linear network with the given widths, input first: layer j is a matrix of shape (widths[j], widths[j−1]).

    Its parameters are the tuple of layers (W_1, …, W_N), made by the functions of `lineament.starts`.
    """

    widths: tuple[int, ...] = eqx.field(static=True, converter=partial(checks.sizes, "widths", least=2))

    @property
    def rank(self) -> int:
        """The largest rank the end-to-end map can have."""
        return min(self.widths)

    def layout(self) -> tuple[Parameter, ...]:
        """One matrix for each layer."""
        return matrices(self.layer_shapes)

    def end_to_end(self, parameters: Layers) -> Float[Array, "out in"]:
        """The product `W_N ··· W_1`, multiplied in the cheapest order."""
        return parameters[0] if self.depth == 1 else jnp.linalg.multi_dot(parameters[::-1])
