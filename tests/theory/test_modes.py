"""The exact modes against the printed formulae, quadrature, an ODE solver, and their own symmetries."""

import tracemalloc
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
import xarray as xr
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import quad, solve_ivp
from scipy.special import hyp2f1

from lineament.theory.modes import residual, time_to, trajectory

DEPTHS = [1.0, 1.3, 1.999999, 2.0, 2.000001, 2.5, 3.0, 3.5, 7.0, 100.0, 1e6, np.inf]
RATIOS = [1e-12, 1e-6, 1e-3, 0.13, 0.14, 0.6, 1 - 1e-9, 1 + 1e-9, 1.7, 7.0, 8.0, 10.0]
EPS = np.finfo(float).eps

depths = st.one_of(st.sampled_from(DEPTHS), st.floats(1, 20))
log_ratios = st.floats(-12, 1)
targets = st.floats(-2, 2).map(lambda e: 10**e)
fractions = st.floats(1e-6, 1 - 1e-6)


def exponent(depth):
    return 2 - 2 / depth


def speed(sigma, target, depth):
    return sigma ** exponent(depth) * (target - sigma)


def condition(t, sigma, target, depth):
    """Relative change of σ per relative change of t, which float64 times cannot beat, plus one for σ."""
    return 1 + np.abs(t * speed(sigma, target, depth) / sigma)


def between(start, target, fraction):
    """A value on the way: the fraction is of log σ."""
    return start * (target / start) ** fraction


def naive_time(value, target, start, depth):
    """The integral of eq. 4 in the logit coordinate y, where dt = σ^{1−p} dy/σ*, by adaptive quadrature."""

    def logit(sigma):
        return np.log(sigma / abs(target - sigma))

    def integrand(y):
        sigma = target / (1 + np.exp(-y)) if start < target else target / (1 - np.exp(-y))
        return sigma ** (1 - exponent(depth)) / target

    a, b = logit(start), logit(value)
    edges = np.linspace(a, b, 2 + int(abs(b - a)))
    return sum(quad(integrand, *ab, epsabs=0, epsrel=1e-13)[0] for ab in pairwise(edges))


@pytest.mark.parametrize("depth", DEPTHS)
def test_time_is_the_integral_of_the_inverse_speed(depth):
    for ratio in [1e-12, 1e-6, 1e-3, 0.13, 0.14, 0.6, 1.7, 7.0, 8.0, 10.0]:
        for fraction in [0.01, 0.3, 0.7, 0.95, 0.999]:
            start, target = 3.0 * ratio, 3.0
            value = between(start, target, fraction)
            expected = naive_time(value, target, start, depth)
            assert time_to(value, target, start, depth) == pytest.approx(expected, rel=2e-13, abs=0)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("ratio", [1e-12, 1e-4, 0.5, 10.0])
def test_trajectory_follows_an_ode_solver(depth, ratio):
    target = 1.7
    start = ratio * target
    values = between(start, target, np.array([0.02, 0.2, 0.5, 0.8, 0.93, 0.98, 0.999]))
    times = time_to(values, target, start, depth)
    flow = solve_ivp(
        lambda _, log: speed(np.exp(log), target, depth) / np.exp(log),
        (0.0, times[-1]),
        [np.log(start)],
        method="DOP853",
        rtol=3e-14,
        atol=1e-14,
        t_eval=times,
        first_step=1e-3 * start / abs(speed(start, target, depth)),
    )
    expected = np.exp(flow.y[0])
    kappa = condition(times, values, target, depth)
    error = np.abs(trajectory(times, target, start, depth) / expected - 1)
    assert np.all(error <= 1e-11 * kappa)


def test_depth_one_and_two_as_printed():
    t, target, start = np.linspace(0, 5, 40)[:, None], np.array([0.3, 2.0, 6.0]), np.array([1e-3, 4.0, 0.5])
    one = target + (start - target) * np.exp(-t)
    two = start * target * np.exp(target * t) / (start * (np.exp(target * t) - 1) + target)
    for depth, printed in [(1, one), (2, two)]:
        np.testing.assert_allclose(trajectory(t, target, start, depth), printed, rtol=1e-12)
        back = time_to(printed, target, start, depth)
        np.testing.assert_allclose(back[1:20], np.tile(t[1:20], 3), rtol=1e-9)


