"""Starts that are a multiple of something: of the identity, of an orthogonal matrix, of the authors' own draw."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from ..core import checks
from ..core.keys import AnyKey, as_key
from ..core.model import AbstractModel
from ..models.circular import Circular
from ..models.diagonal import Diagonal
from ..models.quadratic import Quadratic, Weights
from ..models.tensor import CP, Factors
from .fit import refuse, require_chain
from .normal import gaussian


def identity(model: AbstractModel, start_scale: float | ArrayLike, *, bias: ArrayLike | None = None) -> Any:
    """A start at which the map is `start_scale` times the identity (Gissin et al. 2020, eq. 3 and §4.1).

    Each layer of a chain has `start_scale^{1/N}` on its diagonal; every weight of a diagonal network is
    `start_scale^{1/N}`, so that σ = start_scale, or 0 in the signed form; a quadratic network has `W = √start_scale I`.

    Args:
        model: A chain of matrices, a diagonal network or a quadratic one.
        start_scale: σ0 > 0; for a diagonal network one number or one for each feature.
        bias: b at the start (0 if not given), for a quadratic network that has one.
    """
    checks.positive("start_scale", start_scale)
    if not (isinstance(model, Diagonal) and np.shape(start_scale) == (model.features,)):
        start_scale = checks.scale("start_scale", start_scale)
    if isinstance(model, Quadratic):
        return _with_bias(model, jnp.sqrt(jnp.asarray(start_scale, float)) * jnp.eye(model.inputs), bias)
    if bias is not None:
        refuse("identity with a bias", "a Quadratic network with a bias", model)
    if isinstance(model, Diagonal):
        return jnp.broadcast_to(jnp.asarray(start_scale, float) ** (1 / model.depth), model.parameter_shape)
    chain = require_chain("identity", model)
    root = jnp.asarray(start_scale) ** (1 / chain.depth)
    return chain.assemble(tuple(root * jnp.eye(*shape) for shape in chain.layer_shapes))


def orthogonal(
    model: Quadratic, key: AnyKey, start_scale: float | ArrayLike, *, bias: ArrayLike | None = None
) -> Weights:
    """A start with `WᵀW = start_scale · I`: W is a multiple of a random orthogonal matrix.

    Args:
        model: A quadratic network.
        key: For the random matrix.
        start_scale: σ0 > 0.
        bias: b at the start (0 if not given), for a network that has one.
    """
    if not isinstance(model, Quadratic):
        refuse("orthogonal", "a Quadratic network", model)
    start_scale = checks.scale("start_scale", start_scale)
    frame = jax.random.orthogonal(as_key(key), model.inputs)
    return _with_bias(model, jnp.sqrt(jnp.asarray(start_scale, float)) * frame, bias)


def _with_bias(model: Quadratic, W: Float[Array, "in in"], bias: ArrayLike | None) -> Weights:
    if model.bias:
        return W, checks.real_array("bias", 0.0 if bias is None else bias, 0).astype(W.dtype)
    if bias is not None:
        raise ValueError(f"bias must be None unless the network has one, Quadratic(inputs, bias=True); got {bias}")
    return (W,)


def circular(model: Circular, key: AnyKey, start_scale: float | ArrayLike) -> Float[Array, "depth length"]:
    """Independent normal weights of standard deviation `(1.5 start_scale)^{1/N} √d^{(N−1)/N} / d`.

    This is the start of the experiments of Gissin et al. (2020). It makes `E|σ̂[j]|² = (1.5 start_scale)²/d` at any
    depth.
    """
    if not isinstance(model, Circular):
        refuse("circular", "a Circular network", model)
    start_scale = checks.scale("start_scale", start_scale)
    d, N = model.length, model.depth
    deviation = (1.5 * jnp.asarray(start_scale, float)) ** (1 / N) * d ** ((N - 1) / (2 * N)) / d
    return gaussian(model, key, deviation=deviation)


def balanced_components(model: CP, key: AnyKey, start_scale: float | ArrayLike) -> Factors:
    """Components all of the norm `start_scale`, split evenly over vectors of random directions."""
    if not isinstance(model, CP):
        refuse("balanced_components", "a CP factorisation", model)
    start_scale = checks.scale("start_scale", start_scale)
    factors = gaussian(model, key, deviation=1.0)
    root = jnp.asarray(start_scale, float) ** (1 / len(model.shape))
    return tuple(root * factor / jnp.sqrt(jnp.sum(factor**2, axis=0, keepdims=True)) for factor in factors)
