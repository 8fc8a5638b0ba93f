"""What is to be learnt from covariances: normal equations, invariance, and the loss that no map removes."""

import numpy as np
import pytest

from lineament.forecasting.task import from_covariances, spectrum


def covariances(seed=0, inputs=4, outputs=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, inputs)) @ rng.normal(size=(inputs, inputs)) * 3
    Y = X @ rng.normal(size=(inputs, outputs)) + rng.normal(size=(50, outputs))
    return X.T @ X / 50, Y.T @ X / 50, Y.T @ Y / 50


@pytest.mark.parametrize("whiten", [False, True])
def test_the_target_solves_the_normal_equations_in_its_own_coordinates(whiten):
    sxx, syx, syy = covariances()
    task = from_covariances(sxx, syx, syy, whiten)
    np.testing.assert_allclose(task.V.T @ sxx @ task.V, np.diag(task.d), atol=1e-10)
    np.testing.assert_allclose(task.target * task.d, task.syx, rtol=1e-10)
    np.testing.assert_allclose(syx @ task.V, task.syx, rtol=1e-9, atol=1e-12)
    least_squares = np.linalg.solve(sxx, syx.T).T
    np.testing.assert_allclose(task.target @ task.V.T, least_squares, rtol=1e-9)
    assert task.floor == pytest.approx(0.5 * np.trace(syy - least_squares @ sxx @ least_squares.T))
    if task.modes is not None:
        U, s, Vt = task.modes
        np.testing.assert_allclose((U * s) @ Vt, task.target, atol=1e-12)


def test_directions_that_the_data_do_not_reach_are_left_out():
    d, V = spectrum(np.diag([4.0, 0.0, 9.0]))
    np.testing.assert_allclose(d, [9, 4])
    np.testing.assert_allclose(V, [[0, 1], [0, 0], [1, 0]], atol=1e-15)
