"""The exact two-layer flow against an ODE solver, the printed formula, its limits and its symmetries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.linalg import block_diag, expm

from lineament.theory import lambda_modes, riccati, settled, two_layer
from lineament.theory.two_layer import balance, grams, layers, trajectory

sizes = st.tuples(*(st.integers(1, 6) for _ in range(3)))
seeds = st.integers(0, 2**32 - 1)
balances = st.sampled_from([0.0, 0.0, 1e-6, -0.3, 1.0, 2.5, -10.0, 10.0])
scales = st.floats(-4, 0.5).map(lambda e: 10.0**e)


def orthonormal(rng, rows, columns):
    return np.linalg.qr(rng.normal(size=(rows, columns)))[0]


def balanced_start(rng, i, h, o, lam, scale=1.0, rank=None):
    """Layers with W2ᵀW2 − W1W1ᵀ = λΠ, Π of the largest rank that the shape allows unless one is given."""
    if lam < 0:
        W1, W2 = balanced_start(rng, o, h, i, -lam, scale, rank)
        return W2.T, W1.T
    r = min(h, o, rank or h) if lam > 0 else min(h, o, i, rank or h)
    U, s, Vt = np.linalg.svd(scale * rng.normal(size=(r, i)) / np.sqrt(i))
    s = np.pad(s, (0, r - s.size))
    hidden = orthonormal(rng, h, r)
    core = (U * s) @ np.pad(Vt, ((0, max(r - i, 0)), (0, 0)))[:r]
    return hidden @ core, orthonormal(rng, o, r) @ (np.hypot(s, np.sqrt(lam))[:, None] * U.T) @ hidden.T


def integrate(t, W1, W2, Y, rtol=1e-12, method="DOP853"):
    """The layers at time t, by a general ODE solver on the two gradients."""
    n = W1.size

    def gradients(_, z):
        A, B = z[:n].reshape(W1.shape), z[n:].reshape(W2.shape)
        E = Y - B @ A
        return np.concatenate([(B.T @ E).ravel(), (E @ A.T).ravel()])

    z0 = np.concatenate([W1.ravel(), W2.ravel()])
    solution = solve_ivp(gradients, (0, t), z0, method=method, rtol=rtol, atol=1e-3 * rtol)
    assert solution.success
    return solution.y[:n, -1].reshape(W1.shape), solution.y[n:, -1].reshape(W2.shape)


def truncated(Y, rank):
    U, s, Vt = np.linalg.svd(Y, full_matrices=False)
    return (U[:, :rank] * s[:rank]) @ Vt[:rank]


def naive(t, W1, W2, Y, lam):
    """The Riccati solution as printed: exponentials and one inverse."""
    i, o = W1.shape[1], W2.shape[0]
    F = np.block([[-lam / 2 * np.eye(i), Y.T], [Y, lam / 2 * np.eye(o)]])
    Q = np.concatenate([W1.T, W2])
    E = expm(F * t)
    inner = np.eye(Q.shape[1]) + Q.T @ (np.linalg.solve(2 * F, E @ E - np.eye(i + o))) @ Q
    return (E @ Q @ np.linalg.inv(inner) @ Q.T @ E)[i:, :i]


def gap(measured, exact, Y):
    return np.linalg.norm(measured - exact) / max(np.linalg.norm(Y), np.linalg.norm(exact))


# ---------------------------------------------------------------------------------------------------------
# Against an ODE solver


@given(sizes, seeds, balances, scales, st.floats(-2, 1).map(lambda e: 10.0**e))
def test_agrees_with_the_integrated_flow(shape, seed, lam, scale, t):
    rng = np.random.default_rng(seed)
    W1, W2 = balanced_start(rng, *shape, lam, scale)
    Y = rng.normal(size=(shape[2], shape[0]))
    A, B = integrate(t, W1, W2, Y)
    exact = grams(t, W1, W2, Y)
    assert gap(B @ A, exact.product, Y) < 1e-9
    assert gap(A.T @ A, exact.first, Y) < 1e-9
    assert gap(B @ B.T, exact.second, Y) < 1e-9


@pytest.mark.parametrize("lam", [-10.0, -0.7, 0.0, 3.0, 10.0])
@pytest.mark.parametrize("shape", [(30, 20, 25), (25, 30, 20), (20, 25, 25)])
def test_agrees_with_the_integrated_flow_at_size(shape, lam):
    rng = np.random.default_rng(7)
    W1, W2 = balanced_start(rng, *shape, lam, 0.3)
    Y = rng.normal(size=(shape[2], shape[0])) / 5
    for t in (0.3, 3.0, 15.0):
        A, B = integrate(t, W1, W2, Y)
        assert gap(B @ A, trajectory(t, W1, W2, Y), Y) < 1e-9


def test_a_million_units_of_time_against_a_stiff_solver():
    """A target with modes of 1 and 1e-5: the second is half learnt at a time where e^{ft} of the first is 10^40000."""
    rng = np.random.default_rng(3)
    U, V = orthonormal(rng, 2, 2), orthonormal(rng, 3, 2)
    W1, W2 = balanced_start(rng, 3, 2, 2, -1e-5, 0.05)
    Y = (U * [1.0, 1e-5]) @ V.T
    for t in (1e5, 1e6):
        A, B = integrate(t, W1, W2, Y, rtol=1e-10, method="Radau")
        assert np.abs(B @ A - trajectory(t, W1, W2, Y)).max() < 1e-12


def test_the_printed_formula_agrees_early_and_is_lost_late():
    rng = np.random.default_rng(0)
    W1, W2 = balanced_start(rng, 4, 4, 4, 1.0)
    Y = orthonormal(rng, 4, 4) @ np.diag([1.0, 0.8, 0.5, 0.2])
    assert gap(naive(2.0, W1, W2, Y, 1.0), trajectory(2.0, W1, W2, Y), Y) < 1e-13
    late = trajectory(30.0, W1, W2, Y)
    A, B = integrate(30.0, W1, W2, Y)
    assert gap(B @ A, late, Y) < 1e-10
    assert gap(naive(30.0, W1, W2, Y, 1.0), late, Y) > 1e-6


@pytest.mark.parametrize("overlap", [1e-3, 1e-6, 1e-9])
def test_a_start_beside_a_saddle_waits_and_leaves(overlap):
    """The second layer is the mirror image of the first up to a small turn: a plateau of length −log(overlap)/f."""
    rng = np.random.default_rng(4)
    A, Y = rng.normal(size=(3, 3)), np.diag([1.5, 1.2, 1.0])
    turn = block_diag(expm(np.pi * np.array([[0, -1], [1, 0]]) * (1 - overlap)), 1.0)
    for t in (2.0, 8.0, 20.0):
        first, second = integrate(t, A, turn @ A.T, Y)
        assert gap(second @ first, trajectory(t, A, turn @ A.T, Y), Y) < 1e-14 / overlap + 1e-10


@pytest.mark.parametrize("least", [0.0, np.inf])
def test_normal_equations_and_orthogonal_factors_agree(least, monkeypatch):
    monkeypatch.setattr(riccati, "_LEAST_RCOND", least)
    rng = np.random.default_rng(2)
    for lam in (-1.0, 0.0, 1.0):
        W1, W2 = balanced_start(rng, 5, 4, 4, lam)
        Y = rng.normal(size=(4, 5))
        A, B = integrate(6.0, W1, W2, Y)
        assert gap(B @ A, trajectory(6.0, W1, W2, Y), Y) < 1e-10
        np.testing.assert_allclose(trajectory(np.inf, W1, W2, Y), Y, atol=1e-13)


@given(sizes, seeds)
def test_the_staircase_is_the_same_gram_and_reveals_the_rank(shape, seed):
    rows, columns, rank = shape
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, columns)) * 10.0 ** rng.uniform(-20, 0, columns)
    stairs, pivots = riccati.staircase(B, rows * np.finfo(float).eps, rows)
    assert len(pivots) == stairs.shape[1] <= min(shape)
    assert pivots == sorted(set(pivots))
    for column, pivot in enumerate(pivots):
        assert stairs[pivot, column] != 0
        assert not stairs[:pivot, column].any()
    np.testing.assert_allclose(stairs @ stairs.T, B @ B.T, atol=1e-14 * np.linalg.norm(B) ** 2)


# ---------------------------------------------------------------------------------------------------------
# All times


@given(sizes, seeds, balances, scales)
def test_starts_at_the_start(shape, seed, lam, scale):
    rng = np.random.default_rng(seed)
    W1, W2 = balanced_start(rng, *shape, lam, scale)
    Y = rng.normal(size=(shape[2], shape[0]))
    size = np.linalg.norm(W1) ** 2 + np.linalg.norm(W2) ** 2
    at_start = grams(0.0, W1, W2, Y)
    for exact, given_ in zip(at_start, (W2 @ W1, W1.T @ W1, W2 @ W2.T), strict=True):
        np.testing.assert_allclose(exact, given_, rtol=0, atol=1e-14 * size)


@given(sizes, seeds, balances, scales, st.floats(-2, 6), st.floats(-2, 6))
def test_is_a_semigroup_up_to_a_million(shape, seed, lam, scale, first, second):
    """Restarting from the layers at one time continues the flow."""
    rng = np.random.default_rng(seed)
    W1, W2 = balanced_start(rng, *shape, lam, scale)
    Y = rng.normal(size=(shape[2], shape[0]))
    half = layers(10.0**first, W1, W2, Y)
    restarted = trajectory(10.0**second, *half, Y, tolerance=1e-8)
    assert gap(restarted, trajectory(10.0**first + 10.0**second, W1, W2, Y), Y) < 1e-8


@given(sizes, seeds, balances, scales, st.sampled_from([0.1, 3.0, 1e3, 1e6, np.inf]))
def test_conserves_the_imbalance(shape, seed, lam, scale, t):
    rng = np.random.default_rng(seed)
    W1, W2 = balanced_start(rng, *shape, lam, scale)
    Y = rng.normal(size=(shape[2], shape[0]))
    A, B = layers(t, W1, W2, Y)
    before = np.linalg.eigvalsh(W2.T @ W2 - W1 @ W1.T)
    after = np.linalg.eigvalsh(B.T @ B - A @ A.T)
    size = np.linalg.norm(W1) ** 2 + np.linalg.norm(W2) ** 2 + np.linalg.norm(Y)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("lam", [-3.0, 0.0, 0.5])
@pytest.mark.parametrize("shape", [(5, 2, 4), (3, 3, 6), (6, 4, 3), (4, 9, 3)])
def test_ends_at_the_best_rank_h_approximation(shape, lam):
    """A generic start with i ≠ o reaches the leading h modes, hence Eckart and Young's matrix, by t = 1e6."""
    rng = np.random.default_rng(11)
    W1, W2 = balanced_start(rng, *shape, lam, 0.1)
    Y = rng.normal(size=(shape[2], shape[0]))
    rank = np.linalg.matrix_rank(np.concatenate([W1.T, W2]))
    late = trajectory([1e6, 1e308, np.inf], W1, W2, Y)
    for product in late:
        np.testing.assert_allclose(product, truncated(Y, rank), atol=1e-13)


