"""Convolution and pooling as products of patches, each in the form that its machine runs best."""

from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ..core.precision import factor
from . import blocks

Padding = Literal["zero", "circular"]
Pooling = Literal["max", "average"]
Sides = tuple[int, int]
IN_CACHE = 2**19  # entries of patches that a CPU holds in its cache


def patches(h: Float[Array, "n y x c"], kernel: Sides, padding: Padding = "zero") -> Float[Array, "n y x patch"]:
    """Every pixel's neighbourhood, flattened as (row, column, channel): convolution is then one matrix product.

    A kernel of even size reaches one pixel further down and right than up and left, as "same" padding does in Keras.
    """
    return _windows(_padded(h, kernel, _above(kernel), padding), kernel) if kernel != (1, 1) else h


def convolve(
    h: Float[Array, "n y x c"], K: Float[Array, "out patch"], kernel: Sides, padding: Padding = "zero"
) -> Float[Array, "n y x out"]:
    """`patches(h, kernel, padding) @ K.T` without holding all patches, forwards or backwards.

    A CPU takes a few images at a time, whose patches stay in its cache, one member of an ensemble after the other;
    `lax.conv` is many times slower there inside a loop. Elsewhere images are convolved by `lax.conv`, all members at
    once, forwards and backwards; only the derivative with respect to the kernels, which libraries for convolution
    compute badly for an ensemble, is a product of patches. With factors of bfloat16, whose products cost so little that
    memory is what counts, all three are products of blocks of pixels, and what a convolution gives, added in float32, is
    rounded to bfloat16 as well. Differentiable in reverse mode, as often as wanted.
    """
    return _correlate(h, K, kernel, _above(kernel), padding)


