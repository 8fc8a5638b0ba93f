"""What gradient flow conserves (Cohen & Razin, Lemma 1, Definition 2)."""

from collections.abc import Sequence
from itertools import pairwise

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import checks


def conserved(layers: Sequence[Float[Array, "_ _"]]) -> tuple[Float[Array, "_ _"], ...]:
    """The matrices `W_{j+1}ᵀW_{j+1} − W_jW_jᵀ`, one per hidden layer: constant along gradient flow."""
    return tuple(after.T @ after - before @ before.T for before, after in pairwise(checks.layers(layers)))


def unbalancedness(layers: Sequence[Float[Array, "_ _"]]) -> Float[Array, ""]:
    """The unbalancedness magnitude `max_j ‖W_{j+1}ᵀW_{j+1} − W_jW_jᵀ‖_F`; zero for one layer."""
    norms = [jnp.linalg.norm(D) for D in conserved(layers)]
    return jnp.max(jnp.stack(norms)) if norms else jnp.zeros((), checks.layers(layers)[0].dtype)