def test_shapes_follow_t():
    W1, W2, Y = np.ones((1, 3)), np.sqrt(3) * np.ones((1, 1)), np.ones((1, 3))
    assert trajectory(1.0, W1, W2, Y).shape == (1, 3)
    assert trajectory([1.0], W1, W2, Y).shape == (1, 1, 3)
    assert trajectory([], W1, W2, Y).shape == (0, 1, 3)
    both = grams([0.0, np.inf], W1, W2, Y)
    assert [x.shape for x in both] == [(2, 1, 3), (2, 3, 3), (2, 1, 1)]
    assert [x.shape for x in layers([0.0, np.inf], W1, W2, Y)] == [(2, 1, 3), (2, 1, 1)]


def test_a_late_time_of_a_large_flow_is_the_integrated_one():
    """30 × 30 × 30 to t = 1000, where the least mode is learnt; `make bench`, case `two_layer`, says how much faster."""
    rng = np.random.default_rng(1)
    W1, Y, turn = rng.normal(size=(30, 30)) / 60, rng.normal(size=(30, 30)) / 6, orthonormal(rng, 30, 30)
    turn[0] *= np.sign(np.linalg.det(turn) * np.linalg.det(Y))
    W2 = turn @ W1.T
    A, B = integrate(1000.0, W1, W2, Y, rtol=1e-10)
    assert gap(B @ A, trajectory(1000.0, W1, W2, Y), Y) < 1e-10


