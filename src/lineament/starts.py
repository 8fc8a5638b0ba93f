"""Where training begins.

Every start is a function of a network (and a key where it is random) that returns its layers (W_1, …, W_N).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from .core import checks
from .models.linear import DeepLinear, Layers


def balanced(
    net: DeepLinear, key: jax.Array | None = None, *, scale: float | ArrayLike = 1.0, map: ArrayLike | None = None
) -> Layers:
    """Balanced layers, `W_{j+1}ᵀW_{j+1} = W_jW_jᵀ`, with a given product (Cohen & Razin, Assumption 1 and below it).

    The singular value decomposition `UΣVᵀ` of the map is split evenly, `W_j = Q_j Σ^{1/N} Q_{j−1}ᵀ`, with Q_0 = V,
    Q_N = U and orthonormal frames between: random ones with a key, leading unit vectors without.

    Args:
        net: The network; hidden widths must hold the rank of the map.
        key: For the random map and the random frames.
        scale: Multiplies the map.
        map: The product to split, (outputs, inputs). By default a random map all of whose singular values are 1.
    """
    if map is None and key is None:
        raise ValueError("a balanced start needs a key for a random map, or the map itself")
    keys = jax.random.split(jax.random.key(0) if key is None else key, net.depth + 1)
    W = orthonormal(keys[0], *net.shape) if map is None else checks.real_array("map", map, 2)
    if W.shape != net.shape:
        raise ValueError(f"map must have the network's shape {net.shape}; got {W.shape}")
    U, values, Vt = jnp.linalg.svd(scale * W, full_matrices=False)
    r = min(net.rank, values.shape[0])
    _refuse_narrow(net, values, r)
    # The N-th root of rounding noise is no noise: 1e-16 becomes 2e-3 at depth 6.
    noise = jnp.finfo(values.dtype).eps * max(net.shape) * values[0]
    root = jnp.where(values[:r] > noise, values[:r], 0.0) ** (1 / net.depth)
    frames = [
        Vt[:r].T,
        *(_frame(k, d, r, key is not None) for k, d in zip(keys[1:], net.widths[1:-1], strict=False)),
        U[:, :r],
    ]
    return tuple((after * root[None, :]) @ before.T for before, after in pairwise(frames))


def _frame(key: jax.Array, width: int, rank: int, random: bool) -> Float[Array, "width rank"]:
    return orthonormal(key, width, rank) if random else jnp.eye(width, rank)


def _refuse_narrow(net: DeepLinear, values: Float[Array, " mode"], r: int) -> None:
    """Hidden layers narrower than the map's rank cannot carry it."""
    if r == values.shape[0]:
        return
    if isinstance(values, Tracer) or np.any(np.asarray(values[r:]) > 1e-12 * np.asarray(values[0])):
        raise ValueError(
            f"hidden widths {net.widths[1:-1]} are below min(inputs, outputs) = {values.shape[0]}, so a map of "
            f"full rank cannot be split; widen them, or pass a map of rank at most {r}"
        )


def aligned(net: DeepLinear, target: ArrayLike, scale: float | ArrayLike) -> Layers:
    """A balanced start `scale · UVᵀ` in the singular directions of the target `UΣVᵀ`.

    Each mode of the target then moves on its own (Saxe et al. 2014; Gissin et al. 2020, Theorem 4): from this start
    `theory.modes` is exact at any scale.
    """
    U, _, Vt = jnp.linalg.svd(checks.real_array("target", target, 2), full_matrices=False)
    return balanced(net, map=U @ Vt, scale=scale)


def identity(net: DeepLinear, scale: float | ArrayLike) -> Layers:
    """Each layer `scale^{1/N}` on its diagonal, so that the product has `scale` there (Gissin et al. 2020, §4.1)."""
    checks.positive("scale", scale)
    return tuple(jnp.asarray(scale) ** (1 / net.depth) * jnp.eye(*shape) for shape in net.layer_shapes)


