"""Regression: square loss in second moments, and the even powers of the residual."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from ..core import checks
from .base import AbstractProblem, Map, Optimum, predict
from .minimise import minimise


class Regression(AbstractProblem):
    """Square loss `½ E‖Wx − y‖²`, held in second moments.

    The loss of a matrix is `ℓ* + ½ tr (W−W*) Σxx (W−W*)ᵀ` with `W* = Σyx Σxx⁺` and `ℓ* = ½ tr(Σyy − W*Σxy)`: it costs
    the same however many examples there are, and loses no digits near the optimum, where `½ E‖Wx‖² − …` would.
    """

    sxx: Float[Array, "in in"]
    optimal_map: Float[Array, "out in"]
    optimal_loss: Float[Array, ""]
    inputs: Float[Array, "n in"] | None = None
    outputs: Float[Array, "n out"] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and inputs."""
        return self.optimal_map.shape[-2], self.optimal_map.shape[-1]

    @property
    def syx(self) -> Float[Array, "out in"]:
        """The cross-covariance Σyx (the data's mean of y xᵀ)."""
        return self.optimal_map @ self.sxx

    @property
    def modes(self) -> Float[Array, " mode"]:
        """Singular values of the optimal map, in falling order: what whitened inputs make a network learn."""
        return jnp.linalg.svd(self.optimal_map, compute_uv=False)

    def loss(self, map: Map) -> Float[Array, ""]:
        """`½ E‖Wx − y‖²`; a map that is no matrix is evaluated on the examples."""
        if not callable(map):
            return self.value_and_gradient(map)[0]
        if self.inputs is None or self.outputs is None:
            raise ValueError("this regression holds only moments; build it by regression(X, Y) to train a function")
        return 0.5 * jnp.mean(jnp.sum((map(self.inputs) - self.outputs) ** 2, axis=1))

    def value_and_gradient(self, map: Float[Array, "out in"]) -> tuple[Float[Array, ""], Float[Array, "out in"]]:
        """The loss and its gradient `(W − W*) Σxx`."""
        if callable(map):
            return super().value_and_gradient(map)
        error = map - self.optimal_map
        gradient = error @ self.sxx
        return self.optimal_loss + 0.5 * jnp.sum(gradient * error), gradient

    def optimum(self, rank: int | None = None) -> Optimum:
        """The map of least squares, or of reduced-rank regression where `rank` binds (Eckart–Young in the metric Σxx)."""
        if rank is None or rank >= min(self.shape):
            return Optimum(self.optimal_map, float(self.optimal_loss))
        values, vectors = jnp.linalg.eigh(self.sxx)
        root = jnp.sqrt(jnp.clip(values, 0))
        U, s, Vt = jnp.linalg.svd(self.optimal_map @ (vectors * root[None, :]), full_matrices=False)
        inverse = jnp.where(root > 1e-12 * root.max(), 1 / jnp.where(root > 0, root, 1), 0)
        best = (U[:, :rank] * s[None, :rank]) @ Vt[:rank] @ (vectors * inverse[None, :]).T
        return Optimum(best, float(self.optimal_loss + 0.5 * jnp.sum(s[rank:] ** 2)))

    @property
    def examples(self) -> int | None:
        """How many examples the moments were taken over, where they were kept."""
        return None if self.inputs is None else self.inputs.shape[0]

    @property
    def example_inputs(self) -> Float[Array, "n in"] | None:
        """The inputs of its examples, where they were kept."""
        return self.inputs

    def take(self, indices: jax.Array) -> AbstractProblem:
        """The square loss on some examples, from their residuals: cheaper than the moments of a small batch."""
        if self.inputs is None or self.outputs is None:
            return super().take(indices)
        return LpRegression(self.inputs[indices], self.outputs[indices], p=2)


class LpRegression(AbstractProblem):
    """`E Σ_k |(Wx − y)_k|^p / p` for an even power p."""

    inputs: Float[Array, "n in"]
    outputs: Float[Array, "n out"]
    p: int = eqx.field(static=True)

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and inputs."""
        return self.outputs.shape[-1], self.inputs.shape[-1]

    def loss(self, map: Map) -> Float[Array, ""]:
        """The mean over examples of the summed even powers of the residuals."""
        residual = predict(map, self.inputs) - self.outputs
        return jnp.mean(jnp.sum(residual**self.p, axis=1)) / self.p

    def optimum(self, rank: int | None = None) -> Optimum:
        """The minimiser, found from least squares; where inputs do not span, its least-norm part."""
        self.refuse_rank(rank)
        least_squares = np.linalg.lstsq(np.asarray(self.inputs, float), np.asarray(self.outputs, float), rcond=None)[0]
        return Optimum(*minimise(self, least_squares.T, self.inputs.dtype))

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
        return LpRegression(self.inputs[indices], self.outputs[indices], self.p)


def regression(X: ArrayLike, Y: ArrayLike) -> Regression:
    """Square loss `½ mean‖Wx − y‖²` over the rows of X (n, inputs) and Y (n, outputs) or (n,)."""
    X, Y = checks.columns("X", X), checks.columns("Y", Y)
    checks.same_length(X=X, Y=Y)
    best = jnp.linalg.lstsq(X, Y)[0].T
    left_over = 0.5 * jnp.mean(jnp.sum((X @ best.T - Y) ** 2, axis=1))
    return Regression(X.T @ X / X.shape[0], best, left_over, X, Y)


def regression_from_moments(sxx: ArrayLike, syx: ArrayLike, syy: ArrayLike) -> Regression:
    """Square loss from Σxx (inputs × inputs), Σyx (outputs × inputs) and Σyy (outputs × outputs)."""
    sxx, syx = checks.real_array("sxx", sxx, 2), checks.real_array("syx", syx, 2)
    syy = checks.real_array("syy", syy, 2)
    if sxx.shape != (syx.shape[1],) * 2 or syy.shape != (syx.shape[0],) * 2:
        raise ValueError(
            "sxx, syx and syy must be (inputs, inputs), (outputs, inputs) and (outputs, outputs); "
            f"got {sxx.shape}, {syx.shape} and {syy.shape}"
        )
    best = syx @ jnp.linalg.pinv(sxx, hermitian=True)
    return Regression(sxx, best, 0.5 * jnp.trace(syy - best @ syx.T))


def whitened(target: ArrayLike) -> Regression:
    """`½‖W − target‖²`: regression on inputs of identity covariance, without noise."""
    target = checks.real_array("target", target, 2)
    return Regression(jnp.eye(target.shape[1], dtype=target.dtype), target, jnp.zeros((), target.dtype))


def lp_regression(X: ArrayLike, Y: ArrayLike, p: int = 4) -> LpRegression:
    """`mean Σ_k |(Wx − y)_k|^p / p` over the rows of X and Y, for an even p ≥ 2."""
    X, Y = checks.columns("X", X), checks.columns("Y", Y)
    checks.same_length(X=X, Y=Y)
    power = checks.whole("p", p, 2)
    if power % 2:
        raise ValueError(f"p must be an even integer ≥ 2, so that the loss is analytic; got {p}")
    return LpRegression(X, Y, power)
