"""Two layers with an activation between them, `f(x) = a φ(Wx)` (Varre et al. 2023, the ReLU student and its teacher)."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import checks
from ..core.model import Parameter, Rows
from .chain import AbstractChain, Layers, matrices

Activation = Literal["relu", "linear"]


class Units(eqx.Module):
    """The map `x ↦ a φ(Wx)`: a weighted sum of neurons."""

    W: Float[Array, "hidden in"]
    a: Float[Array, "out hidden"]
    activation: Activation = eqx.field(static=True, default="relu")

    def __call__(self, X: Rows) -> Float[Array, "n out"]:
        """Its values on the rows of X."""
        hidden = jnp.asarray(X) @ self.W.T
        return (jax.nn.relu(hidden) if self.activation == "relu" else hidden) @ self.a.T


class TwoLayer(AbstractChain):
    """One hidden layer of neurons (the rows of W) and a linear output layer a, without biases.

    The parameters are the layers (W, a), as of a linear network of the same widths.

    Attributes:
        widths: The numbers d of inputs, l of neurons and k of outputs.
        activation: "relu", or "linear" for the deep linear network written as a function of examples.
    """

    widths: tuple[int, ...] = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)

    def __init__(self, inputs: int, hidden: int, activation: Activation = "relu", outputs: int = 1) -> None:
        checks.one_of("activation", activation, ("relu", "linear"))
        given = {"inputs": inputs, "hidden": hidden, "outputs": outputs}
        self.widths = tuple(checks.whole(name, value) for name, value in given.items())
        self.activation = activation

    def layout(self) -> tuple[Parameter, ...]:
        """One matrix for each layer."""
        return matrices(self.layer_shapes)

    def end_to_end(self, parameters: Layers) -> Units:
        """The function that the layers (W, a) compute on the rows of a matrix of examples."""
        return Units(parameters[0], parameters[1], self.activation)
