"""When a claim of Hacohen & Weinshall passes, differs, or cannot be told."""

from types import SimpleNamespace

import numpy as np
import pytest

from lineament.claims import stand_in
from lineament.claims.hacohen import (
    figure_4,
    figure_6a,
    figure_6b,
    figure_7,
    figure_9,
    figure_10,
    readings,
    section_5_4,
)
from lineament.evidence import Verdict, at_least, judge
from lineament.measure import order

PASSED, MISSED, VOID = at_least("a", 1.0, 0.5), at_least("b", 0.1, 0.5), at_least("c", 0.1, 0.5, void="too short")


@pytest.mark.parametrize("data", ["photographs", "digits", "natural-gaussian 3"])
def test_a_miss_on_stand_in_data_is_undecided_and_a_pass_a_pass(data):
    found = stand_in.judged([PASSED, MISSED, VOID], data)
    assert found[0] is PASSED
    assert [check.void for check in found] == ["", stand_in.REASON, "too short"]
    assert judge(found) is Verdict.UNDECIDED
    assert judge(stand_in.judged([PASSED], data)) is Verdict.HOLDS


@pytest.mark.parametrize(
    "names", ["digits", {"a": 1, "cases": [{"data": "natural-gaussian 3"}]}, [2.0, ["photographs"]]]
)
def test_data_that_stand_in_are_found_in_a_table(names):
    assert stand_in.used({"epochs": 3, "of": names})
    assert not stand_in.used({"epochs": 3, "data": "small-mammals", "of": ["MNIST", None, "no digits"]})


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


def ensemble(label: str, tested: float, end: float = 0.5) -> figure_6a.Ensemble:
    """An ensemble with that test accuracy at best and that training accuracy at the end."""
    return figure_6a.Ensemble(label, np.arange(1, 3), np.array([0.2, end]), tested, np.zeros(4), 1.0)


def test_of_all_step_sizes_those_are_judged_that_the_text_points_to():
    linear = [ensemble("linear, step 1", 0.3), ensemble("linear, step 2", 0.4), ensemble("linear, step 3", 0.35)]
    nonlinear = [ensemble("convolutional, step 1", 0.5), ensemble("convolutional, step 2", 0.6)]
    assert figure_6a._stated(linear, nonlinear) == ("linear, step 2", "convolutional, step 1")


@pytest.mark.parametrize(("end", "outcome"), [(0.5, "passed"), (0.21, "void")])
def test_networks_that_have_learnt_nothing_have_no_order_to_compare(end, outcome):
    task = SimpleNamespace(classes=5, X=np.zeros((400, 3)))
    pair = ensemble("linear", 0.3), ensemble("convolutional", 0.3, end)
    unlearnt = figure_6a._unlearnt(task, ("linear", "convolutional"), pair)
    x = np.arange(100.0)
    check = figure_6a._same(order.constancy(x, x + 10 * np.sin(x)), unlearnt)
    assert [check.passed, bool(check.void)] == [outcome == kind for kind in ("passed", "void")]
    assert check.low == 0.6
    assert "0.5 until a full run was seen" in check.origin


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


@pytest.mark.parametrize(("log", "outcome"), [(0.9, "passed"), (0.2, "failed"), (0.45, "void")])
def test_a_ratio_is_judged_two_errors_away_from_its_bar(log, outcome):
    ratio = figure_10.Ratio(log, 0.05)
    for check in (ratio.at_least("", 1.5, "set"), ratio.within("", 1.5, 9.0, "set")):
        assert [check.passed, check.failed, bool(check.void)] == [
            outcome == kind for kind in ("passed", "failed", "void")
        ]
    assert ratio.at_most("", 1.5, "set").passed == (outcome == "failed")
    assert ratio.at_least("", 1.5, "set", void="not settled").void == "not settled"


def times(common: tuple[float, float], own: tuple[float, float], gained: float = 0.0) -> figure_10.Times:
    """Ratios on original and on whitened images by either measure, with an error of 5 %."""
    ratios = {
        measure: (figure_10.Ratio(np.log(raw), 0.05), figure_10.Ratio(np.log(white), 0.05))
        for measure, (raw, white) in zip(figure_10.MEASURES, (common, own), strict=True)
    }
    return figure_10.Times(figure_10.Case("n > q", 480, 200, (0.02, 0.02), 48), np.arange(1, 3), {}, ratios, gained)


def test_each_measure_is_judged_through_the_whole_statement():
    found = times((30.0, 3.0), (1.1, 1.0))  # slower by one measure, the difference gone by the other
    whole = {measure: figure_10._whole(found, measure) for measure in figure_10.MEASURES}
    assert [check.passed for check in whole["common level"]] == [True, False]
    assert [check.passed for check in whole["own level"]] == [False, True]
    assert judge([PASSED], [*whole["common level"], *whole["own level"]]) is Verdict.CORRECTED
    assert "does not disappear" in figure_10._finding(found, "common level")
    assert "is not much slower" in figure_10._finding(found, "own level")
    fall = found.fall("common level")
    assert fall.value == pytest.approx(0.1)
    assert fall.error == pytest.approx(0.05 * 2**0.5)


