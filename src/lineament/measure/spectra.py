"""Singular values and what is read off them: norms and ranks, of a matrix or of each of a stack of them.

A matrix that holds what is not a number, such as a layer of a run that diverged, has no rank: every measure of it is not
a number either. Lengths are scaled before they are squared, so that no finite matrix overflows or vanishes.
"""

import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float

from ..core import arguments, checks
from .units import in_units


def singular_values(W: Float[Array, "*stack out in"]) -> Float[Array, "*stack mode"]:
    """Singular values in falling order."""
    return jnp.linalg.svd(checks.matrices("W", W), compute_uv=False)


def frobenius_norm(W: Float[Array, "*stack out in"]) -> Float[Array, "*stack"]:
    """Root of the sum of squared entries."""
    W = checks.matrices("W", W)
    largest = jnp.max(jnp.abs(W), axis=(-2, -1), keepdims=True)
    return largest[..., 0, 0] * jnp.sqrt(jnp.sum(in_units(W, largest) ** 2, axis=(-2, -1)))


def nuclear_norm(W: Float[Array, "*stack out in"]) -> Float[Array, "*stack"]:
    """Sum of the singular values."""
    return jnp.sum(singular_values(W), axis=-1)


def spectral_norm(W: Float[Array, "*stack out in"]) -> Float[Array, "*stack"]:
    """Largest singular value."""
    return singular_values(W)[..., 0]


def effective_rank(W: Float[Array, "*stack out in"]) -> Float[Array, "*stack"]:
    """Exponential of the entropy of the normalised singular values (Roy & Vetterli 2007); zero for a zero matrix."""
    p = relative(singular_values(W))
    total = jnp.sum(p, axis=-1)
    return exp_entropy(p / jnp.where(total == 0, 1, total)[..., None])


def stable_rank(W: Float[Array, "*stack out in"]) -> Float[Array, "*stack"]:
    """`‖W‖²_F / ‖W‖²`; zero for a zero matrix."""
    return jnp.sum(relative(singular_values(W)) ** 2, axis=-1)


def numerical_rank(W: Float[Array, "*stack out in"], threshold: float | None = None) -> Float[Array, "*stack"]:
    """How many singular values exceed `threshold` times the largest (default: rounding error × larger side)."""
    s = singular_values(W)
    if threshold is None:
        threshold = float(jnp.finfo(s.dtype).eps) * max(jnp.shape(W)[-2:])
    elif not isinstance(threshold, Tracer):
        threshold = arguments.number("threshold", threshold, least=0, below=1)
    # Counted among the values relative to the largest, so that nothing underflows; a sum with NaN in it stays NaN.
    return jnp.sum(jnp.where(jnp.isnan(s), s, (relative(s) > threshold).astype(s.dtype)), axis=-1)


def relative(s: Float[Array, "*stack mode"]) -> Float[Array, "*stack mode"]:
    """Falling singular values divided by the largest; zeros stay zeros."""
    return in_units(s, s[..., :1])


def exp_entropy(shares: Float[Array, "*stack mode"]) -> Float[Array, "*stack"]:
    """Exponential of the entropy of shares that sum to 1; zero where all of them are zero, NaN where one is."""
    zero = shares == 0
    entropy = -jnp.sum(jnp.where(zero, 0, shares * jnp.log(jnp.where(zero, 1, shares))), axis=-1)
    return jnp.where(jnp.all(zero, axis=-1), 0, jnp.exp(entropy))