def gaussian(
    net: DeepLinear,
    key: jax.Array,
    *,
    scale: float | ArrayLike | None = None,
    variances: Sequence[float] | None = None,
) -> Layers:
    """Independent normal entries.

    Args:
        net: The network.
        key: The source of randomness.
        scale: The product's scale: layer j has standard deviation `scale^{1/N}/√(its inputs)`, so that
            `E‖Wx‖² = scale² (outputs/inputs) ‖x‖²`. Square networks then start with singular values around `scale`.
        variances: Instead of `scale`: the variance of each layer's entries, first layer first.
    """
    if (scale is None) == (variances is None):
        raise ValueError("give either the product's `scale` or each layer's `variances`")
    if variances is not None:
        if len(variances) != net.depth:
            raise ValueError(f"variances must have one entry for each of {net.depth} layers; got {len(variances)}")
        checks.positive("variances", variances)
        deviations = [jnp.sqrt(jnp.asarray(variance)) for variance in variances]
    else:
        checks.positive("scale", scale)  # type: ignore[arg-type]
        deviations = [jnp.asarray(scale) ** (1 / net.depth) / d_in**0.5 for _, d_in in net.layer_shapes]
    # One draw, cut into layers: a generator per layer would take several times as long to compile.
    cuts = np.cumsum([d_out * d_in for d_out, d_in in net.layer_shapes])
    draws = jnp.split(jax.random.normal(key, (int(cuts[-1]),)), cuts[:-1])
    return tuple(s * x.reshape(shape) for s, x, shape in zip(deviations, draws, net.layer_shapes, strict=True))


def glorot(net: DeepLinear, key: jax.Array, distribution: Literal["uniform", "normal"] = "uniform") -> Layers:
    """Glorot & Bengio (2010): variance `2/(inputs + outputs)` in each layer."""
    checks.one_of("distribution", distribution, ("uniform", "normal"))
    make = jax.nn.initializers.glorot_uniform if distribution == "uniform" else _glorot_normal
    keys = jax.random.split(key, net.depth)
    return tuple(make()(k, shape) for k, shape in zip(keys, net.layer_shapes, strict=True))


def _glorot_normal() -> jax.nn.initializers.Initializer:
    # JAX's own glorot_normal truncates at two standard deviations; the law meant here does not.
    return jax.nn.initializers.variance_scaling(1.0, "fan_avg", "normal")


def isometric(net: DeepLinear, key: jax.Array) -> Layers:
    """Hacohen & Weinshall, Definition 3: variance `2/(m_{l−1}+m_l)` inside, `1/m_1` first and `1/m_{L−1}` last.

    Normal entries. Where hidden widths are equal, each factor `m σ²` of Theorem 3's mean gradient scales is then 1.
    """
    if net.depth < 2:
        raise ValueError(
            f"an isometric start (Definition 3) needs a hidden layer; the network has widths {net.widths}"
        )
    m = net.widths
    inner = [2 / (m[layer] + m[layer + 1]) for layer in range(1, net.depth - 1)]
    return gaussian(net, key, variances=[1 / m[1], *inner, 1 / m[-2]])


def shaped(net: DeepLinear, key: jax.Array, gamma: float | ArrayLike, shape: ArrayLike | None = None) -> Layers:
    """A two-layer start of scale γ whose last layer is zero: `W_1ᵀW_1 = 2γ · shape`, `W_2 = 0` (Varre et al. 2023, (I)).

    The poster's W1 and W2 are the transposes of these layers. Its own start `√(2γ)P`, `PPᵀ = I`, has the identity for
    its shape: every input direction is held alike.

    Args:
        net: A network of two layers with at least as many hidden units as inputs.
        key: For the random frame P of the hidden units, and the random directions of a spectrum.
        gamma: The scale γ.
        shape: The spectrum of the shape, one positive number for each input, in random directions; or the shape
            itself, a positive definite matrix (inputs × inputs). By default the identity.
    """
    if net.depth != 2 or net.widths[1] < net.widths[0]:
        raise ValueError(
            "a shaped start needs two layers and at least as many hidden units as inputs; "
            f"the network has widths {net.widths}"
        )
    checks.positive("gamma", gamma)
    outputs, inputs = net.shape
    key_frame, key_directions = jax.random.split(key)
    root = jnp.eye(inputs) if shape is None else _root_of_shape(key_directions, shape, inputs)
    first = jnp.sqrt(2 * jnp.asarray(gamma, root.dtype)) * orthonormal(key_frame, net.widths[1], inputs) @ root
    return first, jnp.zeros((outputs, net.widths[1]), first.dtype)


def _root_of_shape(key: jax.Array, shape: ArrayLike, inputs: int) -> Float[Array, "in in"]:
    """Any R with RᵀR = shape; the frame of hidden units before it is random."""
    given = jnp.asarray(shape)
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


def orthonormal(key: jax.Array, rows: int, columns: int) -> Float[Array, "rows columns"]:
    """A uniformly random matrix with orthonormal columns, or orthonormal rows if it is wide."""
    tall = rows >= columns
    Q, R = jnp.linalg.qr(jax.random.normal(key, (rows, columns) if tall else (columns, rows)))
    Q = Q * jnp.sign(jnp.diagonal(R))[None, :]  # without the signs, QR is not uniform
    return Q if tall else Q.T
