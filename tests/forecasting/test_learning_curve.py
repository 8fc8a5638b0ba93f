"""Would more rows help? Against refits, against the theory of known spectra, and on rows held out."""

from dataclasses import replace

import numpy as np
import pytest

import lineament as la
from lineament.forecasting import curve_estimate, gather, power_law, regression
from lineament.forecasting.curve_result import logs
from lineament.report import curve_figure
from lineament.theory import kernels, learning_curves

KERNELS = [None, regression.gaussian, regression.relu]
RIDGE = regression.Learner(None)


def drawn(n, p, noise, seed, decay=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.arange(1, p + 1) ** -decay
    w = np.random.default_rng(99).standard_normal(p)
    return X, X @ w + np.sqrt(noise) * rng.standard_normal(n)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("p", [3, 30])
def test_errors_of_rows_left_out_are_those_of_refits(kernel, p):
    rng = np.random.default_rng(p)
    X, Y = rng.standard_normal((12, p)), rng.standard_normal((12, 2))
    X = (X - X.mean(0)) / X.std(0)  # so that leaving a row out does not change the scale
    ridges = np.array([0.05, 3.0])
    basis = regression.decompose(X, kernel)
    found = regression.leave_one_out(basis, Y, ridges)
    gram = kernel or (lambda A, B: A @ B.T)
    K = gram(X, X)
    for j, ridge in enumerate(ridges):
        for i in range(len(X)):
            others = np.delete(np.arange(len(X)), i)
            # Weights and an intercept that is not penalised, by their normal equations.
            system = np.block(
                [[K[np.ix_(others, others)] + ridge * np.eye(11), np.ones((11, 1))], [np.ones((1, 11)), 0]]
            )
            solved = np.linalg.solve(system, np.vstack([Y[others], np.zeros((1, 2))]))
            error = K[i, others] @ solved[:-1] + solved[-1] - Y[i]
            assert found.error[j, i] == pytest.approx(np.sum(error**2), rel=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_test_error_is_that_of_the_best_penalty(kernel):
    X, y = drawn(30, 4, 0.2, 0)
    new, labels = drawn(50, 4, 0.2, 1)
    Y, L = np.c_[y, 3 + y**2], np.c_[labels, 3 + labels**2]
    basis = regression.decompose(X, kernel)
    ridges = regression.RIDGES * basis.unit
    best = ridges[np.argmin(regression.leave_one_out(basis, Y, ridges).error.mean(1))]
    Z, N = (X - X.mean(0)) / X.std(0), (new - X.mean(0)) / X.std(0)
    gram = kernel or (lambda A, B: A @ B.T)
    system = np.block([[gram(Z, Z) + best * np.eye(30), np.ones((30, 1))], [np.ones((1, 30)), 0]])
    solved = np.linalg.solve(system, np.vstack([Y, [[0.0, 0.0]]]))
    naive = np.mean(np.sum((gram(N, Z) @ solved[:-1] + solved[-1] - L) ** 2, axis=1))
    assert regression.test_error(X, Y, new, L, regression.Learner(kernel)) == pytest.approx(naive, rel=1e-7)


def test_two_penalties_are_enough_to_choose_from():
    assert regression.Learner(None, np.array([1.0, 2.0])).tuned
    assert not regression.Learner(None, np.array([1.0])).tuned
    assert not regression.LEAST_SQUARES.tuned


def test_without_a_penalty_it_is_least_squares():
    X, y = drawn(30, 4, 0.2, 0)
    new, labels = drawn(50, 4, 0.2, 1)
    one = lambda Z: np.c_[np.ones(len(Z)), Z]  # noqa: E731
    w = np.linalg.lstsq(one(X), y, rcond=None)[0]
    found = regression.test_error(X, y[:, None], new, labels[:, None], regression.LEAST_SQUARES)
    assert found == pytest.approx(np.mean((one(new) @ w - labels) ** 2), rel=1e-10)


def test_the_relu_kernel_is_that_of_an_infinitely_wide_network():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((7, 3)), rng.standard_normal((5, 3))
    one = lambda Z: np.c_[Z, np.ones(len(Z))]  # noqa: E731
    # Unit variances lose a half in every hidden layer, and inputs are divided by their number there.
    unit = kernels.infinite(one(A), one(B), activation="relu", hidden_layers=2).ntk
    assert np.allclose(regression.relu(A, B), 4 * 4 * unit, rtol=1e-10)


def test_the_estimate_is_the_theory_of_the_spectrum_it_never_saw():
    # Means over draws of what the estimate says, against the formula with the true spectrum, target and noise.
    n, p, noise, draws = 60, 40, 0.5, 60
    v = np.random.default_rng(99).standard_normal(p)
    rows = np.array([60.0, 120.0, 240.0, 2400.0])
    found = []
    for seed in range(draws):
        X, y = drawn(n, p, noise, seed, decay=0.0)
        found.append(np.log(curve_estimate.errors(curve_estimate.estimate(X, y[:, None], RIDGE), rows)))
    ridges = np.geomspace(1e-3, 1e4, 400)
    expected = [
        learning_curves.expected_errors(r - 1, np.ones(p), v, noise, ridges).test.min() * (1 + 1 / r) for r in rows
    ]
    gap, error = np.mean(found, 0) - np.log(expected), np.std(found, 0) / np.sqrt(draws)
    # The mean of a logarithm lies below the logarithm of the mean by half the variance.
    assert np.all(np.abs(gap + np.var(found, 0) / 2) <= 4 * error + 3 / n)


def test_least_squares_is_forecast_by_the_textbook():
    # σ²(m − 1)/(m − 1 − p)(1 + 1/m) from n rows, whose residuals have n − 1 − p degrees of freedom: no other input.
    n, p, rows = 80, 10, np.array([40.0, 80.0, 320.0])
    X, y = drawn(n, p, 0.3, 4)
    A = np.c_[np.ones(n), X]
    H = A @ np.linalg.pinv(A)
    left_out = np.mean(((y - H @ y) / (1 - np.diag(H))) ** 2)
    noise = left_out / ((1 + 1 / n) * (n - 1) / (n - 1 - p))
    found = curve_estimate.estimate(X, y[:, None], regression.LEAST_SQUARES)
    assert np.allclose(
        curve_estimate.errors(found, rows), noise * (rows - 1) / (rows - 1 - p) * (1 + 1 / rows), rtol=1e-10
    )
    assert noise == pytest.approx(0.3, rel=0.3)


def test_beyond_all_fits_spectrum_and_target_go_on_as_power_laws():
    # Rotated rows with λ_i = i^−1.5 and v_i = 1/i on 400 modes, more than 60 rows determine: both laws hold. Against the
    # formula with the spectrum of the standardised features, which the estimate never saw.
    n, p, noise, draws = 60, 400, 0.05, 40
    i, rows = np.arange(1, p + 1), np.array([120.0, 240.0, 480.0])
    Q = np.linalg.qr(np.random.default_rng(5).standard_normal((p, p)))[0]
    found = []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        Z = rng.standard_normal((n, p))
        y = Z @ (1 / i) + np.sqrt(noise) * rng.standard_normal(n)
        found.append(
            np.log(curve_estimate.errors(curve_estimate.estimate((Z * i**-0.75) @ Q, y[:, None], RIDGE), rows))
        )
    covariance = (Q.T * i**-1.5) @ Q
    deviation = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(deviation, deviation))
    v = np.sqrt(values) * (vectors.T @ (deviation * (Q.T @ (i**0.75 / i))))
    ridges = np.geomspace(1e-4, 1e4, 400)
    expected = [
        learning_curves.expected_errors(r - 1, values, v, noise, ridges).test.min() * (1 + 1 / r) for r in rows
    ]
    gap, error = np.mean(found, 0) - np.log(expected), np.std(found, 0) / np.sqrt(draws)
    # As above; and the tail of a finite spectrum is not quite a power law.
    assert np.all(np.abs(gap + np.var(found, 0) / 2) <= 4 * error + 3 / n)


@pytest.mark.parametrize(("floor", "drop", "exponent"), [(0.2, 1.0, 0.5), (0.0, 2.0, 1.0), (0.7, 0.0, 1.0)])
def test_an_exact_power_law_is_found(floor, drop, exponent):
    rows = np.array([10.0, 20.0, 50.0, 100.0])
    law = power_law.fit(rows, floor + drop * rows**-exponent)
    assert law(np.array([400.0])) == pytest.approx(floor + drop * 400.0**-exponent, rel=1e-6)


def test_weights_decide_where_errors_disagree():
    rows, error = np.array([10.0, 20.0, 40.0]), np.array([1.0, 1.0, 3.0])
    naive = power_law.fit(np.repeat(rows, [1, 1, 5]), np.repeat(error, [1, 1, 5]))
    assert power_law.fit(rows, error, np.array([1.0, 1.0, 5.0]))(rows) == pytest.approx(naive(rows), rel=1e-9)
    assert naive(rows)[-1] > power_law.fit(rows, error)(rows)[-1]


def test_a_curve_forecasts_what_more_rows_bring():
    n, p = 120, 50
    X, y = drawn(4 * n, p, 1.0, 3, decay=0.0)
    made = la.learning_curve(X[:n], y[:n])
    new, labels = drawn(4000, p, 1.0, 4, decay=0.0)
    unit = np.var(y[:n])
    for step, rows in zip(made.steps, (n, 2 * n, 4 * n), strict=True):
        measured = regression.test_error(X[:rows], y[:rows, None], new, labels[:, None], RIDGE) / unit
        assert step.rows == rows
        assert step.low < step.error < step.high
        assert step.low < measured < step.high
    assert made.helps
    assert made.method == "theory"
    assert "More rows help" in str(made)


def test_least_squares_loses_what_its_columns_cost():
    n, p = 120, 30
    X, y = drawn(n, p, 1.0, 3, decay=0.0)
    made = la.learning_curve(X, y, ridge="none")
    # σ² m/(m − p), as a share of the variance; the noise is known up to the chance of 90 degrees of freedom.
    share = 1.0 / np.var(y)
    for step, rows in zip(made.steps, (n, 2 * n, 4 * n), strict=True):
        assert step.low < share * rows / (rows - p) < step.high
    assert made.at[0] >= 1.5 * p
    assert "least squares" in la.learning_curve(*drawn(1500, 3, 1.0, 5), ridge="none").sentences[1]
    with pytest.raises(ValueError, match="at least 3 complete rows for each column"):
        la.learning_curve(X[:80], y[:80], ridge="none")


def test_rows_no_longer_help_a_fit_that_knows_all_it_can():
    X, y = drawn(1500, 3, 1.0, 5)
    made = la.learning_curve(X, y)
    assert not made.helps
    assert made.limit == pytest.approx(1.0 / np.var(y), rel=0.1)
    assert "More rows hardly help a linear fit" in made.sentences[1]


def test_a_verdict_never_contradicts_the_limit():
    made = la.learning_curve(*drawn(60, 3, 0.5, 1))
    now = made.steps[0]
    same = (now, now._replace(rows=2 * now.rows), now._replace(rows=4 * now.rows))
    flat = replace(made, steps=same, limit=0.99 * now.error)
    slow = replace(made, steps=same, limit=0.2 * now.error)
    assert "hardly help" in flat.sentences[1]
    assert "needs other features" in flat.sentences[1]
    assert "More rows help slowly" in slow.sentences[1]
    assert "needs other features" not in slow.sentences[1]
    quick = replace(made, steps=(now, now._replace(error=now.error / 2), now))
    assert quick.sentences[1] == "More rows help: twice as many save 50 % of the test error."


def test_forecasts_are_weighed_by_their_misses_in_the_trials():
    X, y = drawn(200, 10, 0.5, 6)
    made = la.learning_curve(X, y, kernel="gaussian")
    naive = {
        m: np.sqrt(np.mean([np.log(getattr(t, m) / t.measured) ** 2 for t in made.trials]))
        for m in ("theory", "power_law")
    }
    assert made.miss("theory") == pytest.approx(naive["theory"])
    assert made.method == min(naive, key=naive.get)
    inverse = {m: 1 / miss**2 for m, miss in naive.items()}
    assert made.weight == pytest.approx(inverse["theory"] / sum(inverse.values()))
    pooled = made.weight * np.log(made.theory) + (1 - made.weight) * np.log(made.power_law)
    assert np.allclose(np.log(made.error), pooled)
    assert np.all(np.log(made.high / made.error) >= 1.28 / 2 * np.abs(np.log(made.theory / made.power_law)))
    assert len(logs(made.trials, "unchanged")) == len(made.trials)
    assert {trial.rows / trial.used for trial in made.trials} == {2.0, 3.2}


def test_a_wider_level_is_a_wider_band_and_the_same_forecast():
    X, y = drawn(80, 5, 0.5, 7)
    narrow, wide = la.learning_curve(X, y, level=0.5), la.learning_curve(X, y, level=0.95)
    assert la.learning_curve(X, y).level == 0.8
    assert np.array_equal(narrow.error, wide.error)
    assert np.all(wide.high > narrow.high)
    assert np.all(wide.low < narrow.low)


def test_errors_are_shares_of_the_variance_whatever_the_units():
    X, y = drawn(80, 5, 0.5, 8)
    assert np.allclose(la.learning_curve(X, y).error, la.learning_curve(X * 7 + 3, 1000 * y - 5).error, rtol=1e-6)


def test_classes_are_learnt_one_hot():
    X, y = drawn(100, 4, 0.1, 9)
    made = la.learning_curve(X, np.where(y > 0, "yes", "no"))
    assert 0 < made.steps[0].error < 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kernel": "cubic"}, "kernel must be one of 'linear', 'gaussian', 'relu'"),
        ({"ridge": "some"}, "ridge must be one of 'tuned', 'none'"),
        ({"ridge": "none", "kernel": "relu"}, "ridge must be 'tuned' for the kernel 'relu'"),
        ({"level": 1.0}, "level must be"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_what_cannot_be_used_is_refused(change, says):
    X, y = drawn(50, 2, 0.1, 0)
    with pytest.raises(ValueError, match=says):
        la.learning_curve(X, y, **change)
    with pytest.raises(ValueError, match="X must have at least 40 complete rows"):
        la.learning_curve(X[:30], y[:30])


def test_the_sample_keeps_targets_beside_their_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 2))
    words = np.where(X[:, 0] > 0, "b", "a")
    words[4000:] = np.where(X[4000:, 0] > 0, "b", "c")  # a class that comes late
    found = gather([(X[:3000], words[:3000]), (X[3000:], words[3000:])], ["p", "q"], ["word"], classes=True)
    assert found.sample_targets.shape == (2048, 3)
    first = found.sample[:, 0] * found.scale[0] + found.mean[0]
    assert np.array_equal(found.sample_targets[:, 1] > 0, first > 0)
    assert np.allclose(found.sample_targets.sum(1), 0)


def test_the_figure_shows_the_forecast_its_band_and_what_was_measured():
    X, y = drawn(60, 3, 0.5, 1)
    made = la.learning_curve(X, y)
    figure = curve_figure.figure(made, (np.array([120.0]), np.array([0.3])))
    kinds = [(mark.kind, mark.role) for mark in figure.panels[0].marks]
    assert kinds == [
        ("band", "measured"),
        ("points", "measured"),
        ("points", "measured"),
        ("line", "reference"),
        ("line", "theory"),
    ]
    assert np.array_equal(figure.panels[0].marks[-1].y, made.error)
    assert made.plot().axes
    assert list(made.to_frame().columns) == ["rows", "error", "low", "high", "theory", "power_law"]