def test_accuracy_that_still_rises_has_not_settled():
    curve = np.concatenate([np.linspace(0.5, 0.8, 50), np.full(50, 0.8)])
    assert figure_10.gained_late(curve, 0.5) == pytest.approx(0, abs=0.02)
    assert figure_10.gained_late(np.linspace(0.5, 1.0, 101), 0.5) == pytest.approx(0.5, abs=0.03)
    assert "40%" in times((2.0, 1.0), (2.0, 1.0), 0.4).unsettled
    assert times((2.0, 1.0), (2.0, 1.0), 0.04).unsettled == ""


def test_errors_of_ratios_are_over_networks_and_over_shuffles():
    epochs = np.arange(1, 201)
    rising = lambda rate: np.minimum(0.5 + rate * np.arange(200), 1.0)  # noqa: E731
    alike = np.stack([rising(0.05)] * 4)
    slow = np.stack([np.stack([rising(rate)] * 4) for rate in (0.01, 0.01, 0.01)])
    exact = figure_10.log_ratios(0.9, epochs, alike, slow, 0.5)["common level"]
    assert exact.value == pytest.approx(46 / 10)
    assert exact.error == 0
    shuffles = np.stack([np.stack([rising(rate)] * 4) for rate in (0.005, 0.01, 0.02)])
    logs = [np.log(t / 10) for t in (91, 46, 24)]
    found = figure_10.log_ratios(0.9, epochs, alike, shuffles, 0.5)["common level"]
    assert found.log == pytest.approx(np.mean(logs))
    assert found.error == pytest.approx(np.std(logs, ddof=1) / 3**0.5)
    networks = np.stack([rising(rate) for rate in (0.04, 0.05, 0.06, 0.07)])
    assert figure_10.log_ratios(0.9, epochs, networks, slow, 0.5)["common level"].error > 0


def gains(
    network: figure_9.Network, reading: str, original: float, lowest: float, highest: float, dropout: bool = True
):
    """Of eight networks whose gains are alike but for a little."""
    part = figure_9.Part(network, "st-VGG", dropout, (0.015,), 8, 200, 0.05)
    little = 1e-4 * np.arange(8)[:, None] * np.array([1.0, -1.0, 2.0])
    versions = ("original", figure_9.low(0.015), figure_9.high(0.015))
    values = np.array([original, lowest, highest]) + little
    return figure_9.Gains(part, reading, versions, np.arange(3), np.zeros((8, 3, 3)), values)


def test_of_each_kind_of_network_the_first_part_is_judged():
    first = gains("linear", figure_9.READINGS[0], 0.01, 0.05, 0.0)
    control = gains("linear", figure_9.READINGS[0], 0.03, 0.05, 0.01, dropout=False)
    other = gains("non-linear", figure_9.READINGS[0], 0.03, 0.05, 0.01)
    checks = figure_9._checks([first, control, other], 0.015)
    assert [bool(check.void) for check in checks] == [True, True, False, False]
    assert all(check.passed for check in checks[2:])
    assert all("nothing overfits" in check.void for check in checks[:2])


def test_the_reading_counts_whose_weakest_comparison_is_strongest():
    both, alone = figure_9.READINGS
    shown = figure_9._checks([gains("linear", alone, 0.03, 0.06, 0.01)], 0.015)
    missed = figure_9._checks([gains("linear", both, 0.03, 0.06, 0.05)], 0.015)
    void = figure_9._checks([gains("linear", alone, 0.01, 0.06, 0.05)], 0.015)
    assert figure_9.favoured({both: missed, alone: shown}) == alone
    assert figure_9.favoured({both: void, alone: void}) == both
    assert "training images alone" in figure_9._on_reading(alone, shown)


def cell(consistency: list[float]) -> section_5_4.Cell:
    """One run with the same consistency on all images."""
    curve = np.array(consistency)
    both = {"training": curve, "test": curve[::-1]}
    records = np.arange(1, len(curve) + 1)
    return section_5_4.Cell("a", "both layers", "He", records, curve, curve, both, {"training": 2500, "test": 500})


def test_peaks_on_training_and_on_test_images_are_told_apart():
    risen = cell([0.1, 0.9, 0.5])
    assert "in 1 of 1 runs: at epochs 2 to 2" in section_5_4._on_peaks([risen], "training")
    assert "it falls by 0.4 to 0.4" in section_5_4._on_peaks([risen], "training")
    assert "it falls by 0.8 to 0.8" in section_5_4._on_peaks([risen], "test")
    assert section_5_4._on_peaks([cell([0.1, 0.5, 0.9])], "training").endswith("in 0 of 1 runs.")
