"""Linear networks evaluated through their matrix: a batch of any size costs as much as one image for each output."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .layered import Applied


@dataclass(frozen=True)
class Collapsed:
    """A network whose activations are linear, as the affine map `f(x) = Mx + c` that it is.

    The parameters are those of the network, and so are outputs and gradients. The matrix is the derivative of the
    outputs with respect to one image for each of them; the examples only meet the matrix. A linear convolutional
    network of K outputs then costs K images a step in place of the batch. Dropout, which gives every example a map of
    its own, is refused.

    Attributes:
        net: The network, with activation "linear" and without dropout.
    """

    net: Any

    def __post_init__(self) -> None:
        if self.net.activation != "linear":
            raise ValueError(f"net must have the activation 'linear'; got {self.net.activation!r}")
        if self.net.drops:
            raise ValueError("net must have no dropout: with it, every example has a map of its own")

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and inputs."""
        return self.net.shape

    @property
    def large(self) -> bool:
        """Whether members are better trained one after the other on a CPU."""
        return getattr(self.net, "large", False)

    def check(self, parameters: Any, members: bool = False) -> None:
        """Refuse parameters that are not the network's."""
        self.net.check(parameters, members)

    def matrix(self, parameters: Any) -> Float[Array, "out in"]:
        """The matrix M."""
        images = jnp.zeros(self.shape, jax.tree.leaves(parameters)[0].dtype)
        return jax.grad(lambda x: jnp.trace(self.net.apply(parameters, x)))(images)

    def end_to_end(self, parameters: Any) -> Applied:
        """The function that the parameters compute on rows of examples."""
        return Applied(self, parameters)

    def apply(self, parameters: Any, X: Float[Array, "n in"]) -> Float[Array, "n out"]:
        """The outputs on the rows of X."""
        offset = self.net.apply(parameters, jnp.zeros((1, self.shape[1]), X.dtype))
        return X @ self.matrix(parameters).T + offset
