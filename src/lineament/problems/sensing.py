"""Recovering a matrix from linear measurements of it, or from some of its entries."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from ..core import arguments, checks
from .base import AbstractProblem, Map, Optimum, as_array

Reduction = Literal["mean", "sum"]


class Sensing(AbstractProblem):
    """`½ c Σ_k (⟨A_k, W⟩ − y_k)²`, with c = 1/m (mean) or 1 (sum)."""

    measurements: Float[Array, "m out in"]
    values: Float[Array, " m"]
    reduction: Reduction = eqx.field(static=True)

    @property
    def weight(self) -> float:
        """The factor c before the sum."""
        return 1.0 / self.examples if self.reduction == "mean" else 1.0

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and inputs: the shape of the matrix to be recovered."""
        return self.measurements.shape[-2], self.measurements.shape[-1]

    def loss(self, map: Map) -> Float[Array, ""]:
        """Half the mean (or sum) of the squared misfits."""
        return self.value_and_gradient(as_array(map, self.shape))[0]

    def value_and_gradient(self, map: Float[Array, "out in"]) -> tuple[Float[Array, ""], Float[Array, "out in"]]:
        """The loss and `c Σ_k (⟨A_k, W⟩ − y_k) A_k`, two passes over the measurements."""
        A = self.measurements.reshape(self.measurements.shape[0], -1)
        misfit = A @ map.reshape(-1) - self.values
        gradient = self.weight * (misfit @ A).reshape(map.shape)
        return 0.5 * self.weight * jnp.sum(misfit**2), gradient

    def optimum(self, rank: int | None = None) -> Optimum:
        """The solution of least Frobenius norm."""
        self.refuse_rank(rank)
        A = self.measurements.reshape(self.measurements.shape[0], -1)
        best = jnp.linalg.lstsq(A, self.values)[0].reshape(self.shape)
        return Optimum(best, float(self.loss(best)))

    @property
    def examples(self) -> int:
        """How many measurements there are."""
        return self.values.shape[0]

    def take(self, indices: jax.Array) -> AbstractProblem:
        """The same problem on some of the measurements, with the mean or sum taken over those."""
        return Sensing(self.measurements[indices], self.values[indices], self.reduction)


class Completion(AbstractProblem):
    """`½ c Σ_{(i,j) observed} (W_ij − a_ij)²`, with c = 1/observations (mean) or 1 (sum).

    Held densely: a mask and the values. On a CPU an elementwise pass over the matrix is much cheaper than scattering.
    """

    mask: Float[Array, "out in"]
    values: Float[Array, "out in"]
    weight: float = eqx.field(static=True)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix to be recovered."""
        return self.mask.shape[-2], self.mask.shape[-1]

    def loss(self, map: Map) -> Float[Array, ""]:
        """Half the mean (or sum) of the squared misfits on observed entries."""
        return self.value_and_gradient(as_array(map, self.shape))[0]

    def value_and_gradient(self, map: Float[Array, "out in"]) -> tuple[Float[Array, ""], Float[Array, "out in"]]:
        """The loss and its gradient, zero on unobserved entries."""
        misfit = self.mask * (map - self.values)
        return 0.5 * self.weight * jnp.sum(misfit**2), self.weight * misfit

    def optimum(self, rank: int | None = None) -> Optimum:
        """The solution of least Frobenius norm: the observed values, zero elsewhere."""
        self.refuse_rank(rank)
        return Optimum(self.mask * self.values, 0.0)


def _pair(shape: tuple[int, int]) -> tuple[int, int]:
    sides = checks.sizes("shape", shape, 2)
    if len(sides) != 2:
        raise ValueError(f"shape must be two positive integers, rows and columns; got {sides}")
    return sides[0], sides[1]


def sensing(A: ArrayLike, y: ArrayLike, reduction: Reduction = "mean") -> Sensing:
    """Find W from `y_k = ⟨A_k, W⟩`: A of shape (m, outputs, inputs), y of shape (m,)."""
    A, y = checks.real_array("A", A, 3), checks.real_array("y", y, 1)
    checks.same_length(A=A, y=y)
    checks.one_of("reduction", reduction, ("mean", "sum"))
    return Sensing(A, y, reduction)


def completion(
    rows: ArrayLike, columns: ArrayLike, values: ArrayLike, shape: tuple[int, int], reduction: Reduction = "mean"
) -> Completion:
    """Find a matrix of the given shape from its entries at (rows[k], columns[k]), each observed once."""
    checks.one_of("reduction", reduction, ("mean", "sum"))
    i, j = arguments.numeric("rows", rows), arguments.numeric("columns", columns)
    a = checks.real_array("values", values, 1)
    shape = _pair(shape)
    for name, index, count in (("rows", i, shape[0]), ("columns", j, shape[1])):
        if index.shape != a.shape or not np.issubdtype(index.dtype, np.integer):
            raise ValueError(f"{name} must be {a.shape[0]} integers, one per value; got {index.dtype} {index.shape}")
        if index.size and (index.min() < 0 or index.max() >= count):
            raise ValueError(f"{name} must lie in 0..{count - 1}; got {index.min()}..{index.max()}")
    if not a.size:
        raise ValueError("values must hold at least one observed entry")
    mask = np.zeros(shape)
    np.add.at(mask, (i, j), 1.0)
    if mask.max() > 1:
        raise ValueError(f"entry {tuple(map(int, np.argwhere(mask > 1)[0]))} is observed more than once")
    dense = jnp.zeros(shape, a.dtype).at[i, j].set(a)
    return Completion(jnp.asarray(mask, a.dtype), dense, 1.0 / a.shape[0] if reduction == "mean" else 1.0)
