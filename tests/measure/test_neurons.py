"""Where neurons point: by hand, against NumPy, at the limits, and blind to what should not matter."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineament.measure import neurons

shapes = (
    st.sampled_from([(1, 1), (1, 3), (6, 1), (3, 3), (2, 5), (7, 4)]),
    st.integers(0, 1000),
)  # each compiles anew


def rotation(rng, size):
    return np.linalg.qr(rng.normal(size=(size, size)))[0]


@settings(max_examples=12)
@given(*shapes)
def test_against_numpy(shape, seed):
    hidden, inputs = shape
    rng = np.random.default_rng(seed)
    W, weights = rng.normal(size=(hidden, inputs)), rng.uniform(size=hidden)
    unit = W / np.linalg.norm(W, axis=1, keepdims=True)
    np.testing.assert_allclose(neurons.cosines(jnp.asarray(W)), unit @ unit.T, atol=1e-14)
    others = rng.normal(size=(3, inputs))
    naive = W @ others.T / np.outer(np.linalg.norm(W, axis=1), np.linalg.norm(others, axis=1))
    np.testing.assert_allclose(neurons.cosines(jnp.asarray(W), jnp.asarray(others)), naive, atol=1e-14)
    mean = sum(c * np.outer(w, w) for c, w in zip(weights, unit, strict=True)) / weights.sum()
    shares = np.linalg.eigvalsh(mean)[::-1][: min(hidden, inputs)]
    np.testing.assert_allclose(neurons.spread(jnp.asarray(W), jnp.asarray(weights)), shares, atol=1e-13)
    kept = shares[shares > 1e-14]
    expected = np.exp(-np.sum(kept * np.log(kept)))
    found = neurons.effective_directions(jnp.asarray(W), jnp.asarray(weights))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@settings(max_examples=12)
@given(*shapes)
def test_lengths_signs_and_rotations_do_not_matter(shape, seed):
    hidden, inputs = shape
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(hidden, inputs))
    moved = 10 ** rng.uniform(-200, 100, (hidden, 1)) * rng.choice([-1, 1], (hidden, 1)) * W @ rotation(rng, inputs)
    for measure in (neurons.spread, neurons.concentration, neurons.effective_directions):
        np.testing.assert_allclose(measure(jnp.asarray(moved)), measure(jnp.asarray(W)), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(jnp.sum(neurons.spread(jnp.asarray(W))), 1.0, rtol=1e-13)


@pytest.mark.parametrize("lines", [1, 2, 4])
def test_neurons_on_a_few_perpendicular_lines_are_counted(lines):
    rng = np.random.default_rng(0)
    frame = rotation(rng, 5)[:lines]
    W = jnp.asarray(rng.normal(size=(12, 1)) * np.tile(frame, (12 // lines, 1)))
    np.testing.assert_allclose(neurons.effective_directions(W), lines, rtol=1e-12)
    np.testing.assert_allclose(neurons.concentration(W), 1 / lines, rtol=1e-12)


def test_weights_decide_which_neurons_count():
    W, weights = jnp.eye(3), jnp.array([3.0, 1.0, 0.0])
    np.testing.assert_allclose(neurons.spread(W, weights), [0.75, 0.25, 0.0], atol=1e-15)
    assert neurons.effective_directions(W, jnp.array([1.0, 0.0, 0.0])) == pytest.approx(1.0)


def test_neurons_of_length_zero_count_for_nothing():
    W = jnp.array([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(neurons.cosines(W), np.diag([0.0, 1.0, 0.0]))
    assert neurons.concentration(W) == pytest.approx(1.0)
    assert neurons.effective_directions(jnp.zeros((3, 2))) == 0.0
    assert neurons.concentration(jnp.zeros((3, 2))) == 0.0


def test_weights_and_neurons_of_length_zero():
    W, weights = jnp.array([[0.0, 0.0], [2.0, 0.0], [0.0, 5.0]]), jnp.array([7.0, 3.0, 1.0])
    np.testing.assert_allclose(neurons.spread(W, weights), [0.75, 0.25], atol=1e-15)
    np.testing.assert_allclose(neurons.concentration(W, 1e-300 * weights), 0.75, rtol=1e-14)


def test_neurons_below_zero_or_with_a_zero_are_scaled_like_others():
    W = np.array([[-3.0, -4.0], [0.0, -2.0], [0.5, 0.0], [-1e-3, -1e-3]])
    unit = np.array([[-0.6, -0.8], [0.0, -1.0], [1.0, 0.0], [-np.sqrt(0.5), -np.sqrt(0.5)]])
    for scale in (1e-200, 1.0, 1e200):
        np.testing.assert_allclose(neurons.directions(jnp.asarray(scale * W)), unit, rtol=1e-14)


def test_weights_are_taken_inside_a_compiled_function():
    W, weights = jnp.asarray(np.random.default_rng(1).normal(size=(5, 3))), jnp.array([0.5, 2.0, 0.0, 1.0, 3.0])
    np.testing.assert_allclose(jax.jit(neurons.spread)(W, weights), neurons.spread(W, weights), rtol=1e-12)


def test_what_is_not_a_number_has_no_directions():
    W = jnp.array([[np.nan, 1.0], [1.0, 0.0]])
    for measured in (neurons.concentration(W), neurons.effective_directions(W)):
        assert np.isnan(measured)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: neurons.cosines(jnp.ones((2, 3)), jnp.ones((2, 2))), "others must be of as many columns as W, 3"),
        (lambda: neurons.spread(jnp.ones((2, 3)), jnp.ones(3)), "weights must be a vector of 2"),
        (
            lambda: neurons.spread(jnp.ones((2, 3)), jnp.array([1.0, -1.0])),
            "weights must be finite numbers of at least 0",
        ),
        (lambda: neurons.spread(jnp.ones((2, 3)), jnp.array([1.0, np.inf])), "weights must be finite numbers"),
        (lambda: neurons.spread(jnp.ones((2, 3)), jnp.ones((2, 1))), "weights must be a vector of 2"),
        (lambda: neurons.directions(jnp.ones(3)), "W must be a matrix"),
        (lambda: neurons.directions(jnp.ones((2, 2, 2))), "W must be one matrix"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_weights_count_by_their_ratios_alone_and_zeros_for_nothing():
    W, c = jnp.asarray(np.random.default_rng(5).normal(size=(3, 2))), jnp.array([0.5, 1.0, 0.25])
    for scale in (1e-300, 1e300):
        np.testing.assert_allclose(neurons.spread(W, scale * c), neurons.spread(W, c), rtol=1e-12)
    np.testing.assert_array_equal(neurons.spread(W, 0 * c), 0)


@pytest.mark.parametrize(("large", "small"), [(4e307, 0.0), (4e307, 1e-300), (1e-300, 0.0), (1e150, 1e-150)])
def test_weights_of_very_different_sizes_count_by_the_largest(large, small):
    """The sum of the five large ones would overflow."""
    weights = jnp.array([large, large, large, large, large, small])
    np.testing.assert_allclose(neurons.spread(jnp.eye(6), weights), [0.2, 0.2, 0.2, 0.2, 0.2, 0], atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("share", [0.2, 0.26, 0.3, 0.6, 1.0])
@pytest.mark.parametrize("compiled", [False, True])
def test_neurons_and_weights_up_to_the_largest_float(dtype, share, compiled):
    """The reciprocal of what is beyond a quarter of it is no normal float."""
    W = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 0.5]], dtype)
    c, most = np.array([1.0, 0.5, 0.25], dtype), dtype(share) * np.finfo(dtype).max
    spread = jax.jit(neurons.spread) if compiled else neurons.spread
    plain = neurons.spread(jnp.asarray(W), jnp.asarray(c))
    tolerance = 8 * np.finfo(dtype).eps
    for found in (
        spread(jnp.asarray(W), jnp.asarray(most * c)),
        spread(jnp.asarray(most * W), jnp.asarray(c)),
        spread(jnp.asarray(most * W), jnp.asarray(most * c)),
    ):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, plain, atol=tolerance)
    np.testing.assert_allclose(spread(jnp.asarray(most * W[1:2]), jnp.asarray(most * c[:1])), [1.0], atol=tolerance)
