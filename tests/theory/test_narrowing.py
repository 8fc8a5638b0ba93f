"""A narrower network must train as the wide one does; descent on layers is compared with its definition."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineament.theory import end_to_end, layer_descent, narrowing, pc_bias
from lineament.theory.layers import balanced, product


def chain(widths, rng, scale=1.0):
    return [scale * rng.normal(size=(b, a)) / np.sqrt(a) for a, b in pairwise(widths)]


def square(widths, rng):
    """The gradient of ½‖(W − T)√Σ‖² over maps."""
    T, root = rng.normal(size=(widths[-1], widths[0])), rng.normal(size=(widths[0], widths[0]))
    S = root @ root.T / widths[0]
    return lambda W, step: (W - T) @ S


def by_definition(at, layers, gradient, eta, mu, decay=0.0):
    """Steps by the derivative of the product in each layer, written out."""
    Ws, Vs, found = [W.copy() for W in layers], [np.zeros_like(W) for W in layers], []
    for step in range(max(at) + 1):
        if step in at:
            found.append(product(Ws))
        G = gradient(product(Ws), step)
        slopes = []
        for j, W in enumerate(Ws):
            after = product(Ws[j + 1 :]) if j + 1 < len(Ws) else np.eye(W.shape[0])
            before = product(Ws[:j]) if j else np.eye(W.shape[1])
            slopes.append(after.T @ G @ before.T + decay * W)
        Vs = [mu * V + slope for V, slope in zip(Vs, slopes, strict=True)]
        Ws = [W - eta * V for W, V in zip(Ws, Vs, strict=True)]
    return np.array(found)


@given(
    st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.floats(0, 0.9), st.floats(0, 0.5),
    st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=25)
def test_descent_is_that_of_the_definition(depth, inputs, outputs, hidden, mu, decay, seed):
    rng = np.random.default_rng(seed)
    widths = [inputs, *[hidden] * (depth - 1), outputs]
    layers, gradient, at = chain(widths, rng), square(widths, rng), [0, 1, 4, 9]
    found = layer_descent.descend(at, layers, gradient, 0.01, mu, decay)
    np.testing.assert_allclose(found, by_definition(at, layers, gradient, 0.01, mu, decay), rtol=1e-9, atol=1e-12)


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 9), st.floats(0, 0.9), st.integers(0, 99))
@settings(max_examples=25)
def test_two_layers_are_narrowed_without_loss(inputs, outputs, hidden, mu, seed):
    rng = np.random.default_rng(seed)
    widths = [inputs, hidden, outputs]
    layers, gradient, at = chain(widths, rng), square(widths, rng), [0, 5, 40]
    narrow = narrowing.narrowed(layers)
    assert narrow[0].shape[0] == min(hidden, inputs + outputs)
    found = layer_descent.descend(at, narrow, gradient, 0.02, mu, 0.1)
    whole = layer_descent.descend(at, layers, gradient, 0.02, mu, 0.1)
    np.testing.assert_allclose(found, whole, rtol=1e-7, atol=1e-9)


def test_deeper_networks_are_narrowed_better_with_every_order():
    rng = np.random.default_rng(3)
    widths = [3, 60, 60, 60, 1]
    layers, gradient, at = chain(widths, rng), square(widths, rng), [0, 20, 200]
    whole = layer_descent.descend(at, layers, gradient, 0.01)
    miss, sizes = [], []
    for order in range(4):
        narrow = narrowing.narrowed(layers, order)
        sizes.append(narrow[1].shape[0])
        miss.append(np.abs(layer_descent.descend(at, narrow, gradient, 0.01) - whole).max() / np.abs(whole).max())
    assert sizes == sorted(sizes)
    assert sizes[-1] < 60
    assert miss[0] < 0.1
    # Each order gains a factor: geometrically, as the layers move little against their start.
    assert all(later < 0.3 * earlier for earlier, later in pairwise(miss))


def test_a_network_that_cannot_be_narrowed_keeps_its_layers():
    layers = chain([3, 2, 2, 2], np.random.default_rng(0))
    for before, after in zip(layers, narrowing.narrowed(layers, 2), strict=True):
        np.testing.assert_array_equal(before, after)


def test_a_balanced_start_closes_at_once_and_follows_the_end_to_end_equation():
    rng = np.random.default_rng(1)
    W0, widths = 0.3 * rng.normal(size=(2, 4)), [4, 7, 7, 2]
    layers, gradient = balanced(W0, widths), square(widths, rng)
    narrow = narrowing.narrowed(layers, 0)
    assert [W.shape[0] for W in narrow] == [2, 2, 2]
    times, gaps = np.array([0.5, 2.0]), []
    flow = end_to_end.trajectory(times, W0, lambda W: gradient(W, 0), 3)
    for eta in (0.01, 0.005):
        found = layer_descent.descend(times / eta, narrow, gradient, eta)
        gaps.append(np.abs(found - flow).max())
    assert np.log2(gaps[0] / gaps[1]) == pytest.approx(1, abs=0.15)  # descent nears the flow at first order


def test_several_runs_are_taken_at_once_each_with_its_own_gradient():
    rng = np.random.default_rng(2)
    widths = [3, 5, 2]
    layers, targets = chain(widths, rng), rng.normal(size=(4, 2, 3))
    found = layer_descent.descend([0, 7], layers, lambda W, step: (W - targets) / (1 + step), 0.1, 0.5, runs=4)
    for run, target in enumerate(targets):
        alone = layer_descent.descend([0, 7], layers, lambda W, step, T=target: (W - T) / (1 + step), 0.1, 0.5)
        np.testing.assert_allclose(found[:, run], alone, rtol=1e-12)


def test_what_overflows_is_not_a_number():
    found = layer_descent.descend([0, 400], [np.eye(2), np.eye(2)], lambda W, step: 100 * W, 1.0)
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()


@pytest.mark.parametrize("depth", [2, 3, 4, 5])
@pytest.mark.parametrize("order", [0, 1])
def test_what_inputs_and_outputs_send_into_every_layer_is_kept(depth, order):
    """Whatever the order: the scale matrices of both sides, by which the first step moves the map, are the same."""
    layers = chain([2, *[12] * (depth - 1), 1], np.random.default_rng(depth))
    narrow = narrowing.narrowed(layers, order)
    assert all(W.shape[0] < 12 for W in narrow[:-1])
    np.testing.assert_allclose(product(narrow), product(layers), rtol=1e-12, atol=1e-14)
    for kept, whole in zip(pc_bias.scale_matrices(narrow), pc_bias.scale_matrices(layers), strict=True):
        np.testing.assert_allclose(kept, whole, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_what_arrives_small_is_kept_beside_what_arrives_large(scale):
    W1, W2 = chain([2, 9, 2], np.random.default_rng(4))
    narrow = narrowing.narrowed([scale * W1, W2 / scale])
    assert narrow[0].shape == (4, 2)
    np.testing.assert_allclose(product(narrow), W2 @ W1, rtol=1e-10)
    np.testing.assert_allclose(narrow[0].T @ narrow[0], scale**2 * W1.T @ W1, rtol=1e-10)


@pytest.mark.parametrize("depth", [2, 3])
def test_layers_of_zeros_are_narrowed_to_one_hidden_unit(depth):
    narrow = narrowing.narrowed([np.zeros((7, 3)), *[np.zeros((7, 7))] * (depth - 2), np.zeros((2, 7))], 1)
    assert [W.shape for W in narrow] == [(1, 3), *[(1, 1)] * (depth - 2), (2, 1)]
    assert not any(W.any() for W in narrow)


def test_a_gradient_of_another_shape_is_refused_before_the_first_step():
    with pytest.raises(ValueError, match=r"gradient\(W, 0\) must be of shape \(2, 3\)"):
        layer_descent.descend([0], [np.ones((2, 3))], lambda W, step: W.T, 0.1)
