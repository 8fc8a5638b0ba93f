"""Convolution and pooling without `lax.conv`, which on a CPU is many times slower inside a loop."""

from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Float

Padding = Literal["zero", "circular"]
Pooling = Literal["max", "average"]


def patches(
    h: Float[Array, "n y x c"], kernel: tuple[int, int], padding: Padding = "zero"
) -> Float[Array, "n y x patch"]:
    """Every pixel's neighbourhood, flattened as (row, column, channel): convolution is then one matrix product.

    A kernel of even size reaches one pixel further down and right than up and left, as "same" padding does in Keras.
    """
    height, width = h.shape[1:3]
    if kernel == (1, 1):
        return h
    above, left = ((size - 1) // 2 for size in kernel)
    margins = ((0, 0), (above, kernel[0] - 1 - above), (left, kernel[1] - 1 - left), (0, 0))
    padded = jnp.pad(h, margins, mode="constant" if padding == "zero" else "wrap")
    windows = [padded[:, i : i + height, j : j + width] for i in range(kernel[0]) for j in range(kernel[1])]
    return jnp.concatenate(windows, axis=-1)


def pool(h: Float[Array, "n y x c"], pooling: Pooling = "max") -> Float[Array, "n y2 x2 c"]:
    """The greatest or the mean of each 2×2 square."""
    n, height, width, channels = h.shape
    squares = h.reshape(n, height // 2, 2, width // 2, 2, channels)
    return squares.max(axis=(2, 4)) if pooling == "max" else squares.mean(axis=(2, 4))
