"""What the claims on training over time stand on: starts of wide networks, their scale matrices, and their training."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lineament.claims.hacohen import scales, wide


def product(layers):
    W = layers[0]
    for layer in layers[1:]:
        W = layer @ W
    return W


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_the_limit_start_has_unit_scales_and_no_map(depth):
    layers = wide.limit_start(np.random.default_rng(depth), q=5, K=3, depth=depth)
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


def test_flow_and_small_steps_of_descent_bring_the_same_map():
    rng = np.random.default_rng(1)
    data = wide.moments(rng, 5, 2)
    layers = wide.limit_start(rng, 5, 2, 3)
    members = [wide.Member(layers, norm, 1e-3) for norm in (0.5, 2.0)]
    descended = wide.train_all(data, members, 1500, np.array([0, 1500]), ("end_to_end",)).end_to_end.values
    flowed = wide.flow_all(data, layers, (0.5, 2.0), np.array([0.0, 1.5]), ("end_to_end",)).end_to_end.values
    assert np.linalg.norm(flowed[:, -1]) > 0.5
    assert_allclose(descended[:, -1], flowed[:, -1], atol=5e-3)


def test_the_optimum_has_the_norm_asked_for():
    data = wide.moments(np.random.default_rng(3), 6, 2, least=0.05)
    assert data.d.min() == pytest.approx(0.05)
    assert np.linalg.norm(data.problem(1.7).optimal_map, 2) == pytest.approx(1.7)


def test_entries_have_mean_zero_and_the_variance_and_kurtosis_stated():
    rng = np.random.default_rng(2)
    for name, (sample, kurtosis) in scales.LAWS.items():
        x = sample(rng, 400_000)
        assert_allclose(x.mean(), 0, atol=0.01, err_msg=name)
        assert_allclose(x.var(), 1, rtol=0.02, err_msg=name)
        assert_allclose(np.mean(x**4), kurtosis, rtol=0.1, err_msg=name)
