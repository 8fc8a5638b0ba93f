"""The log-det problem: its convex form, its closed minimum, its first-order conditions, the flow that solves it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.linalg import sqrtm

from lineament.theory import two_layer
from lineament.theory.log_det import best_gram, convex_objective, kkt, least_objective, minimum, objective

sizes = st.tuples(st.integers(1, 5), st.integers(0, 3), st.integers(1, 4), st.integers(1, 5))
seeds = st.integers(0, 2**32 - 1)
gammas = st.floats(-4, 2).map(lambda e: 10.0**e)


def problem(rng, shape):
    """X (n, d) and Y = XWᵀ (n, k), with l = d + spare hidden units."""
    d, spare, k, n = shape
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=(d, k)), d + spare


def factored(rng, M, W, width):
    """Layers with W1ᵀW1 = M and W2W1 = W of least norm, in a random hidden basis."""
    root = np.linalg.cholesky(M)
    turn = np.linalg.qr(rng.normal(size=(width, len(M))))[0]
    return turn @ root.T, np.linalg.solve(root, W.T).T @ turn.T


def naive_kkt(W1, W2, X, gamma):
    """The least-squares multiplier by brute force: all of ν at once."""
    pull = 4 * gamma * W1 @ np.linalg.inv(W1.T @ W1)
    target = np.concatenate([(2 * W1 - pull).ravel(), 2 * W2.ravel()])
    columns = []
    for e in np.eye(len(X) * len(W2)):
        L = e.reshape(len(W2), len(X)) @ X
        columns.append(np.concatenate([(W2.T @ L).ravel(), (L @ W1.T).ravel()]))
    columns = np.stack(columns, axis=1)
    left = target - columns @ np.linalg.lstsq(columns, target)[0]
    return np.linalg.norm(left) / np.sqrt(np.sum((2 * W1) ** 2) + np.sum(pull**2) + np.sum((2 * W2) ** 2))


@given(sizes, seeds, gammas)
def test_convex_form_is_the_objective_at_the_least_second_layer(shape, seed, gamma):
    rng = np.random.default_rng(seed)
    d, spare, k, _ = shape
    W1, W = rng.normal(size=(d + spare + 1, d)), rng.normal(size=(k, d))
    W2 = W @ np.linalg.pinv(W1)
    plain = np.sum(W1**2) + np.sum(W2**2) - 2 * gamma * np.linalg.slogdet(W1.T @ W1)[1]
    size = np.sum(W1**2) + np.sum(W2**2) + gamma * abs(np.linalg.slogdet(W1.T @ W1)[1])
    assert objective(W1, W2, gamma) == pytest.approx(plain, abs=1e-9 * size)
    assert convex_objective(W1.T @ W1, W, gamma) == pytest.approx(plain, abs=1e-9 * size)
    # Any other second layer with this product costs more, by exactly its part outside the column space of W1.
    idle = rng.normal(size=W2.shape) @ (np.eye(len(W1)) - W1 @ np.linalg.pinv(W1))
    assert objective(W1, W2 + idle, gamma) == pytest.approx(
        plain + np.sum(idle**2), abs=1e-9 * (size + np.sum(idle**2))
    )


@given(sizes, seeds, gammas, st.floats(0, 1))
def test_jointly_convex(shape, seed, gamma, weight):
    rng = np.random.default_rng(seed)
    d, _, k, _ = shape
    points = []
    for _ in range(2):
        A = rng.normal(size=(d, d)) * 10.0 ** rng.uniform(-2, 2)
        points.append((A @ A.T + 1e-3 * np.eye(d), rng.normal(size=(k, d)) * 10.0 ** rng.uniform(-2, 2)))
    (M, b), (N, c) = points
    mixed = convex_objective(weight * M + (1 - weight) * N, weight * b + (1 - weight) * c, gamma)
    chord = weight * convex_objective(M, b, gamma) + (1 - weight) * convex_objective(N, c, gamma)
    assert mixed <= chord + 1e-10 * abs(chord) + 1e-9


@given(sizes, seeds, gammas)
def test_best_gram_is_the_printed_root_and_the_minimum_over_grams(shape, seed, gamma):
    rng = np.random.default_rng(seed)
    d, _, k, _ = shape
    W = rng.normal(size=(k, d))
    M = best_gram(W, gamma)
    root = np.real(sqrtm(gamma**2 * np.eye(d) + W.T @ W))
    np.testing.assert_allclose(M, gamma * np.eye(d) + root, rtol=0, atol=1e-7 * np.linalg.norm(M))
    np.testing.assert_allclose(M @ M - 2 * gamma * M, W.T @ W, atol=1e-12 * np.linalg.norm(M) ** 2)
    least = convex_objective(M, W, gamma)
    closed = least_objective(np.linalg.svd(W, compute_uv=False), gamma, d)
    assert closed == pytest.approx(least, rel=1e-10, abs=1e-10)
    for step in (1e-1, 1e-3):
        move = rng.normal(size=(d, d))
        move = step * np.linalg.eigvalsh(M)[0] * (move + move.T) / np.linalg.norm(move + move.T)
        rise = convex_objective(M + move, W, gamma) - least
        assert rise > -1e-11 * (1 + abs(least))
        assert rise + convex_objective(M - move, W, gamma) - least > 0


@given(sizes, seeds, gammas)
def test_kkt_holds_at_the_minimum_and_only_there(shape, seed, gamma):
    rng = np.random.default_rng(seed)
    X, Y, width = problem(rng, shape)
    M, W, value = minimum(X, Y, gamma)
    W1, W2 = factored(rng, M, W, width)
    stationarity, feasibility, multiplier = kkt(W1, W2, X, Y, gamma)
    assert stationarity < 1e-10
    assert feasibility < 1e-10
    assert objective(W1, W2, gamma) == pytest.approx(value, rel=1e-9, abs=1e-9)
    # The multiplier is the gradient 2WM⁻¹, and its rows lie in the row space of X.
    np.testing.assert_allclose(multiplier, 2 * np.linalg.solve(M, W.T).T, atol=1e-8 * np.abs(multiplier).max())
    np.testing.assert_allclose(multiplier @ np.linalg.pinv(X) @ X, multiplier, atol=1e-9 * np.abs(multiplier).max())
    V1, V2 = W1 * 1.1, W2 / 1.1
    assert kkt(V1, V2, X, Y, gamma).stationarity > 1e-4
    assert kkt(V1, V2, X, Y, gamma).feasibility < 1e-10
    assert objective(V1, V2, gamma) > value


@given(sizes, seeds, gammas)
def test_kkt_residual_is_the_brute_force_least_squares_one(shape, seed, gamma):
    rng = np.random.default_rng(seed)
    X, Y, width = problem(rng, shape)
    W1, W2 = rng.normal(size=(width + 2, X.shape[1])), rng.normal(size=(Y.shape[1], width + 2))
    result = kkt(W1, W2, X, Y, gamma)
    assert result.stationarity == pytest.approx(naive_kkt(W1, W2, X, gamma), rel=1e-6, abs=0)
    assert result.feasibility == pytest.approx(
        np.linalg.norm(X @ (W2 @ W1).T - Y) / np.linalg.norm(Y), rel=1e-12, abs=0
    )


@pytest.mark.parametrize("gamma", [1e-2, 0.5, 20.0])
def test_no_interpolator_does_better(gamma):
    """Any other interpolator W + Z, Z off the row space of X, costs more, at every distance and in every direction.

    Per direction the rise is at least quadratic: over the distance squared it does not vanish.
    """
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2, 5))
    Y = X @ rng.normal(size=(5, 3))
    _, W, value = minimum(X, Y, gamma)
    null = np.linalg.svd(X)[2][2:]
    for _ in range(20):
        Z = rng.normal(size=(3, 3)) @ null
        Z /= np.linalg.norm(Z)
        others = [W + size * min(gamma, 1.0) * Z for size in (0.01, 0.1, 1, 10)]
        rises = [convex_objective(best_gram(other, gamma), other, gamma) - value for other in others]
        assert np.all(np.diff(rises) > 0)
        assert 100 * rises[0] == pytest.approx(rises[1], rel=0.1, abs=0)
        assert rises[0] > 0


@pytest.mark.parametrize("gamma", [1e-2, 0.3, 5.0])
@pytest.mark.parametrize("n", [3, 8])
def test_the_shaped_flow_ends_at_the_minimum(gamma, n):
    """Integrated flow on raw data, under- and overdetermined, from W1 = √(2γ)P, W2 = 0."""
    rng = np.random.default_rng(4)
    d, width, k = 4, 6, 2
    X = rng.normal(size=(n, d)) / 2
    Y = X @ rng.normal(size=(d, k))
    P = np.linalg.qr(rng.normal(size=(width, d)))[0]

    def gradients(_, z):
        A, B = z[: d * width].reshape(width, d), z[d * width :].reshape(k, width)
        G = (Y - X @ (B @ A).T).T @ X
        return np.concatenate([(B.T @ G).ravel(), (G @ A.T).ravel()])

    z0 = np.concatenate([np.sqrt(2 * gamma) * P.ravel(), np.zeros(width * k)])
    z = solve_ivp(gradients, (0, 500), z0, method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    W1, W2 = z[: d * width].reshape(width, d), z[d * width :].reshape(k, width)
    stationarity, feasibility, _ = kkt(W1, W2, X, Y, gamma)
    assert stationarity < 1e-8
    assert feasibility < 1e-8
    M, W, value = minimum(X, Y, gamma)
    np.testing.assert_allclose(W1.T @ W1, M, atol=1e-8 * max(1, gamma))
    np.testing.assert_allclose(W2 @ W1, W, atol=1e-8)
    assert objective(W1, W2, gamma) == pytest.approx(value, rel=1e-8, abs=0)


@pytest.mark.parametrize("gamma", [1e-4, 1.0, 1e2])
def test_the_exact_flow_on_white_inputs_ends_at_the_minimum(gamma):
    rng = np.random.default_rng(5)
    Q, W = np.linalg.qr(rng.normal(size=(7, 5)))[0], rng.normal(size=(2, 4))
    W1, W2 = two_layer.layers(np.inf, np.sqrt(2 * gamma) * Q[:, :4], np.zeros((2, 7)), W)
    stationarity, feasibility, _ = kkt(W1, W2, np.eye(4), W.T, gamma)
    assert stationarity < 1e-12
    assert feasibility < 1e-12 * max(1, gamma)


def test_the_printed_gram_is_singular_for_wide_layers():
    rng = np.random.default_rng(6)
    W1 = rng.normal(size=(5, 3))
    assert np.linalg.matrix_rank(W1 @ W1.T) == 3 < 5
    assert np.isfinite(objective(W1, np.zeros((1, 5)), 1.0))
    assert objective(W1.T, np.zeros((1, 3)), 1.0) == np.inf
    assert convex_objective(np.diag([1.0, 0.0]), np.ones((1, 2)), 1.0) == np.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: objective(np.eye(2), np.eye(2), 0.0), "gamma must be a finite number above 0"),
        (lambda: objective(np.ones((3, 2)), np.ones((1, 2)), 1.0), "W2 must be of 3 columns"),
        (lambda: objective(np.full((2, 2), np.nan), np.eye(2), 1.0), r"W1 must be finite; got nan at entry \(0, 0\)"),
        (
            lambda: kkt(np.ones((3, 2)), np.ones((1, 3)), np.eye(2), np.ones((2, 1)), 1.0),
            "W1 must be of full column rank",
        ),
        (lambda: kkt(np.eye(2), np.ones((1, 2)), np.eye(3), np.ones((3, 1)), 1.0), r"X must be \(n, 2\)"),
        (lambda: convex_objective(np.array([[1.0, 2.0], [0.0, 1.0]]), np.ones((1, 2)), 1.0), "M must be symmetric"),
        (lambda: convex_objective(np.eye(3), np.ones((1, 2)), 1.0), r"M must be of shape \(2, 2\); got \(3, 3\)"),
        (lambda: least_objective([1.0, -1.0], 1.0, 3), "singular_values must be"),
        (
            lambda: least_objective([1.0, 1.0], 1.0, 1),
            "input_size must be a whole number of at least 2 and at most 100000000; got 1",
        ),
        (lambda: minimum(np.eye(2), np.ones((3, 1)), 1.0), "Y must be of as many rows as X"),
        (lambda: minimum(np.ones((2, 1)), np.array([[1.0], [2.0]]), 1.0), "Y must be in the range of X"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_objective_is_infinite_at_every_first_layer_that_lacks_rank():
    """Rounding leaves a singular value of 1e-17 where there should be none, whose logarithm is a number like others."""
    for W1 in (
        np.outer([1.0, 2.0, 3.0], [0.1, 0.7]),
        np.outer(np.arange(1, 6) / 7, [0.3, 0.1, 0.2]),
        np.zeros((2, 2)),
    ):
        assert objective(W1, np.ones((1, len(W1))), 1.0) == np.inf


def test_the_objective_of_columns_of_any_length():
    for scale in (1e-100, 1e-20, 1e20):
        W1 = np.array([[1.0, 0.3 * scale], [0.5, scale], [0.0, scale]])
        log_det = np.log(1.25 * 2.09 - 0.8**2) + 2 * np.log(scale)
        np.testing.assert_allclose(objective(W1, np.zeros((1, 3)), 1.0), 1.25 + 2.09 * scale**2 - 2 * log_det)


def test_a_gram_of_zeros_is_symmetric_and_costs_infinitely_much():
    assert convex_objective(np.zeros((2, 2)), np.ones((1, 2)), 1.0) == np.inf