@given(log_ratios, targets, fractions)
def test_infinite_depth_as_printed(log_ratio, target, fraction):
    assume(abs(log_ratio) > 0.1)
    start = target * 10**log_ratio
    sigma = between(start, target, fraction)
    assume(abs(sigma / target - 1) > 1e-3)  # the printed form cancels closer to the target ...
    assume(abs(sigma / start - 1) > 1e-3)  # ... and to the start
    ratio = sigma * (target - start) / (start * (target - sigma))
    printed = np.log(ratio) / target**2 + (1 / start - 1 / sigma) / target
    assert time_to(sigma, target, start, np.inf) == pytest.approx(printed, rel=1e-10, abs=0)


@pytest.mark.parametrize("depth", [1.3, 2.5, 3.0, 3.5, 7.0])
def test_general_depth_is_a_hypergeometric_function(depth):
    q = 1 - 2 / depth

    def primitive(x):
        return -(x**-q) / q * hyp2f1(1, -q, 1 - q, x)

    x0, x, target = 1e-4, np.array([1e-3, 0.1, 0.5, 0.8]), 2.5
    expected = (primitive(x) - primitive(x0)) / target ** exponent(depth)
    np.testing.assert_allclose(time_to(x * target, target, x0 * target, depth), expected, rtol=1e-11)


@given(depths, log_ratios, targets, fractions)
def test_round_trip(depth, log_ratio, target, fraction):
    start = target * 10**log_ratio
    value = between(start, target, fraction)
    assume(min(start, target) < value < max(start, target))
    t = time_to(value, target, start, depth)
    kappa = condition(t, value, target, depth)
    assert abs(trajectory(t, target, start, depth) / value - 1) <= 1e-13 * kappa


@given(depths, log_ratios, targets, st.floats(-4, 3))
def test_every_time_is_recovered(depth, log_ratio, target, log_share):
    """The backward error is a few units in the last place, however ill conditioned the forward one."""
    start = target * 10**log_ratio
    t = 10**log_share / (start ** (exponent(depth) - 1) * max(start, target))
    sigma = trajectory(t, target, start, depth)
    assume(min(abs(sigma / target - 1), abs(sigma / start - 1)) > 1e-3)
    assert time_to(sigma, target, start, depth) == pytest.approx(t, rel=1e-12, abs=0)


@given(depths, log_ratios, targets, fractions, fractions)
def test_semigroup(depth, log_ratio, target, first, second):
    start = target * 10**log_ratio
    way = between(start, target, first)
    assume(min(start, target) < way < max(start, target))
    t = time_to(way, target, start, depth)
    s = second * 5 / (way ** (exponent(depth) - 1) * target)
    direct = trajectory(t + s, target, start, depth)
    in_two = trajectory(s, target, trajectory(t, target, start, depth), depth)
    kappa = condition(t + s, direct, target, depth)
    assert abs(in_two / direct - 1) <= 1e-12 * kappa


@given(depths, log_ratios, targets, st.floats(0, 20), st.floats(-2, 2))
def test_scaling_symmetry(depth, log_ratio, target, t, log_scale):
    """σ ↦ cσ, σ* ↦ cσ*, t ↦ c^{−p} t maps solutions to solutions."""
    scale, start = 10**log_scale, target * 10**log_ratio
    plain = trajectory(t, target, start, depth)
    scaled = trajectory(t * scale ** -exponent(depth), scale * target, scale * start, depth)
    assert abs(scaled / (scale * plain) - 1) <= 1e-12 * condition(t, plain, target, depth)


