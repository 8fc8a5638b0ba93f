"""Quadratic networks `f(x) = Σ_i (w_iᵀx)² + b = ⟨WᵀW, xxᵀ⟩ + b` (Gissin et al. 2020, eq. 7 and Appendix F)."""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from ..core import checks

Weights: TypeAlias = tuple[Float[Array, "..."], ...]  # (W,) or (W, b)


class QuadraticForm(NamedTuple):
    """The map `x ↦ xᵀMx + b`."""

    matrix: Float[Array, "in in"]
    bias: Float[Array, ""]

    def __call__(self, X: Float[Array, "n in"]) -> Float[Array, "n 1"]:
        """Its values on the rows of X."""
        return jnp.sum((X @ self.matrix) * X, axis=1, keepdims=True) + self.bias


@dataclass(frozen=True)
class Quadratic:
    """A layer of as many squared units as inputs, summed up, with or without a trainable bias.

    The parameters are (W,) or (W, b), and the map is the form (WᵀW, b), with b = 0 where there is none.
    """

    inputs: int
    bias: bool = False

    def __post_init__(self) -> None:
        if int(self.inputs) != self.inputs or self.inputs < 1:
            raise ValueError(f"inputs must be a positive integer; got {self.inputs}")

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and inputs."""
        return 1, self.inputs

    def end_to_end(self, parameters: Weights) -> QuadraticForm:
        """The form (WᵀW, b)."""
        W = parameters[0]
        return QuadraticForm(W.T @ W, parameters[1] if len(parameters) == 2 else jnp.zeros((), W.dtype))

    def singular_values(self, parameters: Weights) -> Float[Array, " mode"]:
        """Those of WᵀW in falling order, from W itself so that the small ones keep their digits."""
        return jnp.linalg.svd(parameters[0], compute_uv=False) ** 2

    def start(
        self, scale: float | ArrayLike, key: jax.Array | None = None, *, bias: ArrayLike | None = None
    ) -> Weights:
        """`WᵀW = scale · I`, with W a multiple of a random orthogonal matrix, or of the identity without a key.

        Args:
            scale: σ0 > 0.
            key: For the random matrix.
            bias: b at the start (0 if not given), for a network that has one.
        """
        checks.positive("scale", scale)
        frame = jnp.eye(self.inputs) if key is None else jax.random.orthogonal(key, self.inputs)
        W = jnp.sqrt(jnp.asarray(scale, float)) * frame
        if self.bias:
            return W, checks.real_array("bias", 0.0 if bias is None else bias, 0).astype(W.dtype)
        if bias is not None:
            raise ValueError(f"this network has no bias to start at {bias}; make it by Quadratic(inputs, bias=True)")
        return (W,)

    def check(self, parameters: Weights, members: bool = False) -> None:
        """Refuse parameters that are not this network's."""
        shapes = jax.tree.map(lambda leaf: leaf.shape[members:], parameters)
        own = ((self.inputs, self.inputs), ()) if self.bias else ((self.inputs, self.inputs),)
        if shapes != own:
            raise ValueError(f"start has shapes {shapes}; {self} has parameters of shapes {own}")
