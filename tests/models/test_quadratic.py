"""Quadratic networks and their losses: moments by exact quadrature, and flows against the coupled modes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lineament as la
from lineament.models import Quadratic
from lineament.problems import quadratic_regression, quadratic_squared, quadratic_variance
from lineament.theory import modes
from lineament.theory.quadratic import PRINTED_BIAS_RATE, trajectory

VALUES = np.array([1.0, 0.5, 0.25, 0.0])
TIMES = np.linspace(0, 15, 31)


def rotated(values, seed=0):
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values),) * 2))[0]
    return (Q * values) @ Q.T


def gaussian_grid(d):
    """Nodes and weights that integrate polynomials up to degree 5 in each coordinate over N(0, I) exactly."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    X = np.stack(np.meshgrid(*[nodes] * d), axis=-1).reshape(-1, d)
    w = np.stack(np.meshgrid(*[weights / weights.sum()] * d), axis=-1).reshape(-1, d).prod(axis=1)
    return X, w


@settings(max_examples=20)
@given(st.integers(1, 4), st.integers(0, 999))
def test_population_losses_are_the_expectations_they_claim_to_be(d, seed):
    r = np.random.default_rng(seed)
    target, W, b, b_star = r.normal(size=(d, d)), r.normal(size=(d, d)), r.normal(), r.normal()
    target = target @ target.T
    X, w = gaussian_grid(d)
    error = np.einsum("ni,ij,nj->n", X, target - W.T @ W, X) + b_star - b
    mean, square = w @ error, w @ error**2
    form = Quadratic(d, bias=True).end_to_end((jnp.asarray(W), jnp.asarray(b)))
    assert float(quadratic_squared(target, b_star).loss(form)) == pytest.approx(square / 16, rel=1e-10)
    assert float(quadratic_variance(target).loss(form)) == pytest.approx((square - mean**2) / 16, rel=1e-10)
    np.testing.assert_allclose(form(X)[:, 0], np.einsum("ni,ij,nj->n", X, W.T @ W, X) + b, rtol=1e-10, atol=1e-12)


def test_many_examples_tend_to_the_population_loss_on_the_same_clock():
    """The error of the gradient falls as n^{−1/2}."""
    target, at = jnp.asarray(rotated(VALUES)), (jnp.eye(4) * 0.7, jnp.asarray(0.3))
    net = Quadratic(4, bias=True)
    gradient = lambda problem: jax.grad(lambda p: problem.loss(net.end_to_end(p)))(at)  # noqa: E731
    on_examples = jax.jit(jax.vmap(lambda X: gradient(quadratic_regression(X, jnp.sum((X @ target) * X, axis=1)))))
    exact, sizes, errors = gradient(quadratic_squared(target)), [200, 2000, 20000], []
    for n in sizes:
        W, b = on_examples(np.random.default_rng(n).normal(size=(16, n, 4)))
        errors.append(np.mean(np.linalg.norm(W - exact[0][None], axis=(1, 2)) + np.abs(b - exact[1])))
    assert np.polyfit(np.log(sizes), np.log(errors), 1)[0] == pytest.approx(-0.5, abs=0.15)


def spectrum(run):
    return np.asarray(run.singular_values)


def follow(net, problem, start):
    return la.flow(net, problem, start, times=TIMES, record=(net.singular_values,), rtol=1e-10, tolerance=0)


def test_the_variance_loss_gives_depth_two_modes():
    net = Quadratic(4)
    start = la.ensemble(lambda key: la.starts.orthogonal(net, key, 1e-3), jax.random.split(jax.random.key(0), 2))
    run = follow(net, quadratic_variance(rotated(VALUES)), start)
    forecast = modes.trajectory(TIMES[:, None], VALUES, 1e-3, 2)
    np.testing.assert_allclose(spectrum(run), np.broadcast_to(forecast, (2, 31, 4)), rtol=1e-8)


def test_the_squared_loss_couples_them():
    net = Quadratic(4)
    run = follow(net, quadratic_squared(rotated(VALUES)), la.starts.orthogonal(net, 0, 1e-3))
    np.testing.assert_allclose(spectrum(run), trajectory(TIMES, VALUES, 1e-3).values, rtol=1e-8)


def test_the_bias_learns_at_an_eighth_of_the_printed_rate():
    net = Quadratic(4, bias=True)
    start = la.starts.orthogonal(net, 0, 1e-3, bias=-0.5)
    run = follow(net, quadratic_squared(rotated(VALUES), bias=0.3), start)
    exact = trajectory(TIMES, VALUES, 1e-3, bias=-0.5, bias_target=0.3)
    np.testing.assert_allclose(spectrum(run), exact.values, rtol=1e-8)
    assert float(run.final[1]) == pytest.approx(exact.bias[-1], rel=1e-8)
    printed = trajectory(TIMES, VALUES, 1e-3, bias=-0.5, bias_target=0.3, bias_rate=PRINTED_BIAS_RATE)
    assert np.abs(spectrum(run) - printed.values).max() > 0.1


