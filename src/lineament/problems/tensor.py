"""Recovering a tensor from some of its entries."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from ..core import arguments, checks
from .base import AbstractProblem, Map, Optimum, UnknownOptimumError, as_array
from .sensing import Reduction


class TensorCompletion(AbstractProblem):
    """`½ c Σ_{observed} (T_i − a_i)²` over tensors of one shape, with c = 1/observations (mean) or 1 (sum).

    Held densely like `Completion`: a mask and the values.
    """

    mask: Float[Array, "..."]
    values: Float[Array, "..."]
    weight: float = eqx.field(static=True)
    order: int = eqx.field(static=True)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor to be recovered."""
        return self.mask.shape[-self.order :]

    def loss(self, map: Map) -> Float[Array, ""]:
        """Half the mean (or sum) of the squared misfits on observed entries."""
        return self.value_and_gradient(as_array(map, self.shape))[0]

    def value_and_gradient(self, map: Float[Array, "..."]) -> tuple[Float[Array, ""], Float[Array, "..."]]:
        """The loss and its gradient, zero on unobserved entries."""
        misfit = self.mask * (map - self.values)
        return 0.5 * self.weight * jnp.sum(misfit**2), self.weight * misfit

    def optimum(self, rank: int | None = None) -> Optimum:
        """The tensor of least norm that fits: the observed values, zero elsewhere. No bound on a rank is known."""
        if rank is not None:
            raise UnknownOptimumError(f"the optimum over tensors of rank {rank} is not known")
        return Optimum(self.mask * self.values, 0.0)


def tensor_completion(
    indices: ArrayLike, values: ArrayLike, shape: tuple[int, ...], reduction: Reduction = "mean"
) -> TensorCompletion:
    """Find a tensor of the given shape from its entries at indices[k] (one row each), each observed once."""
    checks.one_of("reduction", reduction, ("mean", "sum"))
    index, a = arguments.numeric("indices", indices), checks.real_array("values", values, 1)
    shape = checks.sizes("shape", shape)
    if index.shape != (a.shape[0], len(shape)) or not np.issubdtype(index.dtype, np.integer):
        raise ValueError(
            f"indices must be integers of shape ({a.shape[0]}, {len(shape)}), a row for each value and a column for "
            f"each axis; got {index.dtype} of shape {index.shape}"
        )
    if not a.size:
        raise ValueError("values must hold at least one observed entry")
    outside = ((index < 0) | (index >= np.array(shape))).any(axis=1)
    if outside.any():
        raise ValueError(f"indices must lie within shape {shape}; row {int(np.argmax(outside))} is outside")
    mask = np.zeros(shape)
    np.add.at(mask, tuple(index.T), 1.0)
    if mask.max() > 1:
        raise ValueError(f"entry {tuple(map(int, np.argwhere(mask > 1)[0]))} is observed more than once")
    dense = jnp.zeros(shape, a.dtype).at[tuple(index.T)].set(a)
    weight = 1.0 / a.shape[0] if reduction == "mean" else 1.0
    return TensorCompletion(jnp.asarray(mask, a.dtype), dense, weight, len(shape))
