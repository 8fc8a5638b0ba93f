"""Losses over maps against their printed formulas, their gradients against finite differences, their optima."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lineament as la
from lineament.problems import minimise

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(30, 4)), rng.normal(size=(30, 3))
signs = np.where(rng.normal(size=30) > 0, 1.0, -1.0)
classes = rng.integers(0, 3, size=30)
A, values = rng.normal(size=(30, 3, 4)), rng.normal(size=30)
rows, columns = np.array([0, 0, 1, 2, 2]), np.array([0, 3, 1, 0, 2])
entries = rng.normal(size=5)


def softplus(z):
    return np.log1p(np.exp(-np.abs(z))) + np.maximum(z, 0)


# every problem, beside the naive transcription of its loss
PROBLEMS = {
    "regression": (la.problems.regression(X, Y), lambda W: 0.5 * np.mean(np.sum((X @ W.T - Y) ** 2, 1))),
    "moments": (
        la.problems.regression_from_moments(X.T @ X / 30, Y.T @ X / 30, Y.T @ Y / 30),
        lambda W: 0.5 * np.mean(np.sum((X @ W.T - Y) ** 2, 1)),
    ),
    "whitened": (la.problems.whitened(Y[:3, :].T @ X[:3]), lambda W: 0.5 * np.sum((W - Y[:3].T @ X[:3]) ** 2)),
    "l4": (la.problems.lp_regression(X, Y, p=4), lambda W: np.mean(np.sum((X @ W.T - Y) ** 4, 1)) / 4),
    "l6": (la.problems.lp_regression(X, Y, p=6), lambda W: np.mean(np.sum((X @ W.T - Y) ** 6, 1)) / 6),
    "sensing": (la.problems.sensing(A, values), lambda W: 0.5 * np.mean((np.einsum("koi,oi->k", A, W) - values) ** 2)),
    "sensing-sum": (
        la.problems.sensing(A, values, reduction="sum"),
        lambda W: 0.5 * np.sum((np.einsum("koi,oi->k", A, W) - values) ** 2),
    ),
    "completion": (
        la.problems.completion(rows, columns, entries, (3, 4)),
        lambda W: 0.5 * np.mean((W[rows, columns] - entries) ** 2),
    ),
    "completion-sum": (
        la.problems.completion(rows, columns, entries, (3, 4), reduction="sum"),
        lambda W: 0.5 * np.sum((W[rows, columns] - entries) ** 2),
    ),
    "logistic": (la.problems.logistic(X, signs), lambda W: np.mean(softplus(-signs * (X @ W.T)[:, 0]))),
    "exponential": (la.problems.exponential(X, signs), lambda W: np.mean(np.exp(-signs * (X @ W.T)[:, 0]))),
    "cross-entropy": (
        la.problems.cross_entropy(X, classes),
        lambda W: np.mean(np.log(np.exp(X @ W.T).sum(1)) - (X @ W.T)[np.arange(30), classes]),
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("scale", [0.0, 0.01, 1.0])
def test_loss_is_the_printed_formula(name, scale):
    problem, naive = PROBLEMS[name]
    W = scale * rng.normal(size=problem.shape)
    np.testing.assert_allclose(problem.loss(jnp.asarray(W)), naive(W), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", PROBLEMS)
def test_gradient_is_the_derivative_of_the_loss(name):
    problem, naive = PROBLEMS[name]
    W, direction = rng.normal(size=problem.shape), rng.normal(size=problem.shape)
    h = 1e-6
    slope = (naive(W + h * direction) - naive(W - h * direction)) / (2 * h)
    np.testing.assert_allclose(np.sum(problem.gradient(jnp.asarray(W)) * direction), slope, rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in PROBLEMS if PROBLEMS[name][0].optimum().attained])
def test_optimum_is_stationary_and_least(name):
    problem, naive = PROBLEMS[name]
    best = problem.optimum()
    np.testing.assert_allclose(best.loss, naive(np.asarray(best.map)), rtol=1e-10, atol=1e-15)
    assert np.abs(problem.gradient(best.map)).max() < 1e-8
    for _ in range(5):
        assert naive(np.asarray(best.map) + 0.1 * rng.normal(size=problem.shape)) >= best.loss - 1e-12


def test_logistic_infimum_on_separable_data_is_zero_and_not_attained():
    w = np.array([1.0, -2.0, 0.5, 0.1])
    best = la.problems.logistic(X, np.sign(X @ w)).optimum()
    assert not best.attained
    assert best.loss == 0.0


def test_logistic_infimum_where_some_examples_separate_is_that_of_the_rest():
    # the first coordinate separates two examples without touching the other two, which contradict each other
    points = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    best = la.problems.logistic(points, np.array([1.0, -1.0, 1.0, -1.0])).optimum()
    assert not best.attained
    np.testing.assert_allclose(best.loss, 0.5 * np.log(2), rtol=1e-8)


def test_cross_entropy_on_separable_data_has_no_minimiser():
    best = la.problems.cross_entropy(np.eye(3), np.arange(3)).optimum()
    assert not best.attained
    assert best.loss == 0.0


@given(st.integers(1, 3), st.integers(0, 2**31))
def test_reduced_rank_regression_beats_every_other_map_of_that_rank(rank, seed):
    local = np.random.default_rng(seed)
    best = la.problems.regression(X, Y).optimum(rank)
    assert np.linalg.matrix_rank(best.map, tol=1e-9) <= rank
    problem = la.problems.regression(X, Y)
    np.testing.assert_allclose(problem.loss(best.map), best.loss, rtol=1e-10)
    rival = local.normal(size=(3, rank)) @ local.normal(size=(rank, 4))
    U, s, Vt = np.linalg.svd(np.asarray(best.map) + 0.1 * rival)
    rival = (U[:, :rank] * s[:rank]) @ Vt[:rank]
    assert problem.loss(jnp.asarray(rival)) >= best.loss - 1e-12


def test_regression_keeps_its_digits_at_the_optimum():
    # residual-free data of large norm: the difference of large terms would leave 1e-4, not 1e-22
    W = rng.normal(size=(3, 4))
    problem = la.problems.regression(1e6 * X, 1e6 * X @ W.T)
    assert float(problem.loss(jnp.asarray(W))) < 1e-12
    assert float(problem.loss(problem.optimum().map)) < 1e-12


def test_rank_deficient_inputs_give_the_least_norm_optimum():
    deficient = np.c_[X[:, :3], X[:, 0] + X[:, 1]]
    problem = la.problems.regression(deficient, Y)
    np.testing.assert_allclose(problem.optimum().map, (np.linalg.pinv(deficient) @ Y).T, atol=1e-10)
    lp = la.problems.lp_regression(deficient, Y, p=4).optimum()
    assert np.abs(la.problems.lp_regression(deficient, Y, p=4).gradient(lp.map)).max() < 1e-8


def test_a_function_is_a_map_too():
    W = jnp.asarray(rng.normal(size=(3, 4)))
    for name in ("regression", "l4", "cross-entropy"):
        problem, _ = PROBLEMS[name]
        np.testing.assert_allclose(problem.loss(lambda x: x @ W.T), problem.loss(W), rtol=1e-12)


@pytest.mark.parametrize("name", ["regression", "l4", "sensing", "logistic", "cross-entropy"])
def test_batches_average_to_the_whole(name):
    problem, _ = PROBLEMS[name]
    W = jnp.asarray(rng.normal(size=problem.shape))
    parts = [problem.take(jnp.arange(start, start + 10)).loss(W) for start in (0, 10, 20)]
    np.testing.assert_allclose(np.mean(parts), problem.loss(W), rtol=1e-11)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: la.problems.regression(X, Y[:5]), "equally many rows; got X 30, Y 5"),
        (lambda: la.problems.regression(X[0, 0], Y), "X must have 2 dimension"),
        (
            lambda: la.problems.regression(np.where(X[3, 1] == X, np.nan, X), Y),
            r"X must be finite; entry \(3, 1\) is nan",
        ),
        (lambda: la.problems.regression(np.zeros((0, 4)), np.zeros((0, 3))), "at least one example"),
        (lambda: la.problems.regression(X + 0j, Y), "X must be real numbers"),
        (lambda: la.problems.regression_from_moments(np.eye(3), np.ones((2, 4)), np.eye(2)), "got"),
        (lambda: la.problems.lp_regression(X, Y, p=3), "p must be an even integer ≥ 2"),
        (lambda: la.problems.sensing(A, values[:3]), "got A 30, y 3"),
        (lambda: la.problems.sensing(A, values, reduction="median"), "reduction must be one of 'mean', 'sum'"),
        (lambda: la.problems.completion([0], [7], [1.0], (3, 4)), "columns must lie in 0..3; got 7..7"),
        (
            lambda: la.problems.completion([0, 0], [1, 1], [1.0, 2.0], (3, 4)),
            r"entry \(0, 1\) is observed more than once",
        ),
        (lambda: la.problems.completion([0.5], [1], [1.0], (3, 4)), "rows must be 1 integers"),
        (lambda: la.problems.logistic(X, np.arange(30)), "labels −1 and \\+1"),
        (lambda: la.problems.cross_entropy(X, classes - 1), "labels must lie in"),
        (lambda: la.problems.cross_entropy(X, signs), "labels must be a vector of integers"),
        (lambda: PROBLEMS["completion"][0].take(jnp.arange(2)), "must have examples to draw minibatches from"),
        (lambda: PROBLEMS["sensing"][0].optimum(rank=1), "rank 1 < 3 is not known"),
        (lambda: PROBLEMS["moments"][0].loss(lambda x: x), "holds only moments"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_problems_can_be_made_inside_vmap():
    stacked = la.ensemble(
        lambda key: la.problems.whitened(jax.random.normal(key, (2, 3))), jax.random.split(jax.random.key(0), 4)
    )
    assert stacked.members == 4
    assert stacked[1].shape == (2, 3)


def test_newton_refuses_a_step_that_enlarges_the_gradient():
    """On log cosh from w = 2 the first Newton step overshoots, to where the slope is steeper."""
    objective = lambda w: (float(np.log(np.cosh(w[0]))), np.tanh(w))  # noqa: E731
    hessian = lambda W: jnp.reshape(1 / jnp.cosh(W) ** 2, (1, 1))  # noqa: E731
    start = np.array([2.0])
    assert minimise._newton(objective, hessian, jnp.asarray, start) == start
    near = minimise._newton(objective, hessian, jnp.asarray, np.array([0.5]))
    assert abs(near[0]) < 1e-12


def test_newton_goes_on_where_the_least_loss_is_zero():
    """On (w − 1)⁴/4 each step leaves two thirds of the way, while the loss is far smaller than the gradient."""
    objective = lambda w: (float((w[0] - 1) ** 4 / 4), (w - 1) ** 3)  # noqa: E731
    hessian = lambda W: 3 * (W.reshape(1, 1) - 1) ** 2  # noqa: E731
    reached = minimise._newton(objective, hessian, jnp.asarray, np.array([1.01]))
    assert reached[0] - 1 == pytest.approx(0.01 * (2 / 3) ** 20, rel=1e-3)


def test_large_problems_are_minimised_without_newton():
    draw = np.random.default_rng(4)
    inputs, outputs = draw.normal(size=(120, 26)), draw.normal(size=(120, 40))
    problem = la.problems.lp_regression(inputs, outputs, p=4)
    best = problem.optimum().map
    assert best.size > minimise.NEWTON_UP_TO
    # L-BFGS compares losses and sees gradients down to the root of rounding.
    assert np.linalg.norm(problem.gradient(best)) < 1e-7 * np.linalg.norm(problem.gradient(jnp.zeros(best.shape)))


@pytest.mark.parametrize("make", [lambda M: la.problems.quadratic_squared(M, 0.5), la.problems.quadratic_variance])
def test_the_least_loss_of_a_quadratic_problem_is_zero(make):
    problem = make(np.diag([2.0, 1.0, 0.0]))
    best = problem.optimum()
    assert best.loss == 0.0
    assert problem.loss(best.map) == 0.0
