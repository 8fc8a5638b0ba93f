"""Saddles of vanishing starts and silent alignment, against integrations of the flows themselves."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from lineament.measure import jumps
from lineament.theory import jump_times, silent_alignment


def test_orthogonal_columns_are_learnt_one_after_the_other_at_their_own_times():
    # With XᵀX = nI each coordinate is alone: it jumps when |g|t = 1, to its own target.
    X = np.linalg.qr(np.random.default_rng(0).standard_normal((9, 3)))[0] * 3
    target = np.array([2.0, -0.5, 1.0])
    found = jump_times.saddles(X, X @ target)
    assert found.times == pytest.approx([1 / 2, 1, 2])
    assert np.allclose(found.points, [[0, 0, 0], [2, 0, 0], [2, 0, 1], [2, -0.5, 1]])


@pytest.mark.parametrize("seed", range(6))
def test_saddles_fall_in_loss_and_end_at_least_squares(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((12, 5)), rng.standard_normal(12)
    found = jump_times.saddles(X, y)
    losses = [np.mean((y - X @ point) ** 2) for point in found.points]
    assert np.all(np.diff(losses) < 0)
    assert np.all(np.diff(found.times) > 0)
    assert np.allclose(found.points[-1], np.linalg.lstsq(X, y, rcond=None)[0])


def test_the_flow_of_a_tiny_start_jumps_when_it_is_forecast_to():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((10, 3)), rng.standard_normal(10)
    found = jump_times.saddles(X, y)
    gaps = []
    for log_start in (-20.0, -80.0):
        # In log w, where tiny weights cost nothing: d log w± /dt = ∓2 ∇L.
        def velocity(_, u):
            b = np.exp(2 * u[:3]) - np.exp(2 * u[3:])
            g = X.T @ (X @ b - y) / 10
            return np.concatenate([-2 * g, 2 * g])

        unit = -0.5 * log_start
        t = np.linspace(0, 1.2 * found.times[-1] * unit, 4000)
        run = solve_ivp(velocity, (0, t[-1]), np.full(6, log_start), t_eval=t, rtol=1e-7, atol=1e-7, max_step=0.3)
        path = (np.exp(2 * run.y[:3]) - np.exp(2 * run.y[3:])).T
        gaps.append(np.abs(jumps.jump_times(t / unit, path, found.points) / found.times - 1).max())
    assert gaps[1] < 0.1
    assert gaps[1] < gaps[0] / 2, "the gap falls as one over the logarithm"


@pytest.mark.parametrize("apart", [1e-7, 1e-4, 1e-2, 1.0])
def test_jumps_that_follow_closely_are_each_at_their_own_time(apart):
    X = np.linalg.qr(np.random.default_rng(2).standard_normal((6, 3)))[0] * np.sqrt(6)
    target = np.array([1.0, -1 / (1 + apart), 1 / (1 + 3 * apart)])
    found = jump_times.saddles(X, X @ target)
    assert found.times == pytest.approx([1, 1 + apart, 1 + 3 * apart], rel=1e-13, abs=0)
    np.testing.assert_allclose(found.points, np.tril(np.ones((4, 3)), -1) * target, atol=1e-13)


def test_a_fit_that_is_perfect_from_the_start_has_no_jumps():
    found = jump_times.saddles(np.eye(2), np.zeros(2))
    assert found.times.shape == (0,)
    assert found.points.shape == (1, 2)


def test_dependent_columns_are_refused():
    with pytest.raises(ValueError, match="X must have independent columns"):
        jump_times.saddles(np.ones((3, 2)), np.ones(3))


def test_the_silent_phase_is_that_of_the_whole_flow():
    rng = np.random.default_rng(2)
    W, a, beta = 1e-4 * rng.standard_normal((4, 3)), 1e-4 * rng.standard_normal(4), np.array([1.0, 2.0, -1.0])
    t = np.linspace(0, 2.5, 20)

    def velocity(_, u):
        V, c = u[:12].reshape(4, 3), u[12:]
        gap = beta - c @ V
        return np.concatenate([np.outer(c, gap).ravel(), V @ gap])

    run = solve_ivp(velocity, (0, 2.5), np.concatenate([W.ravel(), a]), t_eval=t, rtol=1e-10, atol=1e-16)
    layers = run.y[:12].T.reshape(-1, 4, 3)
    found = silent_alignment.early(t, W, a, beta)
    assert found.learnt[-1] < 0.01
    assert jumps.share_along(layers, beta) == pytest.approx(found.alignment, abs=1e-3)
    product = np.einsum("ht,thi,i->t", run.y[12:], layers, beta) / (beta @ beta)
    assert product == pytest.approx(found.learnt, rel=0.03, abs=1e-9)
    assert found.alignment[-1] > 0.98


def test_jump_times_of_a_staircase():
    path = np.array([[0.0], [0.1], [0.9], [1.0], [2.0]])
    assert jumps.jump_times(np.arange(5.0), path, [[0.0], [1.0], [2.0], [9.0]]).tolist() == [2.0, 4.0, np.inf]


def test_a_point_nearer_to_the_beginning_than_the_one_before_it_is_no_jump_yet():
    path = np.array([[0.0], [0.1], [4.0], [4.0], [2.0], [1.0]])
    assert jumps.jump_times(np.arange(6.0), path, [[0.0], [4.0], [1.0]]).tolist() == [2.0, 4.0]
