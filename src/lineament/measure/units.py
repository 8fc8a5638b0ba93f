"""Numbers divided by the largest of them, so that their squares neither overflow nor vanish."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def in_units(values: Float[Array, "..."], largest: Float[Array, "..."]) -> Float[Array, "..."]:
    """Values divided by the largest of them; zeros stay zeros."""
    # XLA multiplies by a reciprocal, and takes that of numbers beyond 4e307, which is no normal float, for zero.
    unit = jnp.where(largest > 1, 1 / 16, 1)
    return unit * values / (unit * jnp.where(largest == 0, 1, largest))
