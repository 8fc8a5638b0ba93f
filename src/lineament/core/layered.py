"""Networks whose layers are products, and can be tapped.

Every layer of such a network is a product, `z_p = c W a_p + b` at each position p of an image (a dense layer has one
position). What is added to z at a layer's *tap* moves the output as a change of its weights would, for the derivative
of an output f with respect to W is `Σ_p (∂f/∂z_p) (c a_p)ᵀ`. Inputs and derivatives at the taps are all that a tangent
kernel needs.
"""

import abc
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .model import AbstractModel, Rows


class Applied(eqx.Module):
    """The map of a network with its parameters: rows of X in, rows of outputs out."""

    model: "AbstractLayered" = eqx.field(static=True)
    parameters: Any

    def __call__(self, X: Rows) -> Float[Array, "n out"]:
        """The outputs on the rows of X."""
        return self.model.apply(self.parameters, jnp.asarray(X))


class AbstractLayered(AbstractModel):
    """A network whose maps are functions of examples and whose layers can be tapped."""

    @abc.abstractmethod
    def apply(self, parameters: Any, X: Float[Array, "n in"]) -> Float[Array, "n out"]:
        """The outputs on the rows of X."""

    @property
    @abc.abstractmethod
    def tap_shapes(self) -> tuple[tuple[int, int], ...]:
        """Positions and outputs at the tap of each layer."""

    @abc.abstractmethod
    def tapped(
        self, parameters: Any, X: Float[Array, "n in"], taps: Sequence[Array]
    ) -> tuple[Float[Array, "n out"], tuple[Array, ...]]:
        """The outputs when taps of shape `(n, *tap_shape)` are added to the layers' products, and the layers' inputs."""

    @abc.abstractmethod
    def rows(self, layer: int, inputs: Array) -> Float[Array, "n p in1"]:
        """What the parameters of a layer are multiplied by at each position, from the layer's input."""

    def end_to_end(self, parameters: Any) -> Applied:
        """The function that the parameters compute on the rows of a matrix of examples."""
        return Applied(self, parameters)
