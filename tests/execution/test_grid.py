"""Grids number their points as nested loops do, and refuse what cannot be written down."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament.execution.grid import grid

axes = st.dictionaries(
    st.sampled_from("abcd"), st.lists(st.integers(-9, 9), min_size=1, max_size=4, unique=True), min_size=1, max_size=4
)


@given(axes)
def test_points_come_as_nested_loops_would_give_them(values):
    made = grid(values)
    loops = [dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())]
    assert list(made) == loops
    assert [made.index(point) for point in loops] == list(range(len(made)))


def test_zipped_names_are_walked_together_and_some_points_left_out():
    made = grid({"a": [1, 2], "b": [10, 20], "c": ["xy", "z"]}, zip=("b", "a"), where=lambda a, c: a > 1 or c == "z")
    assert [axis.dimension for axis in made.axes] == ["a_b", "c"]
    assert [tuple(p.values()) for p in made] == [(1, 10, "z"), (2, 20, "xy"), (2, 20, "z")]
    assert made.index({"a": 1, "b": 20, "c": "z"}) is None
    assert made.index({"a": 1}) is None


def test_values_become_plain():
    made = grid({"w": [np.int64(3), (np.float32(0.5), "x"), None, math.inf, True]})
    assert [p["w"] for p in made][:3] == [3, (0.5, "x"), None]
    assert type(made.point(0)["w"]) is int


@pytest.mark.parametrize(
    ("values", "extra", "said"),
    [
        ({}, {}, "at least one name"),
        ({"a b": [1]}, {}, "names that a function's arguments"),
        ({"a": 3}, {}, "grid\\['a'\\] must be a list"),
        ({"a": "words"}, {}, "must be a list"),
        ({"a": []}, {}, "at least one value"),
        ({"a": [1, 1.0]}, {}, "each value once"),
        ({"a": [math.nan]}, {}, "must hold numbers"),
        ({"a": [object()]}, {}, "must hold numbers"),
        ({"a": [1], "b": [1, 2]}, {"zip": ("a", "b")}, "equally long"),
        ({"a": [1]}, {"zip": ("a", "c")}, "zip must be groups"),
        ({"a": [1]}, {"where": lambda c: True}, "where must be a function of a"),
        ({"a": [1]}, {"where": 3}, "where must be a function"),
    ],
)
def test_bad_grids_are_refused(values, extra, said):
    with pytest.raises(ValueError, match=said):
        grid(values, **extra)


def test_a_grid_of_more_points_than_can_be_walked_through_is_refused(monkeypatch):
    monkeypatch.setattr("lineament.execution.grid.MOST_POINTS", 12)
    assert len(grid({"a": range(4), "b": range(3)})) == 12
    with pytest.raises(ValueError, match="grid must have at most 12 points; got 24"):
        grid({"a": range(12), "b": [0, 1]})
    with pytest.raises(ValueError, match=r"grid\['a'\] must hold at most 12 values"):
        grid({"a": itertools.count()})
