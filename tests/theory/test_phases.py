"""The exact threshold of incremental learning against quadrature, the modes' own times, and its limits."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq

from lineament.theory.modes import time_to
from lineament.theory.phases import is_incremental, log_threshold, threshold, timetable

DEPTHS = [2.0, 2.000001, 2.01, 2.5, 3.0, 4.0, 7.3, 100.0, 1e6, np.inf]

depths = st.one_of(st.sampled_from(DEPTHS), st.floats(2, 20))
ratios = st.floats(-2, 3).map(lambda e: 1 + 10**e)
small = st.floats(-4, 0).map(lambda e: 0.25 * 10**e)
large = small.map(lambda left: 1 - left)


def integral(integrand, a, b):
    edges = np.linspace(a, b, 2 + int(abs(b - a) / 2))
    return sum(quad(integrand, *ab, epsabs=0, epsrel=1e-12)[0] for ab in pairwise(edges))


def naive_time(value, target, start, depth):
    """∫ dσ/(σ^{2−2/N}(σ* − σ)) in the logit coordinate z = log σ/(σ* − σ), by adaptive quadrature."""
    q = 1 - 2 / depth
    a, b = (np.log(x / (target - x)) for x in (start, value))
    return integral(lambda z: (target / (1 + np.exp(-z))) ** -q / target, a, b)


def naive_log_threshold(depth, ratio, s, f):
    """The root of t_s(σj) − t_f(σi) in log σ0, with the two integrals over the common range taken as one."""
    q = 1 - 2 / depth
    begin = np.log(s)
    logit = integral(lambda z: (ratio / (1 + np.exp(-z))) ** -q / ratio,
                     np.log(s / (ratio - s)), np.log(f / (1 - f)))  # fmt: skip

    def head_start(v):
        return integral(lambda u: (ratio - 1) * np.exp(-q * u) / ((1 - np.exp(u)) * (ratio - np.exp(u))), v, begin)

    low = begin - 1
    while head_start(low) < logit:
        low = begin - 2 * (begin - low)
    return brentq(lambda v: head_start(v) / logit - 1, low, begin, xtol=1e-14, rtol=1e-14)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(("ratio", "s", "f"), [(2.0, 0.2, 0.8), (1.3, 0.249, 0.751), (30.0, 0.01, 0.98)])
def test_threshold_against_the_two_times(depth, ratio, s, f):
    """The definition, without any rearrangement: t_f(σi) = t_s(σj)."""

    def late(v):
        return naive_time(s, 1.0, np.exp(v), depth) - naive_time(f * ratio, ratio, np.exp(v), depth)

    exact = log_threshold(depth, ratio, s, f)
    found = brentq(late, max(2 * exact - np.log(s), -600), np.log(s) - 1e-4, xtol=1e-13)
    assert exact == pytest.approx(found, abs=1e-8)


@pytest.mark.parametrize(
    ("depth", "ratio", "s", "f"),
    [
        (2.0, 1.02, 0.2, 0.8),
        (2.0001, 1.05, 0.1, 0.9),
        (2.3, 1 + 1e-3, 0.2, 0.8),
        (3.0, 1 + 1e-7, 0.2, 0.8),
        (np.inf, 1 + 1e-9, 0.2, 0.8),
        (3.0, 2.0, 1e-12, 0.8),
        (2.5, 2.0, 0.2, 1 - 1e-12),
        (np.inf, 1.1, 1e-8, 1 - 1e-8),
        (2.0, 1e6, 1e-6, 0.8),
        (5.0, 1e9, 0.25, 0.999999),
        (4.0, 1.5, 0.5, 0.5),
    ],
)
def test_threshold_at_the_ends_of_the_range(depth, ratio, s, f):
    assert log_threshold(depth, ratio, s, f) == pytest.approx(naive_log_threshold(depth, ratio, s, f), abs=1e-8)


@given(st.floats(-9, 3), small, large)
def test_depth_two_in_logarithms(exponent, s, f):
    """f(r − x)/((1−f)x) = (s(1−x)/((1−s)x))^r, which has a logarithm however small x is."""
    r = 1 + 10**exponent
    value = log_threshold(2, r, s, f)
    x = np.exp(value)
    rest = r * np.log1p(-x) - np.log1p(-x / r)
    expected = (r * np.log(s / (1 - s)) - np.log(r * f / (1 - f)) + rest) / (r - 1)
    assert value == pytest.approx(expected, rel=1e-11, abs=1e-10)


@given(depths, ratios, small, large, st.floats(-1, 1).map(lambda e: 10**e))
def test_decision_is_a_comparison_of_times(depth, ratio, s, f, target):
    edge = log_threshold(depth, ratio, s, f)
    if edge < -200:
        return
    start = target * np.exp(np.minimum(edge + np.array([-3, -1e-2, -1e-7, 1e-7, 1e-2, 3]), np.log(s)))
    decided = is_incremental(start, ratio * target, target, s, f, depth)
    assert decided.tolist() == [True] * 3 + [False] * 3
    times = time_to(f * ratio * target, ratio * target, start, depth) <= time_to(s * target, target, start, depth)
    clear = [0, 1, 4, 5]  # the difference of the times may lose the digits that part the other two
    assert np.array_equal(decided[clear], times[clear])


def test_incremental_starts_are_an_interval():
    start = np.geomspace(1e-30, 0.99, 4000)
    for depth in DEPTHS:
        decided = is_incremental(start, 1.7, 1.0, 0.2, 0.8, depth)
        assert decided[0]
        assert not decided[-1]
        assert np.sum(np.diff(decided)) == 1


def test_nothing_is_incremental_at_depth_one():
    assert threshold(1, [1.1, 10, 1e9], 0.25, 0.75).tolist() == [0, 0, 0]
    assert log_threshold(1, 2, 0.2, 0.8) == -np.inf
    assert not np.any(is_incremental(np.geomspace(1e-300, 0.9, 200), 1e6, 1.0, 0.25, 0.75, 1))


@pytest.mark.parametrize("depth", [1.2, 1.5, 1.9])
def test_between_depths_one_and_two_only_large_ratios_are_incremental(depth):
    s, f, p = 0.2, 0.8, 2 - 2 / depth
    B = [quad(lambda v, a=a: (a * v ** (1 / (1 - p))) ** -p / (1 - a * v ** (1 / (1 - p))) * a * v ** (p / (1 - p))
              / (1 - p), 0, 1, epsabs=0, epsrel=1e-12)[0] for a in (f, s)]  # fmt: skip
    critical = (B[0] / B[1]) ** (1 / p)
    assert threshold(depth, critical * (1 - 1e-6), s, f) == 0
    assert threshold(depth, critical * (1 + 1e-6), s, f) > 0
    ratio = 3 * critical
    edge = threshold(depth, ratio, s, f)
    assert time_to(f * ratio, ratio, edge, depth) == pytest.approx(time_to(s, 1.0, edge, depth), rel=1e-10, abs=0)
    assert not is_incremental(1e-200, critical * 0.9, 1.0, s, f, depth)


@pytest.mark.parametrize("depth", [1.05, 1.2, 1.5, 1.9, 2.0, 3.0, np.inf])
@pytest.mark.parametrize("ratio", [1e2, 1e4, 1e8])
def test_however_large_the_ratio_the_threshold_is_where_both_times_meet(depth, ratio):
    """It tends to s then, where the mode that is far ahead needs next to no head start."""
    s, f = 0.2, 0.8
    edge = threshold(depth, ratio, s, f)
    if edge == 0:
        assert depth < 1.1, "a critical ratio is large near depth 1"
        return
    start = edge * np.array([1 - 1e-6, 1 + 1e-6])
    if start[1] < s:
        first, second = time_to(f * ratio, ratio, start, depth), time_to(s, 1.0, start, depth)
        assert (first <= second).tolist() == [True, False]
    assert is_incremental(start[0], ratio, 1.0, s, f, depth)
    assert edge <= s
    assert edge > 0.9 * s or depth < 1.6 or ratio < 1e3


@pytest.mark.parametrize(("end", "near"), [(2.0, 2 + 2.0 ** -np.arange(8, 20)), (np.inf, 2.0 ** np.arange(8, 20))])
def test_threshold_is_continuous_in_depth(end, near):
    gap = np.abs(log_threshold(near, 1.5, 0.2, 0.8) - log_threshold(end, 1.5, 0.2, 0.8))
    assert np.allclose(gap[:-1] / gap[1:], 2, rtol=0.05)


@given(depths, ratios, small, large, st.floats(-3, 3).map(lambda e: 10**e))
def test_threshold_scales_with_the_target(depth, ratio, s, f, target):
    shifted = log_threshold(depth, ratio, s, f, target)
    assert shifted == pytest.approx(log_threshold(depth, ratio, s, f) + np.log(target), abs=1e-12, rel=1e-14)


def test_threshold_broadcasts():
    grid = threshold(np.array([2, 3, np.inf])[:, None, None], np.array([1.5, 2])[:, None], [0.1, 0.2], 0.8, 3.0)
    assert grid.shape == (3, 2, 2)
    assert grid[2, 1, 0] == pytest.approx(threshold(np.inf, 2, 0.1, 0.8, 3.0), rel=1e-14, abs=0)
    assert np.ndim(threshold(3, 2, 0.1, 0.8)) == 0
    assert threshold(3, np.empty(0) + 2, 0.1, 0.8).shape == (0,)


def test_a_grid_of_ten_thousand_is_finite():
    rng = np.random.default_rng(0)
    columns = 2 + 10 ** rng.uniform(-4, 3, 10_000), 1 + 10 ** rng.uniform(-4, 4, 10_000)
    fractions = 0.25 * 10 ** rng.uniform(-6, 0, (2, 10_000))
    grid = log_threshold(*columns, fractions[0], 1 - fractions[1])
    assert np.all(np.isfinite(grid))


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=6), st.floats(-6, -0.1), depths)
def test_timetable_is_ordered_and_agrees_with_the_definition(targets, exponent, depth):
    targets = np.sort(targets)[::-1]
    start = targets[-1] * 10**exponent
    table = timetable(targets, start, depth, 0.2, 0.8)
    assert np.all(table.begins <= table.half)
    assert np.all(table.half <= table.ends)
    assert np.array_equal(table.ends, time_to(0.8 * targets, targets, start, depth))
    for i, j in pairwise(range(len(targets))):
        wide = abs(table.ends[i] - table.begins[j]) > 1e-9 * table.ends[i]
        if targets[i] > targets[j] * (1 + 1e-6) and start <= 0.2 * targets[j] and wide:
            decided = is_incremental(start, targets[i], targets[j], 0.2, 0.8, depth)
            assert decided == (table.ends[i] <= table.begins[j])


def test_timetable_of_a_start_past_the_first_fraction():
    table = timetable([1.0, 2.0], 0.6, 3, 0.1, 0.9)
    assert table.begins.tolist() == [0, 0]
    assert table.half[0] == 0
    assert table.half[1] == time_to(1.0, 2.0, 0.6, 3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: threshold(0.5, 2, 0.1, 0.9), r"depth must be a number of at least 1; got 0\.5"),
        (lambda: threshold(2, 1.0, 0.1, 0.9), "ratio must be a finite number above 1; got 1"),
        (lambda: threshold(2, np.inf, 0.1, 0.9), "ratio must be a finite number above 1; got inf"),
        (lambda: threshold(2, 2, 0.6, 0.9), "s must be"),
        (lambda: threshold(2, 2, np.nan, 0.9), "s must be"),
        (lambda: threshold(2, 2, 0.1, 1.0), r"f must be a finite number of at least 0\.5 and below 1; got 1"),
        (lambda: threshold(2, 2, 0.1, 0.9, -1), "target must be a finite number above 0; got -1"),
        (lambda: threshold(2, 1e301, 0.1, 0.9), r"s must be at least 1e-300 ratio; got 0\.1 at ratio 1e\+301"),
        (
            lambda: threshold(2, [2, 3], [0.1, 0.1, 0.1], 0.9),
            "depth, ratio, s, f, target must be of shapes that broadcast",
        ),
        (lambda: is_incremental(0.1, 1, 2, 0.1, 0.9, 2), "target_i must be above target_j; got 1 and 2"),
        (lambda: is_incremental(3, 4, 2, 0.1, 0.9, 2), "start must be below target_j; got 3 and 2"),
        (lambda: is_incremental(0, 4, 2, 0.1, 0.9, 2), "start must be a finite number above 0; got 0"),
        (lambda: timetable([1.0, 2.0], 1.5, 2), r"start must be below its target; got 1\.5 and 1"),
        (lambda: timetable([1.0, -2.0], 0.5, 2), r"targets must be finite numbers above 0; got -2 at entry \(1,\)"),
    ],
)
def test_bad_arguments_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_the_ends_of_the_ranges():
    for s in (0.5001, np.nextafter(0.5, 1)):
        with pytest.raises(ValueError, match=r"s must be a finite number above 0 and at most 0\.5"):
            threshold(2, 2, s, 0.9)
    assert threshold(2, 2, 0.5, 0.9) > 0
    with pytest.raises(ValueError, match="s must be at least 1e-300 target_i/target_j"):
        is_incremental(1e-160, 1e150, 1e-155, 0.1, 0.9, 2)
    assert is_incremental(1e-160, 1e140, 1e-155, 0.1, 0.9, 2) in (True, False)
