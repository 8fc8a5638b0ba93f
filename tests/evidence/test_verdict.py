"""Checks, and the verdict that follows from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament.evidence import Check, Evidence, Verdict, at_least, at_most, judge, pool, reason, within

HOLDS, CORRECTED, DIFFERS, FAILS, UNDECIDED = Verdict
GOOD, BAD = Check("a", 0.0, high=1.0), Check("b", 2.0, high=1.0)
VOID = at_most("c", 0.0, 1.0, void="the peak is the last record")


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        (at_most("gap", 1.0, 1.0), True),
        (Check("gap", np.float64(0.5), high=1.0), True),
        (at_most("gap", 1.1, 1.0), False),
        (at_least("gap", 0.9, 1.0), False),
        (within("slope", 2.0, 1.9, 2.1), True),
        (within("slope", 2.2, 1.9, 2.1), False),
        (at_most("gap", float("nan"), 1.0), False),
        (at_least("gap", float("nan"), 1.0), False),
    ],
)
def test_a_check_passes_within_its_bars_and_never_on_nan(check, passed):
    assert check.passed is passed
    assert check.name in str(check)


def test_the_verdict_is_read_off_the_checks():
    good, bad = Check("a", 0.0, high=1.0), Check("b", 2.0, high=1.0)
    assert Evidence([good]).verdict("theorem") is Verdict.HOLDS
    assert Evidence([good, bad]).verdict("theorem") is Verdict.FAILS
    assert Evidence([good, bad]).verdict("experiment") is Verdict.DIFFERS
    assert "b = 2" in Evidence([good, bad]).reason()
    assert Evidence([good], printed=[bad], correction="x^2").verdict("theorem") is Verdict.CORRECTED
    assert Evidence([good], printed=[good], correction="x^2").verdict("theorem") is Verdict.HOLDS
    assert "as printed: b = 2" in Evidence([good], printed=[bad], correction="x^2").reason()


def test_evidence_that_says_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one check"):
        Evidence([])
    with pytest.raises(ValueError, match="come together"):
        Evidence([at_most("a", 0, 1)], printed=[at_most("a", 2, 1)])


def test_a_void_check_never_passes_and_never_fails():
    assert not VOID.passed
    assert not VOID.failed
    assert judge([GOOD, VOID]) is UNDECIDED
    assert judge([GOOD], [VOID]) is UNDECIDED
    assert judge([BAD, VOID]) is DIFFERS
    assert judge([BAD, VOID], kind="theorem") is FAILS
    assert "the peak is the last record" in reason([GOOD, VOID])
    assert "b = 2" in reason([BAD, VOID])


def test_a_reason_that_several_checks_share_is_said_once():
    alike = [at_most(name, 2.0, 1.0, void="too narrow") for name in ("a", "b", "c")]
    assert reason(alike) == "a and 2 more: too narrow"
    assert reason([*alike, at_most("d", 0.0, 1.0, void="too short")]) == "a and 2 more: too narrow; d: too short"


@pytest.mark.parametrize(
    ("verdicts", "kind", "pooled"),
    [
        ([HOLDS], "experiment", (HOLDS, 1)),
        ([HOLDS] * 4 + [DIFFERS], "experiment", (HOLDS, 4)),
        ([HOLDS, DIFFERS], "experiment", (UNDECIDED, 0)),
        ([HOLDS, DIFFERS, UNDECIDED], "experiment", (UNDECIDED, 1)),
        ([HOLDS] * 4 + [FAILS], "theorem", (FAILS, 1)),
        ([CORRECTED] * 3 + [HOLDS] * 2, "theorem", (CORRECTED, 3)),
    ],
)
def test_seeds_are_pooled(verdicts, kind, pooled):
    assert pool(verdicts, kind) == pooled


def test_nothing_cannot_be_pooled():
    with pytest.raises(ValueError, match="at least one verdict"):
        pool([])


bars = st.floats(-1e6, 1e6).map(lambda bar: round(bar, 3))


@given(value=bars, low=bars, high=bars, factor=st.floats(1.0, 10.0))
def test_a_looser_bar_passes_whatever_the_bar_passes(value, low, high, factor):
    for check in (at_most("a", value, high), at_least("a", value, low), within("a", value, *sorted((low, high)))):
        assert check.loosened(factor).passed >= check.passed
        assert check.loosened(1 / factor).passed <= check.passed
        assert check.loosened(1.0) == check


def test_bars_move_outwards_by_the_factor():
    assert at_most("a", 0, 3.0).loosened(2).high == 6.0
    assert at_most("a", 0, -3.0).loosened(2).high == -1.5
    assert at_least("a", 0, 3.0).loosened(2).low == 1.5
    assert at_least("a", 0, -3.0).loosened(2).low == -6.0
    assert within("a", 0, 1.0, 3.0).loosened(2).low == 0.0
    assert within("a", 0, 1.0, 3.0).loosened(2).high == 4.0
    assert at_most("a", 0, 0.0).loosened(2).high == 0.0
