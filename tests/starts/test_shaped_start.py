"""The two-layer start of given scale and shape: its Grams, what it promises to theory, and what it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lineament as la
from lineament.starts import shaped
from lineament.theory import two_layer

KEY = jax.random.key(3)


NETS = [la.models.DeepLinear(widths) for widths in ((1, 1, 1), (3, 3, 2), (2, 6, 4), (6, 8, 1))]  # each compiles anew


@settings(max_examples=15)
@given(st.sampled_from(NETS), st.floats(-6, 4))
def test_the_posters_start_is_an_isometry_and_balanced_at_minus_two_gamma(net, exponent):
    inputs, gamma = net.widths[0], 10.0**exponent
    layers = shaped(net, KEY, gamma)
    net.check(layers)
    first = np.asarray(layers[0])
    np.testing.assert_allclose(first.T @ first, 2 * gamma * np.eye(inputs), atol=1e-14 * gamma * inputs)
    assert not np.any(np.asarray(layers[1]))
    value, violation = two_layer.balance(*(np.asarray(W) for W in layers))
    assert value == pytest.approx(-2 * gamma, rel=1e-12)
    assert violation < 1e-14


@settings(max_examples=15)
@given(st.sampled_from(NETS), st.integers(0, 1000))
def test_a_spectrum_is_that_of_the_first_layer(net, seed):
    spectrum = 10 ** np.random.default_rng(seed).uniform(-3, 2, net.widths[0])
    W = shaped(net, jax.random.key(seed), 0.3, spectrum)[0]
    values = np.linalg.svd(W, compute_uv=False) ** 2
    np.testing.assert_allclose(values, 0.6 * np.sort(spectrum)[::-1], rtol=1e-8)


def test_the_directions_of_a_spectrum_are_uniform():
    net = la.models.DeepLinear((3, 4, 1))
    keys = jax.random.split(KEY, 3000)
    first = jax.vmap(lambda key: shaped(net, key, 0.5, jnp.array([3.0, 1.0, 0.2]))[0])(keys)
    mean = np.einsum("khi,khj->ij", first, first) / len(keys)
    np.testing.assert_allclose(mean, 4.2 / 3 * np.eye(3), atol=0.1)  # each entry's standard error is about 0.02


def test_a_matrix_is_the_gram_of_the_first_layer():
    A = np.random.default_rng(0).normal(size=(4, 4))
    shape = A @ A.T + 0.1 * np.eye(4)
    W = shaped(la.models.DeepLinear((4, 6, 2)), KEY, 0.25, shape)[0]
    np.testing.assert_allclose(W.T @ W, 0.5 * shape, atol=1e-13)


def test_scales_are_members_of_an_ensemble():
    net, gammas = la.models.DeepLinear((3, 5, 2)), jnp.array([1e-3, 1.0, 50.0])
    start = la.ensemble(lambda gamma: shaped(net, KEY, gamma, jnp.array([1.0, 2.0, 3.0])), gammas)
    for member, gamma in enumerate(gammas):
        np.testing.assert_allclose(
            start[member][0], shaped(net, KEY, float(gamma), np.array([1.0, 2.0, 3.0]))[0], rtol=1e-13
        )


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_shape_is_symmetric_up_to_rounding_of_its_largest_direction(scale):
    net = la.models.DeepLinear((2, 3, 1))
    for off, symmetric in ((5e-13, True), (5e-12, False)):
        shape = scale * np.array([[1.0, off], [0.0, 1e-3]])
        if symmetric:
            W = shaped(net, KEY, 0.5, shape)[0]
            np.testing.assert_allclose(W.T @ W, shape, atol=1e-12 * scale)
        else:
            with pytest.raises(ValueError, match="symmetric and positive definite"):
                shaped(net, KEY, 0.5, shape)


def test_shapes_of_an_ensemble_are_not_looked_at():
    net, shapes = la.models.DeepLinear((2, 3, 1)), jnp.stack([jnp.eye(2), jnp.diag(jnp.array([1.0, 3.0]))])
    first = jax.vmap(lambda shape: shaped(net, KEY, 0.5, shape)[0])(shapes)
    np.testing.assert_allclose(jnp.einsum("khi,khj->kij", first, first), shapes, atol=1e-14)


@pytest.mark.parametrize(
    ("widths", "gamma", "shape", "message"),
    [
        ((3, 2, 1), 1.0, None, r"at least as many hidden units as inputs .* got widths \(3, 2, 1\)"),
        ((3, 4, 4, 1), 1.0, None, "must have two layers"),
        ((3, 4, 1), 0.0, None, "start_scale must be positive and finite; got 0.0"),
        ((3, 4, 1), 1.0, [1.0, 2.0], r"shape must be \(3,\) or \(3, 3\) for 3 inputs; got \(2,\)"),
        ((3, 4, 1), 1.0, [1.0, -2.0, 1.0], "shape must be positive and finite"),
        ((3, 4, 1), 1.0, np.diag([1.0, -2.0, 1.0]), "symmetric and positive definite; its eigenvalues are"),
        ((2, 4, 1), 1.0, [[2.0, 1.0], [0.0, 2.0]], "symmetric and positive definite"),
        ((2, 4, 1), 1.0, [[2.0, 1.0], [0.6, 2.0]], "symmetric and positive definite"),
        ((2, 4, 1), 1.0, [[2.0, 0.0], [0.0, 0.0]], "symmetric and positive definite"),
        ((2, 4, 1), 1.0, [[2.0, np.nan], [0.0, 2.0]], "shape must be finite"),
    ],
)
def test_bad_input_is_named(widths, gamma, shape, message):
    with pytest.raises(ValueError, match=message):
        shaped(la.models.DeepLinear(widths), KEY, gamma, shape)
