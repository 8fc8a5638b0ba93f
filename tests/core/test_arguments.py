"""What users pass is taken as it is, or refused by name, where it enters."""

import re
from fractions import Fraction

import numpy as np
import pytest

from lineament.core import arguments


def refused(words):
    """The beginning of an error: the name, and what it must be."""
    return pytest.raises(ValueError, match=f"^{re.escape(words)}")


@pytest.mark.parametrize("bound", ["least", "above", "most", "below"])
def test_a_bound_is_met_by_what_lies_on_the_right_side_of_it(bound):
    """Closed bounds hold at their end, open ones do not; one entry beyond is enough to be refused."""
    inside = 1.0 if bound in ("least", "above") else -1.0
    closed = bound in ("least", "most")
    assert arguments.real("x", [inside, 2 * inside], **{bound: 0.0}).tolist() == [inside, 2 * inside]
    for bad in ([inside, -inside], *([] if closed else [[inside, 0.0]])):
        with refused("x must be finite numbers"):
            arguments.real("x", bad, **{bound: 0.0})
    if closed:
        assert arguments.real("x", 0.0, **{bound: 0.0}) == 0.0


def test_infinity_is_a_number_only_where_it_is_allowed_and_nan_never():
    assert arguments.real("x", [np.inf, -np.inf], infinite=True).tolist() == [np.inf, -np.inf]
    for value, infinite in ((np.inf, False), (np.nan, True), (np.nan, False)):
        with pytest.raises(ValueError, match="x must be a"):
            arguments.real("x", value, infinite=infinite)


def test_a_refusal_names_the_first_bad_entry_and_its_place():
    with pytest.raises(ValueError, match=r"x must be finite numbers of at least 0; got -2 at entry \(1, 0\)$"):
        arguments.real("x", [[1.0, 2.0], [-2.0, -3.0]], least=0)


@pytest.mark.parametrize("value", [3, np.int64(3), np.array(3), True + 2])
def test_whole_numbers_of_any_library_are_counts(value):
    found = arguments.count("n", value)
    assert found == 3
    assert type(found) is int


def test_counts_lie_between_their_bounds_both_allowed():
    for value in (2, 5):
        assert arguments.count("n", value, 2, 5) == value
    for value in (1, 6, True, 2.0, "2", None):
        with refused("n must be a whole number of at least 2 and at most 5"):
            arguments.count("n", value, 2, 5)
    with pytest.raises(ValueError, match=r"n must be a whole number of at least 1; got 0$"):
        arguments.count("n", 0)  # a bound that is out of the way is not told
    with pytest.raises(ValueError, match=f"at most {arguments.LARGEST}"):
        arguments.count("n", arguments.LARGEST + 1)


def test_layers_that_would_never_be_gone_through_are_refused():
    assert arguments.depth("depth", arguments.MOST_LAYERS) == arguments.MOST_LAYERS
    with refused("depth must be a whole number"):
        arguments.depth("depth", arguments.MOST_LAYERS + 1)
    with refused("depth must be a whole number of at least 2"):
        arguments.depth("depth", 1, 2)


