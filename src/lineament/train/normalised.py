"""Descent along the gradient divided by its own recent size."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from ..core import checks


class NormalisedState(NamedTuple):
    """How many steps were taken, and the moving average of the squared norm of the gradient."""

    taken: jax.Array
    square: jax.Array


def normalised(step_size: Any, decay: float = 0.99, eps: float = 1e-4) -> optax.GradientTransformation:
    """`θ ← θ − step_size · g / (√v + eps)`, one number v for all parameters together: GroupRMSprop.

    v is the exponential moving average of ‖g‖² over all entries of all layers, corrected for its start at zero. As the
    divisor is common to all, small steps follow the same path as gradient flow; only the clock runs faster on plateaus
    (Arora et al. 2019b and Razin & Cohen 2020 train matrix and tensor factorisations so).

    Args:
        step_size: How far to move, about, while the gradient is larger than `eps`.
        decay: Of the moving average.
        eps: Where the gradient is smaller, steps shrink with it, and training can come to rest.

    To choose other values than the defaults, hand `functools.partial(normalised, eps=1e-6)` to `descend`.
    """
    checks.share("decay", decay)
    checks.positive("eps", eps)

    def init(params: optax.Params) -> NormalisedState:
        dtype = jax.tree.leaves(params)[0].dtype
        return NormalisedState(jnp.zeros((), jnp.int32), jnp.zeros((), dtype))

    def update(
        updates: optax.Updates, state: optax.OptState, params: optax.Params | None = None
    ) -> tuple[optax.Updates, NormalisedState]:
        assert isinstance(state, NormalisedState)
        total = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(updates))
        count = state.taken + 1
        square = decay * state.square + (1 - decay) * total
        unbiased = square / (1 - decay ** count.astype(square.dtype))
        factor = -step_size / (jnp.sqrt(unbiased) + eps)
        return jax.tree.map(lambda leaf: factor * leaf, updates), NormalisedState(count, square)

    return optax.GradientTransformation(init, update)