@given(st.integers(2, 6), seeds, st.floats(-16, -8))
def test_a_start_balanced_to_rounding_only_is_not_disturbed(n, seed, error):
    """Beside a saddle the last pivot is noise: it must not be taken for a reason to drop what is not."""
    rng = np.random.default_rng(seed)
    A, turn, Y = rng.normal(size=(n, n)), orthonormal(rng, n, n), rng.normal(size=(n, n))
    W1, W2 = A, turn @ A.T + 10.0**error * rng.normal(size=(n, n))
    blur = 1e-10 + 10 * 10.0**error
    size = np.linalg.norm(W1) ** 2 + np.linalg.norm(W2) ** 2
    np.testing.assert_allclose(trajectory(0.0, W1, W2, Y, tolerance=1e-6), W2 @ W1, rtol=0, atol=blur * size)
    A, B = integrate(1.0, W1, W2, Y)
    np.testing.assert_allclose(trajectory(1.0, W1, W2, Y, tolerance=1e-6), B @ A, rtol=0, atol=1e3 * blur * size)


# ---------------------------------------------------------------------------------------------------------
# Saddles and degenerate targets


@given(st.integers(1, 6), st.integers(0, 3), seeds)
def test_a_balanced_square_network_cannot_cross_a_zero_determinant(n, spare, seed):
    """On the wrong side of det Y the least mode is lost; the solver agrees for as long as rounding lets it."""
    rng = np.random.default_rng(seed)
    A, turn, Y = rng.normal(size=(n, n)), orthonormal(rng, n, n), rng.normal(size=(n, n))
    hidden = orthonormal(rng, n + spare, n)
    W1, W2 = hidden @ A, turn @ A.T @ hidden.T
    sign = np.sign(np.linalg.det(W2 @ W1) * np.linalg.det(Y))
    limit = truncated(Y, n if sign > 0 else n - 1)
    late = trajectory([1e9, np.inf], W1, W2, Y)
    least = np.linalg.svd(Y, compute_uv=False)[-1]
    np.testing.assert_allclose(late[1], limit, atol=1e-12)
    if least > 1e-6:
        np.testing.assert_allclose(late[0], limit, atol=1e-12)
    A, B = integrate(4.0, W1, W2, Y)
    assert gap(B @ A, trajectory(4.0, W1, W2, Y), Y) < 1e-9