def test_arrays_beyond_the_memory_are_refused_before_they_are_made():
    shape = (arguments.MOST_NUMBERS // 4, 4)
    assert arguments.held("n", *shape) == shape
    with refused("n must lead to arrays of at most"):
        arguments.held("n", *shape, 2)


def test_a_row_of_counts_is_of_one_axis():
    assert arguments.counts("widths", np.array([2, 3])) == (2, 3)
    for value in (3, "23", np.ones((2, 2), int), {2, 3}, [[2], [3]]):
        with refused("widths must be a row of whole numbers"):
            arguments.counts("widths", value)
    with refused("widths[1] must be a whole number of at least 1"):
        arguments.counts("widths", (2, 0))


def test_a_vector_has_one_axis_at_least_one_entry_and_the_length_asked_for():
    assert arguments.vector("v", [1, 2], 2).tolist() == [1.0, 2.0]
    for value, length in (([], None), (1.0, None), ([[1.0]], None), ([1.0, 2.0], 3)):
        with refused("v must be a vector of"):
            arguments.vector("v", value, length)


def test_rising_numbers_may_repeat_only_where_that_is_said():
    assert arguments.rising("t", [0.0, 0.0, 1.0], strictly=False).tolist() == [0.0, 0.0, 1.0]
    with pytest.raises(ValueError, match=r"t must be rising numbers; got 1 before 1$"):
        arguments.rising("t", [0.0, 1.0, 1.0, 0.5])
    with pytest.raises(ValueError, match=r"t must be rising numbers; got 1 before 0.5$"):
        arguments.rising("t", [0.0, 1.0, 1.0, 0.5], strictly=False)


def test_indices_are_whole_and_below_their_bound():
    found = arguments.indices("i", [0, 2], 2, 3)
    assert found.tolist() == [0, 2]
    assert found.dtype == np.int64
    for value in ([0, 3], [-1, 0], [0.0, 1.0], [0]):
        with pytest.raises(ValueError, match="i must be"):
            arguments.indices("i", value, 2, 3)


def test_a_matrix_is_one_and_of_the_size_asked_for():
    stack = np.ones((3, 2, 2))
    assert arguments.matrices("W", stack).shape == (3, 2, 2)
    assert arguments.matrix("W", stack[0], (2, 2)).shape == (2, 2)
    assert arguments.square("W", stack).shape == (3, 2, 2)
    for check, value in (
        (arguments.matrix, stack), (arguments.matrix, [1.0]), (arguments.matrix, np.ones((0, 2))),
        (arguments.square, np.ones((2, 3))), (arguments.matrix, [[np.inf]]),
        (lambda name, W: arguments.matrix(name, W, (2, 2)), np.ones((2, 3))),
    ):  # fmt: skip
        with refused("W must be"):
            check("W", value)


def test_entries_that_overflow_when_squared_are_refused_in_either_sign():
    assert arguments.matrix("W", [[1e150, -1e150]], most=arguments.SQUARED).tolist() == [[1e150, -1e150]]
    for entry in (2e150, -2e150):
        with pytest.raises(
            ValueError, match=r"W must have entries of at most 1e\+150 in size; got .* at entry \(0, 1\)"
        ):
            arguments.matrix("W", [[0.0, entry]], most=arguments.SQUARED)


def test_layers_must_fit_together():
    first, second = arguments.layers([np.ones((3, 2)), np.ones((1, 3))])
    assert (first.shape, second.shape) == ((3, 2), (1, 3))
    with refused("layers[1] must be a matrix of 3 columns"):
        arguments.layers([np.ones((3, 2)), np.ones((1, 2))])
    for value in ([], "text", 3.0, None):
        with refused("layers must be a sequence of at least one matrix"):
            arguments.layers(value)


def test_examples_and_labels_are_counted():
    assert arguments.examples("X", np.ones((2, 1), np.float32), 2).dtype == np.float32  # too large to convert at times
    for value in (np.ones((1, 1)), np.ones(3), np.ones((2, 0))):
        with refused("X must be a matrix of at least 2 example(s)"):
            arguments.examples("X", value, 2)
    assert arguments.labels("y", [[1.0], [2.0]], 2).shape == (2, 1)
    for value in ([1.0], 1.0, np.ones((2, 0)), np.ones((2, 1, 1))):
        with refused("y must be labels (n,) or (n, k) of n = 2 examples"):
            arguments.labels("y", value, 2)


def test_classes_are_whole_numbers_truth_values_or_text():
    for value in ([0, 1], [True, False], ["a", "b"], [1.0, 2.0]):
        assert arguments.classes("y", value).tolist() == value
    for value in ([0.5, 1.0], [1j], [None], np.ma.masked_array([1, 2], [True, False])):
        with refused("y must be"):
            arguments.classes("y", value)


def test_shapes_that_broadcast_give_the_shape_they_have_together():
    assert arguments.together(a=np.ones((3, 1)), b=np.ones(2)) == (3, 2)
    with refused("a, b must be of shapes that broadcast; got (3,), (2,)"):
        arguments.together(a=np.ones(3), b=np.ones(2))


def test_words_functions_truths_texts_and_instances():
    assert arguments.one_of("kind", "a", ("a", "b")) == "a"
    with pytest.raises(ValueError, match="kind must be one of 'a', 'b' or a number; got 'c'"):
        arguments.one_of("kind", "c", ("a", "b"), "a number")
    assert arguments.words("names", {"one"}) == ("one",)
    assert arguments.truth("flag", np.bool_(True)) is True
    assert arguments.function("f", len) is len
    assert arguments.text("text", "") == ""
    assert arguments.instance("x", 1.0, float) == 1.0
    for check in (
        lambda: arguments.one_of("it", ["a"], ("a",)), lambda: arguments.words("it", "word"),
        lambda: arguments.words("it", ["a", 1]), lambda: arguments.truth("it", 1), lambda: arguments.function("it", 1),
        lambda: arguments.text("it", 1), lambda: arguments.instance("it", 1, float),
    ):  # fmt: skip
        with refused("it must be"):
            check()


def test_what_can_be_walked_through_is_listed():
    assert arguments.listed("names", (name for name in "ab")) == ["a", "b"]
    for value in ("ab", b"ab", 3.0, None):
        with refused("names must be a sequence"):
            arguments.listed("names", value)


def test_a_path_is_text_without_zeros():
    assert str(arguments.path("file", "a/b")) == "a/b"
    for value in ("", "a\0b", b"a", 3, None):
        with refused("file must be a path"):
            arguments.path("file", value)


def test_numbers_of_other_kinds_are_refused_and_exact_ones_converted():
    assert arguments.real("x", [Fraction(1, 2), 10**30]).tolist() == [0.5, 1e30]
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    for value in (1j, True, "1", [None], np.datetime64("2020-01-01"), masked, [masked], [[1.0], [1.0, 2.0]], 10**400):
        with refused("x must be"):
            arguments.real("x", value)
    assert arguments.real("x", np.ma.masked_array([1.0, 2.0], False)).tolist() == [1.0, 2.0]


def test_what_is_shown_of_a_value_is_short_and_steers_no_terminal():
    assert arguments.shown(np.ones((2, 3), np.float32)) == "float32 of shape (2, 3)"
    assert arguments.shown("\x1b[31mred\n") == repr("\x1b[31mred\n")
    assert arguments.shown("a" * 100).startswith("str 'aaa")
    assert len(arguments.shown("a" * 10_000)) < 70
