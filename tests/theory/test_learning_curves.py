"""Learning curves: the implicit equation against extended precision, the errors against draws of rows, the limits."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineament.theory import learning_curves


def naive_kappa(n, eigenvalues, ridge):
    """The implicit equation by bisection in 60 digits."""
    with mpmath.workdps(60):
        values = [mpmath.mpf(float(v)) for v in eigenvalues if v > 0]
        n, ridge = mpmath.mpf(float(n)), mpmath.mpf(float(ridge))
        low, high = mpmath.mpf(10) ** -60, mpmath.mpf(10) ** 60
        for _ in range(400):
            middle = mpmath.sqrt(low * high)
            if sum(v / (v + middle) for v in values) + ridge / middle > n:
                low = middle
            else:
                high = middle
        return low


def naive_errors(n, eigenvalues, coefficients, noise, ridge):
    """The formulas of the paper as printed, in 60 digits."""
    with mpmath.workdps(60):
        kappa = naive_kappa(n, eigenvalues, ridge)
        learnt = [mpmath.mpf(float(v)) / (mpmath.mpf(float(v)) + kappa) for v in eigenvalues]
        overfitting = n / (n - sum(share**2 for share in learnt))
        left = sum((1 - share) ** 2 * mpmath.mpf(float(v)) ** 2 for share, v in zip(learnt, coefficients, strict=True))
        test = overfitting * (left + mpmath.mpf(float(noise)))
        return float(kappa), float(test), float((mpmath.mpf(float(ridge)) / (n * kappa)) ** 2 * test)


spectra = st.lists(st.floats(-12, 4), min_size=1, max_size=12).map(lambda logs: 10.0 ** np.array(logs))


@settings(max_examples=60, deadline=None)
@given(spectra, st.integers(1, 40), st.floats(-10, 6))
def test_the_implicit_equation_is_solved_to_rounding(eigenvalues, n, log_ridge):
    ridge = 10.0**log_ridge
    v = np.linspace(1, 2, len(eigenvalues))
    kappa, test, training = naive_errors(n, eigenvalues, v, 0.3, ridge)
    found = learning_curves.expected_errors(n, eigenvalues, v, 0.3, ridge)
    assert np.isclose(found.kappa, kappa, rtol=1e-12)
    assert np.isclose(found.test, test, rtol=1e-10)
    assert np.isclose(found.training, training, rtol=1e-10)


@settings(max_examples=40, deadline=None)
@given(spectra.filter(lambda values: len(values) > 1), st.floats(0.02, 0.98))
def test_without_ridge_fewer_rows_than_modes(eigenvalues, part):
    n = part * len(eigenvalues)
    assert np.isclose(
        learning_curves.effective_ridge(n, eigenvalues), float(naive_kappa(n, eigenvalues, 0.0)), rtol=1e-9
    )


def test_many_settings_at_once_are_those_one_by_one():
    eigenvalues = 1.0 / np.arange(1, 30) ** 2
    n, ridge = np.array([[3.0], [20.0], [29.0], [50.0]]), np.array([0.0, 1e-6, 1.0])
    together = learning_curves.effective_ridge(n, eigenvalues, ridge)
    apart = [[float(learning_curves.effective_ridge(float(a), eigenvalues, float(b))) for b in ridge] for a in n[:, 0]]
    assert together.shape == (4, 3)
    assert np.allclose(together, apart, rtol=1e-12)


def test_least_squares_beyond_the_number_of_modes_is_the_textbook():
    found = learning_curves.expected_errors([20, 40], np.ones(10), np.ones(10), 0.5)
    assert np.array_equal(found.kappa, [0, 0])
    assert np.allclose(found.test, [0.5 * 20 / 10, 0.5 * 40 / 30])
    assert np.allclose(found.training, [0.5 * 10 / 20, 0.5 * 30 / 40])  # (n − p)/n of the noise


def test_the_peak_of_double_descent_is_infinite_and_a_ridge_takes_it_away():
    eigenvalues, v = np.ones(10), np.ones(10)
    around = learning_curves.expected_errors([9.99, 10, 10.01], eigenvalues, v, 0.5).test
    assert np.isinf(around[1])
    assert around[0] > 100
    assert around[2] > 100
    assert learning_curves.expected_errors(10, eigenvalues, v, 0.5, 1.0).test < 10
    clean = learning_curves.expected_errors(10, eigenvalues, v)
    assert clean.test == 0


def test_a_vanishing_ridge_is_no_ridge():
    eigenvalues = 1.0 / np.arange(1, 21) ** 2
    n = np.array([5.0, 12.0, 30.0, 80.0])
    none = learning_curves.expected_errors(n, eigenvalues, np.ones(20), 0.1).test
    small = learning_curves.expected_errors(n, eigenvalues, np.ones(20), 0.1, 1e-12).test
    assert np.allclose(none, small, rtol=1e-7)


def test_what_is_never_learnt_counts_as_noise():
    with_zero = learning_curves.expected_errors(7, [1.0, 0.5, 0.0], [1.0, 1.0, 2.0], 0.25, 0.1)
    as_noise = learning_curves.expected_errors(7, [1.0, 0.5], [1.0, 1.0], 4.25, 0.1)
    assert np.isclose(with_zero.test, as_noise.test, rtol=1e-14)
    assert with_zero.learnt[-1] == 0


def test_outputs_add_up():
    eigenvalues, V = [2.0, 1.0, 0.1], np.array([[1.0, 2.0, 3.0], [0.5, 0.0, 1.0]])
    both = learning_curves.expected_errors(5, eigenvalues, V, 0.3, 0.2).test
    first = learning_curves.expected_errors(5, eigenvalues, V[0], 0.1, 0.2).test
    second = learning_curves.expected_errors(5, eigenvalues, V[1], 0.2, 0.2).test
    assert np.isclose(both, first + second, rtol=1e-14)


@pytest.mark.parametrize("ridge", [0.0, 0.7])
@pytest.mark.parametrize("n", [60, 150, 240, 450])
def test_errors_are_those_of_regressions_on_drawn_rows(n, ridge):
    # The naive route: draw Gaussian rows, solve, and take the exact risk of the solution under the distribution.
    p, draws, noise = 180, 40, 0.3
    rng = np.random.default_rng(n)
    eigenvalues = 1.0 / np.arange(1, p + 1) ** 1.2
    v = np.arange(1, p + 1) ** -0.7
    test, training = [], []
    for _ in range(draws):
        phi = rng.standard_normal((n, p))
        y = phi @ v + np.sqrt(noise) * rng.standard_normal(n)
        X = phi * np.sqrt(eigenvalues)
        if ridge:
            w = np.linalg.solve(X.T @ X + ridge * np.eye(p), X.T @ y)
        else:
            w = np.linalg.lstsq(X, y, rcond=None)[0]
        test.append(np.sum((w * np.sqrt(eigenvalues) - v) ** 2) + noise)
        training.append(np.mean((y - X @ w) ** 2))
    found = learning_curves.expected_errors(n, eigenvalues, v, noise, ridge)
    for forecast, drawn in ((found.test, test), (found.training, training)):
        error = np.std(drawn) / np.sqrt(draws)
        # Four standard errors, and the 1/n by which the asymptotic formula is off: up to 3 rows' worth near the peak.
        assert abs(forecast - np.mean(drawn)) <= 4 * error + 3 * forecast / n + 1e-20


def test_the_formula_is_off_by_one_part_in_n():
    # Gaussian least squares is known exactly: σ²(n − 1)/(n − p − 1) for p of n columns.
    off = []
    for n in (50, 100, 200, 400):
        p = n // 2
        exact = (n - 1) / (n - p - 1)
        off.append(float(learning_curves.expected_errors(n, np.ones(p), np.zeros(p), 1.0).test) / exact - 1)
    rate = np.polyfit(np.log([50, 100, 200, 400]), np.log(np.abs(off)), 1)[0]
    assert -1.1 < rate < -0.9


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_modes_of_eigenvalue_zero_take_up_nothing(ridge):
    """However many there are, and whether n lies below, between or above the numbers of modes with and without them."""
    n = np.array([0.5, 1.0, 2.0, 3.0, 4.0, 9.0])
    bare, padded = (learning_curves.effective_ridge(n, values, ridge) for values in ([3.0, 1.0], [3.0, 0.0, 1.0, 0.0]))
    np.testing.assert_allclose(padded, bare, rtol=1e-14)
    bare, padded = (
        learning_curves.expected_errors(n, values, v, 0.2, ridge)
        for values, v in (([3.0, 1.0], [1.0, 2.0]), ([3.0, 0.0, 1.0, 0.0], [1.0, 0.0, 2.0, 0.0]))
    )
    for name in ("kappa", "overfitting", "test", "training"):
        np.testing.assert_allclose(getattr(padded, name), getattr(bare, name), rtol=1e-13)
    np.testing.assert_array_equal(padded.learnt[:, [1, 3]], 0)


def test_coefficients_whose_squares_do_not_fit_float64_are_refused():
    """What was left of them was no number, which counted as nothing left to learn: an error of 0."""
    with pytest.raises(ValueError, match="coefficients must be finite numbers of at least -1e"):
        learning_curves.expected_errors(5, [1.0, 0.0], [1e200, 1.0])
    assert learning_curves.expected_errors(5, [1.0, 0.0], [1e150, 1.0]).test > 0


@pytest.mark.parametrize("gap", [1e-8, 1e-20, 1e-40, 1e-99])
def test_as_many_rows_as_large_modes(gap):
    """Of modes 1 and s with ridge s, κ² is about 2s: what the first misses must not drown in what it learns."""
    with mpmath.workdps(300):
        s = mpmath.mpf(gap)
        exact = mpmath.findroot(lambda k: s / (s + k) + s / k - k / (1 + k), mpmath.sqrt(2 * s))
    np.testing.assert_allclose(learning_curves.effective_ridge(1, [1.0, gap], gap), float(exact), rtol=1e-12)
