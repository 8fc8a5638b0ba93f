"""Convolution as one product that gives several pixels of a row at once, of all that these see.

Written as a product of patches, a convolution moves each pixel of an image once for each place of the kernel, and
gives few columns: both are what a GPU has least of. Pixels side by side see nearly the same. A block of b of them sees
b + w − 1 columns, w the width of the kernel, so that a row of the image is moved (b + w − 1)/b times in place of w times.
The matrix that this is multiplied by holds the kernel once for each pixel, beside zeros, and has b times as many columns:
for b = 4 and w = 3 half the memory for twice the operations.
"""

from math import gcd

import jax
import jax.numpy as jnp
from jax import lax

COLUMNS = 256  # of a product that are asked for
FEWEST, MOST = 2, 8  # pixels of a block: fewer were slower on an H200, of 256 filters too, and so were more


def pixels(width: int, filters: int) -> int:
    """How many pixels a block takes: as many as make a product of COLUMNS columns and divide the width of the image."""
    return gcd(max(FEWEST, min(MOST, COLUMNS // filters)), width)


def convolve(
    padded: jax.Array, K: jax.Array, kernel: tuple[int, int], dtype: jnp.dtype, block: int | None = None
) -> jax.Array:
    """What kernels (out, patch) give of images that are padded already (n, y, x, channels), added in the given type.

    A block takes as many pixels as `pixels` says, or as are given, which must divide the width of the image.
    """
    (n, height, width), out = _sizes(padded, kernel), K.shape[0]
    block = block or pixels(width, out)
    of_kernel = K.reshape(out, *kernel, -1).transpose(1, 2, 3, 0)
    # (row, column, channel, pixel, filter): the kernel, moved on by a column for each pixel.
    moved = [jnp.pad(of_kernel, ((0, 0), (pixel, block - 1 - pixel), (0, 0), (0, 0))) for pixel in range(block)]
    weights = jnp.stack(moved, axis=3).reshape(-1, block * out)
    seen = _seen(padded, kernel, block)
    return lax.dot_general(seen, weights, (((3,), (0,)), ((), ())), preferred_element_type=dtype).reshape(
        n, height, width, out
    )


def kernel_gradient(padded: jax.Array, g: jax.Array, kernel: tuple[int, int], dtype: jnp.dtype) -> jax.Array:
    """`Σ_p g_p a_pᵀ` (out, patch), over the positions p of padded images and what they see, a_p, added in that type."""
    (_, _, width), out = _sizes(padded, kernel), g.shape[-1]
    block = pixels(width, out)
    seen = _seen(padded, kernel, block)
    rows, columns = seen.reshape(-1, seen.shape[-1]), g.reshape(-1, block * out)
    product = lax.dot_general(rows, columns, (((0,), (0,)), ((), ())), preferred_element_type=dtype)
    moved = product.reshape(kernel[0], block + kernel[1] - 1, -1, block, out)
    total = sum(
        (moved[:, pixel : pixel + kernel[1], :, pixel] for pixel in range(1, block)), moved[:, : kernel[1], :, 0]
    )
    return total.transpose(3, 0, 1, 2).reshape(out, -1)


def _sizes(padded: jax.Array, kernel: tuple[int, int]) -> tuple[int, int, int]:
    """How many images there are, and the height and width of what is given."""
    return padded.shape[0], padded.shape[1] - kernel[0] + 1, padded.shape[2] - kernel[1] + 1


def _seen(padded: jax.Array, kernel: tuple[int, int], block: int) -> jax.Array:
    """What each block of pixels sees, flattened as (row, column, channel): (n, y, block, ·)."""
    (n, height, width), channels = _sizes(padded, kernel), padded.shape[3]
    further = -(-(kernel[1] - 1) // block)  # blocks of which one sees something, beside its own
    beyond = further * block - (kernel[1] - 1)
    around = jnp.pad(padded, ((0, 0), (0, 0), (0, beyond), (0, 0)))
    parts = [around[:, :, k * block : k * block + width] for k in range(1 + further)]
    wide = jnp.concatenate([part.reshape(n, -1, width // block, block * channels) for part in parts], axis=-1)
    wide = wide[..., : (block + kernel[1] - 1) * channels]
    return jnp.concatenate([wide[:, i : i + height] for i in range(kernel[0])], axis=-1)
