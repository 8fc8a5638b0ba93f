"""Problems at their edges: what is just taken and just refused, and optima where numbers nearly vanish."""

import jax.numpy as jnp
import numpy as np
import pytest

import lineament as la
from lineament.problems import max_margin

RNG = np.random.default_rng(2)
X, Y = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 2))


def test_what_counts_as_no_eigenvalue_grows_with_the_side():
    """3 × 1e-12 of the largest entry, for a form of three inputs."""
    la.problems.quadratic_squared(np.diag([1.0, 0.0, -2.5e-12]))
    with pytest.raises(ValueError, match=r"its least eigenvalue is -3\.5"):
        la.problems.quadratic_squared(np.diag([1.0, 0.0, -3.5e-12]))
    with pytest.raises(ValueError, match="positive semi-definite"):
        la.problems.quadratic_squared(-np.ones((2, 2)))
    with pytest.raises(ValueError, match="symmetric"):
        la.problems.quadratic_squared(np.array([[1.0, 1.5e-12], [0.0, 1.0]]))
    la.problems.quadratic_squared(np.array([[1.0, 0.5e-12], [0.0, 1.0]]))


@pytest.mark.parametrize("scale", [1e-170, 1.0, 1e160])
def test_the_separator_of_examples_without_a_positive_entry(scale):
    """Beside (−2, 0) and (0, −4) the least w is (−1/2, −1/4)."""
    corner = np.array([[-2.0, 0.0], [0.0, -4.0], [-9.0, -9.0]])
    np.testing.assert_allclose(max_margin(scale * corner, [1, 1, 1]) * scale, [-0.5, -0.25], rtol=1e-12)
    np.testing.assert_allclose(max_margin(-scale * corner, [-1, -1, -1]) * scale, [-0.5, -0.25], rtol=1e-12)
    with pytest.raises(ValueError, match="cannot be separated"):
        max_margin(np.zeros((2, 2)), [1, -1])


def test_a_covariance_that_is_below_zero_by_rounding():
    """The least eigenvalue of such a sum may come out at −1e-17, of which there is no root."""
    Q = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    sxx, target = Q @ np.diag([2.0, 0.5, -1e-15]) @ Q.T, RNG.normal(size=(2, 2)) @ Q[:, :2].T
    assert np.linalg.eigvalsh((sxx + sxx.T) / 2)[0] < 0
    best = la.problems.Regression(jnp.asarray((sxx + sxx.T) / 2), jnp.asarray(target), jnp.asarray(0.25)).optimum(1)
    values = np.linalg.svd(target @ Q[:, :2] * np.sqrt([2.0, 0.5]), compute_uv=False)
    np.testing.assert_allclose(best.loss, 0.25 + values[1] ** 2 / 2, rtol=1e-10)
    np.testing.assert_allclose(best.map @ Q[:, 2], 0, atol=1e-10)


def test_squares_are_an_even_power_too():
    W = RNG.normal(size=(2, 3))
    problem = la.problems.lp_regression(X, Y, p=2)
    np.testing.assert_allclose(
        problem.loss(jnp.asarray(W)), np.mean(np.sum((X @ W.T - Y) ** 2, axis=1)) / 2, rtol=1e-12
    )
    for p in (0, 1, 3, -2):
        with pytest.raises(ValueError, match="p must be"):
            la.problems.lp_regression(X, Y, p=p)


@pytest.mark.parametrize("far", [1.0, 1e3])
def test_what_separates_without_limit_leaves_the_least_loss_of_the_rest(far):
    """Two examples contradict each other, (0, ±1); the others are separated, one of them by much more."""
    points = np.array([[1.0, 0.0], [-far, 0.0], [0.0, 1.0], [0.0, 1.0]])
    best = la.problems.logistic(points, np.array([1.0, -1.0, 1.0, -1.0])).optimum()
    assert not best.attained
    assert best.loss == pytest.approx(0.5 * np.log(2), rel=1e-14)


def test_labels_that_are_no_numbers_are_named():
    with pytest.raises(ValueError, match="labels must be"):
        la.problems.cross_entropy(X, list("ababa"))
    assert la.problems.cross_entropy(X, jnp.array([0, 1, 2, 1, 0])).classes == 3