def pool(h: Float[Array, "n y x c"], pooling: Pooling = "max") -> Float[Array, "n y2 x2 c"]:
    """The greatest or the mean of each 2×2 square."""
    n, height, width, channels = h.shape
    squares = h.reshape(n, height // 2, 2, width // 2, 2, channels)
    return squares.max(axis=(2, 4)) if pooling == "max" else squares.mean(axis=(2, 4))


def _above(kernel: Sides) -> Sides:
    """How far a kernel reaches up and left."""
    return (kernel[0] - 1) // 2, (kernel[1] - 1) // 2


def _padded(h: jax.Array, kernel: Sides, above: Sides, padding: Padding) -> jax.Array:
    margins = [(before, side - 1 - before) for side, before in zip(kernel, above, strict=True)]
    return jnp.pad(h, ((0, 0), *margins, (0, 0)), mode="constant" if padding == "zero" else "wrap")


def _windows(padded: jax.Array, kernel: Sides) -> jax.Array:
    height, width = padded.shape[1] - kernel[0] + 1, padded.shape[2] - kernel[1] + 1
    shifts = [(i, j) for i in range(kernel[0]) for j in range(kernel[1])]
    return jnp.concatenate([padded[:, i : i + height, j : j + width] for i, j in shifts], axis=-1)


def _rows(h: jax.Array, kernel: Sides, above: Sides, padding: Padding) -> jax.Array:
    """Patches as the rows of a matrix."""
    return _windows(_padded(h, kernel, above, padding), kernel).reshape(-1, kernel[0] * kernel[1] * h.shape[-1])


@partial(jax.custom_vjp, nondiff_argnums=(2, 3, 4))
def _correlate(h: jax.Array, K: jax.Array, kernel: Sides, above: Sides, padding: Padding) -> jax.Array:
    """`z_p = K a_p` at every position p, with a_p its patch, which reaches `above` far up and left."""

    def on_cpu(h: jax.Array, K: jax.Array) -> jax.Array:
        product = lambda h: (_rows(h, kernel, above, padding) @ K.T).reshape(*h.shape[:3], -1)  # noqa: E731
        parts, rest = _parts(h, kernel[0] * kernel[1])
        maps = lax.map(product, parts).reshape(-1, *h.shape[1:3], K.shape[0]) if len(parts) > 1 else product(parts[0])
        return jnp.concatenate([maps, product(rest)]) if len(rest) else maps

    def elsewhere(h: jax.Array, K: jax.Array) -> jax.Array:
        padded, total = _padded(factor(h), kernel, above, padding), K.dtype
        if padded.dtype == jnp.bfloat16:
            return blocks.convolve(padded, factor(K), kernel, padded.dtype).astype(total)
        return _by_library(padded, factor(K), kernel).astype(total)

    return lax.platform_dependent(h, K, cpu=jax.custom_batching.sequential_vmap(on_cpu), default=elsewhere)


def _by_library(padded: jax.Array, K: jax.Array, kernel: Sides) -> jax.Array:
    """`z_p = K a_p` by the library for convolutions of a GPU, which gives back numbers of the type of the factors."""
    weights = K.reshape(K.shape[0], *kernel, -1).transpose(1, 2, 3, 0)
    return lax.conv_general_dilated(padded, weights, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@partial(jax.custom_vjp, nondiff_argnums=(2, 3, 4))
def _kernel_gradient(h: jax.Array, g: jax.Array, kernel: Sides, above: Sides, padding: Padding) -> jax.Array:
    """`Σ_p g_p a_pᵀ`, (out, patch)."""
    total = g.dtype

    def on_cpu(h: jax.Array, g: jax.Array) -> jax.Array:
        def product(h: jax.Array, g: jax.Array) -> jax.Array:
            # Written out with positions last: read across its rows, g takes the product half as long again.
            across = lax.optimization_barrier(g.reshape(-1, g.shape[-1]).T)
            return across @ _rows(h, kernel, above, padding)

        parts, rest = _parts(h, kernel[0] * kernel[1])
        last = len(h) - len(rest)
        gradients = g[:last].reshape(*parts.shape[:2], *g.shape[1:])
        if len(parts) == 1:
            whole = product(parts[0], gradients[0])
        else:
            zero = jnp.zeros((g.shape[-1], kernel[0] * kernel[1] * h.shape[-1]), total)
            whole = lax.scan(lambda sum, part: (sum + product(*part), None), zero, (parts, gradients))[0]
        return whole + product(rest, g[last:]) if len(rest) else whole

    def elsewhere(h: jax.Array, g: jax.Array) -> jax.Array:
        padded, g = _padded(factor(h), kernel, above, padding), factor(g)
        if padded.dtype == jnp.bfloat16:
            return blocks.kernel_gradient(padded, g, kernel, total)
        rows = _windows(padded, kernel).reshape(-1, kernel[0] * kernel[1] * h.shape[-1])
        return lax.dot_general(
            g.reshape(-1, g.shape[-1]), rows, (((0,), (0,)), ((), ())), preferred_element_type=total
        )

    return lax.platform_dependent(h, g, cpu=jax.custom_batching.sequential_vmap(on_cpu), default=elsewhere)


# Both are linear in either argument, and the derivatives of each are the other two products.
def _correlate_back(
    kernel: Sides, above: Sides, padding: Padding, kept: tuple[jax.Array, jax.Array], g: jax.Array
) -> tuple[jax.Array, jax.Array]:
    h, K = kept
    return _transposed(g, K, kernel, above, padding), _kernel_gradient(h, g, kernel, above, padding)


def _kernel_gradient_back(
    kernel: Sides, above: Sides, padding: Padding, kept: tuple[jax.Array, jax.Array], K: jax.Array
) -> tuple[jax.Array, jax.Array]:
    h, g = kept
    return _transposed(g, K, kernel, above, padding), _correlate(h, K, kernel, above, padding)


_correlate.defvjp(lambda h, K, *static: (_correlate(h, K, *static), (h, K)), _correlate_back)
_kernel_gradient.defvjp(lambda h, g, *static: (_kernel_gradient(h, g, *static), (h, g)), _kernel_gradient_back)


def _transposed(g: jax.Array, K: jax.Array, kernel: Sides, above: Sides, padding: Padding) -> jax.Array:
    """What the images get back through their patches: a convolution by the kernels turned about, reaching down."""
    turned = K.reshape(K.shape[0], *kernel, -1)[:, ::-1, ::-1].transpose(3, 1, 2, 0)
    below = kernel[0] - 1 - above[0], kernel[1] - 1 - above[1]
    return _correlate(g, turned.reshape(turned.shape[0], -1), kernel, below, padding)


def _parts(h: jax.Array, area: int) -> tuple[jax.Array, jax.Array]:
    """Images in parts of one size whose patches fit into the cache, (part, image, y, x, c), and what is left over.

    Nothing is left over where a size of at least half of what fits divides the number of images: what is left over is
    compiled apart, and so doubles what a convolution takes to compile.
    """
    most = min(h.shape[0], max(1, IN_CACHE // (area * h[0].size)))
    images = next((size for size in range(most, (most - 1) // 2, -1) if h.shape[0] % size == 0), most)
    parts = h.shape[0] // images
    return h[: parts * images].reshape(parts, images, *h.shape[1:]), h[parts * images :]
