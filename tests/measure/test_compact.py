"""The matrix of a linear network, by pushing and by pulling, against the product of its layers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lineament as la
from lineament.data import components as pc
from lineament.measure import compact as cr
from lineament.models.convnet import ConvNet
from lineament.models.mlp import MLP


def conv(activation="linear", pooling="average", bias=True):
    net = ConvNet(
        (4, 4, 2), (3, 5), (4, 2), pooled=(1,), pooling=pooling, activation=activation, parameterisation="standard",
        bias=bias,
    )  # fmt: skip
    params = la.starts.gaussian(net, jax.random.key(0), deviation=0.5, dtype=jnp.float64)
    return net, params._replace(biases=tuple(b + 0.3 for b in params.biases))


@settings(max_examples=15)
@given(st.sampled_from([(1, 1), (9, 2), (4, 4)]), st.sampled_from([1, 4, 5]), st.integers(0, 9))
def test_an_affine_map_is_found_whatever_the_batch(shape, batch, seed):
    inputs, outputs = shape
    rng = np.random.default_rng(seed)
    W, b = rng.standard_normal((outputs, inputs)), rng.standard_normal(outputs)
    found = cr.compact(lambda X: X @ W.T + b, inputs, batch=batch, dtype=float)
    np.testing.assert_allclose(found.weights, W, atol=1e-12)
    np.testing.assert_allclose(found.offset, b, atol=1e-12)


def test_linear_layers_multiply():
    net = MLP((5, 7, 6, 3), activation="linear", parameterisation="standard")
    params = la.starts.gaussian(net, jax.random.key(0), deviation=0.5, dtype=jnp.float64)
    expected = params.layers[2] @ params.layers[1] @ params.layers[0]
    np.testing.assert_allclose(cr.compact(net.end_to_end(params), 5, dtype=float).weights, expected, atol=1e-12)


def test_convolutions_by_pushing_and_by_pulling():
    net, params = conv()
    map = eqx.filter_jit(net.end_to_end(params))
    found = cr.compact(map, 32, batch=5, dtype=float)
    pulled = cr.tangent(map, jax.random.normal(jax.random.key(1), (32,), jnp.float64))
    np.testing.assert_allclose(found.weights, pulled.weights, atol=1e-12)
    np.testing.assert_allclose(found.offset, pulled.offset, atol=1e-12)
    X = np.random.default_rng(0).standard_normal((6, 32))
    np.testing.assert_allclose(X @ found.weights.T + found.offset, map(jnp.asarray(X)), atol=1e-12)


def test_vectors_are_pushed_a_batch_at_a_time():
    """The centre, then 256 at a time unless asked otherwise, then what the matrix is tried on."""
    sizes = []

    def map(X):
        sizes.append(len(X))
        return X[:, :2] + X[:, 2:3]

    for asked, expected in (({}, [1, 256, 256, 88]), ({"batch": 300}, [1, 300, 300]), ({"batch": 10**12}, [1, 600])):
        sizes.clear()
        cr.compact(map, 600, dtype=float, **asked)
        assert sizes[:-1] == expected


OFFSETS = {"none": [0.0, 0.0], "far": [1e8, 3e7], "far below": [-1e8, -3e7], "one far": [1e8, 0.0]}


@pytest.mark.parametrize("offset", OFFSETS.values(), ids=OFFSETS)
@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_rounding_is_no_bend_at_any_scale(offset, scale, sign):
    """Differences lose the digits of the offset, 1e-16 of it, and no map is refused for that."""
    rng = np.random.default_rng(0)
    W, b = sign * np.abs(rng.standard_normal((2, 50))) * scale, np.array(offset) * scale
    found = cr.compact(lambda X: X @ W.T + b, 50, dtype=float)
    bar = 1e-15 * (np.abs(b).max() + np.abs(W).max())
    np.testing.assert_allclose(found.weights, W, rtol=0, atol=bar)
    np.testing.assert_array_equal(found.offset, b)


@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1.0, 1e8, 1e100])
def test_a_slight_bend_in_one_output_is_seen_at_any_scale(scale):
    """A hundred-thousandth of the map, upwards or downwards, in one of many outputs."""
    W = np.random.default_rng(0).standard_normal((6, 40)) * scale
    for bend in (np.abs, lambda X: -np.abs(X), lambda X: np.minimum(X, 0)):

        def map(X, bend=bend):
            outputs = X @ W.T
            outputs[:, 3] += 1e-5 * scale * bend(X[:, 7:20]).sum(axis=1)
            return outputs

        with pytest.raises(ValueError, match="map must be affine"):
            cr.compact(map, 40, dtype=float)


def test_a_bend_is_seen_about_a_far_centre():
    """Along principal directions too, with the centre away from zero and an offset that nearly cancels."""
    components = pc.fit(np.random.default_rng(0).standard_normal((9, 4)) + 5)
    cr.compact(lambda X: X - 5, 4, components, dtype=float)
    with pytest.raises(ValueError, match="map must be affine"):
        cr.compact(lambda X: X - 5 + 1e-4 * (X - 5) ** 2, 4, components, dtype=float)


def test_a_map_of_zeros_is_affine():
    found = cr.compact(lambda X: 0 * X, 3, dtype=float)
    assert not found.weights.any()
    assert not found.offset.any()


def test_single_precision():
    net, params = conv()
    params = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), params)
    found = cr.compact(eqx.filter_jit(net.end_to_end(params)), 32)
    assert found.weights.dtype == np.float32
    exact = cr.compact(eqx.filter_jit(net.end_to_end(conv()[1])), 32, dtype=float)
    np.testing.assert_allclose(found.weights, exact.weights, atol=1e-5)


def test_principal_coordinates():
    net, params = conv()
    map = eqx.filter_jit(net.end_to_end(params))
    X = np.random.default_rng(0).standard_normal((12, 32)) + 1
    components = pc.fit(X)
    found = cr.compact(map, 32, components, batch=4, dtype=float)
    assert found.weights.shape == (2, 11)
    np.testing.assert_allclose(
        components.coordinates(X) @ found.weights.T + found.offset, map(jnp.asarray(X)), atol=1e-10
    )
    plain = cr.compact(map, 32, dtype=float)
    np.testing.assert_allclose(found.weights, cr.principal(plain.weights, components), atol=1e-10)


def test_non_linear_networks_are_refused_and_approximated():
    net, params = conv("relu", "max")
    with pytest.raises(ValueError, match="map must be affine"):
        cr.compact(eqx.filter_jit(net.end_to_end(params)), 32, dtype=float)
    free = cr.activation_free(net)
    assert (free.activation, free.pooling, free.filters) == ("linear", "average", net.filters)
    twin, _ = conv()
    np.testing.assert_allclose(
        cr.compact(eqx.filter_jit(free.end_to_end(params)), 32, dtype=float).weights,
        cr.compact(eqx.filter_jit(twin.end_to_end(params)), 32, dtype=float).weights,
    )
    # The tangent of a rectifier network is exact nearby, where no unit switches.
    x = jax.random.normal(jax.random.key(2), (32,), jnp.float64)
    near = cr.tangent(net.end_to_end(params), x)
    step = 1e-6 * np.random.default_rng(0).standard_normal(32)
    moved = net.end_to_end(params)(x[None] + step[None])[0]
    np.testing.assert_allclose(near.weights @ (x + step) + near.offset, moved, atol=1e-13)


class Half:
    """A centre without directions."""

    mean = np.zeros(3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cr.compact(lambda X: X, 0), "inputs must be a whole number of at least 1"),
        (lambda: cr.compact(lambda X: X.sum(), 3), "map must take rows"),
        (lambda: cr.compact(lambda X: np.tanh(X), 3), "map must be affine"),
        (lambda: cr.compact(lambda X: np.abs(X), 3), "map must be affine"),
        (lambda: cr.compact(lambda X: X, 3, pc.fit(np.eye(4))), "components must be of 3 inputs"),
        (lambda: cr.compact(lambda X: X, 3, "principal"), "components must be principal components"),
        (lambda: cr.compact(lambda X: X, 2**40), "inputs must lead to arrays of at most"),
        (lambda: cr.compact(3, 3), "map must be a function"),
        (lambda: cr.compact(lambda X: X[:1], 3), "map must take rows .* to rows of outputs; it gave shape"),
        (lambda: cr.compact(lambda X: X[:, :, None], 3), "map must take rows .* to rows of outputs; it gave shape"),
        (lambda: cr.compact(lambda X: X, 3, Half()), "components must be principal components"),
        (lambda: cr.principal(np.ones((2, 3)), "principal"), "components must be principal components"),
        (lambda: cr.principal(np.ones((2, 4, 1)), pc.fit(np.eye(4))), "weights must be"),
        (lambda: cr.principal(np.ones(4), pc.fit(np.eye(4))), "weights must be"),
        (lambda: cr.tangent(3, np.ones(3)), "map must be a function"),
        (lambda: cr.tangent(lambda X: X, np.ones((2, 2))), "at must be one example"),
        (lambda: cr.tangent(lambda X: X, np.ones(0)), "at must be one example"),
        (lambda: cr.tangent(lambda X: X, np.arange(3)), "at must be one example"),
        (lambda: cr.tangent(lambda X: X, ["a"]), "at must be"),
        (lambda: cr.tangent(lambda X: X @ np.eye(2), np.ones(3)), r"map must take rows \(1, 3\); it raised"),
        (lambda: cr.activation_free(3), "model must be a network"),
        (lambda: cr.principal(np.ones((2, 3)), pc.fit(np.eye(4))), "weights must be"),
    ],
)
def test_what_is_wrong_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_whole_numbers_in_principal_coordinates():
    """As whole numbers the directions, all below 1, would be zero."""
    components = pc.fit(np.random.default_rng(0).normal(size=(9, 2)))
    found = cr.principal([[1, 2], [3, 4]], components)
    np.testing.assert_allclose(found, [[1.0, 2.0], [3.0, 4.0]] @ components.directions.T)