@given(depths, log_ratios, targets)
def test_monotone_and_confined(depth, log_ratio, target):
    start = target * 10**log_ratio
    assume(abs(start / target - 1) > 1e-9)  # room for a grid in between
    grid = between(start, target, np.linspace(0.01, 0.99, 60))
    on_the_way = time_to(grid, target, start, depth)
    early = on_the_way[0] * np.geomspace(1e-18, 0.1, 60)
    t = np.sort(np.concatenate([[0.0, np.inf], early, on_the_way * 1.003]))
    sigma, left = trajectory(t, target, start, depth), residual(t, target, start, depth)
    assert sigma[0] == start
    assert sigma[-1] == target
    toward = np.sign(target - start)
    assert np.all(toward * np.diff(sigma) >= -4 * EPS * sigma[1:])
    assert np.all(np.diff(np.abs(left)) <= 4 * EPS * np.abs(left[:-1]))
    assert np.all((sigma - min(start, target)) * (max(start, target) - sigma) >= 0)


@pytest.mark.parametrize("depth", DEPTHS)
def test_rounding_does_not_pass_the_start_or_the_target(depth):
    start = np.linspace(0.05, 10, 400)
    for t in [1e-300, 1e-20, 1e-16, 300.0, 1e3, 1e300]:
        sigma = trajectory(t, 1.1, start, depth)
        assert np.all((np.minimum(start, 1.1) <= sigma) & (sigma <= np.maximum(start, 1.1)))
        np.testing.assert_allclose(sigma, start if t < 1 else 1.1, rtol=1e-11)


@pytest.mark.parametrize("depth", DEPTHS)
def test_late_residual_decays_at_the_final_rate(depth):
    """Once σ ≈ σ*, residual(t + s) = residual(t) e^{−σ*^p s}, down to the smallest floats."""
    target = 1.9
    rate = target ** exponent(depth)
    for start in [1e-2, 1.0, 1.8, 2.0, 15.0]:
        t = (np.array([40.0, 100.0, 400.0]) + np.log(target / start) ** 2) / rate + time_to(
            (start + 9 * target) / 10, target, start, depth
        )
        late = residual(t, target, start, depth)
        assert np.all(np.abs(late) < 1e-15)
        np.testing.assert_allclose(np.diff(np.log(np.abs(late))), -rate * np.diff(t), rtol=1e-12)
        assert np.all(np.sign(late) == np.sign(target - start))


@given(depths, log_ratios, targets, st.floats(1e-15, 1e-3))
def test_residual_is_relatively_exact(depth, log_ratio, target, relative):
    """The residual at the time of a value close to the target is the target minus that value."""
    start = target * 10**log_ratio
    assume(abs(log_ratio) > 0.01)
    value = target * (1 - relative) if start < target else target * (1 + relative)
    t = time_to(value, target, start, depth)
    rounding = EPS * t * target ** exponent(depth)  # of t, in units of the final rate
    assert residual(t, target, start, depth) == pytest.approx(target - value, rel=1e-12 + 8 * rounding, abs=0)


@pytest.mark.parametrize("depth", DEPTHS)
def test_sum_of_value_and_residual(depth):
    t = np.geomspace(1e-3, 1e3, 50)[:, None]
    target, start = 1.3, np.array(RATIOS) * 1.3
    total = trajectory(t, target, start, depth) + residual(t, target, start, depth)
    np.testing.assert_allclose(total, target, rtol=3e-13)


@pytest.mark.parametrize("limit", [1.0, 2.0, np.inf])
def test_continuous_in_depth(limit):
    """The error shrinks in proportion to the distance from the special depth, on both sides of two."""
    t, ratios = np.geomspace(1e-2, 30, 25)[:, None], np.array([1e-3, 0.1, 0.5, 3.0, 10.0])
    steps = np.array([1e-3, 1e-5, 1e-7])
    exact = trajectory(t, 1.5, 1.5 * ratios, limit)
    for side in [1, -1] if limit == 2 else [1]:
        close = 1 / steps if limit == np.inf else limit + side * steps
        near = [trajectory(t, 1.5, 1.5 * ratios, depth) for depth in close]
        gaps = np.array([np.max(np.abs(n / exact - 1)) for n in near])
        slopes = np.diff(np.log(gaps)) / np.diff(np.log(steps))
        np.testing.assert_allclose(slopes, 1, atol=0.02)


