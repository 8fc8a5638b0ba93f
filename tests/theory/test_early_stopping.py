"""Expected test error against simulated descent over noise, and the best time against calculus and search."""

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lineament.theory import early_stopping as theory


def some_task(seed=0, q=4, outputs=2, noise=0.5):
    rng = np.random.default_rng(seed)
    d = np.sort(10.0 ** rng.uniform(-1, 2, q))[::-1]
    truth, start = rng.standard_normal((2, outputs, q))
    half = rng.standard_normal((q, q))
    return theory.task(d, truth, 0.1 * start, half @ half.T / q, noise), truth, 0.1 * start


def test_expected_error_is_that_of_descent_over_draws_of_the_noise():
    task, truth, start = some_task()
    rng = np.random.default_rng(1)
    n, steps, draws = 6, 12, 20_000
    # Training inputs whose second moment is exactly diag(d).
    X = np.sqrt(task.d)[:, None] * np.linalg.qr(rng.standard_normal((n, 4)))[0].T
    noise = np.sqrt(task.noise) * rng.standard_normal((draws, 2, n))
    syx = (truth @ X + noise) @ X.T
    step = 0.9 / task.d.max()
    W = np.broadcast_to(start, (draws, 2, 4))
    errors = []
    for _ in range(steps + 1):
        gap = W - truth
        errors.append(np.einsum("noi,ij,noj->n", gap, task.gamma, gap))
        W = W - step * (W * task.d - syx)
    found = theory.expected_error(np.arange(steps + 1), task, theory.descent_rates(task.d, step))
    errors = np.array(errors)
    np.testing.assert_array_less(np.abs(errors.mean(1) - found), 5 * errors.std(1) / np.sqrt(draws) + 1e-9)


def test_the_ends_of_training():
    task, truth, start = some_task()
    rates = theory.flow_rates(task.d, 3.0)
    first, last = theory.expected_error([0.0, np.inf], task, rates)
    assert first == pytest.approx(np.trace((start - truth) @ task.gamma @ (start - truth).T))
    assert last == pytest.approx(2 * 0.5 * np.sum(np.diagonal(task.gamma) / task.d))
    # Directions the data lack stay as they were.
    lacking = theory.task([1.0, 0.0], [[1.0, 2.0]], [[0.0, 0.0]], [1.0, 3.0], 0.1)
    assert theory.expected_error([np.inf], lacking, [1.0, 0.0])[0] == pytest.approx(3 * 4 + 0.1)


