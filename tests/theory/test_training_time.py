"""Forecasts in the time of training: against the equation of the layers, integrated by SciPy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from lineament.theory.training_time import singular_values, time_to


@pytest.mark.parametrize(("depth", "curvature"), [(1, 1.0), (2, 0.5), (3, 2.0)])
def test_they_are_those_of_the_layers_equation(depth, curvature):
    """`ẇ_j = −c (w_N ··· w_1 − σ*) ∏_{i≠j} w_i` for each mode, every layer at start^{1/N}."""
    targets, start, time = np.array([3.0, 1.0]), 0.1, np.linspace(0.0, 2.0, 9)
    forecast = singular_values(time, targets, start, depth, curvature=curvature)
    assert forecast.shape == (9, 2)
    for mode, target in enumerate(targets):

        def slope(t, w, target=target):
            return [-curvature * (np.prod(w) - target) * np.prod(np.delete(w, j)) for j in range(depth)]

        layers = np.full(depth, start ** (1 / depth))
        exact = solve_ivp(slope, (0, 2), layers, t_eval=time, rtol=1e-11, atol=1e-13).y
        np.testing.assert_allclose(forecast[:, mode], exact.prod(axis=0), rtol=1e-8)


@pytest.mark.parametrize("depth", [1, 2, 3.5])
def test_the_time_to_a_value_is_when_it_is_reached(depth):
    targets, value = np.array([3.0, 1.0]), np.array([1.5, 0.9])
    time = time_to(value, targets, 1e-3, depth, curvature=0.3)
    reached = singular_values(time, targets, 1e-3, depth, curvature=0.3)
    np.testing.assert_allclose(np.diagonal(reached), value, rtol=1e-9)


def test_rows_of_other_shapes_are_refused():
    with pytest.raises(ValueError, match="time and target must be one row each"):
        singular_values(np.zeros((2, 2)), [1.0], 0.1, 2)


def test_small_targets_from_time_zero_on():
    found = singular_values([0.0, 0.2], [0.0, 0.3], 0.1, 2)
    np.testing.assert_allclose(found[0], 0.1, rtol=1e-14)
    assert found[1, 0] < 0.1 < found[1, 1] < 0.3
    for time, target in (([-1e-300], [1.0]), ([0.0], [-1e-300])):
        with pytest.raises(ValueError, match="must be"):
            singular_values(time, target, 0.1, 2)
