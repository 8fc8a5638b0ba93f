"""Networks with layers of unequal size, and what is recorded of them: for what gradient flow conserves."""

from typing import Any

import jax
import jax.numpy as jnp

from ... import models, starts, train
from ...core import ensembles

WEIGHT = train.Record(
    "weight", lambda model, problem, layers: jnp.max(jnp.stack([jnp.sum(layer**2) for layer in layers]))
)


def unbalanced_ensemble(model: models.DeepLinear, key: jax.Array, count: int) -> ensembles.Ensemble:
    """Unbalanced starts: each member with its own scale, each layer with its own variance."""

    def member(key: jax.Array) -> Any:
        key_layers, key_scales = jax.random.split(key)
        layers = starts.gaussian(model, key_layers, start_scale=0.5)
        factors = jnp.exp(jax.random.uniform(key_scales, (model.depth,), minval=-1.5, maxval=0.5))
        return tuple(factor * layer for factor, layer in zip(factors, layers, strict=True))

    return ensembles.ensemble(member, jax.random.split(key, count))