@example(-1.6, -2.2, 0.5)  # a signal of 5e-5 of the noise: best after as little
@example(-3.0, -3.0, 1.0)
@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 1))
def test_the_best_time_of_one_component(log_d, log_signal, log_noise):
    """One mode of gap Δ and noise v = σ²/d is best at κ = v/(Δ² + v)."""
    d, signal, noise = 10.0**log_d, 10.0**log_signal, 10.0**log_noise
    task = theory.task([d], [[np.sqrt(signal)]], [[0.0]], [2.0], noise)
    v = noise / d
    found = theory.best_stopping(task, theory.flow_rates([d]))
    kappa = v / (signal + v)
    assert found.time * d == pytest.approx(-np.log(kappa), rel=1e-4, abs=1e-6)
    assert found.error == pytest.approx(2 * signal * v / (signal + v), rel=1e-9, abs=0)
    assert found.final == pytest.approx(2 * v)
    assert found.gain == pytest.approx(v / (signal + v), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_no_time_is_better_than_the_best(seed):
    task, _, _ = some_task(seed, q=6, noise=0.3)
    rates = theory.descent_rates(task.d, 0.5 / task.d.max())
    found = theory.best_stopping(task, rates)
    times = np.concatenate([[0], np.geomspace(1e-5, 1e6, 20_000)])
    errors = theory.expected_error(times, task, rates)
    assert found.error <= errors.min() * (1 + 1e-9)
    assert theory.expected_error([found.time], task, rates)[0] == pytest.approx(found.error)


def test_without_noise_never_stop_and_without_signal_never_start():
    clean = theory.task([3.0, 1.0], [[1.0, 1.0]], [[0.0, 0.0]], [1.0, 1.0], 0.0)
    assert theory.best_stopping(clean, theory.flow_rates(clean.d)).time == np.inf
    hopeless = theory.task([3.0, 1.0], [[0.0, 0.0]], [[0.0, 0.0]], [1.0, 1.0], 1.0)
    found = theory.best_stopping(hopeless, theory.flow_rates(hopeless.d))
    assert (found.time, found.error, found.gain) == (0.0, 0.0, 1.0)
    still = theory.task([0.0], [[1.0]], [[0.0]], [1.0], 1.0)
    assert theory.best_stopping(still, [0.0]) == theory.Stopping(0.0, 1.0, 1.0)


def test_a_budget_ends_training():
    task, _, _ = some_task(noise=0.3)
    rates = theory.flow_rates(task.d)
    free = theory.best_stopping(task, rates)
    for end in (free.time / 100, free.time / 2, free.time * 2, free.time * 1e9):
        found = theory.best_stopping(task, rates, end)
        assert found.final == pytest.approx(theory.expected_error([end], task, rates)[0])
        assert found.time <= end
        if end > free.time:
            assert found.error == pytest.approx(free.error)
    short = theory.best_stopping(task, rates, 1e-9 / task.d.max())
    assert short.time in (0.0, 1e-9 / task.d.max())


@pytest.mark.parametrize("share", [1.0001, 1.003, 1.01, 1.03, 1.1])
@pytest.mark.parametrize("seed", range(4))
def test_a_minimum_just_before_the_end_of_the_budget_is_found(seed, share):
    task, *_ = some_task(seed, noise=5.0)
    rates = theory.flow_rates(task.d)
    free = theory.best_stopping(task, rates)
    assert 0 < free.time < np.inf
    found = theory.best_stopping(task, rates, share * free.time)
    assert found.time == pytest.approx(free.time, rel=1e-4)
    assert found.error == pytest.approx(free.error, rel=1e-12)
    assert found.gain > 0


def test_amplified_low_components_make_stopping_gain_more_within_a_budget_only():
    """§6.1. Signal in the high components; the low ones, too slow for the budget, enter only when amplified."""
    d = 10.0 ** -np.arange(6.0) * 1e3
    truth = np.sqrt(d / 1e3)[None, :]

    def gain(factor, end):
        # Amplified components: data × factor, so d × factor², truth / factor, test variance × factor².
        f = np.where(np.arange(6) >= 4, factor, 1.0)
        task = theory.task(d * f**2, truth / f, np.zeros((1, 6)), d / 1e3 * f**2, 10.0)
        return theory.best_stopping(task, theory.descent_rates(task.d, 1e-6), end).gain

    # Steps of one size for all, as when only the data change.
    assert gain(10.0, 1e6) > gain(1.0, 1e6)
    assert gain(10.0, np.inf) < gain(1.0, np.inf)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: theory.task([1.0], [[1.0, 2.0]], [[1.0, 2.0]], [1.0, 1.0], 0.1),
            r"d must be a vector of 2 number\(s\); got shape \(1,\)",
        ),
        (
            lambda: theory.task([1.0], [[1.0]], [[1.0, 2.0]], [1.0], 0.1),
            r"start must be of shape \(1, 1\); got \(1, 2\)",
        ),
        (
            lambda: theory.task([1.0], [[1.0]], [[1.0]], [1.0, 2.0], 0.1),
            r"gamma must be of shape \(1, 1\); got \(2, 2\)",
        ),
        (
            lambda: theory.task([1.0], [[1.0]], [[1.0]], [1.0], -0.1),
            r"noise must be a finite number of at least 0; got -0\.1",
        ),
        (lambda: theory.best_stopping(some_task()[0], np.ones(4), 0.0), "end must be a number above 0; got 0"),
        (
            lambda: theory.descent_rates([1.0, 2.0], 0.6),
            r"step_size must be below 1/\(scale × d\) for every d; got 1\.2 times that",
        ),
        (lambda: theory.descent_rates([0.5, 1.0], 1.0), "step_size must be below"),
        (lambda: theory.expected_error([1], ("no", "task"), np.ones(4)), "task must be"),
        (lambda: theory.best_stopping(None, np.ones(4)), "task must be"),
        (lambda: theory.expected_error([-1], some_task()[0], np.ones(4)), "times must be"),
        (
            lambda: theory.expected_error([1], some_task()[0], np.ones(3)),
            r"rates must be a vector of 4 number\(s\); got shape \(3,\)",
        ),
    ],
)
def test_what_is_wrong_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_nothing_is_gained_where_nothing_is_left():
    assert theory.Stopping(3.0, 0.0, 0.0).gain == 0.0
    assert theory.Stopping(3.0, 1.0, 4.0).gain == 0.75


@pytest.mark.parametrize("seed", range(8))
def test_at_the_best_time_the_error_is_level(seed):
    """Its derivative, by a central difference, is zero beside its curvature: also where there are several minima."""
    task, _, _ = some_task(seed, q=5, noise=0.4)
    rates = theory.flow_rates(task.d)
    found = theory.best_stopping(task, rates)
    if not 0 < found.time < np.inf:
        return
    for share in (1e-3, 1e-2):
        before, at, after = theory.expected_error(found.time * np.exp([-share, 0.0, share]), task, rates)
        assert min(before, after) >= at * (1 - 1e-14)
        assert abs(after - before) <= 0.1 * share**0.5 * (before + after - 2 * at) + 1e-13 * at


