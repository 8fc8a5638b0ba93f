"""The clocks against descent itself: as the step shrinks, descent meets the closed form at first order."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament.theory import modes
from lineament.theory.units import clock_rate, paper_time, steps

TARGET, START, TIME = np.array([2.0, 0.7]), 0.05, 1.3


def descend_shared(depth, step_size, count, slope):
    """σ = w^N per mode; `slope` is dℓ/dσ as a function of σ − σ*."""
    w = np.full(2, START ** (1 / depth))
    for _ in range(count):
        w = w - step_size * slope(w**depth - TARGET) * depth * w ** (depth - 1)
    return w**depth


def descend_factors(depth, step_size, count, slope):
    """W = W_N ⋯ W_1 from scaled identities, towards a symmetric target that is not diagonal."""
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    goal = turn @ np.diag(TARGET) @ turn.T
    factors = [START ** (1 / depth) * np.eye(2)] * depth  # factors[0] is W_1

    def product(matrices):
        return reduce(lambda left, right: right @ left, matrices, np.eye(2))

    for _ in range(count):
        G = slope(product(factors) - goal)
        slopes = [product(factors[j + 1 :]).T @ G @ product(factors[:j]).T for j in range(depth)]
        factors = [W - step_size * s for W, s in zip(factors, slopes, strict=True)]
    return np.linalg.svd(product(factors), compute_uv=False)


def slope_of(loss, parameterisation, depth, curvature):
    """dℓ/dW for the losses as the module's table prints them."""
    normaliser = 2 * depth if parameterisation == "factors" else 2 * depth**2
    scale = {"normalised": 1 / normaliser, "half": 1 / 2, "mse": 1.0}[loss]
    return lambda error: 2 * scale * curvature * error


@pytest.mark.parametrize("loss", ["normalised", "half", "mse"])
@pytest.mark.parametrize("parameterisation", ["factors", "shared"])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_descent_tends_to_the_closed_form_at_first_order(depth, parameterisation, loss):
    curvature = 1.7
    descend = descend_factors if parameterisation == "factors" else descend_shared
    slope = slope_of(loss, parameterisation, depth, curvature)
    errors = []
    for count in (200, 400, 800):
        step_size = TIME / (clock_rate(depth, parameterisation, loss, curvature) * count)
        t = paper_time(count, step_size, depth, parameterisation, loss, curvature)
        assert t == pytest.approx(TIME, rel=1e-12, abs=0)
        forecast = modes.trajectory(t, TARGET, START, depth)
        errors.append(np.max(np.abs(descend(depth, step_size, count, slope) / forecast - 1)))
    assert errors[-1] < 5e-3
    np.testing.assert_allclose(np.diff(np.log2(errors)), -1, atol=0.06)


@pytest.mark.parametrize("variance", [0.25, 1.0, 3.0])
def test_white_inputs_put_their_variance_in_front(variance):
    """Mean over examples of ‖(W − W*)x‖², inputs of covariance c·I: the curvature is c."""
    n, depth = 12, 2
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(n, 2)))[0]
    X = np.sqrt(variance * n) * Q
    errors = []
    for count in (200, 400):
        step_size = TIME / (clock_rate(depth, "factors", "mse", variance) * count)
        ended = descend_factors(depth, step_size, count, lambda error: 2 * error @ X.T @ X / n)
        errors.append(np.max(np.abs(ended / modes.trajectory(TIME, TARGET, START, depth) - 1)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1, abs=0.06)


def test_standard_normal_measurements_have_curvature_one():
    """The mean of ⟨A, E⟩² over measurements with standard normal entries tends to ‖E‖², at rate m^{−1/2}."""
    E = np.array([[1.0, -2.0], [0.5, 3.0]])
    A = np.random.default_rng(1).normal(size=(400_000, 4))
    ratio = np.mean((A @ E.ravel()) ** 2) / np.sum(E**2)
    assert abs(ratio - 1) < 4 * np.sqrt(2 / len(A))  # ⟨A, E⟩²/‖E‖² is χ²₁, of variance two


def test_half_rises_of_deep_sensing():
    """σ* = 12 from 1e-4 by a mean squared error with step 1e-3: elementary integrals at depths 2 and 4."""
    two = np.log((12 - 1e-4) / 1e-4) / 12
    u = np.sqrt([1e-4, 6.0])  # σ = u² turns the integral at depth 4 into that of 2/(u²(12 − u²))
    four = 2 * np.diff(-1 / (12 * u) + np.arctanh(u / np.sqrt(12)) / 12**1.5)[0]
    expected = np.array([two / 4e-3, four / 8e-3])
    count = steps(modes.time_to(6.0, 12.0, 1e-4, [2, 4]), 1e-3, [2, 4], loss="mse")
    np.testing.assert_allclose(count, expected, rtol=1e-12)
    assert np.array_equal(np.round(count), [244, 2080])


@given(
    st.floats(0, 1e6),
    st.floats(1e-6, 1),
    st.floats(1, 50),
    st.sampled_from(["factors", "shared"]),
    st.sampled_from(["normalised", "half", "mse"]),
    st.floats(1e-3, 1e3),
)
def test_steps_inverts_paper_time(count, step_size, depth, parameterisation, loss, curvature):
    settings = (step_size, depth, parameterisation, loss, curvature)
    assert steps(paper_time(count, *settings), *settings) == pytest.approx(count, rel=1e-14, abs=0)


def test_broadcasting_and_limits():
    assert paper_time(np.arange(5)[:, None], 0.1, [1, 2, 3]).shape == (5, 3)
    assert clock_rate([2, 3], loss="normalised", curvature=np.ones((4, 1))).shape == (4, 2)
    assert steps(np.inf, 0.1, 3) == np.inf
    assert paper_time(0, 0.1, 3) == 0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"steps": -1}, "steps must be a finite number of at least 0; got -1"),
        ({"steps": np.inf}, "steps must be a finite number of at least 0; got inf"),
        ({"step_size": 0.0}, "step_size must be a finite number above 0; got 0"),
        ({"depth": 0.9}, r"depth must be a finite number of at least 1; got 0\.9"),
        ({"depth": np.inf}, "depth must be a finite number of at least 1; got inf"),
        ({"curvature": np.nan}, "curvature must be a finite number above 0; got nan"),
        ({"parameterisation": "tied"}, "parameterisation must be one of .*'factors', 'shared'.* got 'tied'"),
        ({"loss": "mae"}, "loss must be one of .*'normalised', 'half', 'mse'.* got 'mae'"),
    ],
)
def test_bad_input_is_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        paper_time(**({"steps": 1, "step_size": 0.1, "depth": 2} | changed))


@pytest.mark.parametrize("time", [-1.0, np.nan])
def test_bad_time_is_refused(time):
    with pytest.raises(ValueError, match="time must be"):
        steps(time, 0.1, 2)


def test_one_bad_entry_among_good_ones_is_refused():
    for call, message in (
        (lambda: steps([1.0, np.nan], 0.1, 2), r"time must be .* got nan at entry \(1,\)"),
        (lambda: clock_rate([2.0, 0.5]), r"depth must be .* got 0.5 at entry \(1,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
