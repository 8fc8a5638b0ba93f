"""The mirrored start: two copies of a network, one subtracted, so that training begins at the zero function."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .layered import Applied


class Pair(NamedTuple):
    """Parameters of the copy that is added and of the copy that is subtracted."""

    added: Any
    subtracted: Any


@dataclass(frozen=True)
class Mirrored:
    """`f(x) = (g(θ₁; x) − g(θ₂; x))/√2`, with θ₁ = θ₂ at the start.

    Its output is then exactly zero, and its tangent kernel `½(K_g(θ₁) + K_g(θ₂))` is that of the plain network g, with
    no other change to the linearised dynamics (Chizat et al. 2019). Where g has two layers and m/2 neurons in NTK
    parameterisation, this *is* the network of m neurons `m^{−1/2} Σ v_r φ(w_r·x/√d)` with the start of Hu et al. (2020,
    eq. 3), pairs (w, v) and (w, −v): the 1/√2 makes 1/√(m/2) into 1/√m, and the subtracted copy stores v with its sign
    changed, which no gradient step notices. Deeper networks become two that share no neuron.

    Attributes:
        net: The plain network, any model whose maps are functions of examples.
    """

    net: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and inputs."""
        return self.net.shape

    @property
    def tap_shapes(self) -> tuple[tuple[int, int], ...]:
        """Positions and outputs at the taps of both copies; a network without taps has none."""
        return 2 * self.net.tap_shapes

    def start(self, key: jax.Array, dtype: jnp.dtype = jnp.float32, **options: Any) -> Pair:
        """Two equal copies of a start of the plain network."""
        return self.mirror(self.net.start(key, dtype, **options))

    def mirror(self, params: Any) -> Pair:
        """Two equal copies of the given parameters."""
        return Pair(params, params)

    def check(self, params: Pair, members: bool = False) -> None:
        """Refuse parameters that are not this network's."""
        if not isinstance(params, Pair):
            raise ValueError(f"start must be a Pair, such as Mirrored.start makes; got {type(params).__name__}")
        for half in params:
            self.net.check(half, members)

    def end_to_end(self, params: Pair) -> Applied:
        """The function that the parameters compute on the rows of a matrix of examples."""
        return Applied(self, params)

    def apply(self, params: Pair, X: Float[Array, "n in"]) -> Float[Array, "n out"]:
        """The outputs on the rows of X."""
        added, subtracted = (self.net.end_to_end(half)(X) for half in params)
        return 0.5**0.5 * (added - subtracted)

    def tapped(
        self, params: Pair, X: Float[Array, "n in"], taps: Sequence[jax.Array]
    ) -> tuple[Float[Array, "n out"], tuple[jax.Array, ...]]:
        """The outputs when taps are added to the products of both copies, and the inputs of those products."""
        half = len(self.net.tap_shapes)
        added, first = self.net.tapped(params.added, X, taps[:half])
        subtracted, second = self.net.tapped(params.subtracted, X, taps[half:])
        return 0.5**0.5 * (added - subtracted), (*first, *second)

    def rows(self, layer: int, inputs: jax.Array) -> Float[Array, "n p in1"]:
        """What the parameters of a layer of either copy are multiplied by, from the layer's input."""
        return self.net.rows(layer % len(self.net.tap_shapes), inputs)