@pytest.mark.parametrize("fast", [1e4, 1e16])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6, 3.0])
def test_the_deeper_of_two_minima_is_found_to_its_bottom(share, fast):
    """A fast component with as much noise as signal, and a slow one of hardly any noise: stop at one or the other."""
    task = theory.task([fast, 1.0], [[1.0, np.sqrt(300 * fast)]], [[0.0, 0.0]], [1.0, share / (300 * fast)], fast)
    found = theory.best_stopping(task, task.d)
    early = share < 0.5  # the fast one loses ½ by going on, the slow one gains its share
    assert found.time == pytest.approx(np.log(2) / fast, rel=0.01, abs=0) if early else found.time > 1
    before, at, after = theory.expected_error(found.time * np.exp([-1e-3, 0.0, 1e-3]), task, task.d)
    assert abs(after - before) <= 0.01 * (before + after - 2 * at)
    assert before + after > 2 * at


@pytest.mark.parametrize("speed", [1e-100, 1e-9, 1e9, 1e100])
def test_the_best_time_is_in_units_of_the_rates(speed):
    for seed in range(3):
        task, _, _ = some_task(seed, noise=0.3)
        plain, fast = (theory.best_stopping(task, factor * task.d) for factor in (1.0, speed))
        assert 0 < plain.time < np.inf
        assert fast.time * speed == pytest.approx(plain.time, rel=1e-5, abs=0)
        assert fast[1:] == pytest.approx(plain[1:], rel=1e-9, abs=0)
        for share in (0.9, 0.97, 0.99, 0.999):  # a budget just short of it is used up
            assert theory.best_stopping(task, speed * task.d, share * fast.time).time <= share * fast.time
        for share in (1.04, 1.06, 1.09, 1.2):  # one beyond it by a step of the grid does no harm
            found = theory.best_stopping(task, speed * task.d, share * fast.time)
            assert found.time * speed == pytest.approx(plain.time, rel=1e-5, abs=0)


@pytest.mark.parametrize("share", [1.0, 3.0, 30.0])
def test_a_signal_that_is_next_to_nothing_beside_the_noise(share):
    """The best time is then the signal's share of the noise, in units of the rate."""
    task = theory.task([2.0], [[np.sqrt(share * 1e-12)]], [[0.0]], [1.0], 2.0)
    found = theory.best_stopping(task, [2.0])
    assert 2 * found.time == pytest.approx(share * 1e-12, rel=0.05, abs=0)
    assert found.error == pytest.approx(share * 1e-12, rel=1e-10, abs=0)


@pytest.mark.parametrize("end", [1e-9, 1e-11, 1e-12, 1e-13, 1e-14, 1e-30, 1e-100])
def test_budgets_that_end_before_anything_is_learnt(end):
    task, _, _ = some_task(noise=0.3)
    found = theory.best_stopping(task, task.d, end)
    start = theory.expected_error([0.0], task, task.d)[0]
    assert found.time in (0.0, end)
    assert found.error <= found.final
    assert found.final == pytest.approx(start, rel=1e-4)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_the_rates_of_descent_are_those_of_its_factors(scale):
    """After s steps a component keeps (1 − μcd)^s of its start: to full precision however slow it is."""
    d = np.array([1e-200, 1e-17, 1e-9, 0.01, 0.3, 0.99])
    rates = theory.descent_rates(d, 1 / scale, scale)
    with mpmath.workdps(250):
        exact = [float(-mpmath.log(1 - mpmath.mpf(value))) for value in d]
    np.testing.assert_allclose(rates, exact, rtol=1e-13)
    np.testing.assert_allclose(theory.flow_rates(d, scale), scale * d, rtol=1e-15)
    for step in (0, 1, 2, 5):
        left = (1 - d) ** step
        for j, value in enumerate(d[3:]):  # without noise what is left is the start's share of one component alone
            task = theory.task([value], [[0.0]], [[2.0]], [1.0], 0.0)
            error = theory.expected_error([step], task, rates[3 + j : 4 + j])[0]
            assert error == pytest.approx(4 * left[3 + j] ** 2, rel=1e-12, abs=0)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_what_only_falls_is_never_stopped(size):
    """A direction that the data lack leaves an error at the end, which is reached from above: to the last, or in time."""
    task = theory.task([2.0, 1.0, 0.0], size * np.ones((1, 3)), np.zeros((1, 3)), [1.0, 1.0, 1.0], 0.0)
    rates = theory.flow_rates(task.d)
    assert theory.best_stopping(task, rates) == (np.inf, *[pytest.approx(size**2, rel=1e-12, abs=0)] * 2)
    for end in (1e-3, 0.7, 3.0):
        found = theory.best_stopping(task, rates, end)
        assert found.time == end
        assert found.error == found.final == theory.expected_error([end], task, rates)[0]
        assert found.gain == 0
