"""Every start: shapes, laws, and the exact properties it promises."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lineament as la
from lineament import starts

KEY = jax.random.key(1)
STARTS = {
    "balanced": lambda net: starts.balanced(net, KEY, start_scale=0.1),
    "identity": lambda net: starts.identity(net, start_scale=0.1),
    "gaussian": lambda net: starts.gaussian(net, KEY, start_scale=0.1),
    "gaussian-variances": lambda net: starts.gaussian(net, KEY, variances=[0.1] * net.depth),
    "glorot-uniform": lambda net: starts.glorot(net, KEY),
    "glorot-normal": lambda net: starts.glorot(net, KEY, "normal"),
    "isometric": lambda net: starts.isometric(net, KEY),
}


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("widths", [(3, 5, 2), (4, 4, 4, 4), (2, 7, 9, 3, 6)])
def test_every_start_fits_its_network(name, widths):
    net = la.models.DeepLinear(widths)
    layers = STARTS[name](net)
    net.check(layers)
    assert net.end_to_end(layers).shape == (widths[-1], widths[0])
    assert all(np.isfinite(layer).all() for layer in layers)


@settings(max_examples=25)
@given(
    st.sampled_from([(1, 1), (4, 2), (2, 5), (6, 6)]), st.sampled_from([1, 2, 4]), st.sampled_from([0, 3]),
    st.integers(0, 6), st.booleans(),
)  # fmt: skip
def test_balanced_factors_multiply_to_the_map_and_balance(shape, depth, extra, rank, random):
    d_in, d_out = shape
    r = np.random.default_rng(depth * 100 + d_in * 10 + d_out)
    rank = min(rank, d_in, d_out)
    W = r.normal(size=(d_out, rank)) @ r.normal(size=(rank, d_in))
    net = la.models.DeepLinear((d_in, *[min(d_in, d_out) + extra] * (depth - 1), d_out))
    layers = starts.balanced(net, KEY if random else None, map=W)
    np.testing.assert_allclose(net.end_to_end(layers), W, atol=1e-12 * max(1, np.abs(W).max()))
    assert float(la.measure.unbalancedness(layers)) < 1e-12 * max(1, np.abs(W).max())


def test_a_bottleneck_carries_a_map_of_its_rank_and_no_more():
    net = la.models.DeepLinear((5, 2, 5))
    r = np.random.default_rng(0)
    low = r.normal(size=(5, 2)) @ r.normal(size=(2, 5))
    np.testing.assert_allclose(net.end_to_end(starts.balanced(net, map=low)), low, atol=1e-12)
    with pytest.raises(ValueError, match=r"at least min\(inputs, outputs\) = 5 .* got \(2,\)"):
        starts.balanced(net, map=r.normal(size=(5, 5)))


def test_a_rank_deficient_map_is_split_into_layers_of_its_rank():
    r = np.random.default_rng(0)
    W = r.normal(size=(5, 2)) @ r.normal(size=(2, 5))
    layers = starts.balanced(la.models.DeepLinear((5,) * 7), KEY, map=W)
    assert all(np.linalg.matrix_rank(layer, tol=1e-8) == 2 for layer in layers)  # roots of rounding noise are cut


def test_random_balanced_and_aligned_starts_have_the_asked_singular_values():
    net = la.models.DeepLinear((4, 6, 6, 3))
    np.testing.assert_allclose(
        la.measure.singular_values(net.end_to_end(starts.balanced(net, KEY, start_scale=1e-3))), 1e-3
    )
    target = np.random.default_rng(0).normal(size=(3, 4))
    W = net.end_to_end(starts.aligned(net, target, 1e-3))
    np.testing.assert_allclose(la.measure.mode_strengths(W, jnp.asarray(target)), 1e-3, rtol=1e-10)
    np.testing.assert_allclose(la.measure.alignment(W, jnp.asarray(target)), 1.0, rtol=1e-12)


def test_identity_start_multiplies_to_the_scale():
    net = la.models.DeepLinear((3, 5, 4, 3))
    np.testing.assert_allclose(net.end_to_end(starts.identity(net, 0.2)), 0.2 * np.eye(3), rtol=1e-14)


def test_gaussian_product_scale_keeps_the_mean_square_output():
    net = la.models.DeepLinear((6, 20, 10, 4))
    x = np.arange(6.0)
    keys = jax.random.split(KEY, 4000)
    outputs = jax.vmap(lambda k: net.end_to_end(starts.gaussian(net, k, start_scale=0.3)) @ x)(keys)
    squares = np.sum(np.asarray(outputs) ** 2, axis=1)
    expected = 0.3**2 * 4 / 6 * x @ x
    assert abs(squares.mean() - expected) < 4 * squares.std() / np.sqrt(len(squares))


@pytest.mark.parametrize(
    ("make", "variances"),
    [
        (lambda net: starts.glorot(net, KEY), lambda m: [2 / (a + b) for a, b in pairwise(m)]),
        (
            lambda net: starts.glorot(net, KEY, "normal"),
            lambda m: [2 / (a + b) for a, b in pairwise(m)],
        ),
        (lambda net: starts.isometric(net, KEY), lambda m: [1 / m[1], 2 / (m[1] + m[2]), 1 / m[2]]),
        (lambda net: starts.gaussian(net, KEY, variances=[0.1, 2.0, 3.0]), lambda m: [0.1, 2.0, 3.0]),
    ],
)
def test_layer_variances(make, variances):
    widths = (100, 150, 250, 80)
    for layer, variance in zip(make(la.models.DeepLinear(widths)), variances(widths), strict=True):
        # the relative standard error of a variance over n entries is at most √(2/n)
        assert abs(np.var(layer) / variance - 1) < 5 * np.sqrt(2 / layer.size)
        assert abs(np.mean(layer)) < 5 * np.sqrt(variance / layer.size)


def test_glorot_laws_differ_in_shape():
    net = la.models.DeepLinear((200, 200))
    bound = np.sqrt(6 / 400)
    assert np.abs(starts.glorot(net, KEY)[0]).max() <= bound
    assert np.abs(starts.glorot(net, KEY, "normal")[0]).max() > 2 * np.sqrt(2 / 400)  # not truncated


def test_orthonormal_is_uniform_not_merely_orthogonal():
    draws = np.asarray(jax.vmap(lambda k: starts.orthonormal(k, 3, 2))(jax.random.split(KEY, 2000)))
    np.testing.assert_allclose(
        np.einsum("kij,kil->kjl", draws, draws), np.broadcast_to(np.eye(2), (2000, 2, 2)), atol=1e-12
    )
    assert np.abs(draws.mean(0)).max() < 0.06  # without the sign correction one entry has a mean far from zero


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda net: starts.balanced(net), "key must be given for a random map"),
        (
            lambda net: starts.balanced(net, map=np.ones((2, 2))),
            r"map must have the model's shape \(3, 3\); got \(2, 2\)",
        ),
        (lambda net: starts.balanced(net, map=np.full((3, 3), np.inf)), "map must be finite"),
        (lambda net: starts.identity(net, -1.0), "scale must be positive and finite; got -1.0"),
        (lambda net: starts.gaussian(net, KEY), "one of start_scale, deviation and variances"),
        (lambda net: starts.gaussian(net, KEY, variances=[1.0]), "one entry for each of 2 layers; got 1"),
        (lambda net: starts.gaussian(net, KEY, start_scale=0.0), "scale must be positive"),
        (
            lambda net: starts.glorot(net, KEY, "cauchy"),
            "distribution must be one of 'uniform', 'normal'; got 'cauchy'",
        ),
        (lambda net: starts.isometric(la.models.DeepLinear((3, 3)), KEY), "must have a hidden layer"),
        (lambda net: la.models.DeepLinear((3,)), "widths must be at least 2 positive integers"),
        (lambda net: la.models.DeepLinear((3, 0, 2)), "widths must be at least 2 positive integers"),
        (lambda net: net.check((jnp.ones((3, 2)), jnp.ones((3, 4)))), r"must have the shapes \(\(4, 3\), \(3, 4\)\)"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make(la.models.DeepLinear((3, 4, 3)))
