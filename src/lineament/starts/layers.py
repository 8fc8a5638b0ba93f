"""Starts of a chain's layers (W_1, …, W_N): with a given product, spectrum or shape."""

from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from ..core import checks
from ..core.keys import AnyKey, as_key
from ..core.model import AbstractModel
from ..models.chain import AbstractChain
from .fit import require_chain
from .frames import orthonormal
from .normal import gaussian


def balanced(
    model: AbstractModel,
    key: AnyKey | None = None,
    *,
    start_scale: float | ArrayLike = 1.0,
    map: ArrayLike | None = None,
) -> Any:
    """Balanced layers, `W_{j+1}ᵀW_{j+1} = W_jW_jᵀ`, with a given product (Cohen & Razin, Assumption 1 and below it).

    The singular value decomposition `UΣVᵀ` of the map is split evenly, `W_j = Q_j Σ^{1/N} Q_{j−1}ᵀ`, with Q_0 = V,
    Q_N = U and orthonormal frames between: random ones with a key, leading unit vectors without.

    Args:
        model: A chain of matrices; hidden widths must hold the rank of the map.
        key: For the random map and the random frames.
        start_scale: Multiplies the map.
        map: The product to split, (outputs, inputs). By default a random map all of whose singular values are 1.
    """
    chain = require_chain("balanced", model)
    if map is None and key is None:
        raise ValueError("key must be given for a random map, unless the map itself is; got neither")
    keys = jax.random.split(as_key(0 if key is None else key), chain.depth + 1)
    W = orthonormal(keys[0], *chain.shape) if map is None else checks.real_array("map", map, 2)
    if W.shape != chain.shape:
        raise ValueError(f"map must have the model's shape {chain.shape}; got {W.shape}")
    scale = checks.real_array("start_scale", start_scale, 0).astype(W.dtype)
    U, values, Vt = jnp.linalg.svd(scale * W, full_matrices=False)
    r = min(*chain.widths, values.shape[0])
    _refuse_narrow(chain, values, r)
    # The N-th root of rounding noise is no noise: 1e-16 becomes 2e-3 at depth 6.
    noise = jnp.finfo(values.dtype).eps * max(chain.shape) * values[0]
    root = jnp.where(values[:r] > noise, values[:r], 0.0) ** (1 / chain.depth)
    frames = [
        Vt[:r].T,
        *(_frame(k, d, r, key is not None) for k, d in zip(keys[1:], chain.widths[1:-1], strict=False)),
        U[:, :r],
    ]
    return chain.assemble(tuple((after * root[None, :]) @ before.T for before, after in pairwise(frames)))


def _frame(key: jax.Array, width: int, rank: int, random: bool) -> Float[Array, "width rank"]:
    return orthonormal(key, width, rank) if random else jnp.eye(width, rank)


def _refuse_narrow(chain: AbstractChain, values: Float[Array, " mode"], r: int) -> None:
    """Refuse hidden layers that are narrower than the map's rank: their product cannot be the map."""
    if r == values.shape[0]:
        return
    if isinstance(values, Tracer) or np.any(np.asarray(values[r:]) > 1e-12 * np.asarray(values[0])):
        raise ValueError(
            f"hidden widths must be at least min(inputs, outputs) = {values.shape[0]} to split a map of full rank; got "
            f"{chain.widths[1:-1]}: widen them, or pass a map of rank at most {r}"
        )


def aligned(model: AbstractModel, target: ArrayLike, start_scale: float | ArrayLike) -> Any:
    """A balanced start `start_scale · UVᵀ` in the singular directions of the target `UΣVᵀ`.

    Each mode of the target then moves on its own (Saxe et al. 2014; Gissin et al. 2020, Theorem 4): from this start
    `theory.modes` is exact at any scale.
    """
    U, _, Vt = jnp.linalg.svd(checks.real_array("target", target, 2), full_matrices=False)
    return balanced(model, map=U @ Vt, start_scale=start_scale)


def isometric(model: AbstractModel, key: AnyKey) -> Any:
    """Normal weights of variance `2/(m_{l−1}+m_l)` inside, `1/m_1` first, `1/m_{L−1}` last (Hacohen & Weinshall, Def. 3).

    Where hidden widths are equal, each factor `m σ²` of Theorem 3's mean gradient scales is then 1.
    """
    chain = require_chain("isometric", model)
    if chain.depth < 2:
        raise ValueError(
            f"model must have a hidden layer for starts.isometric (Definition 3); got widths {chain.widths}"
        )
    m = chain.widths
    inner = [2 / (m[layer] + m[layer + 1]) for layer in range(1, chain.depth - 1)]
    return gaussian(chain, key, variances=[1 / m[1], *inner, 1 / m[-2]])


def shaped(model: AbstractModel, key: AnyKey, start_scale: float | ArrayLike, shape: ArrayLike | None = None) -> Any:
    """A two-layer start of scale γ whose last layer is zero: `W_1ᵀW_1 = 2γ · shape`, `W_2 = 0` (Varre et al. 2023, (I)).

    The poster's W1 and W2 are the transposes of these layers. Its own start `√(2γ)P`, `PPᵀ = I`, has the identity for
    its shape: every input direction is held alike.

    Args:
        model: A chain of two layers with at least as many hidden units as inputs.
        key: For the random frame P of the hidden units, and the random directions of a spectrum.
        start_scale: The scale γ.
        shape: The spectrum of the shape, one positive number for each input, in random directions; or the shape
            itself, a positive definite matrix (inputs × inputs). By default the identity.
    """
    chain = require_chain("shaped", model)
    if chain.depth != 2 or chain.widths[1] < chain.widths[0]:
        raise ValueError(
            "model must have two layers and at least as many hidden units as inputs for starts.shaped; "
            f"got widths {chain.widths}"
        )
    start_scale = checks.scale("start_scale", start_scale)
    outputs, inputs = chain.shape
    key_frame, key_directions = jax.random.split(as_key(key))
    root = jnp.eye(inputs) if shape is None else _root_of_shape(key_directions, shape, inputs)
    first = jnp.sqrt(2 * jnp.asarray(start_scale, root.dtype)) * orthonormal(key_frame, chain.widths[1], inputs) @ root
    return chain.assemble((first, jnp.zeros((outputs, chain.widths[1]), first.dtype)))


def _root_of_shape(key: jax.Array, shape: ArrayLike, inputs: int) -> Float[Array, "in in"]:
    """Any R with RᵀR = shape; the frame of hidden units before it is random."""
    given = checks.floating("shape", shape)
    if given.shape not in ((inputs,), (inputs, inputs)):
        raise ValueError(f"shape must be ({inputs},) or ({inputs}, {inputs}) for {inputs} inputs; got {given.shape}")
    given = checks.real_array("shape", given, given.ndim)
    if given.ndim == 1:
        checks.positive("shape", given)
        return jnp.sqrt(given)[:, None] * orthonormal(key, inputs, inputs)
    values, vectors = jnp.linalg.eigh(given)
    if not isinstance(values, Tracer) and not (
        float(values[0]) > 0 and np.allclose(given, given.T, rtol=0, atol=1e-12 * float(values[-1]))
    ):
        raise ValueError(f"shape must be symmetric and positive definite; its eigenvalues are {np.asarray(values)}")
    return jnp.sqrt(values)[:, None] * vectors.T