def test_a_start_that_misses_a_mode_never_learns_it():
    """Overlap with the leading mode is zero up to rounding of the decomposition, for every λ."""
    rng = np.random.default_rng(5)
    U, V = orthonormal(rng, 5, 3), orthonormal(rng, 4, 3)
    Y = (U * [3.0, 2.0, 1.0]) @ V.T
    for lam in (-1.0, 0.0, 2.0):
        b, a = (0.1, np.hypot(0.1, np.sqrt(lam))) if lam >= 0 else (np.hypot(0.1, np.sqrt(-lam)), 0.1)
        W1, W2 = b * V[:, 1:].T, a * U[:, 1:]
        missed = (U[:, 1:] * [2.0, 1.0]) @ V[:, 1:].T
        for t in (1e3, 1e6, np.inf):
            np.testing.assert_allclose(trajectory(t, W1, W2, Y), missed, atol=1e-14)


def test_a_start_on_the_stable_manifold_decays():
    rng = np.random.default_rng(6)
    U, V = orthonormal(rng, 3, 3), orthonormal(rng, 3, 3)
    Y, W1, W2 = U @ np.diag([2.0, 1.0, 0.5]) @ V.T, V.T, -U
    for t in (1.0, 20.0, 1e4, np.inf):
        modes = lambda_modes.trajectory(t, [2.0, 1.0, 0.5], -1.0, 0.0)
        np.testing.assert_allclose(trajectory(t, W1, W2, Y), (U * modes) @ V.T, atol=1e-14)