@pytest.mark.parametrize("depth", DEPTHS)
def test_limits(depth):
    starts = np.array([1e-300, 1e-12, 0.5, 2.0, 3.0, 20.0])
    assert np.array_equal(trajectory(0.0, 2.0, starts, depth), starts)
    assert np.array_equal(trajectory(np.inf, 2.0, starts, depth), np.full(6, 2.0))
    assert np.array_equal(residual(0.0, 2.0, starts, depth), 2.0 - starts)
    assert np.array_equal(residual(np.inf, 2.0, starts, depth), np.zeros(6))
    assert np.array_equal(trajectory([0, 1e-9, 1, 1e9], 2.0, 2.0, depth), [2.0] * 4)
    assert np.all(time_to(starts, 2.0, starts, depth) == 0)
    assert np.all(np.isposinf(time_to(2.0, 2.0, starts[starts != 2], depth)))
    assert trajectory(1e-200, 2.0, 0.5, depth) == 0.5
    assert residual(1e300, 2e20, 0.5, depth) == 0


@pytest.mark.parametrize("depth", DEPTHS)
def test_target_zero(depth):
    """σ̇ = −σ^{p+1}: exponential decay at depth one, a power law otherwise."""
    p, start, t = exponent(depth), 0.7, np.array([0.0, 1e-6, 0.3, 10.0, 1e8])
    expected = start * np.exp(-t) if depth == 1 else (start**-p + p * t) ** (-1 / p)
    sigma = trajectory(t, 0.0, start, depth)
    np.testing.assert_allclose(sigma, expected, rtol=1e-14)
    np.testing.assert_allclose(residual(t, 0.0, start, depth), -sigma, rtol=0)
    kept = sigma > 0
    np.testing.assert_allclose(time_to(sigma[kept], 0.0, start, depth)[1:], t[kept][1:], rtol=1e-9)
    assert trajectory(np.inf, 0.0, start, depth) == 0
    if depth >= 2:
        assert trajectory(1e300, 0.0, 1e20, depth) == pytest.approx((p * 1e300) ** (-1 / p), rel=1e-12, abs=0)
    assert time_to(0.0, 0.0, start, depth) == np.inf
    assert trajectory(5.0, 0.0, 0.0, depth) == 0
    assert np.isnan(time_to(0.8, 0.0, start, depth))


@pytest.mark.parametrize("depth", DEPTHS)
def test_small_targets_tend_to_target_zero(depth):
    t = np.array([0.01, 1.0, 30.0])
    small = trajectory(t, 1e-40, 0.7, depth)
    np.testing.assert_allclose(small, trajectory(t, 0.0, 0.7, depth), rtol=1e-13)


@pytest.mark.parametrize("depth", [2.0, 2.000001, 3.0, np.inf])
def test_zero_is_a_fixed_point_at_depth_two_and_more(depth):
    assert np.all(trajectory([0.0, 1.0, 1e9, np.inf], 2.0, 0.0, depth) == 0)
    assert np.all(residual([0.0, 1.0, 1e9, np.inf], 2.0, 0.0, depth) == 2)
    assert time_to(0.0, 2.0, 0.0, depth) == 0
    assert np.all(np.isnan(time_to([1e-9, 1.0, 2.0, 3.0], 2.0, 0.0, depth)))


