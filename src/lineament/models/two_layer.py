"""Two layers with an activation between them, `f(x) = a φ(Wx)` (Varre et al. 2023, the ReLU student and its teacher)."""

from dataclasses import dataclass
from typing import Literal

import equinox as eqx
import jax
from jaxtyping import Array, Float

from ..core import checks
from .linear import DeepLinear, Layers

Activation = Literal["relu", "linear"]


class Units(eqx.Module):
    """The map `x ↦ a φ(Wx)`: a weighted sum of neurons."""

    W: Float[Array, "hidden in"]
    a: Float[Array, "out hidden"]
    activation: Activation = eqx.field(static=True, default="relu")

    def __call__(self, X: Float[Array, "n in"]) -> Float[Array, "n out"]:
        """Its values on the rows of X."""
        hidden = X @ self.W.T
        return (jax.nn.relu(hidden) if self.activation == "relu" else hidden) @ self.a.T


@dataclass(frozen=True)
class TwoLayer:
    """One hidden layer of neurons (the rows of W) and a linear output layer a, without biases.

    The parameters are the layers (W, a) of `linear`, the network of the same widths without the activation, so that
    every function of `lineament.starts` makes a start: `starts.gaussian(net.linear, key, scale=1e-3)`.

    Attributes:
        inputs: The number d of inputs.
        hidden: The number l of neurons.
        activation: "relu", or "linear" for the deep linear network written as a function of examples.
        outputs: The number k of outputs.
    """

    inputs: int
    hidden: int
    activation: Activation = "relu"
    outputs: int = 1

    def __post_init__(self) -> None:
        checks.one_of("activation", self.activation, ("relu", "linear"))
        for name in ("inputs", "hidden", "outputs"):
            value = getattr(self, name)
            if int(value) != value or value < 1:
                raise ValueError(f"{name} must be a positive integer; got {value}")

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and inputs."""
        return self.outputs, self.inputs

    @property
    def linear(self) -> DeepLinear:
        """The linear network of the same widths, whose layers are this network's."""
        return DeepLinear((self.inputs, self.hidden, self.outputs))

    def end_to_end(self, layers: Layers) -> Units:
        """The function that the layers (W, a) compute on the rows of a matrix of examples."""
        return Units(layers[0], layers[1], self.activation)

    def check(self, layers: Layers, members: bool = False) -> None:
        """Refuse parameters that are not this network's."""
        self.linear.check(layers, members)
