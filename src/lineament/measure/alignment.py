"""How a map lies relative to the singular directions of a target."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import checks
from .units import in_units


def mode_strengths(W: Float[Array, "out in"], target: Float[Array, "out in"]) -> Float[Array, " mode"]:
    """`u_iᵀ W v_i` in the target's singular directions: how much of each target mode the map holds."""
    W, target = checks.matrix("W", W), checks.matrix("target", target)
    if W.shape != target.shape:
        raise ValueError(f"target must be of the shape {W.shape} of W; got {target.shape}")
    U, _, Vt = jnp.linalg.svd(target, full_matrices=False)
    return jnp.einsum("om,oi,mi->m", U, W, Vt)


def alignment(W: Float[Array, "out in"], target: Float[Array, "out in"]) -> Float[Array, ""]:
    """The share `Σ_i (u_iᵀ W v_i)² / ‖W‖²_F` of W that lies in the target's modes; 1 when aligned, 0 for W = 0."""
    W = checks.matrix("W", W)
    scaled = in_units(W, jnp.max(jnp.abs(W)))  # the squares of a map of 1e-200 are zero
    total = jnp.sum(scaled**2)
    return jnp.sum(mode_strengths(scaled, target) ** 2) / jnp.where(total == 0, 1, total)
