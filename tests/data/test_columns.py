"""Columns as numbers: what a text is taken for, levels and gaps, and the row that a refusal names."""

import numpy as np
import pandas as pd
import pytest

from lineament.data import columns
from lineament.data.columns import Column, Survey, as_numbers, natural, survey


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (("1", " -2.5e3 ", "007"), "number"),
        (("true", "FALSE"), "truth value"),
        (("2024-01-31", "31/1/2024", "1.2.2024", "2024-01-31 10:00", "10:05", "10:05:59.5"), "date"),
        (("1+2j", "(3.5-1e2j)", "2i"), "complex number"),
        (("inf", "-Infinity"), "infinite value"),
        (("one", "j", "2024-01/31", "10:5", "hi)", "i"), "word"),
    ],
)
def test_what_a_text_is_taken_for(texts, kind):
    for text in texts:
        assert columns._kind(text) == kind, text


def test_names_that_are_numbers_come_first_and_by_value():
    assert sorted(["b", "10", "9", "a", "-1.5"], key=natural) == ["-1.5", "9", "10", "a", "b"]


def test_truth_values_are_numbers_and_what_is_missing_is_not():
    np.testing.assert_array_equal(
        as_numbers(pd.Series(["True", " false", None, "2.5", "x"])), [1, 0, np.nan, 2.5, np.nan]
    )
    np.testing.assert_array_equal(as_numbers(pd.Series([True, False])), [1, 0])


def test_words_become_one_column_each_and_gaps_are_kept_or_filled():
    values = pd.Series(["red", None, "blue"])
    levels = ("blue", "red")
    np.testing.assert_array_equal(Column("c", levels).encode(values), [[0, 1], [np.nan, np.nan], [1, 0]])
    np.testing.assert_array_equal(Column("c", levels, "red").encode(values), [[0, 1], [0, 1], [1, 0]])
    numbers = pd.Series([1.0, np.nan])
    np.testing.assert_array_equal(Column("c").encode(numbers), [[1.0], [np.nan]])
    np.testing.assert_array_equal(Column("c", None, 7.0).encode(numbers), [[1.0], [7.0]])
    assert Column("c", levels).names == ("c=blue", "c=red")


def test_a_table_in_pieces_is_filled_by_median_and_most_common_word():
    pieces = [pd.DataFrame({"n": [1.0, np.nan], "w": ["a", "b"]}), pd.DataFrame({"n": [5.0, 3.0], "w": ["b", None]})]
    (number, word), rows = survey(["n", "w"], pieces, "median")
    assert rows == 4
    assert number.feature("t", "median") == Column("n", None, 3.0)
    assert word.feature("t", "median") == Column("w", ("a", "b"), "b")
    assert number.feature("t", None).fill is None
    assert number.holds_numbers("t")
    assert not word.holds_numbers("t")


def seen(*pieces):
    column, first = Survey("c"), 1
    for piece in pieces:
        column.see(pd.Series(piece), first, False)
        first += len(piece)
    return column


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (seen(["1", "2"], ["x", "3"]), "words, not both; got '1' and, in example 3, 'x'"),
        (seen(["2024-01-31"]), "got a date, '2024-01-31', in example 1"),
        (seen(pd.to_datetime(["2024-01-31"])), "got a date"),
        (seen(np.array([1 + 2j])), "got a complex number"),
        (seen([f"w{i}" for i in range(101)]), "at most 100 different words"),
    ],
)
def test_what_is_no_feature_is_refused_with_its_row(column, message):
    with pytest.raises(ValueError, match=message):
        column.feature("table", None)


def test_a_hundred_words_are_levels_and_a_target_may_not_be_both():
    assert len(seen([f"w{i % 100}" for i in range(101)]).feature("t", None).levels) == 100
    with pytest.raises(ValueError, match="not both; got '1' and, in example 2, 'x'"):
        seen(["1", "x"]).holds_numbers("t")
    assert not seen([True, False]).holds_numbers("t")
