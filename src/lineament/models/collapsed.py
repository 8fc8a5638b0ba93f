"""Linear networks evaluated through their matrix: a batch of any size costs as much as one image for each output."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.model import AbstractModel, Map
from .layered import AbstractAffine


class Collapsed(AbstractModel):
    """A network whose activations are linear, as the affine map `f(x) = Mx + c` that it is.

    The parameters are those of the network, and so are outputs and gradients. The matrix is the derivative of the
    outputs with respect to one image for each of them; the examples only meet the matrix. A linear convolutional
    network of K outputs then costs K images a step in place of the batch. Dropout, which gives every example a map of
    its own, is refused.

    Attributes:
        plain: The network, with activation "linear" and without dropout.
    """

    plain: AbstractAffine = eqx.field(static=True)

    def __check_init__(self) -> None:
        if self.plain.activation != "linear":
            raise ValueError(f"plain must have the activation 'linear'; got {self.plain.activation!r}")
        if self.plain.drops:
            raise ValueError(
                f"plain must have no dropout: with it, every example has a map of its own; got {self.plain}"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Outputs and inputs."""
        return self.plain.shape

    @property
    def large(self) -> bool:
        """Whether members are better trained one after the other on a CPU."""
        return self.plain.large

    def layout(self) -> Any:
        """The parameters of the network."""
        return self.plain.layout()

    def matrix(self, parameters: Any) -> Float[Array, "out in"]:
        """The matrix M."""
        images = jnp.zeros(self.shape, jax.tree.leaves(parameters)[0].dtype)
        return jax.grad(lambda x: jnp.trace(self.plain.apply(parameters, x)))(images)

    def end_to_end(self, parameters: Any) -> Map:
        """The function that the parameters compute on rows of examples."""
        return lambda X: self.apply(parameters, X)

    def apply(self, parameters: Any, X: Float[Array, "n in"]) -> Float[Array, "n out"]:
        """The outputs on the rows of X."""
        offset = self.plain.apply(parameters, jnp.zeros((1, self.shape[1]), X.dtype))
        return X @ self.matrix(parameters).T + offset
