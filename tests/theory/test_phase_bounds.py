"""The bounds of Theorems 2 and 3: as printed, where they break, and corrected."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament.theory.phase_bounds import (
    LARGEST_STEP,
    descent_exponents,
    largest_step,
    log_bounds,
    log_bounds_corrected,
    log_bounds_descent,
)
from lineament.theory.phase_descent import log_threshold_descent
from lineament.theory.phases import log_threshold, threshold

ratios = st.floats(-3, 5).map(lambda e: 1 + 10**e)
small = st.floats(-8, -1e-9).map(lambda e: 0.25 * 10**e)
large = small.map(lambda left: 1 - left)
depths = st.one_of(st.sampled_from([2.0, 3.0, 4.0, np.inf]), st.floats(-4, 3).map(lambda e: 2 + 10**e))
steps = st.floats(-1.3, -1e-9).map(lambda e: LARGEST_STEP * 10**e)


def test_flow_bounds_are_the_printed_ones():
    r, s, f, target = 1.8, 0.15, 0.85, 3.0
    two = [s * target * (s / (r * f)) ** (1 / ((1 - f) * (r - 1))), s * target * (s / (r * f)) ** ((1 - s) / (r - 1))]
    assert np.exp(log_bounds(2, r, s, f, target)) == pytest.approx(two, rel=1e-12, abs=0)
    for N in (3, 4.5, 10):
        a = (1 - f) * (r - 1)
        deep = [s * target * (a / (1 + a)) ** (N / (N - 2)), s * target * ((r - 1) / (r - s)) ** (N / (N - 2))]
        assert np.exp(log_bounds(N, r, s, f, target)) == pytest.approx(deep, rel=1e-12, abs=0)


def test_descent_bounds_are_the_printed_ones():
    r, s, f, c, Ri, target = 3.0, 0.15, 0.85, 0.3, 0.7, 2.0
    Rj = Ri / r
    A = np.log(1 - c * Ri + c**2 * Ri**2) / np.log(1 - c * Rj - c**2 / 4 * Rj**2)
    B = np.log(1 - c * Ri - c**2 / 4 * Ri**2) / np.log(1 - c * Rj + c**2 * Rj**2)
    assert descent_exponents(r, c, Ri) == pytest.approx((A, B), rel=1e-12, abs=0)
    low = 0.5 * s / (1 - s) * target * ((1 - f) / (2 * r * f) * s / (1 - s)) ** (1 / (A - 1))
    high = s / (1 - s) * target * ((1 - f) / f * s / (1 - s)) ** (1 / (B - 1))
    assert np.exp(log_bounds_descent(r, s, f, c, Ri, target)) == pytest.approx((low, high), rel=1e-12, abs=0)


@given(depths, ratios, small, large)
def test_corrected_bounds_enclose_the_threshold(depth, ratio, s, f):
    exact = log_threshold(depth, ratio, s, f)
    low, high = log_bounds_corrected(depth, ratio, s, f)
    slack = 1e-12 * max(1, abs(exact))
    assert low - slack <= exact <= high + slack


@given(st.sampled_from([2.0, 3.0, 3.3, 5.0, np.inf]), ratios, small, large)
def test_corrected_lower_bound_is_the_tighter_one(depth, ratio, s, f):
    printed, corrected = log_bounds(depth, ratio, s, f), log_bounds_corrected(depth, ratio, s, f)
    slack = 1e-12 * max(1, abs(printed[0]))
    assert corrected[0] >= printed[0] - slack
    if depth == 2:
        assert corrected == pytest.approx(printed, rel=1e-12, abs=0)
    else:
        assert corrected[1] >= printed[1] - slack


def test_printed_upper_bound_is_passed_at_depth_three():
    setting = (3.0, 2.0, 0.2, 0.8)
    assert np.exp(log_bounds(*setting)[1]) == pytest.approx(0.2 * (1 / 1.8) ** 3, rel=1e-12, abs=0)
    assert threshold(*setting) > 1.2 * np.exp(log_bounds(*setting)[1])


def test_corrected_bounds_tend_to_those_of_depth_two():
    near = 2 + 2.0 ** -np.arange(8, 20)
    for side in (0, 1):
        gap = np.abs(log_bounds_corrected(near, 1.5, 0.2, 0.8)[side] - log_bounds(2, 1.5, 0.2, 0.8)[side])
        assert np.allclose(gap[:-1] / gap[1:], 2, rtol=0.05)


@given(st.floats(-2, 2).map(lambda e: 1 + 10**e), steps, st.floats(0.05, 1))
def test_where_the_lower_bound_of_descent_is_one(ratio, c, share):
    A, B = descent_exponents(ratio, c, share)
    assert A <= ratio <= B
    if abs(c * share / largest_step(ratio) - 1) > 1e-9:
        assert (A > 1) == (c * share < largest_step(ratio))


def test_exponents_tend_to_the_ratio():
    c = 2.0 ** -np.arange(6, 14)
    for exponent in descent_exponents(2.5, c):
        gap = np.abs(exponent - 2.5)
        assert np.allclose(gap[:-1] / gap[1:], 2, rtol=0.05)


@given(st.floats(-1.2, 1.5).map(lambda e: 1 + 10**e), st.floats(0.01, 0.2499), st.floats(0.7501, 0.99), steps)
def test_bounds_of_descent(ratio, s, f, c):
    exact = log_threshold_descent(ratio, s, f, c)
    low, high = log_bounds_descent(ratio, s, f, c)
    assert exact <= high
    assert (low <= exact) == (c < largest_step(ratio))


@pytest.mark.parametrize("target", [1e-3, 7.0])
@pytest.mark.parametrize(
    ("bounds", "given"),
    [
        (log_bounds, (2.0, 1.8, 0.15, 0.85)),
        (log_bounds, (4.5, 1.8, 0.15, 0.85)),
        (log_bounds_corrected, (2.0, 1.8, 0.15, 0.85)),
        (log_bounds_corrected, (4.5, 1.8, 0.15, 0.85)),
        (lambda *given: log_bounds_descent(*given[:4], 0.7, *given[4:]), (3.0, 0.15, 0.85, 0.3)),
    ],
)
def test_bounds_are_in_units_of_the_slower_target(bounds, given, target):
    np.testing.assert_allclose(bounds(*given, target), np.array(bounds(*given)) + np.log(target), rtol=1e-13)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: log_bounds(2.5, 2, 0.1, 0.9), r"depth must be 2 or at least 3, as in Theorem 2; got 2\.5"),
        (lambda: log_bounds_corrected(1.5, 2, 0.1, 0.9), r"depth must be a number of at least 2; got 1\.5"),
        (
            lambda: log_bounds_descent(2, 0.1, 0.9, 0.9),
            r"c must be a finite number above 0 and below 0\.828427; got 0\.9",
        ),
        (
            lambda: log_bounds_descent(2, 0.1, 0.9, 0.5, 1.1),
            r"share must be a finite number above 0 and at most 1; got 1\.1",
        ),
        (lambda: largest_step(1.0), "ratio must be a finite number above 1; got 1"),
    ],
)
def test_bad_arguments_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
