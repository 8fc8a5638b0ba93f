"""The objective of training: `φ(parameters) = ℓ(end-to-end map)`."""

from typing import Any, Protocol

import jax

from ..problems import Problem


class Model(Protocol):
    """What can be trained: anything that turns parameters into a map."""

    def end_to_end(self, parameters: Any) -> Any:
        """The map that the parameters compute."""
        ...


def value_and_gradient(
    model: Any, problem: Problem, parameters: Any, dropout_key: jax.Array | None = None
) -> tuple[jax.Array, Any]:
    """The loss at the parameters, and its gradient pulled back through the model; with a key, under dropout."""
    if dropout_key is not None:
        dropped = lambda parameters: problem.loss(lambda X: model.apply(parameters, X, dropout_key))  # noqa: E731
        return jax.value_and_grad(dropped)(parameters)
    map, pull_back = jax.vjp(model.end_to_end, parameters)
    value, gradient = problem.value_and_gradient(map)
    return value, pull_back(gradient)[0]