@pytest.mark.parametrize("lam", [-1.0, 0.0, 2.0])
def test_repeated_singular_values_keep_the_direction_of_the_start(lam):
    """With Y orthogonal nothing ranks the modes: a bottleneck ends where its start points, at 1e20 as at infinity."""
    rng = np.random.default_rng(8)
    Y = orthonormal(rng, 5, 5)
    W1, W2 = balanced_start(rng, 5, 2, 5, lam, 0.3)
    A, B = integrate(25.0, W1, W2, Y)
    late = trajectory([25.0, 1e3, 1e20, np.inf], W1, W2, Y)
    assert gap(B @ A, late[0], Y) < 1e-9
    for product in late:
        np.testing.assert_allclose(product, late[0], atol=1e-9)
    np.testing.assert_allclose(np.linalg.svd(late[3], compute_uv=False), [1, 1, 0, 0, 0], atol=1e-13)


def test_targets_of_low_rank_and_zero():
    rng = np.random.default_rng(9)
    Y = np.outer(rng.normal(size=4), rng.normal(size=6))
    for lam in (-2.0, 0.0, 1.0):
        W1, W2 = balanced_start(rng, 6, 3, 4, lam)
        for target in (Y, 0 * Y):
            A, B = integrate(5.0, W1, W2, target)
            assert gap(B @ A, trajectory(5.0, W1, W2, target), Y) < 1e-10
            np.testing.assert_allclose(trajectory(np.inf, W1, W2, target), target, atol=1e-13)
    # Without a target a balanced product decays as 1/(2t): σ = σ0/(1 + 2σ0 t) in every mode.
    W1, W2 = balanced_start(rng, 6, 3, 4, 0.0)
    s = np.linalg.svd(W2 @ W1, compute_uv=False)
    for t in (1.0, 1e6, 1e30):
        measured = np.linalg.svd(trajectory(t, W1, W2, 0 * Y), compute_uv=False)
        np.testing.assert_allclose(measured[:3], s[:3] / (1 + 2 * s[:3] * t), rtol=1e-12)


def test_a_network_at_zero_stays_there():
    assert not trajectory([0.0, 1.0, np.inf], np.zeros((2, 3)), np.zeros((2, 2)), np.ones((2, 3))).any()


@given(sizes, seeds, balances, st.integers(1, 3))
def test_starts_of_low_rank(shape, seed, lam, rank):
    rng = np.random.default_rng(seed)
    W1, W2 = balanced_start(rng, *shape, lam, 0.5, rank)
    Y = rng.normal(size=(shape[2], shape[0]))
    A, B = integrate(3.0, W1, W2, Y)
    assert gap(B @ A, trajectory(3.0, W1, W2, Y), Y) < 1e-9


# ---------------------------------------------------------------------------------------------------------
# Aligned starts, named starts, symmetries


def test_aligned_starts_are_scalar_modes():
    rng = np.random.default_rng(12)
    U, V, R = orthonormal(rng, 5, 4), orthonormal(rng, 6, 4), orthonormal(rng, 7, 4)
    s, first = np.array([3.0, 1.0, 0.5, 0.0]), np.array([1e-3, 0.2, 2.0, 0.4])
    for lam in (0.0, 0.3, 8.0):
        second = np.hypot(first, np.sqrt(lam))
        t = np.array([0.0, 0.3, 4.0, 50.0, 1e6, np.inf])
        modes = lambda_modes.trajectory(t[:, None], s, first * second, lam)
        expected = (U * modes[:, None, :]) @ V.T
        measured = trajectory(t, (R * first) @ V.T, (U * second) @ R.T, (U * s) @ V.T)
        np.testing.assert_allclose(measured, expected, atol=3e-14)


def test_modes_started_thirty_orders_apart_each_keep_their_time():
    s, a = np.array([1.0, 0.9, 0.8, 0.7]), np.array([1.0, 1e-10, 1e-20, 1e-30])
    W = np.diag(a)
    t = np.linspace(0, 300, 61)
    measured = np.diagonal(trajectory(t, W, W, np.diag(s)), axis1=1, axis2=2)
    np.testing.assert_allclose(measured, lambda_modes.trajectory(t[:, None], s, a**2, 0.0), rtol=1e-11)


