"""Quadratic networks `f(x) = Σ_i (w_iᵀx)² + b = ⟨WᵀW, xxᵀ⟩ + b` (Gissin et al. 2020, eq. 7 and Appendix F)."""

from functools import partial
from typing import NamedTuple, TypeAlias

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import arguments, checks
from ..core.model import AbstractModel, Parameter, Rows

Weights: TypeAlias = tuple[Float[Array, "..."], ...]  # (W,) or (W, b)


class QuadraticForm(NamedTuple):
    """The map `x ↦ xᵀMx + b`."""

    matrix: Float[Array, "in in"]
    bias: Float[Array, ""]

    def __call__(self, X: Rows) -> Float[Array, "n 1"]:
        """Its values on the rows of X."""
        return jnp.sum((X @ self.matrix) * X, axis=1, keepdims=True) + self.bias


class Quadratic(AbstractModel):
    """A layer of as many squared units as inputs, summed up, with or without a trainable bias.

    The parameters are (W,) or (W, b), and the map is the form (WᵀW, b), with b = 0 where there is none.
    """

    inputs: int = eqx.field(static=True, converter=partial(checks.whole, "inputs"))
    bias: bool = eqx.field(static=True, default=False, converter=partial(arguments.truth, "bias"))

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and inputs."""
        return 1, self.inputs

    def layout(self) -> tuple[Parameter, ...]:
        """W, and the bias where there is one."""
        W = Parameter((self.inputs, self.inputs), fan_in=self.inputs, fan_out=self.inputs)
        return (W, Parameter((), fan_in=self.inputs, fan_out=1, kind="bias")) if self.bias else (W,)

    def end_to_end(self, parameters: Weights) -> QuadraticForm:
        """The form (WᵀW, b)."""
        W = parameters[0]
        return QuadraticForm(W.T @ W, parameters[1] if len(parameters) == 2 else jnp.zeros((), W.dtype))

    def singular_values(self, parameters: Weights) -> Float[Array, " mode"]:
        """Singular values of WᵀW in falling order, from W itself so that the small ones keep their digits."""
        return jnp.linalg.svd(parameters[0], compute_uv=False) ** 2
