"""Descent step by step: the update, its inverse, the windows of incremental starts and their upper end."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lineament.theory import phase_descent
from lineament.theory.phase_descent import (
    advance,
    log_threshold_descent,
    threshold_descent,
    timetable_descent,
    windows,
)
from lineament.theory.phases import log_threshold, threshold, timetable

finite_depths = st.one_of(st.sampled_from([2.0, 3.0, 4.0, 10.0]), st.floats(2, 20))


def naive_step(sigma, target, step, depth):
    """w ← w + (η/N) w^{N−1}(σ* − w^N), the gradient of ‖w^N − σ*‖²/(2N²)."""
    w = sigma ** (1 / depth)
    return (w + step / depth * w ** (depth - 1) * (target - w**depth)) ** depth


def naive_decision(start, ratio, s, f, c, share, depth):
    """Definition 1 by running descent forwards, targets (ratio, 1)."""
    step = c * (share / ratio) ** (2 - 2 / depth)
    i = j = start
    while j <= s:
        if i >= f * ratio:
            return True
        i, j = naive_step(i, ratio, step, depth), naive_step(j, 1.0, step, depth)
    return False


@given(finite_depths, st.floats(-4, 0), st.floats(-1, 1), st.floats(0, 2))
def test_advance_is_a_gradient_step(depth, start, target, c):
    target = 10**target
    sigma, step = target * 10**start, max(c, 1e-6) / target ** (2 - 2 / depth)
    assert advance(sigma, target, step, depth) == pytest.approx(
        naive_step(sigma, target, step, depth), rel=1e-10, abs=0
    )


@given(st.one_of(finite_depths, st.just(np.inf)), st.floats(1e-6, 1 - 1e-9), st.floats(0.001, 1), st.floats(-2, 2))
def test_lemma_one(depth, start, c, target):
    target = 10**target
    sigma = start * target
    moved = advance(sigma, target, c / target ** (2 - 2 / depth), depth)
    assert sigma < moved <= target * (1 + 1e-13)


@pytest.mark.parametrize("depth", [2.0, 2.5, 3.0, 10.0, 1000.0, np.inf])
def test_the_step_of_lemma_one_is_the_largest(depth):
    """The slope at the target is 1 − C: from 1 − ε a step C = 1.1 leads to 1 + 0.1 ε."""
    eps = 2.0 ** -np.arange(10, 16)
    assert np.allclose((advance(1 - eps, 1.0, 1.1, depth) - 1) / eps, 0.1, rtol=0.1)


def test_infinite_depth_is_the_limit():
    gap = np.abs(advance(0.3, 1.0, 0.5, 2.0 ** np.arange(8, 16)) - advance(0.3, 1.0, 0.5, np.inf))
    assert np.allclose(gap[:-1] / gap[1:], 2, rtol=0.05)


@pytest.mark.parametrize("depth", [2.0, 2.5, 3.0, 7.0])
def test_threshold_is_the_upper_end(depth):
    rng = np.random.default_rng(0)
    n = 12
    ratio, s, f = rng.uniform(1.3, 8, n), rng.uniform(0.02, 0.25, n), rng.uniform(0.75, 0.99, n)
    c, share = rng.uniform(0.3, 1, n), rng.uniform(0.6, 1, n)
    c[:3] = 1.0  # the largest step of Lemma 1
    edge = threshold_descent(ratio, s, f, c, share, depth=depth)
    low, high = windows(3000, ratio, s, f, c, share, depth=depth)
    first, each = np.argmax(low <= high, axis=0), np.arange(n)
    low, high = low[first, each], high[first, each]
    assert np.allclose(edge, high, rtol=1e-11, atol=0)
    inside = edge * np.maximum(1 - 1e-9, np.sqrt(low / high))
    for k in range(n):
        setting = ratio[k], s[k], f[k], c[k], share[k], depth
        assert naive_decision(inside[k], *setting)
        for factor in (1 + 1e-9, 1.003, 1.1, 1.7):
            assert not naive_decision(edge[k] * factor, *setting)


def test_windows_decide_every_start():
    setting = {"ratio": 1.5, "s": 0.2, "f": 0.8, "c": 0.6}
    low, high = windows(200, **setting)
    starts = threshold_descent(**setting) * np.geomspace(0.01, 3, 400)
    forecast = np.any((low[:, None] <= starts) & (starts <= high[:, None]), axis=0)
    decided = [naive_decision(start, 1.5, 0.2, 0.8, 0.6, 1.0, 2) for start in starts]
    assert forecast.tolist() == decided
    assert np.sum(np.diff(forecast)) > 1, "the incremental starts have gaps"


def test_windows_broadcast():
    low, high = windows(5, [1.5, 2.0], 0.2, 0.8, 0.6, target=[[1.0], [3.0]])
    assert low.shape == high.shape == (6, 2, 2)
    assert np.allclose(low[0], 0.8 * np.array([[1.5, 2.0], [4.5, 6.0]]))
    assert np.allclose(high[0], 0.2 * np.array([[1, 1], [3, 3]]))


def test_linear_end_of_depth_two_is_the_count_of_steps():
    """Down to 1e-280 the windows are still floats: the closed tail must give the same first window."""
    ratio, c = np.array([1.03, 1.05, 1.1]), 0.8
    low, high = windows(6000, ratio, 0.2, 0.8, c)
    first = np.argmax((low <= high) & (low > 1e-280), axis=0)
    assert np.all(first > 0)
    assert np.allclose(log_threshold_descent(ratio, 0.2, 0.8, c), np.log(high[first, [0, 1, 2]]), rtol=1e-12)


def test_threshold_far_below_the_floats():
    """x^{r−1} ~ const in flow, and log-growth rates 2 log(1 + C/2) instead of C in descent."""
    r, s, f, c = 1 + 1e-5, 0.2, 0.8, 0.5
    value = log_threshold_descent(r, s, f, c)
    assert value < -1e4
    i, j = 2 * np.log1p(c / 2), 2 * np.log1p(c / r / 2)
    # The steps from the linear range to the marks do not depend on σ0: two fractions f differ by whole steps of i.
    other = log_threshold_descent(r, s, naive_step(f, 1.0, c, 2), c)
    assert other - value == pytest.approx(-i * j / (i - j), rel=1e-3, abs=0)


@pytest.mark.parametrize("depth", [2.0, 3.0, np.inf])
def test_small_steps_follow_the_flow(depth):
    c = np.array([0.3, 0.03, 0.003])
    gap = np.abs(log_threshold_descent(2.0, 0.2, 0.8, c, depth=depth) - log_threshold(depth, 2.0, 0.2, 0.8))
    assert np.all(gap < c)  # one step moves log σ0 by at most c


def test_threshold_scales_and_broadcasts():
    grid = threshold_descent(np.array([1.5, 3.0])[:, None], 0.2, 0.8, [0.2, 0.5, 1.0], target=2.0)
    assert grid.shape == (2, 3)
    assert grid[1, 0] == pytest.approx(2 * threshold_descent(3.0, 0.2, 0.8, 0.2), rel=1e-13, abs=0)
    assert threshold_descent(np.empty(0) + 2, 0.2, 0.8, 0.5).shape == (0,)


@given(st.lists(st.floats(0.3, 3), min_size=1, max_size=4), st.floats(-2, -0.1), finite_depths, st.floats(0.2, 1))
def test_timetable_counts_steps(targets, exponent, depth, c):
    targets = np.array(targets)
    start, step = targets.min() * 10**exponent, c / targets.max() ** (2 - 2 / depth)
    assume(np.max(timetable(targets, start, depth, 0.2, 0.8).ends) < 2000 * step)
    table = timetable_descent(targets, start, depth, step, 0.2, 0.8)
    for k, target in enumerate(targets):
        path = [start]
        while path[-1] < 0.8 * target * (1 - 1e-12):
            path.append(naive_step(path[-1], target, step, depth))
        path = np.array(path)
        for fraction, column in zip((0.2, 0.5, 0.8), table, strict=True):
            assert column[k] == np.argmax(path >= fraction * target * (1 - 1e-12))


@pytest.mark.parametrize("depth", [2.0, 3.0])
def test_timetable_tends_to_that_of_flow(depth):
    targets, start = np.array([3.0, 2.0]), 0.01
    flow = np.stack(timetable(targets, start, depth))
    gaps = [np.max(np.abs(step * np.stack(timetable_descent(targets, start, depth, step)) - flow))
            for step in 2.0 ** -np.arange(6, 12)]  # fmt: skip
    slope = np.polyfit(np.arange(6, 12), np.log2(gaps), 1)[0]
    assert -1.2 < slope < -0.8


def test_timetable_of_integers():
    table = timetable_descent([1.0], 0.3, 2, 0.5, 0.1, 0.9)
    assert table.begins.tolist() == [0]
    assert table.ends.dtype.kind == "i"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: threshold_descent(2, 0.1, 0.9, 1.1), r"c must be a finite number above 0 and at most 1; got 1\.1"),
        (lambda: threshold_descent(2, 0.1, 0.9, 0.5, 0), "share must be a finite number above 0 and at most 1; got 0"),
        (lambda: threshold_descent(2, 0.1, 0.9, 0.5, depth=1.5), r"depth must be a number of at least 2; got 1\.5"),
        (lambda: threshold_descent(1, 0.1, 0.9, 0.5), "ratio must be a finite number above 1; got 1"),
        (lambda: threshold_descent(2, 0.1, 0.9, 1e-6), "step_size must be so large"),
        (lambda: threshold_descent(1 + 1e-7, 0.1, 0.9, 0.5, depth=2.01), "step_size must be so large"),
        (
            lambda: windows(-1, 2, 0.1, 0.9, 0.5),
            "steps must be a whole number of at least 0 and at most 1000000; got -1",
        ),
        (lambda: advance(0, 1, 1, 2), "sigma must be a finite number above 0; got 0"),
        (lambda: timetable_descent([1, 2], 0.1, 2, 0.6), r"step_size must be at most \(1/target\)\^\(2 − 2/depth\)"),
        (lambda: timetable_descent([1, 2], 1.5, 2, 0.1), r"start must be below its target; got 1\.5 and 1"),
        (lambda: timetable_descent([1, 2], 0.1, 1.5, 0.1), r"depth must be a number of at least 2; got 1\.5"),
        (lambda: timetable_descent([1, 2], 1e-20, 4, 0.1), "step_size must be so large"),
    ],
)
def test_bad_arguments_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_descent_at_greater_depth_is_easier():
    value = [float(threshold_descent(2.0, 0.2, 0.8, 0.5, depth=depth)) for depth in (2, 3, 5, np.inf)]
    assert np.all(np.diff(value) > 0)
    assert value[-1] == pytest.approx(threshold(np.inf, 2.0, 0.2, 0.8), rel=0.05, abs=0)


def test_a_level_at_which_a_mode_starts_is_passed_at_step_zero():
    table = timetable_descent([1.0, 4.0], [0.5, 1.0], 2, 0.2, 0.25, 0.5)
    assert table.begins.tolist() == [0, 0]
    assert table.ends[0] == 0
    assert table.ends[1] > 0


def test_a_step_that_ends_at_zero_is_refused():
    for push in (-2.0, -2.5):
        with pytest.raises(ValueError, match="stays positive"):
            advance(1 - push, 1.0, 1.0, 2.0)
    assert advance(2.9, 1.0, 1.0, 2.0) == pytest.approx(2.9 * 0.05**2)


@pytest.mark.parametrize("s", [1e-20, 1e-17, 0.2])
def test_a_mode_may_be_far_below_the_other_before_its_law_is_linear(s):
    """The end of the first window that is not empty, step by step, also where one mode starts below rounding."""
    low, high = windows(300, 3.0, s, 0.9, 0.5)
    first = int(np.argmax(low <= high))
    assert first > 0
    assert log_threshold_descent(3.0, s, 0.9, 0.5) == pytest.approx(np.log(high[first]), rel=1e-12, abs=0)


@pytest.mark.parametrize("depth", [2.0, 3.0, np.inf])
@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_counts_of_steps_do_not_depend_on_units(depth, scale):
    """σ ↦ cσ, σ* ↦ cσ* and η ↦ η c^{2/N − 2} take the same steps, also where a step is a billion units of time."""
    targets, step = np.array([2.0, 1.0]), 0.1
    plain = timetable_descent(targets, 0.013, depth, step)
    scaled = timetable_descent(scale * targets, scale * 0.013, depth, step * scale ** (2 / depth - 2))
    for one, other in zip(plain, scaled, strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.min(plain.ends) > 10


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_a_million_steps_are_counted_and_no_more(scale):
    """At depth 2 the flow takes log(9 · 9)/σ* from a tenth of the target to nine tenths."""
    step = np.log(81) / 1.001e6 / scale
    with pytest.raises(ValueError, match="step_size must be so large"):
        timetable_descent([scale], 0.1 * scale, 2.0, step, 0.2, 0.9)
    with pytest.raises(ValueError, match="step_size must be so large"):  # beside a mode that is there from the start
        timetable_descent([scale, 0.105 * scale], 0.1 * scale, 2.0, step, 0.2, 0.9)


@pytest.mark.parametrize("depth", [2.0, 2.5, 4.0, np.inf])
@pytest.mark.parametrize("C", [1e-3, 0.3, 0.9, 1.0])
def test_a_step_back_is_undone_by_a_step_however_near_the_target(depth, C):
    """To full relative precision of what is left, −log(σ/σ*), as far as the step's own slope does not blur it."""
    given = -np.array([1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 5.0, 30.0, 200.0])
    settings = np.full(given.size, C), np.full(given.size, depth)
    back = phase_descent._backward(given, *settings)
    assert np.all((given - C <= back) & (back < given) | (np.abs(back - given) <= 1e-15 * np.abs(given)))
    forth = back + phase_descent._gain(back, *settings)
    np.testing.assert_allclose(forth, given, rtol=1e-13, atol=1e-15 * np.abs(back).max() if C == 1 else 0)


@pytest.mark.parametrize(("s", "depth"), [(1e-12, np.inf), (1e-20, 3.0), (1e-9, 8.0)])
def test_deep_modes_that_begin_far_below_their_level_take_too_many_steps(s, depth):
    """The time grows as s^{2/N − 1}, whatever the step."""
    with pytest.raises(ValueError, match="step_size must be so large"):
        threshold_descent(2.0, s, 0.9, 1.0, depth=depth)