@pytest.mark.parametrize("gamma", [1e-4, 0.1, 1.0, 100.0])
def test_the_shaped_start_of_varre(gamma):
    """W1 = √(2γ)Pᵀ, W2 = 0: λ = −2γ on a projector, the whole target is learnt and M² − 2γM = ββᵀ on the way."""
    rng = np.random.default_rng(13)
    d, width, k = 4, 7, 2
    W1, W2 = np.sqrt(2 * gamma) * orthonormal(rng, width, d), np.zeros((k, width))
    Y = rng.normal(size=(k, d))
    value, violation = balance(W1, W2)
    assert value == pytest.approx(-2 * gamma, rel=1e-14, abs=0)
    assert violation < 1e-15
    product, first, _ = grams([0.1, 1.0, 10.0, np.inf], W1, W2, Y)
    np.testing.assert_allclose(product[-1], Y, atol=1e-13 * max(1, gamma))
    beta_squared = np.swapaxes(product, 1, 2) @ product
    np.testing.assert_allclose(first @ first - 2 * gamma * first, beta_squared, atol=1e-12 * max(1, gamma) ** 2)
    A, B = integrate(1.0, W1, W2, Y)
    assert gap(B @ A, product[1], Y) < 1e-10


@given(sizes, seeds, balances, st.floats(0.01, 100))
def test_symmetries(shape, seed, lam, t):
    """Rotations of all three spaces, transposition with λ → −λ, units of weight and time."""
    rng = np.random.default_rng(seed)
    W1, W2 = balanced_start(rng, *shape, lam)
    Y = rng.normal(size=(shape[2], shape[0]))
    exact = trajectory(t, W1, W2, Y)
    A, H, B = (orthonormal(rng, n, n) for n in shape)
    size = np.linalg.norm(W1) ** 2 + np.linalg.norm(W2) ** 2 + np.linalg.norm(Y)
    same = {"rtol": 0, "atol": 1e-10 * size}
    np.testing.assert_allclose(trajectory(t, H @ W1 @ A, B @ W2 @ H.T, B @ Y @ A), B @ exact @ A, **same)
    np.testing.assert_allclose(trajectory(t, W2.T, W1.T, Y.T), exact.T, **same)
    np.testing.assert_allclose(trajectory(t / 4, 2 * W1, 2 * W2, 4 * Y), 4 * exact, **same)
    assert balance(W2.T, W1.T).value == pytest.approx(-balance(W1, W2).value, abs=1e-14 * size)


@pytest.mark.parametrize("scale", [1e-120, 1e-30, 1e30, 1e100])
def test_extreme_units(scale):
    rng = np.random.default_rng(14)
    W1, W2 = balanced_start(rng, 3, 2, 4, 1.0)
    Y = rng.normal(size=(4, 3))
    t = np.array([0.0, 1.0, 30.0, np.inf])
    scaled = trajectory(t / scale**2, scale * W1, scale * W2, scale**2 * Y)
    np.testing.assert_allclose(scaled / scale**2, trajectory(t, W1, W2, Y), atol=1e-13)


# ---------------------------------------------------------------------------------------------------------
# Refusals


def test_refuses_a_start_outside_the_class_and_measures_it():
    rng = np.random.default_rng(15)
    W1, W2, Y = rng.normal(size=(3, 4)), rng.normal(size=(2, 3)), np.ones((2, 4))
    Q, D = np.concatenate([W1.T, W2]), W2.T @ W2 - W1 @ W1.T
    value = np.sum(Q * (Q @ D)) / np.sum(Q**2)
    violation = np.linalg.norm(Q @ D - value * Q) / np.linalg.norm(Q) / np.linalg.norm(Q, 2) ** 2
    assert balance(W1, W2) == pytest.approx((value, violation))
    for function in (trajectory, grams, layers):
        with pytest.raises(ValueError, match=rf"not λ-balanced.* is {violation:.3g} .*tolerance is 1e-10.*Choose"):
            function(1.0, W1, W2, Y)


