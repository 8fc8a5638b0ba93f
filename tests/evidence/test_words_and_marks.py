"""How checks read, what is refused of evidence, and the marks of figures as plain data."""

import math

import numpy as np
import pytest

from lineament.evidence import (
    Check,
    Evidence,
    Figure,
    Panel,
    Verdict,
    at_least,
    at_most,
    figure,
    judge,
    pool,
    reason,
    within,
)

GOOD, BAD = at_most("a", 0.5, 1.0), at_most("b", 2.0, 1.0)


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (at_most("gap", 0.5, 1.0), "gap = 0.5 ≤ 1"),
        (at_most("gap", 1.5, 1.0), "gap = 1.5 > bar 1"),
        (at_least("gap", 1.5, 1.0), "gap = 1.5 ≥ 1"),
        (at_least("gap", 0.5, 1.0), "gap = 0.5 < bar 1"),
        (within("gap", 0.5, 0.0, 1.0), "gap = 0.5 in [0, 1]"),
        (within("gap", 1.5, 0.0, 1.0), "gap = 1.5 outside [0, 1]"),
        (at_most("gap", 0.5, 1.0, void="too short"), "gap: too short"),
    ],
)
def test_checks_in_words(check, words):
    assert str(check) == words


def test_a_value_is_one_number_and_a_truth_is_one_too():
    assert at_most("a", True, 1.0).value == 1
    assert at_most("a", np.bool_(False), 1.0).value == 0
    assert at_most("a", np.array([0.25]), 1.0).value == 0.25
    assert at_most("a", math.inf, math.inf).passed
    assert at_least("a", -math.inf, -math.inf).passed
    assert within("a", 0.0, -math.inf, math.inf).passed
    assert at_least("a", 2.0, 1.0, "theory").origin == "theory"
    assert within("a", 2.0, 1.0, 3.0, "theory", void="no").void == "no"
    with pytest.raises(ValueError, match=r"value must be one number; got shape \(2,\)"):
        at_most("a", [1.0, 2.0], 1.0)
    for make in (at_most, at_least):
        with pytest.raises(ValueError, match="bar must be"):
            make("a", 1.0, math.nan)
    with pytest.raises(ValueError, match="low must be"):
        within("a", 1.0, math.nan, 1.0)
    with pytest.raises(ValueError, match="high must be"):
        within("a", 1.0, 0.0, math.nan)
    with pytest.raises(ValueError, match="factor must be"):
        GOOD.loosened(0.0)


def test_a_half_open_interval_moves_at_its_end_alone():
    assert Check("a", 0.0, low=0.0).loosened(3).low == 0
    assert Check("a", 0.0, high=0.5).loosened(2) == Check("a", 0.0, high=1.0)
    assert Check("a", 0.0, low=0.5).loosened(2) == Check("a", 0.0, low=0.25)
    assert Check("a", 0.0).loosened(2) == Check("a", 0.0)


def test_what_is_no_evidence_is_refused():
    with pytest.raises(ValueError, match="checks must be a sequence of checks; got"):
        Evidence([GOOD, 3])
    with pytest.raises(ValueError, match="checks must be a sequence of checks"):
        Evidence({GOOD})
    with pytest.raises(ValueError, match="printed must be a sequence of checks"):
        Evidence([GOOD], printed=[3], correction="x")
    with pytest.raises(ValueError, match="come together"):
        Evidence([GOOD], correction="x")
    with pytest.raises(ValueError, match="correction must be"):
        Evidence([GOOD], printed=[BAD], correction=3)
    for call in (lambda: judge([GOOD], kind="story"), lambda: pool([Verdict.HOLDS], "story")):
        with pytest.raises(ValueError, match="kind must be one of"):
            call()
    for wrong in ([3], "holds", [Verdict.HOLDS, 3]):
        with pytest.raises(ValueError, match="verdicts must hold at least one verdict"):
            pool(wrong)
    for call in (judge, reason):
        with pytest.raises(ValueError, match="printed must be"):
            call([GOOD], [3])


def test_reasons_name_what_decided():
    assert reason([GOOD, BAD, BAD]) == "b = 2 > bar 1; b = 2 > bar 1"
    assert reason([GOOD, GOOD, GOOD]) == "a = 0.5 ≤ 1; a = 0.5 ≤ 1"
    assert reason([GOOD], [GOOD, BAD]) == "as printed: b = 2 > bar 1; corrected: a = 0.5 ≤ 1"
    assert reason([at_most("c", 0.0, 1.0, void="too short")]) == "c: too short"


def test_one_misprint_is_enough_for_a_correction():
    assert judge([GOOD], [GOOD, BAD]) is Verdict.CORRECTED
    assert judge([GOOD], [GOOD, GOOD]) is Verdict.HOLDS


def test_a_theorem_fails_by_one_seed_and_an_experiment_does_not():
    seeds = [Verdict.HOLDS, Verdict.HOLDS, Verdict.FAILS]
    assert pool(seeds, "theorem") == (Verdict.FAILS, 1)
    assert pool(seeds) == (Verdict.HOLDS, 2)
    assert pool([Verdict.HOLDS, Verdict.DIFFERS, Verdict.HOLDS, Verdict.DIFFERS]) == (Verdict.UNDECIDED, 0)


X, Y = [0, 1, 2], [1.0, math.nan, 3.0]


@pytest.mark.parametrize(
    ("mark", "kind", "role"),
    [
        (figure.theory(X, Y), "line", "theory"),
        (figure.measured(X, Y), "line", "measured"),
        (figure.reference(X, Y), "line", "reference"),
        (figure.points(X, Y), "points", "measured"),
        (figure.points(X, Y, role="theory"), "points", "theory"),
        (figure.band(X, Y, Y), "band", "measured"),
        (figure.bars(X, Y), "bars", "measured"),
        (figure.heat(X, Y, np.ones((3, 3))), "heat", "measured"),
        (figure.contour(X, Y, np.ones((3, 3))), "contour", "theory"),
    ],
)
def test_marks_hold_their_numbers(mark, kind, role):
    assert (mark.kind, mark.role, mark.label, mark.group) == (kind, role, "", 0)
    np.testing.assert_array_equal(mark.x, X)
    np.testing.assert_array_equal(mark.y, Y)
    assert mark.x.dtype == mark.y.dtype == float


def test_truths_are_numbers_and_pictures_are_fields():
    np.testing.assert_array_equal(figure.measured(X, np.array([True, False, True])).y, [1, 0, 1])
    picture = figure.image(np.ones((2, 2)))
    assert (picture.kind, picture.x, picture.group) == ("image", None, 0)
    np.testing.assert_array_equal(picture.z, np.ones((2, 2)))
    assert Figure((), "").columns == 3
    assert Panel(()).y_limits is None


@pytest.mark.parametrize(("count", "stride"), [(0, 1), (1, 1), (2000, 1), (2001, 2), (4000, 2), (4001, 3)])
def test_more_points_than_can_be_told_apart_are_thinned_evenly(count, stride):
    x = np.arange(count)
    mark = figure.points(x, -x)
    np.testing.assert_array_equal(mark.x, x[::stride])
    np.testing.assert_array_equal(mark.y, -x[::stride])
    single = figure.points(3.0, 4.0)
    assert (single.x.shape, single.y.shape) == ((1,), (1,))
