"""Quadratic forms against Gaussian quadrature, tensors against their entries, and what of either is refused."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lineament as la
from lineament.problems import UnknownOptimumError

RNG = np.random.default_rng(0)
ROOT, OTHER = RNG.normal(size=(2, 2, 2))
TARGET, FORM = ROOT.T @ ROOT, OTHER.T @ OTHER
INDEX = np.array([[0, 0, 0], [1, 2, 3], [1, 0, 2], [0, 1, 3]])
ENTRIES = np.array([1.0, -2.0, 0.5, 3.0])


def moments(error, offset):
    """E e and E e² of e = ⟨Δ, xxᵀ⟩ + δ over x ~ N(0, I), by Gauss and Hermite: three nodes are exact to degree 5."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    weights = weights / weights.sum()
    e, p = [], []
    for at in product(range(3), repeat=2):
        x = nodes[list(at)]
        e.append(x @ error @ x + offset)
        p.append(np.prod(weights[list(at)]))
    return np.dot(p, e), np.dot(p, np.square(e))


@pytest.mark.parametrize(("bias", "b"), [(0.0, 0.0), (0.7, -0.4)])
def test_losses_of_forms_are_means_over_gaussian_inputs(bias, b):
    mean, square = moments(TARGET - FORM, bias - b)
    squared, variance = la.problems.quadratic_squared(TARGET, bias), la.problems.quadratic_variance(TARGET)
    assert float(squared.loss((jnp.asarray(FORM), jnp.asarray(b)))) == pytest.approx(square / 16, rel=1e-12)
    assert float(variance.loss((jnp.asarray(FORM), jnp.asarray(b)))) == pytest.approx(
        (square - mean**2) / 16, rel=1e-12
    )


def test_the_best_form_is_the_target():
    for problem, bias in (
        (la.problems.quadratic_squared(TARGET, 0.7), 0.7),
        (la.problems.quadratic_squared(TARGET), 0.0),
        (la.problems.quadratic_variance(TARGET), 0.0),
    ):
        best = problem.optimum()
        assert problem.shape == (1, 2)
        assert best.loss == 0
        assert float(best.map[1]) == bias
        np.testing.assert_array_equal(best.map[0], TARGET)
        assert problem.loss(best.map) == 0


def test_examples_of_a_form():
    X, y = RNG.normal(size=(6, 3)), RNG.normal(size=6)
    problem = la.problems.quadratic_regression(X, y)
    f = lambda x: jnp.sum(x**2, axis=1, keepdims=True)  # noqa: E731
    errors = (np.sum(X**2, axis=1) - y) ** 2 / 16
    assert (problem.shape, problem.examples) == ((1, 3), 6)
    np.testing.assert_array_equal(problem.example_inputs, X)
    np.testing.assert_allclose(problem.loss(f), errors.mean(), rtol=1e-12)
    np.testing.assert_allclose(problem.take(jnp.array([4, 1])).loss(f), (errors[4] + errors[1]) / 2, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_a_target_must_be_what_a_form_can_be_up_to_rounding(scale):
    line = np.outer([1.0, 3.0, -2.0], [1.0, 3.0, -2.0])
    la.problems.quadratic_squared(scale * line)  # eigenvalues of zero, up to rounding
    la.problems.quadratic_squared(scale * (line + 1e-13 * np.triu(line)))
    with pytest.raises(ValueError, match="target must be symmetric; it differs from its transpose by"):
        la.problems.quadratic_squared(scale * (line + 1e-9 * np.tril(line, -1)))
    with pytest.raises(ValueError, match="target must be symmetric"):
        la.problems.quadratic_variance(scale * (line + 1e-9 * np.triu(line, 1)))
    with pytest.raises(
        ValueError, match="target must be positive semi-definite, as WᵀW is; its least eigenvalue is -"
    ):
        la.problems.quadratic_squared(scale * (line - 1e-9 * np.eye(3)))


def test_targets_of_an_ensemble_are_not_looked_at():
    targets = jnp.stack([jnp.eye(2), -jnp.eye(2)])
    many = la.ensemble(la.problems.quadratic_variance, targets)
    np.testing.assert_array_equal(many[1].target, -np.eye(2))


@pytest.mark.parametrize(("reduction", "weight"), [("mean", 1 / 4), ("sum", 1.0)])
def test_tensors_are_judged_by_their_observed_entries(reduction, weight):
    problem = la.problems.tensor_completion(INDEX, ENTRIES, (2, 3, 4), reduction)
    T = RNG.normal(size=(2, 3, 4))
    misfit = T[tuple(INDEX.T)] - ENTRIES
    expected = np.zeros((2, 3, 4))
    expected[tuple(INDEX.T)] = weight * misfit
    value, gradient = problem.value_and_gradient(jnp.asarray(T))
    np.testing.assert_allclose(value, 0.5 * weight * np.sum(misfit**2), rtol=1e-12)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)
    assert problem.shape == (2, 3, 4)
    best = problem.optimum()
    assert best.loss == 0
    np.testing.assert_array_equal(best.map[tuple(INDEX.T)], ENTRIES)
    assert np.count_nonzero(best.map) == 4
    left_out = la.problems.tensor_completion(INDEX, ENTRIES, (2, 3, 4))
    np.testing.assert_allclose(left_out.loss(jnp.asarray(T)), np.mean(misfit**2) / 2, rtol=1e-12)


