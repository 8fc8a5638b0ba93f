"""When a claim of Hacohen & Weinshall passes, differs, or cannot be told."""

from types import SimpleNamespace

import numpy as np
import pytest

from lineament.claims import stand_in
from lineament.claims.hacohen import figure_4, figure_6a, figure_6b, figure_7, readings
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


def test_a_printed_check_that_fails_decides_whatever_cannot_be_told():
    assert readings.decisive([PASSED, MISSED, VOID]) == [PASSED, MISSED]
    assert readings.decisive([PASSED, VOID]) == [PASSED, VOID]


@pytest.mark.parametrize(
    ("upper", "edges", "outcome"),
    [(0.8, [], "failed"), (0.8, ["step 0.001 (smallest)"], "void"), (0.9, ["step 0.001 (smallest)"], "passed")],
)
def test_a_highest_correlation_at_the_grids_edge_does_not_refute_the_printed_one(upper, edges, outcome):
    (check,) = figure_6a._printed(0.85, upper, edges)
    assert [check.passed, check.failed, bool(check.void)] == [outcome == kind for kind in ("passed", "failed", "void")]
    assert all(edge in check.void for edge in edges if check.void)
    assert not figure_6a._printed(None, upper, edges)


def test_the_edges_of_a_grid_are_its_first_and_last_step():
    grid = [SimpleNamespace(label=f"step {step}") for step in (1, 2, 3)]
    assert figure_6a._edges(("step 2", "step 2"), (grid, grid)) == []
    assert figure_6a._edges(("step 1", "step 3"), (grid, grid)) == ["step 1 (smallest)", "step 3 (largest)"]


def test_binnings_averages_and_what_is_left_out_are_remarked_on():
    binned = {"10 bins of equal count": -0.9, "averages of 10 examples in order": -0.4}
    words = " ".join(figure_6b._remarks(binned, 10, "10 bins of equal count", 0.251))
    for part in ("10 bins of equal count -0.90", "averages of 10 examples in order -0.40", "25%"):
        assert part in words


def drop(everything: float, fastest: float, choice: figure_7.Choice = "the mean of the two") -> figure_7.Drop:
    """Correlations of 0.5 that whitening lowers by so much, over 10,000 and over 2000 examples."""
    return figure_7.Drop("10", choice, (0.5, 0.5 - everything), (0.5, 0.5 - fastest), (10_000, 2000))


def test_a_correlation_is_lowered_by_two_standard_errors():
    assert drop(0.1, 0.4).lowers("").passed
    assert drop(-0.1, 0.4).lowers("").failed
    assert drop(0.001, 0.4).lowers("").void
    assert drop(0.1, 0.1 + 0.09).larger("").passed  # the bar of 0.1 is not judged
    assert drop(0.1, 0.1 - 0.09).larger("").failed
    assert drop(0.1, 0.101).larger("").void


def test_errors_of_drops_are_those_of_correlations():
    one = drop(0.1, 0.3)
    error = np.sqrt((1 - 0.5**2) ** 2 / 10_000 + (1 - 0.4**2) ** 2 / 10_000)
    assert one.all_in_errors == pytest.approx(0.1 / error)
    error = np.hypot(error, np.sqrt((1 - 0.5**2) ** 2 / 2000 + (1 - 0.2**2) ** 2 / 2000))
    assert one.more_in_errors == pytest.approx(0.2 / error)


def test_both_parts_are_judged_in_the_reading_that_favours_the_weaker():
    nothing, opposite, both = drop(0.0, 0.4), drop(0.3, 0.1), drop(0.1, 0.2)
    assert figure_7._largest([nothing, opposite, both]) is both
    assert figure_7._largest([opposite, nothing]) is nothing  # a drop of 0 over all is not refused,
    assert nothing.lowers("").void  # but cannot be told
