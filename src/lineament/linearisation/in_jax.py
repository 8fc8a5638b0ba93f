"""A lineament model at its start, as linearised training sees it."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..core.model import AbstractModel, require_model
from ..measure import kernels
from .losses import Loss
from .tangents import AbstractTangents, Array, Kernel


class Tangents(AbstractTangents):
    """A model with the parameters of its start."""

    def __init__(self, model: AbstractModel, parameters: Any, memory: float) -> None:
        require_model(model)
        model.check(parameters)
        self.model, self.parameters, self.memory = model, parameters, memory
        self.dtype = jnp.result_type(*jax.tree.leaves(parameters))

    def outputs(self, X: Any, change: Any = None) -> Array:
        """Outputs at the start, or after a change of the parameters."""
        return np.asarray(_outputs(self.model, self._at(change), self._rows(X)), np.float64)

    def gradient(self, X: Any, y: Array, loss: Loss, change: Any) -> tuple[Array, Any]:
        """One forward and one backward pass."""
        f, gradient = _gradient(self.model, self._at(change), self._rows(X), self._rows(y), loss)
        return np.asarray(f, np.float64), gradient

    def kernel(self, X: Any, Y: Any, outputs: Kernel) -> np.ndarray:
        """The empirical kernel, contracted layer by layer."""
        other = None if Y is None else self._rows(Y)
        return kernels.empirical(
            self.model, self.parameters, self._rows(X), other, outputs=outputs, memory=self.memory
        )

    def pull_back(self, X: Any, coefficients: Array) -> Any:
        """One backward pass."""
        return _pull_back(self.model, self.parameters, self._rows(X), self._rows(coefficients))

    def push_forward(self, X: Any, change: Any) -> Array:
        """A backward pass, differentiated."""
        return np.asarray(_push_forward(self.model, self.parameters, self._rows(X), change), np.float64)

    def combine(self, weights: Sequence[float], changes: Sequence[Any]) -> Any:
        """A weighted sum of trees."""
        return _combine(jnp.asarray(weights, self.dtype), list(changes))

    def moved(self, change: Any) -> "Tangents":
        """The same model elsewhere."""
        return Tangents(self.model, self._at(change), self.memory)

    @property
    def origin(self) -> Any:
        """The parameters."""
        return self.parameters

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return sum(leaf.size for leaf in jax.tree.leaves(self.parameters))

    @property
    def name(self) -> str:
        """The kind of model, and its widths where it has them."""
        widths = getattr(self.model, "widths", None)
        return type(self.model).__name__ + ("" if widths is None else f" {' → '.join(map(str, widths))}")

    def _at(self, change: Any) -> Any:
        return self.parameters if change is None else jax.tree.map(jnp.add, self.parameters, change)

    def _rows(self, X: Any) -> jax.Array:
        return jnp.asarray(X, self.dtype)


def _value(model: AbstractModel, X: jax.Array, parameters: Any) -> jax.Array:
    map = model.end_to_end(parameters)
    return map(X) if callable(map) else X @ map.T


@eqx.filter_jit
def _outputs(model: AbstractModel, parameters: Any, X: jax.Array) -> jax.Array:
    return _value(model, X, parameters)


@eqx.filter_jit
def _gradient(model: AbstractModel, parameters: Any, X: jax.Array, y: jax.Array, loss: Loss) -> tuple[jax.Array, Any]:
    f, pull_back = jax.vjp(partial(_value, model, X), parameters)
    slope = (f if loss == "square" else jax.nn.softmax(f, axis=1)) - y
    return f, pull_back(slope / f.shape[0])[0]


@eqx.filter_jit
def _pull_back(model: AbstractModel, parameters: Any, X: jax.Array, coefficients: jax.Array) -> Any:
    return jax.vjp(partial(_value, model, X), parameters)[1](coefficients)[0]


@eqx.filter_jit
def _push_forward(model: AbstractModel, parameters: Any, X: jax.Array, change: Any) -> jax.Array:
    # Jv as the derivative of Jᵀu by u: convolutions of whole images have no forward mode.
    f, pull_back = jax.vjp(partial(_value, model, X), parameters)
    return jax.vjp(lambda u: pull_back(u)[0], jnp.zeros_like(f))[1](change)[0]


@jax.jit
def _combine(weights: jax.Array, changes: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: sum(weights[i] * leaf for i, leaf in enumerate(leaves)), *changes)