@pytest.mark.parametrize("depth", [1.0, 1.0001, 1.3, 1.5, 1.9])
def test_zero_is_left_below_depth_two(depth):
    """The solution from zero is the limit of those from small starts, and solves the equation."""
    target, t = 2.0, np.array([1e-12, 1e-3, 0.1, 1.0, 5.0])
    left = trajectory(t, target, 0.0, depth)
    assert np.all(np.diff(left) > 0)
    assert left[0] > 0
    # The delay between start s and start 0 is the time s^{1−p}/((1−p)σ*) of the power law.
    start = 1e-30
    delay = start ** (1 - exponent(depth)) / ((1 - exponent(depth)) * target)
    later = t[t > 2 * delay]
    assert later.size > 0
    np.testing.assert_allclose(
        trajectory(later - delay, target, start, depth), trajectory(later, target, 0.0, depth), rtol=1e-11
    )
    np.testing.assert_allclose(time_to(left, target, 0.0, depth), t, rtol=1e-12)
    assert trajectory(np.inf, target, 0.0, depth) == target
    assert time_to(target, target, 0.0, depth) == np.inf
    assert time_to(0.0, target, 0.0, depth) == 0
    assert trajectory(0.0, target, 0.0, depth) == 0


@pytest.mark.parametrize("target", [1e-12, 0.3, 1.0, 7.0, 1e12])
def test_zero_is_left_alike_for_targets_of_every_size(target):
    """In units of the target, time is that of target 1 divided by σ*^{2 − 2/N}; at depth 1 it is −log(1 − σ/σ*)."""
    share = np.array([1e-20, 1e-9, 0.01, 0.5, 0.999])
    np.testing.assert_allclose(time_to(share * target, target, 0.0, 1.0), -np.log1p(-share), rtol=1e-12)
    for depth in (1.0, 1.3, 1.9):
        t = time_to(share * target, target, 0.0, depth)
        np.testing.assert_allclose(t * target ** exponent(depth), time_to(share, 1.0, 0.0, depth), rtol=1e-11)
        np.testing.assert_allclose(trajectory(t, target, 0.0, depth), share * target, rtol=1e-9)


def test_values_never_visited():
    assert np.all(np.isnan(time_to([0.4, 2.1, 0.0], 2.0, 0.5, 3.5)))
    assert np.all(np.isnan(time_to([1.9, 3.1, 0.0], 2.0, 3.0, 3.5)))
    assert np.isnan(time_to(1.0, 2.0, 2.0, 3.5))
    assert time_to(2.0, 2.0, 2.0, 3.5) == 0


@pytest.mark.parametrize("depth", DEPTHS)
def test_extreme_starts(depth):
    """From 1e-300 the time of the half-rise is finite, and σ a thousandth before and after it is monotone."""
    half = time_to(0.5, 1.0, 1e-300, depth)
    assert 0 < half < np.inf
    sigma = trajectory(half * np.array([1e-6, 0.5, 1 - 1e-3, 1 + 1e-3, 2, 1e3]), 1.0, 1e-300, depth)
    assert np.all(np.isfinite(sigma))
    assert np.all(np.diff(sigma) >= 0)
    assert sigma[2] < 0.5 < sigma[3]


@pytest.mark.parametrize("depth", [2.5, 3.0, 7.0, 100.0, np.inf])
@pytest.mark.parametrize("start", [1e-300, 1e-100, 1e-12, 1e-3])
def test_leaving_a_plateau_one_float_at_a_time(depth, start):
    """Where neighbouring float64 times are far apart in σ, it still rises steadily and at the right time."""
    half = time_to(0.5, 1.0, start, depth)
    t = half + np.spacing(half) * np.arange(-300, 300)
    sigma = trajectory(t, 1.0, start, depth)
    assert np.all(np.diff(sigma) >= -4 * EPS * sigma[1:])
    inside = (sigma > 1.001 * start) & (sigma < 0.999)
    np.testing.assert_allclose(time_to(sigma[inside], 1.0, start, depth), t[inside], rtol=3e-15)
    if start >= 1e-12:
        assert np.any(inside)


def test_broadcasting_and_scalars():
    t, target, start, depth = (
        np.linspace(0, 9, 5)[:, None, None, None],
        np.array([12.0, 6.0, 0.0])[:, None, None],
        np.array([0.1, 0.0])[:, None],
        np.array([1, 2, 3, np.inf]),
    )
    everything = trajectory(t, target, start, depth)
    assert everything.shape == (5, 3, 2, 4)
    for i in np.ndindex(everything.shape):
        one = trajectory(t[i[0], 0, 0, 0], target[i[1], 0, 0], start[i[2], 0], depth[i[3]])
        assert isinstance(one, np.float64)
        assert one == pytest.approx(everything[i], rel=1e-14, abs=0)
    assert trajectory([], 1, 0.1, 3).shape == (0,)
    assert time_to(np.ones((2, 1)), 2, [0.1, 0.2, 0.3], 3).shape == (2, 3)
    assert trajectory(np.arange(3), 2, 1, 3).dtype == np.float64


