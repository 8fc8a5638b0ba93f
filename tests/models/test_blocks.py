"""Convolution by blocks of pixels against loops over pixels, and where it is taken."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lineament.core.precision import products
from lineament.models import blocks, patches


def by_pixels(padded, K, kernel):
    """Every pixel's neighbourhood, flattened, times the kernels: one pixel after the other."""
    n, height, width = padded.shape[0], padded.shape[1] - kernel[0] + 1, padded.shape[2] - kernel[1] + 1
    z = np.zeros((n, height, width, len(K)))
    for y in range(height):
        for x in range(width):
            z[:, y, x] = padded[:, y : y + kernel[0], x : x + kernel[1]].reshape(n, -1) @ K.T
    return z


def gradient_by_pixels(padded, g, kernel):
    total = 0
    for y in range(g.shape[1]):
        for x in range(g.shape[2]):
            total = total + g[:, y, x].T @ padded[:, y : y + kernel[0], x : x + kernel[1]].reshape(len(g), -1)
    return total


@pytest.mark.parametrize(
    ("width", "filters", "channels", "kernel"),
    [
        (8, 1, 2, (3, 3)),
        (6, 130, 1, (2, 2)),
        (4, 70, 3, (1, 3)),
        (9, 2, 1, (3, 1)),
        (1, 3, 2, (3, 3)),
        (4, 2, 1, (2, 6)),
    ],
)
def test_blocks_are_the_loop_over_pixels(width, filters, channels, kernel):
    n, height = 2, 3
    rng = np.random.default_rng(width)
    padded = rng.normal(size=(n, height + kernel[0] - 1, width + kernel[1] - 1, channels))
    K, g = rng.normal(size=(filters, kernel[0] * kernel[1] * channels)), rng.normal(size=(n, height, width, filters))
    given_ = jnp.asarray(padded), kernel, jnp.dtype(jnp.float64)
    z = blocks.convolve(given_[0], jnp.asarray(K), *given_[1:])
    np.testing.assert_allclose(z, by_pixels(padded, K, kernel), rtol=1e-12, atol=1e-12)
    gradient = blocks.kernel_gradient(given_[0], jnp.asarray(g), *given_[1:])
    np.testing.assert_allclose(gradient, gradient_by_pixels(padded, g, kernel), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("block", [1, 2, 3, 6])
def test_any_block_gives_the_same(block):
    rng = np.random.default_rng(block)
    padded, K = rng.normal(size=(2, 5, 8, 2)), rng.normal(size=(3, 18))
    z = blocks.convolve(jnp.asarray(padded), jnp.asarray(K), (3, 3), jnp.dtype(jnp.float64), block)
    np.testing.assert_allclose(z, by_pixels(padded, K, (3, 3)), atol=1e-13)


@pytest.mark.parametrize(
    ("width", "filters", "expected"), [(32, 32, 8), (16, 64, 4), (8, 128, 2), (4, 256, 2), (4, 1, 4), (32, 512, 2),
                                       (7, 32, 1), (6, 64, 2), (1, 3, 1)]
)  # fmt: skip
def test_a_block_has_two_to_eight_pixels_and_divides_the_row(width, filters, expected):
    assert blocks.pixels(width, filters) == expected


def test_factors_of_bfloat16_are_added_in_float32():
    rng = np.random.default_rng(0)
    padded, K = (jnp.asarray(rng.normal(size=size), jnp.bfloat16) for size in ((2, 6, 6, 40), (5, 360)))
    g = jnp.asarray(rng.normal(size=(2, 4, 4, 5)), jnp.bfloat16)
    z = blocks.convolve(padded, K, (3, 3), jnp.dtype(jnp.float32))
    gradient = blocks.kernel_gradient(padded, g, (3, 3), jnp.dtype(jnp.float32))
    assert z.dtype == gradient.dtype == jnp.float32
    exact = [np.asarray(x, np.float64) for x in (padded, K, g)]
    np.testing.assert_allclose(z, by_pixels(exact[0], exact[1], (3, 3)), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(gradient, gradient_by_pixels(exact[0], exact[2], (3, 3)), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("precision", "by_library"), [("float32", True), ("tf32", True), ("bf16", False)])
def test_a_gpu_convolves_by_blocks_where_factors_are_bfloat16(precision, by_library):
    h, K = jnp.ones((3, 2, 4, 4, 2), jnp.float32), jnp.ones((3, 5, 18), jnp.float32)
    loss = lambda h, K: jnp.sum(jax.vmap(lambda h, K: patches.convolve(h, K, (3, 3)))(h, K) ** 2)  # noqa: E731
    with products(precision):
        lowered = jax.jit(jax.grad(loss, (0, 1))).trace(h, K).lower(lowering_platforms=("cuda",)).as_text()
    assert ("stablehlo.convolution" in lowered) == by_library
    assert ("bf16" in lowered) == (not by_library)