def test_a_sum_of_blocks_with_two_balances_is_refused_whole_and_solved_in_parts():
    rng = np.random.default_rng(16)
    parts = [(*balanced_start(rng, 2, 2, 3, lam), rng.normal(size=(3, 2))) for lam in (1.0, -0.5)]
    whole = [block_diag(*pair) for pair in zip(*parts, strict=True)]
    with pytest.raises(ValueError, match="not λ-balanced"):
        trajectory(2.0, *whole)
    A, B = integrate(2.0, *whole[:2], whole[2])
    np.testing.assert_allclose(block_diag(*(trajectory(2.0, *part) for part in parts)), B @ A, atol=1e-9)


def test_tolerance_admits_a_rounded_start():
    rng = np.random.default_rng(17)
    W1, W2 = (W.astype(np.float32) for W in balanced_start(rng, 3, 3, 3, 1.0))
    Y = rng.normal(size=(3, 3))
    with pytest.raises(ValueError, match="not λ-balanced"):
        trajectory(1.0, W1, W2, Y)
    A, B = integrate(1.0, W1.astype(float), W2.astype(float), Y)
    np.testing.assert_allclose(trajectory(1.0, W1, W2, Y, tolerance=1e-6), B @ A, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t": -1.0}, "t must be"),
        ({"t": [[1.0]]}, "t must be"),
        ({"t": np.nan}, "t must be"),
        ({"W1": np.ones(3)}, r"W1 must be a matrix with at least one row and column; got shape \(3,\)"),
        ({"W2": np.full((2, 2), np.nan)}, r"W2 must be finite; got nan at entry \(0, 0\)"),
        ({"W2": np.ones((2, 3))}, r"W1 \(h × i\) and W2 \(o × h\) must be of one h; got shapes \(2, 3\) and \(2, 3\)"),
        ({"target": np.ones((3, 2))}, r"target must be of shape \(2, 3\); got \(3, 2\)"),
        ({"target": np.full((2, 3), np.inf)}, r"target must be finite; got inf at entry \(0, 0\)"),
    ],
)
def test_bad_input_is_refused(change, message):
    good = {"t": 1.0, "W1": np.eye(2, 3), "W2": np.eye(2), "target": np.ones((2, 3))}
    assert two_layer.trajectory(**good).shape == (2, 3)
    with pytest.raises(ValueError, match=message):
        two_layer.trajectory(**{**good, **change})


def test_overlaps_below_the_rounding_of_a_rough_start_count_as_zero():
    """A violation beyond 1e-10, which a looser tolerance allows, blurs overlaps by itself and no less."""
    assert riccati.staircase(np.array([[0.5e-8], [1.0]]), 1e-8, 2)[1] == [1]
    assert riccati.staircase(np.array([[2e-8], [1.0]]), 1e-8, 2)[1] == [0]


def test_rounding_grows_with_the_weights_of_elimination():
    """The second row is a hundred times the first: what is left of it is known a hundred times less well."""
    overlaps = np.array([[0.01, 0.0], [1.0, 5e-12], [0.0, 1.0]])
    assert riccati.staircase(overlaps, 1e-13, 2)[1] == [0, 2]
    overlaps[1, 1] = 2e-11
    assert riccati.staircase(overlaps, 1e-13, 2)[1] == [0, 1]


def test_the_balance_of_an_identity_before_a_zero_layer():
    assert balance(np.eye(2), np.zeros((1, 2))) == pytest.approx((-1.0, 0.0))
    assert balance(np.zeros((2, 3)), np.eye(2)) == pytest.approx((1.0, 0.0))
    assert balance(np.zeros((2, 3)), np.zeros((4, 2))) == (0.0, 0.0)
    assert balance(1e-150 * np.eye(2), np.zeros((1, 2))).value == pytest.approx(-1e-300, rel=1e-12, abs=0)