def test_chunks_leave_no_seams():
    t = np.linspace(0, 40, 30_001)
    many = trajectory(t, 1.0, 1e-3, 3.5)
    few = np.concatenate([trajectory(part, 1.0, 1e-3, 3.5) for part in np.array_split(t, 7)])
    np.testing.assert_allclose(many, few, rtol=1e-13)


def test_labelled_times():
    run = xr.DataArray(np.linspace(0, 3, 7), dims="time")
    plain = trajectory(run.values[:, None], [3.0, 1.0], 1e-3, 3)
    assert np.array_equal(trajectory(run, 3.0, 1e-3, 3), plain[:, 0])


def test_many_evaluations_are_small():
    """How quick they are is measured by `make bench`, case `modes`."""
    t = np.linspace(0, 60, 300_000)
    tracemalloc.start()
    trajectory(t[None, :], np.array([1.0, 2.0])[:, None], 1e-3, 3.5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 600_000 * 8 + 8e6  # the answer, and a fixed amount on top


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"t": -1.0}, "t must be a number of at least 0; got -1"),
        ({"t": np.nan}, "t must be a number of at least 0; got nan"),
        ({"target": -0.1}, r"target must be a finite number of at least 0; got -0\.1"),
        ({"target": np.inf}, "target must be a finite number of at least 0; got inf"),
        ({"start": [0.1, -2.0]}, r"start must be finite numbers of at least 0; got -2 at entry \(1,\)"),
        ({"start": np.nan}, "start must be a finite number of at least 0; got nan"),
        ({"depth": 0.5}, r"depth must be a number of at least 1; got 0\.5"),
        ({"depth": np.nan}, "depth must be a number of at least 1; got nan"),
        ({"t": np.ones(3), "start": np.ones(2)}, "t, target, start, depth must be of shapes that broadcast"),
        ({"start": 1e-310}, "start and target must be such that start/target lies between 1e-304 and 1e1"),
        (
            {"start": 1e160, "depth": np.inf},
            "start and target must be such that start/target lies between 1e-304 and 1e1",
        ),
        ({"start": 1e160, "target": 0.0, "depth": np.inf}, r"start 1e\+160 and target 0 at depth inf"),
    ],
)
def test_bad_input_is_refused(changed, message):
    arguments = {"t": 1.0, "target": 1.0, "start": 0.1, "depth": 3.0} | changed
    for function in (trajectory, residual):
        with pytest.raises(ValueError, match=message):
            function(**arguments)


@pytest.mark.parametrize("value", [-1.0, np.inf, np.nan])
def test_bad_value_is_refused(value):
    with pytest.raises(ValueError, match="value must be"):
        time_to(value, 1.0, 0.1, 3)


@pytest.mark.parametrize("depth", [1.5, 2.0, 3.0, 10.0, np.inf])
def test_a_start_so_large_that_its_decay_forgets_it(depth):
    """σ̇ = −σ^{3−2/N}: after a time at which σ0^{−p} is nothing beside pt, σ = (pt)^{−1/p} with p = 2 − 2/N."""
    p = 2 - 2 / depth
    for t in (1.0, 1e150, 1e300):
        expected = float((mp.mpf("1e150") ** -mp.mpf(p) + mp.mpf(p) * mp.mpf(t)) ** (-1 / mp.mpf(p)))
        assert trajectory(t, 0.0, 1e150, depth) == pytest.approx(expected, rel=1e-13, abs=0)
        assert residual(t, 0.0, 1e150, depth) == pytest.approx(-expected, rel=1e-13, abs=0)
