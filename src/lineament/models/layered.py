"""What fully connected and convolutional networks share: layers that multiply, and maps with taps.

Every layer of these networks is a product, `z_p = c W a_p + b` at each position p of an image (a dense layer has one
position), with c = 1/√fan_in in the NTK parameterisation and 1 in the standard one. A network can be *tapped*: what is
added to z at a layer's tap moves the output as a change of its weights would, for the derivative of an output f with
respect to W is `Σ_p (∂f/∂z_p) (c a_p)ᵀ`. Inputs and derivatives at the taps are all that a tangent kernel needs.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .activations import gain
from .linear import Layers

Parameterisation = Literal["ntk", "standard"]
Law = Literal["he", "glorot"]
Product = Callable[[Array, Array], Array]  # of inputs and a matrix


class Affine(NamedTuple):
    """Matrices (fan_out, fan_in), first layer first, and their biases (an empty tuple where there are none)."""

    layers: Layers
    biases: tuple[Float[Array, " out"], ...] = ()


class Applied(eqx.Module):
    """The map of a network with its parameters: rows of X in, rows of outputs out."""

    net: Any = eqx.field(static=True)
    params: Any

    def __call__(self, X: Float[Array, "n in"]) -> Float[Array, "n out"]:
        """The outputs on the rows of X."""
        return self.net.apply(self.params, X)


def scale(net: Any, fan_in: int) -> float:
    """What a layer's product is multiplied by."""
    return fan_in**-0.5 if net.parameterisation == "ntk" else 1.0


def affine(
    net: Any, params: Affine, layer: int, a: Float[Array, "*n in"], product: Product = lambda a, W: a @ W.T
) -> Float[Array, "*n out"]:
    """`c W a + b`, the product of one layer."""
    W = params.layers[layer]
    z = product(a, scale(net, W.shape[1]) * W)
    return z + params.biases[layer].reshape((1,) * (z.ndim - 1) + (-1,)) if net.bias else z


def rows(net: Any, a: Float[Array, "n *p in"]) -> Float[Array, "n p in1"]:
    """What a layer's parameters are multiplied by at each position: `c a`, and 1 for the bias."""
    flat = scale(net, a.shape[-1]) * a.reshape(a.shape[0], -1, a.shape[-1])
    return jnp.concatenate([flat, jnp.ones((*flat.shape[:2], 1), flat.dtype)], axis=2) if net.bias else flat


def drop(h: jax.Array, rate: float, key: jax.Array | None) -> jax.Array:
    """Inverted dropout: each entry vanishes with probability `rate` and is divided by 1 − rate otherwise."""
    if key is None or rate == 0:
        return h
    return jnp.where(jax.random.bernoulli(key, 1 - rate, h.shape), h / (1 - rate), 0)


def draw(net: Any, key: jax.Array, dtype: Any, law: Law) -> Affine:
    """Random matrices of `net.layer_shapes`, zero biases.

    NTK parameterisation: standard normal. Standard parameterisation: He's normal start of variance gain/fan_in, gain 2
    for rectifiers and 1 otherwise, or Glorot & Bengio's uniform start of variance 2/(fan_in + fan_out), where a
    kernel's fan_out is its filters times its height times its width.
    """
    if law not in ("he", "glorot"):
        raise ValueError(f"law must be one of 'he', 'glorot'; got {law!r}")
    if net.parameterisation == "ntk" and law != "he":
        raise ValueError("law belongs to the standard parameterisation; in the NTK one weights are standard normal")
    shapes = net.layer_shapes
    # One draw, cut into layers: a generator per layer would take several times as long to compile.
    cuts = np.cumsum([prod(shape) for shape in shapes])
    uniform = net.parameterisation == "standard" and law == "glorot"
    sample = (lambda *a: jax.random.uniform(*a, minval=-(3**0.5), maxval=3**0.5)) if uniform else jax.random.normal
    draws = jnp.split(sample(key, (int(cuts[-1]),), dtype), cuts[:-1])

    def deviation(shape: tuple[int, int], area: int) -> float:
        if net.parameterisation == "ntk":
            return 1.0
        variance = 2 / (shape[1] + area * shape[0]) if uniform else gain(net.activation) / shape[1]
        return variance**0.5

    layers = tuple(
        deviation(shape, area) * part.reshape(shape)
        for part, shape, area in zip(draws, shapes, net.kernel_areas, strict=True)
    )
    return Affine(layers, tuple(jnp.zeros(shape[0], dtype) for shape in shapes) if net.bias else ())


def check(net: Any, params: Affine, members: bool) -> None:
    """Refuse parameters that are not of the shapes of `net.layer_shapes`."""
    found = jax.tree.map(lambda leaf: tuple(leaf.shape[members:]), tuple(params))
    own = (net.layer_shapes, tuple((shape[0],) for shape in net.layer_shapes) if net.bias else ())
    if found != own:
        raise ValueError(f"start has layers and biases of shapes {found}; {net} has {own}")


def sizes(name: str, value: Sequence[int], least: int = 1) -> tuple[int, ...]:
    """Return positive integers, at least so many of them."""
    found = tuple(value)
    if len(found) < least or any(int(size) != size or size < 1 for size in found):
        raise ValueError(f"{name} must be at least {least} positive integers; got {found}")
    return tuple(int(size) for size in found)


def share(name: str, value: float) -> None:
    """Refuse a dropout rate outside [0, 1)."""
    if not 0 <= value < 1:
        raise ValueError(f"{name} must lie in [0, 1); got {value}")
