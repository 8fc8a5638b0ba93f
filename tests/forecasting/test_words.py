"""What a forecast says of itself: no sentence contradicts another, nor the numbers, whatever table and settings."""

import re
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from lineament.forecasting import forecast, words

# Sentences that cannot both be said: a pattern, and those that must not stand beside it.
APART = (
    (r"descent diverges|the forecast ends there", r"Stop near step|Train to the end|First comes|training loss goes"),
    (r"hardly anything is learnt", r"Stop near step|Train to the end|training loss goes|still falls at step"),
    (r"cannot be told|nothing is said on when to stop", r"Stop near step|Train to the end|still falls at step"),
    (r"the noise cannot be estimated", r"test loss is"),
    (r"Train to the end", r"Stop near step|still falls at step"),
    (r"Only one (component|mode) matters", r"successive pairs|The two|No two"),
    (r"No (component|mode) (that matters )?is half learnt", r"First comes|successive pairs|The two"),
    (r"expected test loss never rises", r"it rises later"),
)

settings_of_forecasts = st.fixed_dictionaries(
    {
        "depth": st.sampled_from([1, 2, 3, 8]),
        "start_scale": st.sampled_from([1e-9, 1e-3, 0.3]),
        "whiten": st.booleans(),
        "steps": st.sampled_from([None, 1, 30, 5000]),
    }
)
tables = st.fixed_dictionaries(
    {
        "rows": st.sampled_from([6, 25, 80]),
        "columns": st.sampled_from([1, 3, 10]),
        "repeated": st.sampled_from([0, 20]),  # columns that are copies: the rank stays as it is
        "noise": st.sampled_from([0.0, 0.5, 30.0]),
        "kind": st.sampled_from(["number", "numbers", "classes", "noise"]),
    }
)


def drawn(rows, columns, repeated, noise, kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns)) * np.arange(1, columns + 1) ** -0.5
    y = (X @ rng.standard_normal((columns, 2))) + noise * rng.standard_normal((rows, 2))
    wide = np.concatenate([X, X[:, rng.integers(0, columns, repeated)]], axis=1)
    if kind == "classes":
        return wide, np.where(y[:, 0] > np.median(y[:, 0]), "b", "a")
    return wide, rng.standard_normal(rows) if kind == "noise" else y if kind == "numbers" else y[:, 0]


def contradiction(told):
    """Two sentences that contradict each other, or None."""
    for one, other in permutations(told, 2):
        for pattern, never in APART:
            if re.search(pattern, one) and re.search(never, other):
                return one, other
    return None


def number(pattern, text):
    """The number that a pattern finds in a text, thousands and all; None if it is not there."""
    found = re.search(pattern, text)
    return None if found is None else float(found.group(1).replace("\u202f", ""))


@settings(max_examples=20, deadline=None)
@given(tables, settings_of_forecasts, st.sampled_from([None, 0.01, 0.9, 1.1, 3.0]), st.integers(0, 5))
@example(  # copies of columns: few rows for the columns, yet enough for the directions
    {"rows": 25, "columns": 3, "repeated": 30, "noise": 0.5, "kind": "number"},
    {"depth": 2, "start_scale": 1e-3, "whiten": False, "steps": None},
    None,
    0,
)
@example(  # no noise: an unbiased estimate of the loss is rounded below 0
    {"rows": 25, "columns": 10, "repeated": 20, "noise": 0.0, "kind": "number"},
    {"depth": 1, "start_scale": 1e-9, "whiten": False, "steps": 5000},
    None,
    0,
)
@example(  # one step from a large start: half of a component that hardly matters is there from the beginning
    {"rows": 6, "columns": 10, "repeated": 20, "noise": 0.0, "kind": "numbers"},
    {"depth": 1, "start_scale": 0.3, "whiten": False, "steps": 1},
    None,
    1,
)
def test_no_sentence_contradicts_another(table, asked, share_of_stable, seed):
    X, y = drawn(**table, seed=seed)
    made = forecast(X, y, **asked)
    if share_of_stable is not None:
        assume(asked["steps"] is not None or share_of_stable >= 0.9)
        made = forecast(X, y, **asked, step_size=share_of_stable * made.largest_stable)
    told = [*made.sentences, *made.notices]
    assert len(set(told)) == len(told), "nothing is said twice"
    assert contradiction(told) is None
    check_numbers(made, " ".join(told))


def check_numbers(made, text):
    half, most = (
        number(r"half of the way by step ([\d\u202f]+)", text),
        number(r"of the way by step ([\d\u202f]+) to", text),
    )
    assert half is None or most is None or half <= most <= made.steps + 1
    best = number(r"Stop near step ([\d\u202f]+)", text)
    assert best is None or best <= made.steps
    least, final = (
        number(rf"test loss is (?:expected to be )?{pattern}", text)
        for pattern in (r"([\d\u202f.e+-]+) at", r"[\d\u202f.e+-]+ at best, ([\d\u202f.e+-]+)")
    )
    assert least is None or final is None or least <= final
    if "never rises" in text:
        assert least == final
    explains = number(r"can explain ([\d.]+) %", text)
    one = number(r"which explains ([\d.]+) %", text)
    assert explains is not None
    assert one is None or one <= explains + 0.5
    assert (explains == 0) == (made.r2 <= 0.0005)
    if "Only one" in text:
        assert sum(words.matters(made, each) for each in made.components) == 1
    if "half learnt by step" in text:
        first = number(r"half learnt by step ([\d\u202f]+)", text)
        assert first == pytest.approx(
            min(made.step_of(each.half) for each in made.components if words.matters(made, each)), abs=0.5001
        )


def test_what_forecasts_used_to_say_is_found_to_be_contradictory():
    beyond = "The step size 2 is above 1, the largest stable one: descent diverges."
    assert contradiction([beyond, "First comes component 1 (+a), which explains 9.0 % of …: half learnt by step 3."])
    few = "There are 25 rows for 33 columns: … the noise cannot be estimated, and nothing is said on when to stop."
    assert contradiction(["Train to the end: the expected test loss never rises.", few])
    assert contradiction(["No component is half learnt within this range.", "Stop near step 3 (…)"]) is None
