"""Rows of a table in memory: which are used, how they are scaled and parted, and what is said of it."""

import numpy as np
import pytest

from lineament.data import tables
from lineament.forecasting import moments, regression
from lineament.forecasting.rows import _scaled, read_rows

ASKED = {"classes": None, "scale_target": False, "test_share": 0.25, "seed": 0}


def table(n=40, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * [1.0, 20.0, 0.1][:p] + [5.0, -3.0, 0.0][:p]
    return X, X @ np.arange(1.0, p + 1) + rng.normal(size=n)


def read(X, y, **change):
    return read_rows(tables.arrays(X, y), **(ASKED | change))


def test_rows_are_scaled_by_those_that_are_trained_on():
    X, y = table()
    rows = read(X, y)
    np.testing.assert_array_equal(np.sort(np.r_[rows.train, rows.test]), np.arange(1, 41))
    assert (len(rows.test), len(rows.train)) == (10, 30)
    train, test = X[rows.train - 1], X[rows.test - 1]
    np.testing.assert_allclose(rows.X, (train - train.mean(0)) / train.std(0), rtol=1e-12)
    np.testing.assert_allclose(rows.X_test, (test - train.mean(0)) / train.std(0), rtol=1e-12)
    centre, spread = y[rows.train - 1].mean(), y[rows.train - 1].std()
    np.testing.assert_allclose(rows.y[:, 0], y[rows.train - 1] - centre, atol=1e-12)
    np.testing.assert_allclose(rows.y_test[:, 0], y[rows.test - 1] - centre, atol=1e-12)
    scaled = read(X, y, scale_target=True)
    np.testing.assert_allclose(scaled.y, rows.y / spread, rtol=1e-12)
    two = read(X, np.c_[y, np.full(40, 7.0)], scale_target=True)
    np.testing.assert_allclose(two.y[:, 1], 0, atol=1e-12)


@pytest.mark.parametrize(
    ("share", "n", "held"), [(0.25, 40, 10), (0.01, 40, 1), (0.99, 10, 8), (0.5, 4, 2), (0.3, 9, 3)]
)
def test_at_least_one_row_is_tested_and_two_are_trained(share, n, held):
    rows = read(*table(n), test_share=share)
    assert (len(rows.test), len(rows.train)) == (held, n - held)
    assert any(f"Only {held} row" in said for said in rows.notices)


def test_few_tested_rows_are_told_of_and_enough_are_not():
    assert any("Only 19 rows are left to test on" in said for said in read(*table(76)).notices)
    assert any("Only 1 row is left to test on" in said for said in read(*table(4)).notices)
    assert not any("left to test on" in said for said in read(*table(80)).notices)


def test_incomplete_rows_and_constant_columns_are_left_out_and_told_of():
    X, y = table(50)
    X = np.c_[X, np.full(50, 3e5)]
    X[2, 0] = X[6, 1] = y[6] = y[9] = np.nan
    rows = read(X, y)
    np.testing.assert_array_equal(np.sort(np.r_[rows.train, rows.test]), np.setdiff1d(np.arange(1, 51), [3, 7, 10]))
    assert "3 of 50 rows have a missing value and were left out." in rows.notices
    assert any("constant column" in said for said in rows.notices)
    assert len(rows.features) == 3
    assert not any("missing" in said or "constant" in said for said in read(*table()).notices)


def test_a_long_table_is_drawn_from():
    X, y = table(60)
    rows = read(X, y, most=40)
    assert len(rows.train) + len(rows.test) == 40
    assert any("40 of 60 rows were drawn" in said for said in rows.notices)
    assert max(rows.train) > 40, "evenly, not the first of them"
    assert len(read(X, y, most=60).train) == 45
    assert not any("drawn" in said for said in read(X, y, most=60).notices)


@pytest.mark.parametrize(("height", "told"), [(80.0, True), (1.5, False)])
def test_a_row_that_holds_most_of_the_variance_is_named(height, told):
    X, y = table(40)
    y = np.sin(np.arange(40.0))
    y[6] = height
    share = (y[6] - y.mean()) ** 2 / np.sum((y - y.mean()) ** 2)
    said = [line for line in read(X, y).notices if "of the target's variance" in line]
    assert (share > 0.5) == bool(said) == told
    assert not said or said[0].startswith(f"Row 7 alone holds {100 * share:.0f} % of")


def test_classes_are_one_hot_in_their_natural_order():
    X, _ = table(12)
    labels = np.array(["10", "2", "b", "a", "", None, "2", "10", "b", "a", "a", "b"], dtype=object)
    rows = read(X, labels)
    assert rows.classes
    assert rows.outputs == ("2", "10", "a", "b")
    for numbers, y in ((rows.train, rows.y), (rows.test, rows.y_test)):
        assert [rows.outputs[k] for k in np.argmax(y, axis=1)] == [labels[i - 1] for i in numbers]
        np.testing.assert_array_equal(y.sum(axis=1), 1)
    assert "2 of 12 rows have a missing value and were left out." in rows.notices
    assert read(X, np.arange(12) % 2, classes=True).outputs == ("0", "1")
    assert not read(X, np.arange(12) % 2).classes
    assert read(X, np.arange(12) % 2 == 0).classes


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"X": np.full((8, 1), 2.0)}, "at least one feature must vary; all 1 columns are constant"),
        ({"y": np.full(8, 2.0)}, "the target .* must vary; all training rows have the same$"),
        ({"y": 2**60 + np.arange(8)}, r"the target .* must vary; .*, or differ by less than 2e\+04"),
        ({"X": np.full((8, 1), 2.0**60)}, r"are constant, or differ by less than 2e\+04"),
        ({"X": np.full((8, 1), np.inf)}, "column 'x0' holds an infinite value"),
        (
            {"X": np.array([[1.0], [2.0], [3.0], *[[np.nan]] * 5])},
            "at least four complete rows are needed.*there are 3",
        ),
        ({"y": np.array(["a"] * 8)}, "must name between 2 and 1000 classes; got 1"),
        ({"y": np.array([["a", "b"]] * 8)}, "must be one column to name classes; got 2"),
        ({"y": np.array(["a", "b"] * 4), "scale_target": True}, "scale_target must be left out for classes"),
        ({"classes": 3}, "classes must be"),
        ({"scale_target": 3}, "scale_target must be"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(change, said):
    X, y = table(8, 1)
    given = {"X": X, "y": y} | change
    with pytest.raises(ValueError, match=said):
        read(given.pop("X"), given.pop("y"), **given)


def test_columns_that_vary_by_rounding_alone_are_constant_to_a_regression():
    X = table(30, 2)[0]
    flat = np.c_[X, 1e9 + 1e-6 * np.random.default_rng(0).normal(size=30)]
    for kernel in (None, regression.gaussian):
        plain, other = (regression.decompose(part, kernel) for part in (X, flat))
        if kernel is None:
            np.testing.assert_allclose(other.power, plain.power, rtol=1e-9)
        assert np.isfinite(other.place(flat)).all()
    with pytest.raises(ValueError, match="X must hold a feature that varies"):
        regression.decompose(np.ones((5, 2)), None)


def test_the_gaussian_kernel_by_its_formula():
    A, B = table(6, 2)[0], table(5, 2, 1)[0]
    naive = [[np.exp(-np.sum((a - b) ** 2) / 4) for b in B] for a in A]
    np.testing.assert_allclose(regression.gaussian(A, B), naive, rtol=1e-10)
    np.testing.assert_array_equal(np.diagonal(regression.gaussian(1e8 * A, 1e8 * A)) <= 1, True)


def test_learners_by_their_names():
    assert regression.learner_of("linear").tuned
    assert not regression.learner_of("linear", "none").tuned
    assert regression.learner_of("relu").kernel is regression.relu
    assert regression.LEAST_SQUARES.ridges.tolist() == [0]


# ---------------------------------------------------------------------------------------------------------
# The same summed up


def summed(X, y, **asked):
    names = [f"x{j}" for j in range(X.shape[1])], ["y"] if y.ndim == 1 else [f"y{k}" for k in range(y.shape[1])]
    return moments.gather([(X[:7], y[:7]), (X[7:], y[7:])], *names, **asked)


@pytest.mark.parametrize("standardise", [True, False])
@pytest.mark.parametrize("scale_target", [True, False])
def test_moments_and_samples_are_those_of_scaled_columns(standardise, scale_target):
    X, y = table(40)
    Y = np.c_[y, 5 * X[:, 0] - 3, np.full(40, 2.0)]
    found = summed(X, Y, standardise=standardise, scale_target=scale_target)
    scale, target_scale = X.std(0) if standardise else np.ones(3), np.ones(3)
    if scale_target:
        target_scale = np.append(Y[:, :2].std(0), 1.0)  # one target does not vary
    Z, T = (X - X.mean(0)) / scale, (Y - Y.mean(0)) / target_scale
    for ours, naive in (
        (found.sxx, Z.T @ Z / 40), (found.syx, T.T @ Z / 40), (found.syy, T.T @ T / 40), (found.sample, Z),
        (found.sample_targets, T), (found.scale, scale), (found.target_scale, target_scale), (found.mean, X.mean(0)),
    ):  # fmt: skip
        np.testing.assert_allclose(ours, naive, rtol=1e-9, atol=1e-12)
    assert (found.rows, found.missing, found.constant) == (40, 0, ())


def test_few_whole_numbers_might_be_classes_and_many_names_are_none():
    X = np.arange(3000.0)[:, None]
    for values, few in ((2, 2), (20, 20), (21, None), (1000, None)):
        assert summed(X, np.arange(3000) % values).few_values == few
    assert summed(X, (np.arange(3000) % 3) + 0.5).few_values is None
    assert len(summed(X, (np.arange(3000) % 1000).astype(str)).outputs) == 1000
    with pytest.raises(ValueError, match="more than 1000 different names"):
        summed(X, (np.arange(3000) % 1001).astype(str))


@pytest.mark.parametrize(
    ("chunks", "asked", "said"),
    [
        (3, {}, "chunks must be pairs of features and targets"),
        (np.ones((2, 2)), {}, "chunks must be pairs of features and targets"),
        ([3], {}, "chunks must be pairs of arrays"),
        ([(np.ones((3, 1)),)], {}, "chunks must be pairs of arrays"),
        ([(np.ones((3, 1)), [1.0, 2.0, 3.0])], {}, "chunks must be pairs of arrays"),
        ([(np.ones((3, 2)), np.ones(3))], {}, "rows of 1 columns, one for each of features; got shape"),
        (
            [(np.arange(3.0)[:, None], np.array(list("aba")))],
            {"scale_target": True},
            "scale_target must be left out for",
        ),
        (
            [(np.arange(3.0)[:, None], np.array(list("aba")))],
            {"classes": False},
            "must hold numbers to be learnt as such",
        ),
        ([(np.full((3, 1), 2.0), np.arange(3.0))], {}, "at least one feature must vary"),
        ([(np.arange(3.0)[:, None] * 1e-170, np.arange(3.0))], {}, "whose squares fit float64"),
        ([(np.arange(3.0)[:, None] * 2e150, np.arange(3.0))], {}, "whose squares fit float64"),
    ],
)
def test_what_cannot_be_summed_up_is_refused(chunks, asked, said):
    with pytest.raises(ValueError, match=said):
        moments.gather(chunks, ["x"], ["y"], **asked)


@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_targets_of_deviation_one_whatever_their_scale(scale):
    """By the deviation of the training rows; a target that does not vary among them stays at zero."""
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(8, 2)), np.c_[scale * rng.normal(size=8), np.ones(8)]
    train, test = np.arange(6), np.arange(6, 8)
    made = _scaled(X, y, np.arange(8), train, test, ("a", "b"), ("u", "v"), False, True, ())
    np.testing.assert_allclose(made.y.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(made.y.std(axis=0), [1, 0], atol=1e-12)
    np.testing.assert_allclose(made.y_test[:, 0], (y[6:, 0] - y[:6, 0].mean()) / y[:6, 0].std())
    plain = _scaled(X, y, np.arange(8), train, test, ("a", "b"), ("u", "v"), False, False, ())
    np.testing.assert_allclose(plain.y[:, 0], y[:6, 0] - y[:6, 0].mean())
    np.testing.assert_allclose(plain.X, (X[:6] - X[:6].mean(0)) / X[:6].std(0))
    assert (plain.train.tolist(), plain.test.tolist()) == (list(range(6)), [6, 7])


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e151, -1e300])
def test_numbers_that_cannot_be_squared_are_refused_by_their_column(value):
    X, y = table()
    large = X.copy()
    large[3, 1] = value
    with pytest.raises(ValueError, match=r"column 'x1' (holds an infinite value|must hold numbers whose squares fit)"):
        read(large, y)
    with pytest.raises(ValueError, match=r"column 'y' (holds an infinite value|must hold numbers whose squares fit)"):
        read(X, np.where(np.arange(40) == 3, value, y))
    np.testing.assert_array_equal(read(X, np.where(y > 0, 1e200, 0), classes=True).y.sum(axis=1), 1)
