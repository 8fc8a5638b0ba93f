"""Convolutional networks against loops over pixels, and expansion that preserves the function."""

from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lineament as la
from lineament.models import Conv
from lineament.models.conv import CHUNK, dense_parameters

KEY = jax.random.key(0)
values = eqx.filter_jit(lambda map, X: map(X))
NET = Conv((4, 8, 2), (3,), (5, 4), kernel=3)


def naive(net, weights, image):
    """Pixel by pixel."""
    h, reach = image, net.kernel // 2
    for kernel, bias in zip(weights.kernels, weights.kernel_biases, strict=True):
        height, width, channels = h.shape
        K = np.asarray(kernel).reshape(net.kernel, net.kernel, channels, -1)
        out = np.zeros((height, width, K.shape[-1]))
        for y in range(height):
            for x in range(width):
                for i in range(net.kernel):
                    for j in range(net.kernel):
                        if 0 <= y + i - reach < height and 0 <= x + j - reach < width:
                            out[y, x] += h[y + i - reach, x + j - reach] @ K[i, j]
        out = np.maximum(out + np.asarray(bias), 0)
        h = np.array(
            [[out[y : y + 2, x : x + 2].max(axis=(0, 1)) for x in range(0, width, 2)] for y in range(0, height, 2)]
        )
    h = h.ravel()
    for layer, (factors, bias) in enumerate(zip(weights.dense, weights.dense_biases, strict=True)):
        for factor in factors:
            h = np.asarray(factor) @ h
        h = h + np.asarray(bias)
        if layer + 1 < len(weights.dense):
            h = np.maximum(h, 0)
    return h


def with_biases(weights, seed=0):
    rng = np.random.default_rng(seed)
    noise = lambda biases: tuple(jnp.asarray(rng.normal(size=b.shape)) for b in biases)  # noqa: E731
    return weights._replace(kernel_biases=noise(weights.kernel_biases), dense_biases=noise(weights.dense_biases))


@pytest.mark.parametrize("net", [NET, Conv((4, 4, 1), (2, 3), (6, 5, 2), kernel=5, depth=3)])
def test_the_map_is_the_loop_over_pixels(net):
    weights = with_biases(la.starts.he(net, KEY, dtype=jnp.float64))
    net.check(weights)
    X = np.random.default_rng(1).normal(size=(3, net.shape[1]))
    expected = [naive(net, weights, x.reshape(net.image)) for x in X]
    np.testing.assert_allclose(values(net.end_to_end(weights), jnp.asarray(X)), expected, atol=1e-12)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_expansion_preserves_the_function_and_is_balanced(depth):
    plain = with_biases(la.starts.he(NET, KEY, dtype=jnp.float64))
    deep = Conv(NET.image, NET.filters, NET.dense, NET.kernel, depth)
    weights = deep.expand(plain, KEY)
    deep.check(weights)
    X = jnp.asarray(np.random.default_rng(1).normal(size=(6, NET.shape[1])))
    np.testing.assert_allclose(values(deep.end_to_end(weights), X), values(NET.end_to_end(plain), X), atol=1e-12)
    for factors in weights.dense:
        assert len(factors) == depth
        for before, after in pairwise(factors):
            np.testing.assert_allclose(after.T @ after, before @ before.T, atol=1e-12)


def test_large_batches_go_through_in_parts():
    net = Conv((2, 2, 1), (1,), (2,), kernel=1)
    map = net.end_to_end(la.starts.he(net, KEY, dtype=jnp.float64))
    X = jnp.asarray(np.random.default_rng(0).normal(size=(CHUNK + 3, 4)))
    np.testing.assert_allclose(
        values(map, X), jnp.concatenate([values(map, X[:CHUNK]), values(map, X[CHUNK:])]), atol=1e-14
    )


def test_it_learns_in_batches_and_starts_keep_sizes():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 16)) + 2.0 * labels[:, None]
    net = Conv((4, 4, 1), (4,), (8, 2), kernel=3, depth=2)
    problem = la.problems.cross_entropy(X, labels)
    start = la.starts.he(net, KEY, dtype=jnp.float64)
    run = la.descend(net, problem, start, step_size=0.02, steps=60, batch_size=20, key=KEY, momentum=0.9)
    assert run.loss.values[-1] < 0.2 * run.loss.values[0]
    wide = la.starts.he(Conv((2, 2, 1), (256,), (256, 10), kernel=1, depth=3), KEY, dtype=jnp.float32)
    assert wide.dense[0][0].dtype == jnp.float32
    product = np.linalg.multi_dot([np.asarray(factor) for factor in wide.dense[0]][::-1])
    assert np.linalg.norm(product) ** 2 / 256 == pytest.approx(2.0, rel=0.15)  # He's variance, whatever the depth


def test_parameters_kept_at_a_rank():
    assert dense_parameters([(10, 20), (5, 10)], [3, 5]) == 3 * 30 + 50
    assert dense_parameters([(10, 20)], [10]) == 200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((5, 4, 1), (2,), (3,)), "divisible by 2"),
        (((4, 4), (2,), (3,)), "height, width, channels"),
        (((4, 4, 1), (0,), (3,)), "filters must be at least 1 positive"),
        (((4, 4, 1), (2,), (3,), 2), "kernel must be odd"),
        (((4, 4, 1), (2,), (3,), 3, 0), "depth must be a positive integer"),
    ],
)
def test_bad_networks_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Conv(*arguments)


def test_foreign_weights_are_refused():
    with pytest.raises(ValueError, match="start must have the shapes"):
        NET.check(la.starts.he(Conv((4, 4, 2), (3,), (5, 4), kernel=3), KEY))
