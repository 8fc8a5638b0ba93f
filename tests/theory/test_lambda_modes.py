"""The modes of unequal layers against quadrature, an ODE solver on the weights, and their limits."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import quad, solve_ivp

from lineament.theory import modes
from lineament.theory.lambda_modes import final_layer_singular_values, laziness, residual, time_to, trajectory

EPS = np.finfo(float).eps

signs = st.sampled_from([-1.0, 1.0])
targets = st.builds(lambda sign, e: sign * 10**e, signs, st.floats(-3, 3))
starts = st.one_of(st.just(0.0), st.builds(lambda sign, e: sign * 10**e, signs, st.floats(-12, 3)))
balances = st.one_of(st.just(0.0), st.builds(lambda sign, e: sign * 10**e, signs, st.floats(-6, 5)))
times = st.floats(-3, 1.5).map(lambda e: 10**e)


def kernel(sigma, balance):
    return np.sqrt(balance**2 + 4 * sigma**2)


def weights(sigma, balance):
    """a and b with ab = σ and a² − b² = λ."""
    a = np.sqrt((kernel(sigma, balance) + balance) / 2)
    b = np.sqrt((kernel(sigma, balance) - balance) / 2)
    return a, np.copysign(b, sigma)


def integrate(t, target, a, b):
    def gradients(_, w):
        left = target - w[0] * w[1]
        return [left * w[1], left * w[0]]

    return solve_ivp(gradients, (0, t), [a, b], method="DOP853", rtol=1e-13, atol=1e-16).y[:, -1]


def condition(t, target, sigma, balance):
    """What one rounding of t or of the rate does to σ, relative to the terms it is made of."""
    return 1 + t * (kernel(sigma, balance) + kernel(target, balance))


# ---------------------------------------------------------------------------------------------------------
# Against independent routes


@pytest.mark.parametrize("balance", [-4.0, -0.01, 0.0, 0.3, 50.0])
@pytest.mark.parametrize("start", [-1.5, -1e-3, 1e-3, 0.5, 3.0])
@pytest.mark.parametrize("target", [-1.0, 0.0, 0.7])
def test_is_the_flow_of_the_two_weights(target, start, balance):
    for t in (0.05, 0.7, 5.0):
        a, b = integrate(t, target, *weights(start, balance))
        assert trajectory(t, target, start, balance) == pytest.approx(a * b, rel=1e-10, abs=1e-11)
        assert residual(t, target, start, balance) == pytest.approx(target - a * b, abs=1e-11)


@given(targets, starts, balances, st.floats(1e-4, 1 - 1e-4))
def test_time_is_the_integral_of_the_inverse_speed(target, start, balance, fraction):
    value = start + fraction * (target - start)
    assume(value not in (start, target) and (balance != 0 or start * value > 0))

    def pace(sigma):
        return 1 / (kernel(sigma, balance) * (target - sigma))

    # The kernel varies on the scale of |λ| around zero: asinh makes the pieces even.
    scale = max(abs(balance), 1e-3 * abs(start), 1e-12)
    edges = scale * np.sinh(np.linspace(np.arcsinh(start / scale), np.arcsinh(value / scale), 60))
    edges[0], edges[-1] = start, value
    pieces = [quad(pace, *ab, epsabs=0, epsrel=1e-12)[0] for ab in pairwise(edges)]
    # One rounding of the value is this much of the way from the start or to the target.
    blur = EPS * (abs(start) + abs(target)) * (1 / abs(value - start) + 1 / abs(target - value))
    assert time_to(value, target, start, balance) == pytest.approx(sum(pieces), rel=1e-9 + blur, abs=0)


@given(targets, starts, balances, times)
def test_time_to_inverts_the_trajectory(target, start, balance, t):
    t = t / kernel(target, balance)
    value = trajectory(t, target, start, balance)
    left = residual(t, target, start, balance)
    assume(value not in (start, target))
    # Rounding of the value moves the time by value/speed, rounding of target − value by target/speed.
    blur = (abs(value) + abs(target)) / (kernel(value, balance) * abs(left))
    assert abs(time_to(value, target, start, balance) - t) <= 16 * EPS * (t + blur)


@given(targets, starts, balances, times, times)
def test_is_a_semigroup(target, start, balance, first, second):
    rate = kernel(target, balance)
    t, s = first / rate, second / rate
    half = trajectory(t, target, start, balance)
    whole = trajectory(t + s, target, start, balance)
    blur = kernel(whole, balance) * abs(target - whole) / max(kernel(half, balance) * abs(target - half), 1e-300)
    error = 32 * EPS * condition(t + s, target, whole, balance) * (abs(target) + abs(whole) + abs(half) * blur)
    assert abs(trajectory(s, target, half, balance) - whole) <= error


# ---------------------------------------------------------------------------------------------------------
# Limits


@given(targets, starts, balances)
def test_ends_of_time(target, start, balance):
    stuck = balance == 0 and start * target <= 0
    assert trajectory(0.0, target, start, balance) == start
    assert residual(0.0, target, start, balance) == target - start
    assert trajectory(np.inf, target, start, balance) == (0.0 if stuck else target)
    assert residual(np.inf, target, start, balance) == (target if stuck else 0.0)
    assert time_to(start, target, start, balance) == 0
    if start not in (0, target):
        assert time_to(0.0 if stuck else target, target, start, balance) == np.inf


@pytest.mark.parametrize("start", [1e-9, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("target", [0.0, 0.5, 2.0])
def test_balanced_layers_are_depth_two(start, target):
    """λ → 0: the modes of a deep network at depth 2, whose normalised loss is half of this one."""
    t = np.geomspace(1e-3, 30, 50)
    np.testing.assert_allclose(
        trajectory(t, target, start, 0.0), modes.trajectory(2 * t, target, start, 2), rtol=1e-13
    )
    np.testing.assert_allclose(residual(t, target, start, 0.0), modes.residual(2 * t, target, start, 2), rtol=1e-12)
    gaps = [
        np.abs(trajectory(t, target, start, lam) - trajectory(t, target, start, 0.0)).max() for lam in (1e-11, 1e-13)
    ]
    assert max(gaps) < 1e-2 * max(start, target)


@pytest.mark.parametrize("sign", [-1, 1])
def test_very_unequal_layers_are_one_layer(sign):
    """|λ| → ∞: in the time |λ|t the residual is exponential, and the correction falls as 1/λ²."""
    scaled = np.linspace(0.1, 5, 20)
    exponential = 2.0 - (2.0 + 0.5) * np.exp(-scaled)
    size = np.array([1e2, 1e3, 1e4])
    gaps = [np.abs(trajectory(scaled / lam, 2.0, -0.5, sign * lam) - exponential).max() for lam in size]
    slope = np.polyfit(np.log(size), np.log(gaps), 1)[0]
    assert slope == pytest.approx(-2, abs=0.01)


@given(targets, balances, st.floats(1, 600))
def test_the_residual_keeps_its_digits_to_the_end(target, balance, late):
    """Late, σ* − σ falls as e^{−κt}: the ratio over one time constant is 1/e, though σ itself is σ* to rounding."""
    rate = kernel(target, balance)
    start = 0.3 * target
    t = (40 + late) / rate
    ratio = residual(t + 1 / rate, target, start, balance) / residual(t, target, start, balance)
    assert ratio == pytest.approx(np.exp(-1), rel=1e-12, abs=0)


def test_a_tiny_start_keeps_its_digits_on_the_plateau():
    t = np.linspace(0, 30, 31)
    start = 1e-40
    np.testing.assert_allclose(trajectory(t, 1.0, start, 0.0), start * np.exp(2 * t), rtol=1e-12)
    # At σ ≪ λ ≪ σ*, 2σ = λ sinh(2σ*t + const).
    expected = 1e-20 / 2 * np.sinh(2 * t + np.arcsinh(2e-20))
    np.testing.assert_allclose(trajectory(t[:16], 1.0, start, 1e-20), expected[:16], rtol=1e-6)


@given(targets, starts, balances, times)
def test_symmetries(target, start, balance, t):
    """σ and σ* change sign together, λ alone, and units are free."""
    t = t / kernel(target, balance)
    sigma = trajectory(t, target, start, balance)
    assert trajectory(t, -target, -start, balance) == -sigma
    assert trajectory(t, target, start, -balance) == sigma
    assert trajectory(t / 1024, 1024 * target, 1024 * start, 1024 * balance) == pytest.approx(
        1024 * sigma, rel=1e-13, abs=0
    )


@given(targets, starts, balances)
def test_moves_from_start_towards_target_without_turning(target, start, balance):
    t = np.concatenate([[0], np.geomspace(1e-4, 50, 40)]) / kernel(target, balance)
    step = np.diff(trajectory(t, target, start, balance)) * np.sign(target - start)
    assert np.all(step >= -4 * EPS * (abs(target) + abs(start)))


@pytest.mark.parametrize("scale", [1e-140, 1e-60, 1e60, 1e140])
def test_extreme_units(scale):
    t = np.array([0, 0.1, 1, 10, np.inf])
    for start, balance in ((1e-3, 0.0), (-0.5, 0.2), (0.1, 30.0), (4.0, 1.0)):
        expected = trajectory(t, 1.0, start, balance)
        scaled = trajectory(t / scale, scale, scale * start, scale * balance)
        np.testing.assert_allclose(scaled / scale, expected, rtol=1e-13)
        assert time_to(scale * 0.9, scale, scale * 1e-3, scale * balance) * scale == pytest.approx(
            time_to(0.9, 1.0, 1e-3, balance), rel=1e-12, abs=0
        )


def test_values_the_mode_never_visits():
    never = time_to([2.0, -1.0, 0.5, 0.5, 0.0], 1.0, [0.1, 0.1, 0.0, -0.5, -0.5], 0.0)
    np.testing.assert_array_equal(never, [np.nan, np.nan, np.nan, np.nan, np.inf])
    assert np.isfinite(time_to(0.5, 1.0, -0.5, 1e-9))


def test_arguments_broadcast():
    t, target, balance = np.linspace(0, 1, 4)[:, None, None], np.ones(3)[:, None], np.array([0.0, 2.0])
    assert trajectory(t, target, 0.1, balance).shape == (4, 3, 2)
    assert time_to(0.5, target, 0.1, balance).shape == (3, 2)
    assert laziness(target, 0.1, balance).shape == (3, 2)
    assert isinstance(trajectory(1.0, 1.0, 0.1, 0.0), float)


# ---------------------------------------------------------------------------------------------------------
# Laziness


@given(targets, starts, balances, st.floats(0.01, 2))
def test_laziness_is_the_share_learnt_when_the_kernel_has_changed(target, start, balance, change):
    """Walk from start to target on a fine grid and stop where the kernel leaves its band."""
    assume(start != target)
    share = laziness(target, start, balance, change)
    path = np.linspace(0, 1, 20001)
    ratio = kernel(start + path * (target - start), balance) / max(kernel(start, balance), 1e-300)
    outside = np.flatnonzero((ratio > 1 + change) | (ratio < 1 / (1 + change)))
    walked = path[outside[0]] if outside.size else 1.0
    # A dip around zero may hide between grid points; the kernel is then too large within (2 + change) + 1 of them.
    assert -1e-9 <= walked - share <= 5 / 20000


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("change", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("start", [-3.0, -0.3, -0.05, -1e-6, 0.0, 1e-6, 0.2, 2.0])
@pytest.mark.parametrize("target", [-1e3, -0.1, 0.15, 1e3])
def test_where_the_share_ends_the_kernel_has_changed_by_just_that_factor(target, start, change, sign):
    share = laziness(target, start, sign * 0.7, change)
    kernels = kernel(start + share * np.linspace(0, 1, 1001) * (target - start), 0.7) / kernel(start, 0.7)
    assert np.all(kernels <= (1 + change) * (1 + 1e-9))
    assert np.all(kernels >= (1 - 1e-9) / (1 + change))
    if share < 1:
        assert min(abs(kernels[-1] / (1 + change) - 1), abs(kernels[-1] * (1 + change) - 1)) < 1e-12


def test_laziness_from_rich_to_lazy():
    lam = np.geomspace(1e-6, 1e3, 30)
    share = laziness(1.0, 0.0, lam)
    np.testing.assert_allclose(share, np.minimum(lam * np.sqrt(0.21) / 2, 1.0), rtol=1e-14)
    assert laziness(1.0, 0.0, 0.0) == 0
    assert laziness(1.0, 1e-9, 0.0) == pytest.approx(1e-10, rel=1e-8, abs=0)
    assert laziness(0.5, 0.5, 0.0) == 1
    assert laziness(0.0, 0.0, 0.0) == 1


# ---------------------------------------------------------------------------------------------------------
# Final singular values of the layers


@pytest.mark.parametrize("gamma", [0.01, 0.3, 2.0])
def test_final_singular_values_follow_conservation_and_not_the_printed_form(gamma):
    """Full matrix flow on data X that is not white, from W1 = √(2γ)P, W2 = 0 (poster's convention)."""
    rng = np.random.default_rng(1)
    n, d, width, k = 8, 5, 6, 2
    X, values = rng.normal(size=(n, d)) / 2, np.array([3.0, 0.5])
    truth = np.linalg.qr(rng.normal(size=(d, k)))[0] * values
    Y = X @ truth
    P = np.linalg.qr(rng.normal(size=(width, d)))[0].T

    def gradients(_, z):
        A, B = z[: d * width].reshape(d, width), z[d * width :].reshape(width, k)
        G = X.T @ (Y - X @ A @ B)
        return np.concatenate([(G @ B.T).ravel(), (A.T @ G).ravel()])

    z0 = np.concatenate([np.sqrt(2 * gamma) * P.ravel(), np.zeros(width * k)])
    z = solve_ivp(gradients, (0, 400), z0, method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    W1, W2 = z[: d * width].reshape(d, width), z[d * width :].reshape(width, k)
    np.testing.assert_allclose(W1 @ W2, truth, atol=1e-8)

    corrected = final_layer_singular_values(values, gamma, d)
    np.testing.assert_allclose(np.linalg.svd(W1, compute_uv=False), corrected.W1, rtol=1e-8)
    np.testing.assert_allclose(np.linalg.svd(W2, compute_uv=False), corrected.W2, rtol=1e-8)
    printed = np.sqrt(np.sqrt(values + gamma**2) + gamma)  # right for singular values of 0 and 1 alone
    assert np.all(np.abs(printed / np.linalg.svd(W1, compute_uv=False)[:k] - 1) > 1e-3)


def test_final_singular_values_multiply_and_subtract_to_what_is_conserved():
    values, gamma = np.array([3.0, 1e-9, 0.0]), 1e-3
    first, second = final_layer_singular_values(values, gamma, 5)
    assert first.shape == (5,)
    np.testing.assert_allclose(first[:3] * second, values, rtol=1e-15)
    np.testing.assert_allclose(first[:3] ** 2 - second**2, 2 * gamma, rtol=1e-12)
    np.testing.assert_allclose(first[3:], np.sqrt(2 * gamma), rtol=1e-15)
    first, second = final_layer_singular_values([4.0], 0.0, 2)
    assert (*first, *second) == (2.0, 0.0, 2.0)


# ---------------------------------------------------------------------------------------------------------
# Refusals


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: trajectory(-1.0, 1.0, 0.1, 0.0), "t must be a number of at least 0; got -1"),
        (lambda: trajectory(1.0, np.inf, 0.1, 0.0), "target must be a finite number; got inf"),
        (lambda: residual(1.0, 1.0, np.nan, 0.0), "start must be a finite number; got nan"),
        (lambda: time_to(np.nan, 1.0, 0.1, 0.0), "value must be a finite number; got nan"),
        (lambda: time_to(0.5, 1.0, 0.1, np.inf), "balance must be a finite number; got inf"),
        (
            lambda: trajectory([1.0, 2.0], np.ones(3), 0.1, 0.0),
            "t, target, start, balance must be of shapes that broadcast",
        ),
        (lambda: laziness(1.0, 0.1, 0.0, 0.0), "change must be a finite number above 0; got 0"),
        (
            lambda: final_layer_singular_values([-1.0], 1.0, 2),
            "target_singular_values must be finite numbers of at least 0",
        ),
        (
            lambda: final_layer_singular_values([1.0, 2.0, 3.0], 1.0, 2),
            "input_size must be a whole number of at least 3 and at most 100000000; got 2",
        ),
        (lambda: final_layer_singular_values([1.0], -1.0, 2), "gamma must be"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_one_bad_entry_among_good_ones_is_refused():
    for call, message in (
        (lambda: trajectory([1.0, -1.0, 2.0], 1.0, 0.1, 0.0), r"t must be .* got -1 at entry \(1,\)"),
        (lambda: trajectory(1.0, [1.0, np.inf], 0.1, 0.0), r"target must be .* got inf at entry \(1,\)"),
        (lambda: laziness(1.0, 0.1, 0.0, [0.1, 0.0]), r"change must be .* got 0 at entry \(1,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_no_mode_passes_its_start_or_its_target():
    """Late, early, and for starts within a rounding of the target, at every scale."""
    rng = np.random.default_rng(0)
    n = 20_000
    target = rng.choice([-1.0, 1.0], n) * 10 ** rng.uniform(-6, 6, n)
    near = target * (1 + rng.choice([-1, 1], n) * 10 ** rng.uniform(-16, 0, n))
    start = np.where(rng.random(n) < 0.5, near, rng.choice([-1.0, 1.0], n) * 10 ** rng.uniform(-6, 6, n))
    balance, t = 10 ** rng.uniform(-8, 6, n), 10 ** rng.uniform(-12, 6, n)
    sigma = trajectory(t, target, start, balance)
    assert np.all(sigma >= np.minimum(start, target))
    assert np.all(sigma <= np.maximum(start, target))


@pytest.mark.parametrize("flip", [1.0, -1.0])
@pytest.mark.parametrize("size", [0.5, 1.0, 3.0])
def test_a_balanced_mode_of_the_other_sign_comes_to_zero_and_no_further(flip, size):
    target, start = flip * size, -flip * size
    assert time_to(0.0, target, start, 0.0) == np.inf
    assert np.isnan(time_to(target / 2, target, start, 0.0))
    assert time_to(start / 2, target, start, 0.0) == pytest.approx(
        quad(lambda x: 1 / (2 * x * (size + x)), size / 2, size)[0], rel=1e-12, abs=0
    )
    assert time_to(target / 2, target, start, 0.1) == pytest.approx(
        quad(lambda x: 1 / (np.hypot(0.1, 2 * x) * (size - x)), -size, size / 2, points=[0.0], epsabs=1e-13)[0],
        rel=1e-9,
        abs=0,
    )
