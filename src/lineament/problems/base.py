"""A problem is a loss over maps.

A *map* is what a model computes from input to output: for linear networks the end-to-end matrix `W` of shape
(outputs, inputs), for others a function of a batch of inputs. A problem knows nothing of layers: whatever is
trained, the objective is `problem.loss(model.end_to_end(parameters))`.
"""

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array, Float

from ..core import checks
from ..core.model import Map


class Optimum(NamedTuple):
    """The least loss over all maps (of a given rank), and a map that attains it, if one does."""

    map: Any
    loss: float

    @property
    def attained(self) -> bool:
        """Whether the infimum is a minimum; on separable data the logistic loss has none."""
        return self.map is not None


class UnknownOptimumError(ValueError):
    """The least loss is not known. The message says of what, and what to do."""


class AbstractProblem(eqx.Module):
    """What is to be learnt. A problem of one's own has the property `shape` and the method `loss`."""

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Outputs and inputs of the maps it is about, or the shape of a tensor."""

    @abc.abstractmethod
    def loss(self, map: Map) -> Float[Array, ""]:
        """The loss of a map."""

    def value_and_gradient(self, map: Float[Array, "..."]) -> tuple[Float[Array, ""], Float[Array, "..."]]:
        """The loss of a matrix and its gradient."""
        return jax.value_and_grad(self.loss)(map)

    def gradient(self, map: Float[Array, "..."]) -> Float[Array, "..."]:
        """The gradient of the loss at a matrix."""
        return self.value_and_gradient(map)[1]

    def optimum(self, rank: int | None = None) -> Optimum:
        """The least loss over matrices, or over those of at most `rank` where that is known."""
        raise UnknownOptimumError(f"the optimum of {type(self).__name__} is not known: it has no method `optimum`")

    @property
    def examples(self) -> int | None:
        """How many examples can be drawn in minibatches, or None where there are none."""
        return None

    @property
    def example_inputs(self) -> Float[Array, "n in"] | None:
        """The inputs of its examples, or None where there are none."""
        return None

    def take(self, indices: Array) -> "AbstractProblem":
        """The same problem on some of its examples."""
        raise ValueError(
            f"problem must have examples to draw minibatches from; got {type(self).__name__}: train it on the full batch"
        )

    def refuse_rank(self, rank: int | None) -> None:
        """Refuse a rank bound that would change an optimum known only without one."""
        if rank is not None and rank < min(self.shape):
            raise UnknownOptimumError(
                f"the optimum of {type(self).__name__} over matrices of rank {rank} < {min(self.shape)} is not known; "
                "wider hidden layers would not bound the rank"
            )


def predict(map: Map, X: Float[Array, "n in"]) -> Float[Array, "n out"]:
    """The outputs of a map on the rows of X."""
    rows = checks.matrix("X", X)
    if callable(map):
        return map(rows)
    W = checks.matrix("map", map)
    if W.shape[1] != rows.shape[1]:
        raise ValueError(f"map must be a matrix of {rows.shape[1]} columns, as X has; got shape {W.shape}")
    return rows @ W.T


def as_array(map: Map, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Return a map that is an array, for problems that are about nothing else."""
    if callable(map):
        raise ValueError(f"map must be an array of shape {shape}; got a function")
    return map


def require_problem(problem: object) -> None:
    """Refuse what is no problem, naming what it lacks."""
    if isinstance(problem, AbstractProblem):
        return
    lacks = [name for name in ("shape", "loss") if not hasattr(problem, name)]
    raise TypeError(
        f"problem must be a lineament.problems.AbstractProblem; got {type(problem).__name__}, "
        + (f"which lacks {', '.join(lacks)}" if lacks else "which does not derive from it")
    )
