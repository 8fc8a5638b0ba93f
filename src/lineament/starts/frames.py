"""Random orthonormal frames."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import checks
from ..core.keys import AnyKey, as_key


def orthonormal(key: AnyKey, rows: int, columns: int) -> Float[Array, "{rows} {columns}"]:
    """A uniformly random matrix with orthonormal columns, or orthonormal rows if it is wide."""
    rows, columns = checks.whole("rows", rows), checks.whole("columns", columns)
    tall = rows >= columns
    Q, R = jnp.linalg.qr(jax.random.normal(as_key(key), (rows, columns) if tall else (columns, rows)))
    Q = Q * jnp.sign(jnp.diagonal(R))[None, :]  # without the signs, QR is not uniform
    return Q if tall else Q.T
