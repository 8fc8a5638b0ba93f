"""What the claims on training over time stand on: the wide limit and the starts that have its scale matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lineament.claims.hacohen import scales, setting


def product(layers):
    W = layers[0]
    for layer in layers[1:]:
        W = layer @ W
    return W


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_the_limit_start_has_unit_scales_and_no_map(depth):
    layers = setting.limit_start(np.random.default_rng(depth), q=5, K=3, depth=depth)
    A, B = scales.scales_of([W[None] for W in layers])
    assert_allclose(A[:, 0], np.broadcast_to(np.eye(3), (depth, 3, 3)), atol=1e-14)
    assert_allclose(B[:, 0], np.broadcast_to(np.eye(5), (depth, 5, 5)), atol=1e-14)
    assert_allclose(product(layers), 0, atol=1e-14)


def test_scale_matrices_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    layers = scales.draw(rng, (4, 6, 5, 3), np.array([0.5, 1.0, 2.0]), "uniform", 7)
    A, B = scales.scales_of(layers)
    for k in range(7):
        W1, W2, W3 = (W[k] for W in layers)
        left, right = [W3 @ W2, W3, np.eye(3)], [np.eye(4), W1, W2 @ W1]
        for layer in range(3):
            assert_allclose(A[layer, k], left[layer] @ left[layer].T, atol=1e-13)
            assert_allclose(B[layer, k], right[layer].T @ right[layer], atol=1e-13)


@pytest.mark.parametrize("size", [0.1, 2.0])
def test_the_wide_limit_is_descent_of_layers_that_begin_there(size):
    rng = np.random.default_rng(1)
    task = setting.task(rng, 5, 2)
    W1, W2 = setting.limit_start(rng, 5, 2, 2)
    step = setting.steady_step(size, 2)
    limit = setting.wide_limit(task, size, step, 40)
    for s in range(41):
        assert_allclose(limit.W[s], W2 @ W1, atol=1e-12)
        assert_allclose(limit.A[s], W2 @ W2.T, atol=1e-12)
        assert_allclose(limit.B[s], W1.T @ W1, atol=1e-12)
        Er = (W2 @ W1 - size * task.direction) * task.d
        W1, W2 = W1 - step * W2.T @ Er, W2 - step * Er @ W1.T


def test_entries_have_mean_zero_and_the_variance_and_kurtosis_stated():
    rng = np.random.default_rng(2)
    for name, (sample, kurtosis) in scales.LAWS.items():
        x = sample(rng, 400_000)
        assert_allclose(x.mean(), 0, atol=0.01, err_msg=name)
        assert_allclose(x.var(), 1, rtol=0.02, err_msg=name)
        assert_allclose(np.mean(x**4), kurtosis, rtol=0.1, err_msg=name)
