"""The test loss on new rows: unbiased over draws where the fixed-design one is not, and equal to naive refits."""

import numpy as np
import pytest
from scipy.linalg import expm

from lineament.forecasting import forecast
from lineament.forecasting.held_out import FOLDS, held_out


def drawn(rng, n, p, noise=1.0):
    scale, w = np.linspace(1, 3, p), np.linspace(1, -1, p) / np.sqrt(p)
    X = rng.standard_normal((n, p)) * scale
    return X, X @ (w / scale) + noise * rng.standard_normal(n)


def loss_on(made, X, y, new_X, new_y, at):
    """The loss on new rows of the network that was trained on all the rows: one output, so shares tell the map."""
    maps = made.path.share[at] * made.target[0]
    new = (new_X - X.mean(0)) / X.std(0) @ made.directions
    return 0.5 * np.mean((new_y - y.mean() - maps @ new.T) ** 2, axis=1)


@pytest.mark.parametrize("depth", [1, 2])
def test_the_loss_on_rows_left_out_is_unbiased_where_that_of_a_fixed_design_is_not(depth):
    n, p, draws = 80, 40, 30 if depth == 1 else 10
    gaps, fixed_gaps, crossed_gaps = [], [], []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        X, y = drawn(rng, n, p)
        new_X, new_y = drawn(rng, 2000, p)
        made = forecast(X, y, depth=depth, start_scale=1e-2)
        at = [len(made.time) // 2, len(made.time) - 1]
        truth = loss_on(made, X, y, new_X, new_y, at)
        gaps.append(made.stopping.loss[at] - truth)
        crossed_gaps.append(made.stopping.cross_validated[at] - truth)
        fixed_gaps.append(made.stopping.fixed_design.loss[at] - truth)
    error = np.std(gaps, 0) / np.sqrt(draws)
    # Tenths left out leave a tenth fewer rows to learn from: at the end that costs σ²p/2 · (1/(0.9n − p) − 1/(n − p)).
    fewer = p / 2 * (1 / (0.9 * n - p) - 1 / (n - p))
    assert np.all(np.abs(np.mean(gaps, 0)) <= 3 * error + (0 if depth == 1 else fewer))
    assert np.all(np.abs(np.mean(crossed_gaps, 0)) <= 3 * np.std(crossed_gaps, 0) / np.sqrt(draws) + fewer)
    too_low = np.mean(fixed_gaps, 0)[-1] + 3 * np.std(fixed_gaps, 0)[-1] / np.sqrt(draws)
    assert too_low < 0, "the estimate for a fixed design is too low, which is why rows are held out"


def test_the_loss_on_new_rows_is_within_its_error():
    # The naive error, of independent rows, is too small by √((n + p)/(n − p)) = √3 when everything is learnt.
    n, p, draws = 80, 40, 40
    scores, naive = [], []
    for seed in range(500, 500 + draws):
        rng = np.random.default_rng(seed)
        X, y = drawn(rng, n, p)
        new_X, new_y = drawn(rng, 2000, p)
        made = forecast(X, y, depth=1, start_scale=1e-2)
        at = [len(made.time) // 2, len(made.time) - 1]
        off = made.stopping.loss[at] - loss_on(made, X, y, new_X, new_y, at)
        scores.append(off / made.stopping.error[at])
        start = made.W0 @ made.directions.T
        naive.append(off[-1] / held_out(made.moments, start, 1, made.time[[0, *at]], 0).error[2])
    # A root mean square over 40 draws is known to 11 %: three times that on either side of 1.
    assert np.all(np.abs(np.sqrt(np.mean(np.square(scores), axis=0)) - 1) < 0.34)
    assert np.sqrt(np.mean(np.square(naive))) > 1.34


def test_leaving_one_out_is_a_refit_without_the_row():
    rng = np.random.default_rng(0)
    X, y = drawn(rng, 25, 4)
    X = (X - X.mean(0)) / X.std(0)
    made = forecast(X, y, depth=1, start_scale=0.1, standardise=False)
    W0 = (made.W0 @ made.directions.T)[0]
    i = [0, len(made.time) // 2, len(made.time) - 1]
    losses = []
    for row in range(25):
        Z, labels = np.delete(X, row, 0), np.delete(y, row)
        centre, mean = Z.mean(0), labels.mean()
        S, c = np.cov(Z.T, bias=True), (Z - centre).T @ (labels - mean) / 24
        best = np.linalg.solve(S, c)
        maps = [best + expm(-S * t) @ (W0 - best) for t in made.time[i]] + [best]
        losses.append([0.5 * (y[row] - mean - (X[row] - centre) @ w) ** 2 for w in maps])
    expected = np.mean(losses, 0)
    assert made.stopping.method == "leave-one-out"
    # The times between are read off straight lines; the first and last are looked at themselves.
    assert made.stopping.loss[[0, -1]] == pytest.approx(expected[[0, 2]], rel=1e-9)
    assert made.stopping.loss[i[1]] == pytest.approx(expected[1], rel=1e-2)
    found = held_out(made.moments, made.W0 @ made.directions.T, 1, made.time, 0)
    assert found.loss[-1] == pytest.approx(expected[-1], rel=1e-9)


@pytest.mark.parametrize("depth", [1, 3])
def test_whitened_modes_are_held_out_by_their_closed_form(depth):
    rng = np.random.default_rng(1)
    X, y = drawn(rng, 60, 3)
    made = forecast(X, np.stack([y, X[:, 0]], axis=1), depth=depth, whiten=True)
    folds = held_out(made.moments, made.start_scale, depth, made.time, 0)
    assert made.stopping.method == "cross-validation"
    assert np.array_equal(folds.loss, folds.cross_validated)
    order = np.random.default_rng(0).permutation(60)
    Z = made.moments.sample
    losses = []
    for k in range(FOLDS):
        out = order[k::FOLDS]
        kept = np.setdiff1d(np.arange(60), out)
        centre, mean = Z[kept].mean(0), made.moments.sample_targets[kept].mean(0)
        best = np.linalg.lstsq(Z[kept] - centre, made.moments.sample_targets[kept] - mean, rcond=None)[0]
        losses.append(0.5 * np.sum((made.moments.sample_targets[out] - mean - (Z[out] - centre) @ best) ** 2, axis=1))
    assert folds.loss[-1] == pytest.approx(np.mean(np.concatenate(losses)), rel=1e-9)
    assert folds.error[-1] == pytest.approx(np.std(np.concatenate(losses)) / np.sqrt(60), rel=1e-9)


def test_a_table_too_short_or_too_wide_says_that_the_loss_is_for_a_fixed_design(monkeypatch):
    rng = np.random.default_rng(2)
    X, y = drawn(rng, 15, 2)
    made = forecast(X, y, depth=1)
    assert made.stopping.method == "fixed design"
    assert made.stopping.fixed_design is None
    assert "a fixed design" in made.sentences[-1]
    X, y = drawn(rng, 40, 2)
    monkeypatch.setattr("lineament.forecasting.held_out.FOLLOWED", 10.0)
    assert forecast(X, y, depth=2).stopping.method == "fixed design"
    monkeypatch.setattr("lineament.forecasting.held_out.WORK", 10.0)
    assert forecast(X, y, depth=1).stopping.method == "fixed design"


def test_all_estimates_are_told():
    rng = np.random.default_rng(3)
    X, y = drawn(rng, 50, 5)
    one, two = forecast(X, y, depth=1), forecast(X, y, depth=2)
    assert f"On rows left out one by one the test loss is {one.stopping.least:.3g} at best" in one.sentences[-1]
    assert "On tenths of the rows that were left out the test loss is" in two.sentences[-1]
    for made in (one, two):
        assert f"(a fixed design) theory says {made.stopping.fixed_design.least:.3g}" in made.sentences[-1]


def test_the_error_told_is_that_of_the_loss_told():
    x = np.arange(30.0)
    made = forecast(x[:, None], 2 * x)  # no noise: what is left in the end is rounding, and so must its error be
    stopping = made.stopping
    assert stopping.least == stopping.final
    assert stopping.final_error < 1e-9
    assert f"(± {stopping.final_error:.2g})" in str(made)
