"""Keys, from which everything random is drawn."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, UInt32

from . import arguments

AnyKey = Key[Array, ""] | UInt32[Array, "2"] | int | np.integer
"""A JAX key, of the new kind or the old, or a whole number."""


def as_key(key: AnyKey) -> Key[Array, ""]:
    """Return a JAX key: the one given, or the one that a whole number seeds."""
    if isinstance(key, int | np.integer) and not isinstance(key, bool) and -(2**63) <= key < 2**63:
        return jax.random.key(int(key))
    if isinstance(key, jax.Array) and key.shape == () and jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        return key
    if isinstance(key, jax.Array) and key.shape == (2,) and key.dtype == jnp.uint32:
        return jax.random.wrap_key_data(key)
    raise ValueError(
        f"key must be a JAX key or a whole number, such as jax.random.key(0) or 0; got {arguments.shown(key)}"
    )