def test_the_printed_pair_is_the_flow_of_a_bias_in_units_of_root_eight():
    class Rescaled(Quadratic):
        def end_to_end(self, parameters):
            return super().end_to_end((parameters[0], 8**0.5 * parameters[1]))

    net = Rescaled(4, bias=True)
    run = follow(net, quadratic_squared(rotated(VALUES), bias=0.3), la.starts.identity(net, 1e-3, bias=-0.5 / 8**0.5))
    printed = trajectory(TIMES, VALUES, 1e-3, bias=-0.5, bias_target=0.3, bias_rate=PRINTED_BIAS_RATE)
    np.testing.assert_allclose(spectrum(run), printed.values, rtol=1e-8)


def test_descent_on_examples_is_the_loop_by_hand():
    r = np.random.default_rng(0)
    X = r.normal(size=(30, 4))
    y = np.einsum("ni,ij,nj->n", X, rotated(VALUES), X)
    W, b = 0.1 * np.eye(4), 1.75
    for _ in range(50):
        residual = np.sum((X @ W.T) ** 2, axis=1) + b - y
        slope = X.T @ (residual[:, None] * X) / 30
        W, b = W - 0.5 * W @ slope / 4, b - 0.5 * residual.mean() / 8
    net = Quadratic(4, bias=True)
    start = la.starts.identity(net, 1e-2, bias=1.75)
    run = la.descend(net, quadratic_regression(X, y), start, step_size=0.5, steps=50, record=("loss",))
    np.testing.assert_allclose(run.final[0], W, rtol=1e-10, atol=1e-14)
    assert float(run.final[1]) == pytest.approx(b, rel=1e-12)


def test_examples_can_be_taken_in_part():
    X = np.random.default_rng(0).normal(size=(10, 3))
    problem, form = quadratic_regression(X, X[:, 0]), Quadratic(3).end_to_end(la.starts.identity(Quadratic(3), 0.1))
    halves = [float(problem.take(jnp.arange(5) + first).loss(form)) for first in (0, 5)]
    assert np.mean(halves) == pytest.approx(float(problem.loss(form)), rel=1e-12)
    assert problem.examples == 10


def test_the_start_is_a_multiple_of_an_orthogonal_matrix():
    net = Quadratic(3, bias=True)
    for W, b in (la.starts.orthogonal(net, 0, 0.01, bias=2.0), la.starts.identity(net, 0.01, bias=2.0)):
        np.testing.assert_allclose(W.T @ W, 0.01 * np.eye(3), atol=1e-15)
        assert float(b) == 2.0
    np.testing.assert_allclose(net.singular_values((W, b)), 0.01, rtol=1e-12)


def test_bad_networks_targets_and_starts_are_refused():
    with pytest.raises(ValueError, match="inputs must be a positive integer; got 0"):
        Quadratic(0)
    with pytest.raises(ValueError, match="bias must be None unless the network has one"):
        la.starts.identity(Quadratic(2), 0.1, bias=1.0)
    with pytest.raises(ValueError, match="scale must be positive"):
        la.starts.identity(Quadratic(2), -0.1)
    with pytest.raises(ValueError, match=r"target must be a square matrix; got shape \(1, 2\)"):
        quadratic_squared(np.ones((1, 2)))
    with pytest.raises(ValueError, match="target must be symmetric"):
        quadratic_variance([[1.0, 1.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="least eigenvalue is -1"):
        quadratic_variance(np.diag([1.0, -1.0]))
    with pytest.raises(ValueError, match="got X 2, y 3"):
        quadratic_regression(np.ones((2, 2)), np.ones(3))
    net, problem = Quadratic(2, bias=True), quadratic_squared(np.eye(2))
    with pytest.raises(ValueError, match=r"got \(\(2, 2\),\)"):
        la.flow(net, problem, la.starts.identity(Quadratic(2), 0.1), record=("loss",))
    with pytest.raises(ValueError, match="maps of the problem's shape"):
        la.flow(Quadratic(3), problem, la.starts.identity(Quadratic(3), 0.1), record=("loss",))
    linear = la.models.DeepLinear((2, 1))
    with pytest.raises(ValueError, match=r"quadratic forms.*got a map of shape \(1, 2\)"):
        la.flow(linear, problem, la.starts.identity(linear, 0.1), record=("loss",))
