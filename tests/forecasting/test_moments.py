"""Moments of a stream equal those of the whole, whatever the pieces, offsets and scales."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament.forecasting import moments
from lineament.forecasting.moments import gather


def cut(X, y, sizes):
    i = 0
    for size in sizes:
        yield X[i : i + size], y[i : i + size]
        i += size
    yield X[i:], y[i:]


def names(X, letter="x"):
    return tuple(f"{letter}{j}" for j in range(X.shape[1]))


@given(
    n=st.integers(3, 60),
    p=st.integers(1, 6),
    k=st.integers(1, 3),
    pieces=st.lists(st.integers(0, 20), max_size=5),
    offset=st.sampled_from([0.0, 1.0, -1e6]),
    spread=st.sampled_from([1e-6, 1.0, 1e6]),
    seed=st.integers(0, 2**16),
)
def test_any_cut_gives_the_covariance_of_the_whole(n, p, k, pieces, offset, spread, seed):
    rng = np.random.default_rng(seed)
    X = offset + spread * rng.standard_normal((n, p))
    y = rng.standard_normal((n, k)) + X[:, :1] / spread
    found = gather(cut(X, y, pieces), names(X), names(y, "y"), standardise=False)
    whole = np.cov(np.column_stack([X, y]).T, ddof=0).reshape(p + k, p + k)
    # Rounding of the data themselves, at the offset, is all that may be lost.
    tolerance = 1e-12 * spread * (spread + abs(offset))
    np.testing.assert_allclose(found.sxx, whole[:p, :p], rtol=1e-9, atol=tolerance)
    np.testing.assert_allclose(found.syy, whole[p:, p:], rtol=1e-8, atol=1e-10 * (1 + abs(offset) / spread))
    np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=1e-12, atol=1e-12 * spread)
    scaled = gather(cut(X, y, pieces), names(X), names(y, "y"))
    np.testing.assert_allclose(np.diagonal(scaled.sxx), 1.0, rtol=1e-12)
    np.testing.assert_allclose(scaled.syx, found.syx / X.std(axis=0), rtol=1e-6, atol=1e-7)


def test_a_large_mean_costs_no_digits():
    # E x² − (E x)² would have no digit left at an offset of 1e9.
    x = 1e9 + np.array([0.0, 1.0, 2.0, 3.0])
    found = gather(cut(x[:, None], x, [1, 2]), ("x",), ("y",), standardise=False)
    assert found.sxx[0, 0] == pytest.approx(1.25, rel=1e-12)
    assert found.syx[0, 0] == pytest.approx(1.25, rel=1e-12)


def test_classes_that_come_late_are_one_hot_from_the_beginning():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = np.array(["b"] * 15 + ["a", "b"] * 5 + ["c"] * 15)
    found = gather(cut(X, y, [15, 10]), names(X), ("y",), standardise=False)
    assert found.classes
    assert found.outputs == ("a", "b", "c")
    one_hot = (y[:, None] == np.array(found.outputs)).astype(float)
    whole = np.cov(np.column_stack([X, one_hot]).T, ddof=0)
    np.testing.assert_allclose(found.syx, whole[3:, :3], atol=1e-15)
    np.testing.assert_allclose(found.syy, whole[3:, 3:], atol=1e-15)


def test_classes_that_are_numbers_are_sorted_as_such():
    y = np.array([10, 2, 1, 10, 2, 1])
    X = np.arange(6.0)[:, None]
    assert gather([(X, y)], ("x",), ("y",), classes=True).outputs == ("1", "2", "10")
    as_number = gather([(X, y)], ("x",), ("y",))
    assert as_number.outputs == ("y",)
    assert as_number.few_values == 3
    assert gather([(X, y.astype(float))], ("x",), ("y",)).few_values == 3, "whole numbers, however stored"
    assert gather([(X, y + 0.5)], ("x",), ("y",)).few_values is None


def test_incomplete_rows_are_left_out_and_counted():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((30, 2)), rng.standard_normal(30)
    holes, targets = X.copy(), y.copy()
    holes[3, 0] = holes[4, 1] = np.nan
    targets[[4, 9]] = np.nan
    complete = np.setdiff1d(np.arange(30), [3, 4, 9])
    found = gather(cut(holes, targets, [5, 5]), names(X), ("y",))
    assert (found.rows, found.missing) == (27, 3)
    alone = gather([(X[complete], y[complete])], names(X), ("y",))
    np.testing.assert_allclose(found.sxx, alone.sxx, rtol=1e-12)
    labels = np.array(["a", "b", None, "", float("nan"), "a"], dtype=object)
    assert gather([(X[:6], labels)], names(X), ("y",)).missing == 3


def test_constant_columns_are_left_out_and_named():
    rng = np.random.default_rng(2)
    X = np.column_stack([np.full(50, 0.1), rng.standard_normal(50), np.zeros(50), np.full(50, -1e9)])
    found = gather(cut(X, X[:, 1], [7, 11]), ("a", "b", "c", "d"), ("y",))
    assert found.features == ("b",)
    assert found.constant == ("a", "c", "d")
    assert found.sxx.shape == (1, 1)


def test_the_sample_is_drawn_evenly_and_scaled():
    n = 5 * moments.KEPT
    X = np.column_stack([np.arange(n, dtype=float), np.random.default_rng(0).standard_normal(n)])
    found = gather(cut(X, X[:, 1], [1000] * 10), ("i", "z"), ("y",))
    assert found.sample.shape == (moments.KEPT, 2)
    kept = found.sample[:, 0] * found.scale[0] + found.mean[0]
    assert len(np.unique(np.rint(kept))) == moments.KEPT
    fifths = np.histogram(kept, bins=5, range=(0, n))[0]
    # Each fifth holds 410 ± 18 of those kept.
    assert np.abs(fifths - moments.KEPT / 5).max() < 5 * np.sqrt(moments.KEPT * 0.16)
    assert found.sample.std(axis=0) == pytest.approx([1.0, 1.0], rel=0.1)


def test_memory_does_not_grow_with_the_stream():
    def stream(chunks):
        rng = np.random.default_rng(0)
        for _ in range(chunks):
            X = rng.standard_normal((10_000, 20))
            yield X, X[:, 0]

    def peak(chunks):
        tracemalloc.start()
        found = gather(stream(chunks), tuple(map(str, range(20))), ("y",))
        high = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert found.rows == 10_000 * chunks
        return high

    assert peak(20) < 1.1 * peak(2)


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        ([[1.0, np.inf], [2.0, 3.0]], [1.0, 2.0], "column 'x1' holds an infinite value"),
        ([[1.0], [2.0]], [1.0, -np.inf], "column 'y' holds an infinite value"),
        ([[1.0], [1.0]], [1.0, 2.0], "at least one feature must vary; all 1 columns are constant"),
        ([[1.0], [2.0]], [3.0, 3.0], "the target y must vary; all 2 rows have the same$"),
        (
            [[1.0], [2.0]],
            [2**60, 2**60 + 9],
            r"differ by less than 2e\+04, which numbers near 1e\+18 need to be told apart",
        ),
        ([[1e15], [1e15 + 1]], [1.0, 2.0], r"columns are constant over 2 rows, or differ by less than 1e\+01"),
        ([[1.0], [np.nan]], [3.0, 4.0], "at least two complete rows are needed; there are 1, and 1 with a missing"),
        ([[1e200], [-1e200]], [3.0, 4.0], "column 'x0' must hold numbers whose squares fit"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(X, y, said):
    X = np.array(X)
    with pytest.raises(ValueError, match=said), np.errstate(over="ignore", invalid="ignore"):
        gather([(X, np.array(y))], names(X), ("y",))


def test_identifiers_are_no_classes():
    n = moments.MOST_CLASSES + 1
    with pytest.raises(ValueError, match="they seem to be identifiers"):
        gather([(np.arange(n)[:, None], np.array([f"id{i}" for i in range(n)]))], ("x",), ("y",))
    with pytest.raises(ValueError, match="must be one column to name classes; got 2"):
        gather([(np.eye(2), np.array([["a", "b"], ["c", "d"]]))], ("x0", "x1"), ("y",))


def test_classes_that_are_numbers_come_before_those_that_are_words():
    y = np.array(["b", "10", "a", "2", "b", "10", "a", "2"], dtype=object)
    assert gather([(np.arange(8.0)[:, None], y)], ("x",), ("y",)).outputs == ("2", "10", "a", "b")


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_numbers_that_cannot_be_squared_are_refused_by_name(scale):
    X = np.random.default_rng(0).standard_normal((20, 2)) * scale
    with pytest.raises(ValueError, match="whose squares fit float64; rescale"):
        gather([(X, X[:, 0] / scale)], ["p", "q"], ["y"])


# ---------------------------------------------------------------------------------------------------------
# What is taken, and what is refused

RNG = np.random.default_rng(5)


def test_rows_that_are_all_kept_are_the_sample():
    X, y = RNG.normal(size=(30, 2)) * [3.0, 0.5] + 1, RNG.normal(size=(30, 2)) * [2.0, 7.0]
    y[:, 1] = 4.0
    found = gather(cut(X, y, [7, 11]), ("a", "b"), ("u", "v"), scale_target=True)
    np.testing.assert_allclose(found.sample, (X - X.mean(0)) / X.std(0), rtol=1e-9)
    np.testing.assert_allclose(found.target_scale, [y[:, 0].std(), 1.0])
    np.testing.assert_allclose(found.sample_targets[:, 0], (y[:, 0] - y[:, 0].mean()) / y[:, 0].std(), rtol=1e-9)
    np.testing.assert_array_equal(found.sample_targets[:, 1], 0)
    np.testing.assert_allclose(found.syx[0], ((y[:, 0] - y[:, 0].mean()) @ (X / X.std(0))) / 30 / y[:, 0].std())
    np.testing.assert_allclose(found.syy, [[1, 0], [0, 0]], atol=1e-12)
    plain = gather([(X, y)], ("a", "b"), ("u", "v"), standardise=False)
    np.testing.assert_array_equal(plain.scale, 1)
    np.testing.assert_array_equal(plain.target_scale, 1)
    assert (found.outputs, found.few_values, found.classes, found.rows) == (("u", "v"), None, False, 30)


def test_the_draw_of_rows_follows_from_the_seed():
    n = moments.KEPT + 500
    X = np.arange(float(n))[:, None]
    first, zero, one = (
        gather([(X, X[:, 0])], ("x",), ("y",), **seed).sample for seed in ({}, {"seed": 0}, {"seed": 1})
    )
    np.testing.assert_array_equal(first, zero)
    assert not np.array_equal(zero, one)


@pytest.mark.parametrize(("values", "few"), [(2, 2), (20, 20), (21, None)])
def test_few_whole_numbers_might_be_classes(values, few):
    y = np.arange(42.0) % values
    assert gather(cut(np.arange(42.0)[:, None], y, [30]), ("x",), ("y",)).few_values == few


def test_two_rows_are_enough_and_a_thousand_names():
    assert gather([(np.array([[1.0], [2.0]]), np.array([3.0, 5.0]))], ("x",), ("y",)).rows == 2
    n = moments.MOST_CLASSES
    found = gather([(np.arange(float(n))[:, None], np.array([f"id{i}" for i in range(n)]))], ("x",), ("y",))
    assert len(found.outputs) == n


def test_numbers_up_to_the_largest_that_can_be_squared():
    edge = np.array([[1e150, 1.0], [-1e150, 2.0]])
    assert gather([(edge, np.array([1.0, 2.0]))], ("x0", "x1"), ("y",)).rows == 2
    for X, name in (([[1.0, -1e151], [2.0, 1.0]], "x1"), ([[-1e151, 0.0], [1.0, 1.0]], "x0")):
        with pytest.raises(ValueError, match=f"column '{name}' must hold numbers whose squares fit"):
            gather([(np.array(X), np.array([1.0, 2.0]))], ("x0", "x1"), ("y",))
    with pytest.raises(ValueError, match="column 'y' must hold numbers whose squares fit"):
        gather([(np.array([[1.0], [2.0]]), np.array([1e151, 2.0]))], ("x",), ("y",))
    with pytest.raises(ValueError, match="column 'x0' holds an infinite value"):
        gather([(np.array([[np.inf, 1.0], [2.0, 1.0]]), np.array([1.0, 2.0]))], ("x0", "x1"), ("y",))


def test_labels_that_are_missing_whatever_they_are_stored_as():
    X = np.arange(5.0)[:, None]
    for labels in (
        np.array([1.0, np.nan, 2.0, 1.0, 2.0]), np.array(["a", "", "b", "a", "b"]),
        np.array([["a"], [""], ["b"], ["a"], ["b"]]), np.array(["a", np.nan, "b", 1, "a"], dtype=object),
    ):  # fmt: skip
        found = gather([(X, labels)], ("x",), ("y",), classes=True)
        assert (found.rows, found.missing) == (4, 1)
    assert gather([(X, np.array([True, False, True, True, False]))], ("x",), ("y",)).outputs == ("False", "True")
    assert gather([(X, np.array([True, False, True, True, False]))], ("x",), ("y",), classes=False).outputs == ("y",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": "yes"}, "classes must be"), ({"standardise": 2}, "standardise must be"), ({"seed": -1}, "seed must"),
        ({"scale_target": "no"}, "scale_target must be"), ({"chunks": np.ones((2, 2))}, "must be pairs of features"),
        ({"chunks": 3}, "chunks must be pairs of features"), ({"chunks": [(np.ones((2, 1)),)]}, "pairs of arrays"),
        ({"chunks": [np.ones((2, 1))]}, "pairs of arrays"), ({"chunks": [(np.ones((2, 1)), [1, 2])]}, "pairs of arrays"),
        ({"chunks": [(np.ones((2, 2)), np.ones(2))]}, "must hold rows of 1 columns"),
        ({"chunks": [(np.eye(2)[:, :1], np.array(["a", "b"]))], "classes": False}, "the target y must hold numbers"),
        ({"chunks": [(np.eye(2)[:, :1], np.array(["a", "b"]))], "scale_target": True}, "scale_target must be left out"),
    ],
)  # fmt: skip
def test_what_is_no_stream_of_tables_is_refused(change, message):
    given = {"chunks": [(np.array([[1.0], [2.0]]), np.array([1.0, 3.0]))], "features": ("x",), "targets": ("y",)}
    with pytest.raises(ValueError, match=message):
        gather(**given | change)


@pytest.mark.parametrize("nothing", [(), []])
def test_nothing_to_learn_is_refused(nothing):
    with pytest.raises(ValueError, match="targets must name one at least; got none"):
        gather(cut(np.ones((4, 2)), np.ones((4, 0)), [2, 2]), ("a", "b"), nothing)
