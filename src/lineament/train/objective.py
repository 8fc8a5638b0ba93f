"""The objective of training: `φ(parameters) = ℓ(end-to-end map)`."""

from typing import Any, cast

import jax
from jaxtyping import Array

from ..core.model import AbstractModel, map_shape
from ..problems.base import AbstractProblem


def loss(model: AbstractModel, problem: AbstractProblem, parameters: Any) -> Array:
    """The loss at the parameters, without dropout."""
    return problem.loss(model.end_to_end(parameters))


def value_and_gradient(
    model: AbstractModel, problem: AbstractProblem, parameters: Any, dropout_key: Array | None = None
) -> tuple[Array, Any]:
    """The loss at the parameters, and its gradient; with a key, under dropout.

    The gradient of an array is the problem's own, pulled back through the model; that of a function is left to JAX.
    """
    if dropout_key is not None:
        return jax.value_and_grad(lambda p: problem.loss(model.dropped(p, dropout_key)))(parameters)
    if map_shape(model, parameters) is None:
        return jax.value_and_grad(lambda p: loss(model, problem, p))(parameters)
    map, pull_back = jax.vjp(model.end_to_end, parameters)
    value, gradient = problem.value_and_gradient(cast(Array, map))
    return value, pull_back(gradient)[0]
