"""A problem is a loss over maps.

A *map* is what a model computes from input to output: for linear networks the end-to-end matrix `W` of shape
(outputs, inputs), for others a function of a batch of inputs. A problem knows nothing of layers: whatever is
trained, the objective is `problem.loss(model.end_to_end(parameters))`.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array, Float

Map = Float[Array, "out in"] | Callable[[Float[Array, "n in"]], Float[Array, "n out"]]


class Optimum(NamedTuple):
    """The least loss over all maps (of a given rank), and a map that attains it, if one does."""

    map: jax.Array | None
    loss: float

    @property
    def attained(self) -> bool:
        """Whether the infimum is a minimum; on separable data the logistic loss has none."""
        return self.map is not None


class Problem(eqx.Module):
    """What is to be learnt."""

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and inputs of the maps this problem is about."""
        raise NotImplementedError

    def loss(self, map: Map) -> Float[Array, ""]:
        """The loss of a map."""
        raise NotImplementedError

    def value_and_gradient(self, map: Float[Array, "out in"]) -> tuple[Float[Array, ""], Float[Array, "out in"]]:
        """The loss of a matrix and its gradient."""
        return jax.value_and_grad(self.loss)(map)

    def gradient(self, map: Float[Array, "out in"]) -> Float[Array, "out in"]:
        """The gradient of the loss at a matrix."""
        return self.value_and_gradient(map)[1]

    def optimum(self, rank: int | None = None) -> Optimum:
        """The least loss over matrices, or over those of at most `rank` where that is known."""
        raise NotImplementedError

    @property
    def examples(self) -> int | None:
        """How many examples can be drawn in minibatches, or None where there are none."""
        return None

    def take(self, indices: jax.Array) -> "Problem":
        """The same problem on some of its examples."""
        raise ValueError(f"{type(self).__name__} has no examples to draw minibatches from; train it on the full batch")

    def refuse_rank(self, rank: int | None) -> None:
        """Refuse a rank bound that would change an optimum known only without one."""
        if rank is not None and rank < min(self.shape):
            raise ValueError(
                f"the optimum of {type(self).__name__} over matrices of rank {rank} < {min(self.shape)} is not known; "
                "give the time to run until, or wider hidden layers"
            )


def predict(map: Map, X: Float[Array, "n in"]) -> Float[Array, "n out"]:
    """The outputs of a map on the rows of X."""
    return map(X) if callable(map) else X @ map.T
