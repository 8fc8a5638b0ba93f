"""Singular values and what is read off them: norms and ranks."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def singular_values(W: Float[Array, "out in"]) -> Float[Array, " mode"]:
    """Singular values in falling order."""
    return jnp.linalg.svd(W, compute_uv=False)


def frobenius_norm(W: Float[Array, "out in"]) -> Float[Array, ""]:
    """Root of the sum of squared entries."""
    return jnp.sqrt(jnp.sum(W**2))


def nuclear_norm(W: Float[Array, "out in"]) -> Float[Array, ""]:
    """Sum of the singular values."""
    return jnp.sum(singular_values(W))


def spectral_norm(W: Float[Array, "out in"]) -> Float[Array, ""]:
    """Largest singular value."""
    return singular_values(W)[0]


def effective_rank(W: Float[Array, "out in"]) -> Float[Array, ""]:
    """Exponential of the entropy of the normalised singular values (Roy & Vetterli 2007); zero for a zero matrix."""
    s = singular_values(W)
    total = jnp.sum(s)
    p = s / jnp.where(total > 0, total, 1)
    entropy = -jnp.sum(jnp.where(p > 0, p * jnp.log(jnp.where(p > 0, p, 1)), 0))
    return jnp.where(total > 0, jnp.exp(entropy), 0)


def stable_rank(W: Float[Array, "out in"]) -> Float[Array, ""]:
    """`‖W‖²_F / ‖W‖²`; zero for a zero matrix."""
    s = singular_values(W)
    return jnp.sum(s**2) / jnp.where(s[0] > 0, s[0] ** 2, 1)


def numerical_rank(W: Float[Array, "out in"], threshold: float | None = None) -> Float[Array, ""]:
    """How many singular values exceed `threshold` times the largest (default: rounding error × larger side)."""
    s = singular_values(W)
    threshold = float(jnp.finfo(W.dtype).eps) * max(W.shape) if threshold is None else threshold
    return jnp.sum(s > threshold * s[0]).astype(W.dtype)
