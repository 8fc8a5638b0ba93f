"""Learning a quadratic form `x ↦ xᵀM*x + b*`, from all Gaussian inputs or from examples.

The maps are pairs (M, b) with M symmetric. Every loss here carries the factor 1/16 of Gissin et al. (2020, Definition
2 and Appendix F), so that many examples run on the same clock as all Gaussian inputs. A mean squared error without
that factor, trained by steps η, passes 16η of this time per step.
"""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from ..core import checks
from .base import AbstractProblem, Map, Optimum, predict


class QuadraticPopulation(AbstractProblem):
    """`E[e²]/16` (squared) or `(E[e²] − E[e]²)/16` (variance), `e = ⟨Δ, xxᵀ⟩ + δ`, over inputs x ~ N(0, I).

    By Isserlis' theorem `E[e] = tr Δ + δ` and `E[e²] = 2‖Δ‖² + (tr Δ + δ)²` for the errors Δ = M* − M, δ = b* − b, so
    that the losses are `‖Δ‖²/8 + (tr Δ + δ)²/16` and `‖Δ‖²/8`.
    """

    target: Float[Array, "in in"]
    bias: Float[Array, ""]
    kind: Literal["squared", "variance"] = eqx.field(static=True)

    @property
    def shape(self) -> tuple[int, int]:
        """One output."""
        return 1, self.target.shape[-1]

    def loss(self, map: Any) -> Float[Array, ""]:
        """The loss of a form (M, b), M symmetric."""
        if not (isinstance(map, tuple) and len(map) == 2):
            given = "function" if callable(map) else f"map of shape {getattr(map, 'shape', None)}"
            raise ValueError(
                f"this problem is about quadratic forms, the pairs (WᵀW, b) of models.Quadratic; got a {given}"
            )
        error, offset = self.target - map[0], self.bias - map[1]
        variance = jnp.sum(error**2) / 8
        return variance if self.kind == "variance" else variance + (jnp.trace(error) + offset) ** 2 / 16

    def optimum(self, rank: int | None = None) -> Optimum:
        """The target itself."""
        return Optimum((self.target, self.bias), 0.0)


class QuadraticRegression(AbstractProblem):
    """`mean (f(x) − y)² / 16` over examples. Its least value over forms with M = WᵀW is not known in general."""

    inputs: Float[Array, "n in"]
    outputs: Float[Array, " n"]

    @property
    def shape(self) -> tuple[int, int]:
        """One output."""
        return 1, self.inputs.shape[-1]

    def loss(self, map: Map) -> Float[Array, ""]:
        """A sixteenth of the mean squared error."""
        return jnp.mean((predict(map, self.inputs)[:, 0] - self.outputs) ** 2) / 16

    @property
    def examples(self) -> int:
        """How many examples there are."""
        return self.inputs.shape[0]

    @property
    def example_inputs(self) -> Float[Array, "n in"]:
        """The inputs of its examples."""
        return self.inputs

    def take(self, indices: jax.Array) -> AbstractProblem:
        """The same loss on some of the examples."""
        return QuadraticRegression(self.inputs[indices], self.outputs[indices])


def quadratic_squared(target: ArrayLike, bias: ArrayLike = 0.0) -> QuadraticPopulation:
    """`E[(⟨M* − M, xxᵀ⟩ + b* − b)²]/16` over x ~ N(0, I): target M* (inputs × inputs, semi-definite) and bias b*."""
    target = _semi_definite(target)
    return QuadraticPopulation(target, checks.real_array("bias", bias, 0).astype(target.dtype), "squared")


def quadratic_variance(target: ArrayLike) -> QuadraticPopulation:
    """The variance loss (Gissin et al. 2020, Definition 2) over x ~ N(0, I), which no bias changes."""
    target = _semi_definite(target)
    return QuadraticPopulation(target, jnp.zeros((), target.dtype), "variance")


def quadratic_regression(X: ArrayLike, y: ArrayLike) -> QuadraticRegression:
    """`mean (f(x) − y)² / 16` over the rows of X (n, inputs) and y (n,)."""
    X, y = checks.columns("X", X), checks.real_array("y", y, 1)
    checks.same_length(X=X, y=y)
    return QuadraticRegression(X, y)


def _semi_definite(target: ArrayLike) -> Float[Array, "in in"]:
    """The target as WᵀW could be: only such a form can be learnt."""
    M = checks.real_array("target", target, 2)
    if M.shape[0] != M.shape[1]:
        raise ValueError(f"target must be a square matrix; got shape {M.shape}")
    if isinstance(M, Tracer):
        return M
    values, slack = np.asarray(M, float), 1e-12 * float(jnp.max(jnp.abs(M)))
    if np.abs(values - values.T).max() > slack:
        raise ValueError(
            f"target must be symmetric; it differs from its transpose by {np.abs(values - values.T).max()}"
        )
    least = np.linalg.eigvalsh(values)[0]
    if least < -slack * len(values):
        raise ValueError(f"target must be positive semi-definite, as WᵀW is; its least eigenvalue is {least}")
    return M
