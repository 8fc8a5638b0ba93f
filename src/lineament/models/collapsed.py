"""Linear networks evaluated through their matrix: a batch of any size costs as much as one image for each output."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.model import AbstractModel, Map, Rows
from .layered import AbstractAffine, Affine


class Collapsed(AbstractModel):
    """A network whose activations are linear, as the affine map `f(x) = Mx + c` that it is.

    The parameters are those of the network, and so are outputs and gradients. The matrix is the derivative of the
    outputs with respect to one image for each of them; the examples only meet the matrix. A linear convolutional
    network of K outputs then costs K images a step in place of the batch. Dropout, which gives every example a map of
    its own, is refused.

    Attributes:
        network: The network, with activation "linear" and without dropout.
    """

    network: AbstractAffine = eqx.field(static=True)

    def __check_init__(self) -> None:
        if self.network.activation != "linear":
            raise ValueError(f"network must have the activation 'linear'; got {self.network.activation!r}")
        if self.network.drops:
            raise ValueError(
                "network must have no dropout, which gives every example a map of its own; got one with it"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Outputs and inputs."""
        return self.network.shape

    @property
    def large(self) -> bool:
        """Whether one member of an ensemble fills a CPU's cache."""
        return self.network.large

    def layout(self) -> Affine:
        """The layout of the network."""
        return self.network.layout()

    def matrix(self, parameters: Any) -> Float[Array, "out in"]:
        """The matrix M."""
        images = jnp.zeros(self.shape, jax.tree.leaves(parameters)[0].dtype)
        return jax.grad(lambda x: jnp.trace(self.network.apply(parameters, x)))(images)

    def end_to_end(self, parameters: Any) -> Map:
        """The function that the parameters compute on rows of examples."""
        M = self.matrix(parameters)
        offset = self.network.apply(parameters, jnp.zeros((1, self.shape[1]), M.dtype))
        return _Line(M, offset)


class _Line(eqx.Module):
    """`x ↦ Mx + c` on the rows of a matrix of examples."""

    matrix: Float[Array, "out in"]
    offset: Float[Array, "1 out"]

    def __call__(self, X: Rows) -> Float[Array, "n out"]:
        return jnp.asarray(X) @ self.matrix.T + self.offset