def test_problems_of_an_ensemble_have_the_shape_of_one():
    keys = jax.random.split(jax.random.key(0), 5)
    draws = {
        (2, 3): lambda key: la.problems.sensing(jax.random.normal(key, (6, 2, 3)), jnp.ones(6)),
        (4, 3): lambda key: la.problems.lp_regression(jax.random.normal(key, (6, 3)), jnp.ones((6, 4))),
        (1, 3): lambda key: la.problems.logistic(jax.random.normal(key, (6, 3)), jnp.ones(6)),
    }
    for shape, draw in draws.items():
        assert jax.vmap(draw)(keys).shape == shape
    members = jax.vmap(lambda a: la.problems.tensor_completion(INDEX, a, (2, 3, 4)))(jnp.ones((5, 4)))
    assert members.shape == (2, 3, 4)
    assert jax.vmap(lambda a: la.problems.completion([0, 1], [2, 0], a, (3, 4)))(jnp.ones((5, 2))).shape == (3, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: la.problems.tensor_completion(INDEX, ENTRIES, (2, 3, 4), "median"), "reduction must be one of"),
        (
            lambda: la.problems.tensor_completion(INDEX * 1.0, ENTRIES, (2, 3, 4)),
            r"indices must be integers of shape \(4, 3",
        ),
        (lambda: la.problems.tensor_completion(INDEX[:3], ENTRIES, (2, 3, 4)), "indices must be integers of shape"),
        (lambda: la.problems.tensor_completion(INDEX[:, :2], ENTRIES, (2, 3, 4)), "indices must be integers of shape"),
        (lambda: la.problems.tensor_completion(INDEX[:0], ENTRIES[:0], (2, 3, 4)), "at least one observed entry"),
        (
            lambda: la.problems.tensor_completion(INDEX, ENTRIES, (2, 3, 3)),
            r"within shape \(2, 3, 3\); row 1 is outside",
        ),
        (lambda: la.problems.tensor_completion(INDEX - 1, ENTRIES, (2, 3, 4)), "row 0 is outside"),
        (
            lambda: la.problems.tensor_completion(INDEX[[0, 1, 1]], ENTRIES[:3], (2, 3, 4)),
            r"entry \(1, 2, 3\) is observed more than once",
        ),
        (
            lambda: la.problems.tensor_completion(INDEX, ENTRIES, (2, 3, 4)).optimum(rank=1),
            "over tensors of rank 1 is not known",
        ),
        (lambda: la.problems.quadratic_squared(np.ones((2, 3))), "target must be a square matrix"),
        (lambda: la.problems.quadratic_squared(np.eye(2)).loss((jnp.eye(2),)), "about quadratic forms"),
        (lambda: la.problems.quadratic_regression(np.ones((3, 2)), np.ones(2)), "equally many rows"),
        (lambda: la.problems.completion([], [], [], (2, 2)), "rows must be 0 integers|at least one observed entry"),
        (
            lambda: la.problems.completion(np.zeros(0, int), np.zeros(0, int), [], (2, 2)),
            "at least one observed entry",
        ),
        (lambda: la.problems.completion([0], [0], [1.0], (2, 2, 2)), "shape must be two positive integers"),
        (lambda: la.problems.completion([2], [0], [1.0], (2, 2)), r"rows must lie in 0\.\.1"),
        (lambda: la.problems.cross_entropy(np.ones((2, 3)), np.zeros(2, int)), "two classes at least"),
        (lambda: la.problems.cross_entropy(np.ones((2, 3)), np.array([0, 3]), 3), r"labels must lie in 0\.\.2"),
        (lambda: la.problems.cross_entropy(np.ones((2, 3)), np.array([0, 1]), 1), "classes must be"),
        (
            lambda: la.problems.cross_entropy(np.ones((2, 3)), np.ones((2, 1), int)),
            "labels must be a vector of integers",
        ),
        (lambda: la.problems.cross_entropy(np.ones((3, 3)), np.array([0, 1])), "equally many rows"),
        (lambda: la.problems.logistic(np.ones((3, 3)), np.ones(2)), "equally many rows"),
        (lambda: la.problems.exponential(np.ones((3, 3)), np.ones(2)), "equally many rows"),
        (lambda: la.problems.lp_regression(np.ones((3, 3)), np.ones(2)), "equally many rows"),
        (lambda: la.problems.lp_regression(np.ones((2, 3)), np.ones(2), p=0), "p must be"),
        (
            lambda: la.problems.regression_from_moments(np.eye(3), np.ones((2, 3)), np.eye(3)),
            "sxx, syx and syy must be",
        ),
        (lambda: la.problems.predict(jnp.ones((2, 3)), jnp.ones((4, 2))), "map must be a matrix of 2 columns"),
        (
            lambda: la.problems.lp_regression(np.ones((3, 3)), np.ones((3, 2))).optimum(1),
            "over matrices of rank 1 < 2",
        ),
        (lambda: la.problems.completion([0], [0], [1.0], (2, 2)).optimum(1), "over matrices of rank 1 < 2"),
        (lambda: la.problems.cross_entropy(np.eye(3), np.arange(3)).optimum(1), "over matrices of rank 1 < 3"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises((ValueError, UnknownOptimumError), match=message):
        call()


def test_labels_up_to_the_number_of_classes():
    problem = la.problems.cross_entropy(np.ones((2, 3)), np.array([0, 2]))
    assert problem.shape == (3, 3)
    assert la.problems.cross_entropy(np.ones((2, 3)), np.array([0, 1]), 2).shape == (2, 3)
    assert la.problems.cross_entropy(np.ones((2, 3)), [0, 1], 5).shape == (5, 3)
    assert la.problems.lp_regression(np.ones((2, 3)), np.ones(2)).p == 4


def test_reduced_rank_where_inputs_do_not_span():
    """A direction without inputs stays out of the best map, whatever the scale of the others."""
    X = RNG.normal(size=(20, 3)) * np.array([1e4, 1.0, 0.0])
    Y = RNG.normal(size=(20, 2))
    best = la.problems.regression(X, Y).optimum(1)
    whole = la.problems.regression(X, Y)
    np.testing.assert_allclose(best.map[:, 2], 0, atol=1e-12)
    np.testing.assert_allclose(whole.loss(best.map), best.loss, rtol=1e-10)
    values = np.linalg.svd(Y.T @ np.linalg.svd(X[:, :2], full_matrices=False)[0], compute_uv=False) ** 2 / 20
    np.testing.assert_allclose(best.loss, np.sum(Y**2) / 40 - values[0] / 2, rtol=1e-10)


def test_the_cross_covariance_and_its_modes():
    X, Y = RNG.normal(size=(9, 3)), RNG.normal(size=(9, 2))
    problem = la.problems.regression(X, Y)
    np.testing.assert_allclose(problem.syx, Y.T @ X / 9, rtol=1e-10)
    np.testing.assert_allclose(problem.modes, np.linalg.svd(np.linalg.pinv(X) @ Y, compute_uv=False), rtol=1e-10)
    assert problem.examples == 9
    np.testing.assert_array_equal(problem.example_inputs, X)
    moments_alone = la.problems.whitened(np.eye(2))
    assert moments_alone.examples is None
    assert moments_alone.optimum().loss == 0
    with pytest.raises(ValueError, match="problem must have examples"):
        moments_alone.take(jnp.arange(2))


X, LABELS = RNG.normal(size=(6, 3)), np.array([0, 1, 2, 0, 1, 2])
ALL = {
    "regression": (la.problems.regression(X, X), 6), "moments": (la.problems.whitened(np.eye(2)), None),
    "lp": (la.problems.lp_regression(X, X), 6), "logistic": (la.problems.logistic(X, np.ones(6)), 6),
    "cross-entropy": (la.problems.cross_entropy(X, LABELS), 6), "sensing": (la.problems.sensing(X[:, None], X[:, 0]), 6),
    "completion": (la.problems.completion([0], [0], [1.0], (2, 2)), None),
    "tensor": (la.problems.tensor_completion(INDEX, ENTRIES, (2, 3, 4)), None),
    "form": (la.problems.quadratic_squared(TARGET), None), "forms": (la.problems.quadratic_regression(X, X[:, 0]), 6),
}  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_problems_are_trees_of_arrays_and_count_their_examples(name):
    """Whatever else they hold is static, so that it is a constant of a compiled program."""
    problem, examples = ALL[name]
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(problem))
    assert problem.examples == examples
    if problem.example_inputs is not None:
        np.testing.assert_array_equal(problem.example_inputs, X)
