"""When a claim of Hacohen & Weinshall passes, differs, or cannot be told."""

from types import SimpleNamespace

import numpy as np
import pytest

from lineament.claims import stand_in
from lineament.claims.hacohen import figure_4
from lineament.evidence import Verdict, at_least, judge

PASSED, MISSED, VOID = at_least("a", 1.0, 0.5), at_least("b", 0.1, 0.5), at_least("c", 0.1, 0.5, void="too short")


@pytest.mark.parametrize("data", ["photographs", "digits", "natural-gaussian 3"])
def test_a_miss_on_stand_in_data_is_undecided_and_a_pass_a_pass(data):
    found = stand_in.judged([PASSED, MISSED, VOID], data)
    assert found[0] is PASSED
    assert [check.void for check in found] == ["", stand_in.REASON, "too short"]
    assert judge(found) is Verdict.UNDECIDED
    assert judge(stand_in.judged([PASSED], data)) is Verdict.HOLDS


def test_a_miss_on_the_papers_data_differs():
    assert judge(stand_in.judged([PASSED, MISSED], "small-mammals")) is Verdict.DIFFERS
    assert judge(stand_in.judged([PASSED, MISSED], "cifar-10", "digits")) is Verdict.UNDECIDED


def test_non_linear_networks_are_judged_at_the_beginning_and_linear_ones_throughout():
    epochs = np.array([1, figure_4.BEGINNING, figure_4.BEGINNING + 1])
    run = SimpleNamespace(epochs=epochs, lag=np.array([1.0, 3.0, 9.0]), case=SimpleNamespace(panel="d"))
    assert figure_4._counted(run) == 3.0
    run.case.panel = "a"
    assert figure_4._counted(run) == 1.0