@settings(max_examples=60)
@given(sizes, seeds, balances, scales, st.booleans())
def test_what_has_settled_is_left_out_without_a_trace(shape, seed, lam, scale, low_rank):
    """Products are those of the layers, which are solved for all modes at every time, in whatever order times come."""
    rng = np.random.default_rng(seed)
    W1, W2 = balanced_start(rng, *shape, lam, scale)
    Y = rng.normal(size=(shape[2], shape[0]))
    if low_rank:
        Y = Y[:, :1] @ rng.normal(size=(1, shape[0]))
    times = rng.permutation(np.r_[0.0, np.geomspace(0.1, 1e4, 30), np.inf])
    for measured, exact in zip(trajectory(times, W1, W2, Y), grams(times, W1, W2, Y).product, strict=True):
        assert gap(measured, exact, Y) < 1e-9


def test_modes_settle_from_the_fastest_on_until_all_have():
    rng = np.random.default_rng(2)
    W1 = rng.normal(size=(6, 6)) / 10
    Y, turn = np.diag([3.0, 2.0, 1.0, 0.5, 0.2, 0.1]), orthonormal(rng, 6, 6)
    turn[0] *= np.sign(np.linalg.det(turn))
    _, start, _ = two_layer._prepared(W1, turn @ W1.T, Y, 1e-10)
    invertible = settled.invertible(start)
    assert invertible is not None
    counts = [settled.settled(t, invertible) for t in (0.0, 20.0, 40.0, 100.0, 1000.0)]
    assert counts[0] == 0
    assert np.all(np.diff(counts) > 0)
    assert counts[-1] == 6
    np.testing.assert_array_equal(trajectory(1000.0, W1, turn @ W1.T, Y), Y)


@pytest.mark.parametrize("lam", [-0.2, 0.0, 0.2])
@pytest.mark.parametrize("shape", [(2, 5, 4), (4, 5, 2), (3, 6, 3), (3, 4, 4)])
def test_slow_modes_go_on_after_fast_ones_have_settled(shape, lam):
    """Rates far apart: at these times the fastest stands still, while slow ones and single ones are still coupled."""
    i, h, o = shape
    rng = np.random.default_rng(8)
    slow = [3.0, 0.3, 0.05][: min(i, o)] if min(i, o) > 2 else [3.0, 0.05]
    Y = (orthonormal(rng, o, len(slow)) * slow) @ orthonormal(rng, i, len(slow)).T
    W1, W2 = balanced_start(rng, i, h, o, lam, 0.5)
    times = np.array([15.0, 20.0, 40.0, 80.0])  # e^{−3·15} is below rounding
    found, exact = trajectory(times, W1, W2, Y), grams(times, W1, W2, Y).product
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-12)


@pytest.mark.parametrize("growing", [0, 1, 2])
@pytest.mark.parametrize(("share", "pivots"), [(0.9, [1]), (1.1, [0])])
def test_an_overlap_is_told_from_zero_at_the_rounding_of_its_column(growing, share, pivots):
    assert riccati.staircase(np.array([[share * 1e-12], [1.0]]), 1e-12, growing)[1] == pivots
    assert riccati.staircase(np.array([[share * 1e-42], [1e-30]]), 1e-12, growing)[1] == pivots


@pytest.mark.parametrize(("share", "pivots"), [(0.97, [0, 2]), (1.03, [0, 1])])
def test_a_reflection_mixes_the_rounding_of_the_columns(share, pivots):
    """Turned by 45°, a column of order one takes over half of the variance of a column a thousand times as long."""
    rounding, long = 1e-12, 1000.0
    a = share * rounding * np.sqrt(long**2 + 2) / 2  # (√2 a)² against half the sum of both variances
    assert riccati.staircase(np.array([[1.0, 1.0], [a, -a], [long, 0.0]]), rounding, 0)[1] == pivots


@pytest.mark.parametrize(("share", "pivots"), [(0.97, [0, 1, 3]), (1.03, [0, 1, 2])])
def test_a_row_blurs_by_its_weights_on_the_pivot_rows_before_it(share, pivots):
    """(10, 1) is all of the second pivot row and nothing of the first: the rounding of two rows, √2 of that of one."""
    rounding = 1e-13
    rows = [[1.0, 0.0, 0.0], [10.0, 1.0, 0.0], [10.0, 1.0, share * np.sqrt(2) * rounding], [0.0, 0.0, 1.0]]
    assert riccati.staircase(np.array(rows), rounding, 4)[1] == pivots
