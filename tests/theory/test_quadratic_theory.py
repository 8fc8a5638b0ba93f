"""The coupled modes of quadratic networks: the printed equations, solvable cases, and limits."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from lineament.theory import modes, quadratic
from lineament.theory.quadratic import PRINTED_BIAS_RATE, trajectory

TIMES = np.linspace(0, 12, 25)


def printed(times, target, start, bias, bias_target):
    """Appendix F.2.2 as printed, in σ itself, by another solver."""

    def field(_, y):
        s, b = y[:-1], y[-1]
        gap = np.sum(target - s)
        return np.append(s * (target - s + gap / 2 + (bias_target - b) / 2), gap + bias_target - b)

    y0 = np.append(np.full(len(target), start), bias)
    return solve_ivp(field, (0, times[-1]), y0, "LSODA", times, rtol=1e-12, atol=1e-16).y.T


@settings(max_examples=15)
@given(st.lists(st.floats(0, 3), min_size=1, max_size=5), st.floats(1e-6, 2), st.floats(-2, 2), st.floats(-2, 2))
def test_it_solves_the_printed_equations_at_their_rate(target, start, bias, bias_target):
    found = trajectory(TIMES, target, start, bias=bias, bias_target=bias_target, bias_rate=PRINTED_BIAS_RATE)
    naive = printed(TIMES, np.array(target), start, bias, bias_target)
    np.testing.assert_allclose(found.values, naive[:, :-1], rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(found.bias, naive[:, -1], rtol=1e-7, atol=1e-9)


@settings(max_examples=20)
@given(st.integers(1, 30), st.floats(0.05, 5), st.floats(1e-9, 3), st.floats(-0.5, 2))
def test_equal_modes_are_one_mode_on_a_faster_clock(k, target, start, error):
    """k equal modes with a frozen bias: σ̇ = (1 + k/2) σ (σ* + δ/(k+2) − σ), a mode of depth 2."""
    course = trajectory(TIMES, np.full(k, target), start, bias=-error, bias_rate=0.0)
    limit = target + error / (k + 2)
    if limit < 0:
        return
    forecast = modes.trajectory((1 + k / 2) * TIMES, limit, start, 2)
    np.testing.assert_allclose(course.values, np.tile(forecast[:, None], k), rtol=1e-8)
    np.testing.assert_array_equal(course.bias, np.full(25, -error))


def test_without_a_bias_it_is_the_flow_of_a_bias_frozen_at_its_target():
    target = [2.0, 1.0, 0.0]
    alone = trajectory(TIMES, target, 1e-3, bias_target=0.7)
    frozen = trajectory(TIMES, target, 1e-3, bias=0.7, bias_target=0.7, bias_rate=0.0)
    np.testing.assert_array_equal(alone.values, frozen.values)
    np.testing.assert_array_equal(alone.bias, np.full(25, 0.7))


def test_a_fast_bias_decouples_the_modes_at_first_order():
    """The distance to the variance loss falls as 1/c."""
    target, rates = np.array([1.0, 0.5, 0.0]), np.array([30.0, 100.0, 300.0])
    free = modes.trajectory(TIMES[:, None], target, 1e-2, 2)
    optimal = np.sum(target - 1e-2)
    gaps = [np.abs(trajectory(TIMES, target, 1e-2, bias=optimal, bias_rate=c).values - free).max() for c in rates]
    assert np.polyfit(np.log(rates), np.log(gaps), 1)[0] == pytest.approx(-1, abs=0.05)


def test_limits_in_time():
    target, start = np.array([2.0, 1.0, 1.0]), np.array([0.1, 0.2, 0.3])
    course = trajectory([0.0, 500.0], target, start, bias=1.0, bias_target=-1.0)
    np.testing.assert_allclose(course.values, np.stack([start, target]), rtol=1e-9)
    np.testing.assert_allclose(course.bias, [1.0, -1.0], rtol=1e-9)
    late = trajectory([5.0], target, 0.1)
    np.testing.assert_allclose(late.values, trajectory([0.0, 5.0], target, 0.1).values[1:], rtol=1e-9)


@pytest.mark.parametrize("k", [1, 4, 10])
def test_a_bias_that_is_off_lingers_the_longer_the_more_modes_are_active(k):
    """Active modes follow it, σ_i = σ_i* + ½u, which leaves u = δ/(1 + k/2): its error decays at c/(1 + k/2)."""
    times = np.array([100.0, 101.0])
    error = trajectory(times, np.full(k, 50.0), 1.0, bias=-1e-2).bias
    assert np.log(error[0] / error[1]) == pytest.approx(1 / (8 + 4 * k), rel=2e-2 / k, abs=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"times": [0.0, 0.0]}, "times must be"),
        ({"times": [-1.0, 0.0]}, "times must be"),
        ({"times": 1.0}, "times must be a vector"),
        ({"target": [-1.0]}, r"target must be finite numbers of at least 0; got -1 at entry \(0,\)"),
        ({"target": [np.nan]}, r"target must be finite numbers of at least 0; got nan at entry \(0,\)"),
        ({"start": 0.0}, "start must be a finite number above 0; got 0"),
        ({"start": [0.1, 0.1]}, "start must be one number or one for each of 1 modes"),
        ({"bias_rate": -1.0}, "bias_rate must be"),
        ({"bias": np.inf}, "bias must be a finite number; got inf"),
    ],
)
def test_bad_input_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        trajectory(**{"times": [0.0, 1.0], "target": [1.0], "start": 0.1} | change)


def test_modes_that_the_integrator_gives_up_are_an_error(monkeypatch):
    failed = SimpleNamespace(success=False, message="no step is small enough", y=np.zeros((2, 1)))
    monkeypatch.setattr(quadratic, "solve_ivp", lambda *given, **named: failed)
    with pytest.raises(RuntimeError, match="could not be solved: no step is small enough"):
        trajectory([0.0, 1.0], [1.0], 0.1)


def test_how_long_modes_can_be_followed_falls_with_all_that_moves_them():
    with pytest.raises(ValueError, match=r"times must be at most 117647 for"):  # 1e6 / (3 + 2 + 3 + 0.5)
        trajectory([0.0, 1e9], [2.0, 1.0], [0.5, 1.5], bias=1.0, bias_target=-2.0, bias_rate=0.5)
    with pytest.raises(ValueError, match=r"times must be at most 250000 for"):  # without a bias 1e6 / (3 + 1)
        trajectory([0.0, 1e9], [2.0, 1.0], 0.5, bias_target=-2.0, bias_rate=0.5)
