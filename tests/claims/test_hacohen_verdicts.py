"""When a claim of Hacohen & Weinshall passes, differs, or cannot be told."""

from types import SimpleNamespace

import jax
import numpy as np
import pytest

from lineament import data
from lineament.claims import stand_in
from lineament.claims.hacohen import (
    figure_4,
    figure_5,
    figure_6a,
    figure_6b,
    figure_7,
    figure_9,
    figure_10,
    readings,
    section_5_4,
)
from lineament.claims.printed import decisive, most_favourable
from lineament.evidence import Check, Verdict, at_least, judge
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


def test_settings_that_name_data_that_stand_in_are_known_as_run_and_as_stored():
    quick, full = (figure_10.check.settings[size] for size in ("quick", "full"))
    assert stand_in.used(quick)
    assert stand_in.used(quick._asdict())
    assert not stand_in.used(full)
    assert stand_in.used(section_5_4.QUICK)
    assert not stand_in.used(section_5_4.FULL)
    assert not stand_in.used({"words": ["", "of digits"], "number": 3})


def test_non_linear_networks_are_judged_at_the_beginning_and_linear_ones_throughout():
    run = SimpleNamespace(early=3.0, lag=np.array([1.0, 5.0, 9.0]), case=SimpleNamespace(panel="d"))
    assert figure_4._counted(run) == 3.0
    run.case.panel = "a"
    assert figure_4._counted(run) == 1.0


def along(W: np.ndarray, epochs: np.ndarray) -> figure_4.Along:
    """What is read off maps (network, record, output, component) of two groups, of two components each."""
    case = figure_4.QUICK.cases[-1]
    return figure_4._along(case, "cross-entropy", 0.01, epochs, W, np.zeros(W.shape[2:]), [2, 4])


def test_the_beginning_is_one_average_with_one_error():
    rng = np.random.default_rng(0)
    epochs = np.array([0, 1, 6, figure_4.BEGINNING, figure_4.BEGINNING + 1])
    W = rng.normal(size=(10, 5, 3, 4))
    W[:, 1:, :, :2] *= 0.5  # the first group has lost half of its spread
    found = along(W, epochs)

    def mean_lag(W: np.ndarray) -> float:
        spread = W.std(axis=0, ddof=1).mean(axis=1)
        first, last = (spread[:, part].mean(axis=1) for part in (slice(0, 2), slice(2, 4)))
        return float((last / last[0] - first / first[0])[1:4].mean())

    left_out = np.array([mean_lag(np.delete(W, i, axis=0)) for i in range(10)])
    assert found.early == pytest.approx(mean_lag(W) / np.sqrt(9 / 10 * np.sum((left_out - left_out.mean()) ** 2)))
    W[:, -1] *= 9.0  # what comes after the beginning does not count
    assert along(W, epochs).early == pytest.approx(found.early)


def test_noise_at_eight_records_is_taken_for_an_order_no_more_often_than_at_one():
    rng = np.random.default_rng(1)
    records = np.array([0, 1, 2, 3, 4, 6, 8, 11, figure_4.BEGINNING])
    noise = [along(rng.normal(size=(10, 9, 3, 4)), records) for _ in range(200)]
    taken = np.mean([figure_4._counted(run) >= readings.ERRORS for run in noise])
    largest = np.mean([run.lag.max() >= readings.ERRORS for run in noise])
    assert taken < 0.05 < 0.1 < largest


def peaks(*at: int, case: figure_5.Case = figure_5.QUICK.cases[0]) -> figure_5.Peaks:
    """Of six networks whose accuracy peaks about the same epochs of 20, one epoch for each number of components."""
    epochs = np.arange(1, 21)
    middle = np.array(at)[None, :, None] + np.array([0, 0, 0, -1, 1, 0])[:, None, None]
    curves = -np.abs(epochs - np.minimum(middle, 20)).astype(float)
    components = (1, 10, 100, 1000)[: len(at) - 1]
    return figure_5.Peaks(case, epochs, (*components, 3072), curves, curves, 100)


def test_images_with_all_their_components_are_shown_and_not_judged():
    assert peaks(3, 6, 9, 12).comparable() == [0, 1, 2]
    later, ordered = figure_5._checks(peaks(3, 6, 9, 2))
    assert later.passed
    assert ordered.passed, "the whole images, whose accuracy peaks first, do not count"
    assert not any(check.passed for check in figure_5._checks(peaks(9, 6, 3, 12)))
    rising = figure_5._checks(peaks(20, 20, 20, 4))
    assert all("last record" in check.void for check in rising)
    assert peaks(3, 20, 20, 20).comparable() == [0, 1]


def test_figure_5a_compares_what_is_printed_to_peak_early_with_what_peaks_later():
    printed = figure_5.FULL.cases[0]
    judged = lambda *at: figure_5._checks(peaks(*at, case=printed))  # noqa: E731
    checks = judged(6, 3, 9, 14, 20)
    assert [check.name.partition(": ")[2].partition(", in")[0] for check in checks] == [
        "decline of the accuracy after its peak, P = 1",
        "decline of the accuracy after its peak, P = 10",
        "delay of the peak from P = 1 to 100, epochs",
        "delay of the peak from P = 10 to 100, epochs",
        "delay of the peak from P = 100 to 1000, epochs",
    ]
    assert all(check.passed for check in checks), "which of the first two peaks before the other is not printed"
    assert [check.passed for check in judged(12, 3, 9, 14, 20)] == [True, True, False, True, True]
    assert [check.passed for check in judged(3, 12, 9, 14, 20)] == [True, True, True, False, True]
    assert [check.passed for check in judged(3, 3, 9, 8, 20)] == [True, True, True, True, False]
    assert [bool(check.void) for check in judged(3, 3, 20, 20, 20)] == [False] * 4 + [True], "both still rise"
    assert [check.passed for check in judged(20, 3, 12, 14, 20)][:2] == [False, True], "no decline"


def test_the_decline_of_a_network_begins_where_the_others_peak():
    curves = np.zeros((3, 5))
    curves[0, 1], curves[1, 2], curves[2, 2] = 9.0, 3.0, 3.0
    curves[:, -1] = 1.0
    # The mean of the last two peaks at 2, where the first is at 0; that of the others at 1, where they are at 0.
    np.testing.assert_allclose(figure_5._decline(curves), [-1.0, -1.0, -1.0])
    rng = np.random.default_rng(0)
    ensembles = [rng.normal(size=(4, 30)) for _ in range(400)]
    noise = np.array([figure_5._decline(curves).mean() for curves in ensembles])
    assert abs(noise.mean()) < 4 * noise.std() / 20, "noise alone is no decline"
    own = np.array([np.mean(curves.max(axis=1) - curves[:, -1]) for curves in ensembles])
    assert own.mean() > 40 * own.std() / 20, "from a network's own peak it would be one"


def test_a_printed_check_that_fails_decides_whatever_cannot_be_told():
    assert decisive([PASSED, MISSED, VOID]) == [PASSED, MISSED]
    assert decisive([PASSED, VOID]) == [PASSED, VOID]


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ([[PASSED, MISSED], [PASSED, PASSED]], [PASSED, PASSED]),  # one reading shows it
        ([[PASSED, VOID], [PASSED, PASSED]], [PASSED, PASSED]),
        ([[PASSED, MISSED], [PASSED, VOID]], [PASSED, VOID]),  # none shows it, and one cannot tell
        ([[PASSED, MISSED], [MISSED, VOID]], [PASSED, MISSED, MISSED]),  # each refutes it
    ],
)
def test_a_printed_statement_is_refuted_only_by_every_reading(printed, expected):
    for step in (1, -1):
        assert sorted(most_favourable(printed[::step]), key=str) == sorted(expected, key=str)


def test_figure_10_is_judged_by_the_measure_that_favours_it(monkeypatch):
    cases = {"n ≤ q": times((3.0, 1.0), (3.0, 1.0)), "n > q": times((30.0, 3.0), (3.0, 1.0))}
    monkeypatch.setattr(figure_10, "_times", lambda settings, case, *_: cases[case.name])
    monkeypatch.setattr(figure_10, "_figure", lambda _: None)
    monkeypatch.setattr(figure_10.tasks, "real", lambda _: figure_10.tasks.prepared(data.load("digits")))
    settings = figure_10.check.settings["quick"]

    def verdict(name: str = "cats-dogs") -> Verdict:
        return figure_10.check.function(settings._replace(data=name), jax.random.key(0)).verdict("experiment")

    assert verdict() is Verdict.HOLDS, "the curves coincide by one of the two measures"
    cases["n > q"] = times((30.0, 3.0), (3.0, 1.25))
    assert verdict() is Verdict.UNDECIDED, "one measure refutes it, the other cannot tell"
    cases["n > q"] = times((30.0, 3.0), (3.0, 2.0))
    assert verdict() is Verdict.CORRECTED, "either measure refutes it"
    assert verdict("digits") is Verdict.UNDECIDED, "but what digits do not show was not reported of digits"
    cases["n > q"] = times((30.0, 3.0), (3.0, 1.0))
    for few, expected in [
        ((1.4, 1.0), Verdict.HOLDS),  # of few images the paper does not say "much"
        ((1.2, 1.2), Verdict.UNDECIDED),  # slower, but not by what whitening takes away
        ((1.05, 1.0), Verdict.UNDECIDED),
        ((1.4, 1.6), Verdict.DIFFERS),
        ((0.7, 1.0), Verdict.DIFFERS),
    ]:
        cases["n ≤ q"] = times(few, few)
        assert verdict() is expected, few


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
    """Correlations of 0.8 and 0.6 that whitening lowers by so much, over 10,000 and over 2000 examples."""
    return figure_7.Drop("10", choice, (0.8, 0.8 - everything), (0.6, 0.6 - fastest), (10_000, 2000))


def outcomes(checks: list[Check]) -> str:
    """Of each check, whether it passed, failed or is void."""
    return "".join("p" if check.passed else "f" if check.failed else "v" for check in checks)


@pytest.mark.parametrize(
    ("everything", "fastest", "expected"),
    [
        (0.2, 0.5, "ppp"),
        (0.001, 0.5, "vpp"),
        (-0.1, 0.5, "fpp"),
        (0.4, 0.5, "pfp"),  # more is lost over the fastest, but not much more
        (0.3, 0.46, "pvp"),  # half as much again, within its errors
        (0.05, 0.14, "ppf"),  # what was seen at full size on CIFAR-10: much more than little, and far from half
        (0.1, 0.31, "ppv"),
    ],
)
def test_whitening_must_lower_the_correlation_by_much_more_and_by_half_over_the_fastest(everything, fastest, expected):
    for linear in (True, False):
        checks = drop(everything, fastest).checks("", linear)
        assert outcomes(checks) == expected
        assert all(check.origin for check in checks)
    assert "printed" in checks[2].origin, "half is printed of non-linear networks"


def test_errors_of_drops_are_those_of_correlations():
    one = drop(0.1, 0.4)
    over = lambda *terms: np.sqrt(sum((weight * (1 - r**2)) ** 2 / n for weight, r, n in terms))  # noqa: E731
    everything, fastest = ((1, 0.8, 10_000), (1, 0.7, 10_000)), ((1, 0.6, 2000), (1, 0.2, 2000))
    assert one.all_in_errors == pytest.approx(0.1 / over(*everything))
    larger = [(1.5, r, n) for _, r, n in everything]
    assert one.more_in_errors == pytest.approx((0.4 - 0.15) / over(*larger, *fastest))
    assert one.half_in_errors == pytest.approx((0.3 - 0.2) / over((0.5, 0.6, 2000), (1, 0.2, 2000)))
    assert one.share == pytest.approx(2 / 3)


def test_no_half_is_lost_where_there_is_no_correlation_to_lose():
    nothing = figure_7.Drop("60", "one of the two", (0.8, 0.7), (0.01, -0.6), (10_000, 2000))
    assert outcomes(nothing.checks("", False)) == "ppv"
    below = nothing._replace(fastest=(-0.2, -0.8))
    assert outcomes(below.checks("", False)) == "ppf"


@pytest.mark.parametrize(
    ("third", "mean", "one", "expected"),
    [
        ((0.2, 0.5), (0.2, 0.1), (0.2, 0.1), "ppp"),  # what a third ensemble shows stands
        ((0.2, 0.2), (0.2, 0.5), (0.2, 0.1), "pvv"),  # what the compared ones show is void, but not refuted
        ((0.3, 0.46), (0.2, 0.1), (0.2, 0.1), "pvp"),  # a third ensemble cannot tell
        ((0.05, 0.14), (0.2, 0.1), (0.2, 0.1), "ppfpffpff"),  # every choice refutes it
    ],
)
def test_compared_ensembles_that_choose_the_fastest_can_refute_and_not_show(third, mean, one, expected):
    drops = [drop(*off, choice) for off, choice in zip((third, mean, one), figure_7.CHOICES, strict=True)]
    checks = figure_7._checks("linear", drops, linear=True)
    assert outcomes(checks) == expected
    told = [check.void for check in checks if check.void == figure_7.COMPARED]
    assert len(told) == (2 if expected == "pvv" else 0)


def test_what_compared_ensembles_choose_shows_more_off_the_fastest_where_all_speeds_are_alike():
    rng, correlations = np.random.default_rng(0), {choice: [] for choice in figure_7.CHOICES}
    for agreement in (0.9, 0.6):  # before and after whitening, at all speeds
        speed, noise = rng.normal(size=20_000), rng.normal(size=(3, 20_000))
        third, a, b = np.sqrt(agreement) * speed + np.sqrt(1 - agreement) * noise
        for choice, score in zip(figure_7.CHOICES, (third, a + b, a), strict=True):
            fastest = np.argsort(-score)[:4000]
            correlations[choice].append((np.corrcoef(a, b)[0, 1], np.corrcoef(a[fastest], b[fastest])[0, 1]))
    lost = {
        choice: figure_7.Drop("1", choice, (raw[0], white[0]), (raw[1], white[1]), (20_000, 4000))
        for choice, (raw, white) in correlations.items()
    }
    assert outcomes(lost["the mean of the two"].checks("", True)) == "ppp"
    assert outcomes(lost["a third ensemble"].checks("", True)) == "pff"


def test_all_parts_are_judged_in_the_reading_that_favours_the_weakest():
    nothing, little, both = drop(0.0, 0.6), drop(0.4, 0.5), drop(0.2, 0.5, "a third ensemble")
    assert figure_7._favoured([nothing, little, both]) is both
    assert figure_7._favoured([little, nothing]) is nothing  # nothing is lost over all examples: not refused,
    assert outcomes(nothing.checks("", True)) == "vpp"  # but it cannot be told
    words = figure_7._on_choices("linear", [nothing, both, drop(0.1, 0.1, "one of the two")])
    assert (
        "by a third ensemble (10 epochs) from 0.60 to 0.10 over the fastest, and from 0.80 to 0.60 over all" in words
    )


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
    assert judge([PASSED], most_favourable(list(whole.values()))) is Verdict.CORRECTED
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


def overfitting(trained: section_5_4.Trained, **by_images: tuple[float, float]) -> SimpleNamespace:
    """One run that overfits, with the delay and the decline of the consistency on test and on training images."""
    return SimpleNamespace(
        trained=trained,
        delay=lambda images: by_images[images][0],
        decline=lambda images: by_images[images][1],
    )


def test_the_reading_that_comes_nearest_to_both_conditions_counts():
    quick = section_5_4.QUICK
    both, first = quick.trained
    # The peak at the very epoch, but with no decline from it, against one that meets both conditions.
    cells = [
        overfitting(both, test=(1.0, 0.1), training=(0.6, 3.0)),
        overfitting(first, test=(8.0, 9.0), training=(4, 3)),
    ]
    found = section_5_4._most_favourable(quick, cells)
    assert found.words == "both layers, training images"
    assert (found.factor, found.decline) == (pytest.approx(1 / 0.6), 3.0)
    # Where none meets both, the one that misses least by its worse condition: a factor of 2.5 by a third of an octave.
    cells = [
        overfitting(both, test=(1.0, 0.1), training=(2.5, 1.8)),
        overfitting(first, test=(8, 9), training=(2.1, 0.5)),
    ]
    assert section_5_4._most_favourable(quick, cells).factor == pytest.approx(2.5)
    assert np.isnan(section_5_4._most_favourable(quick, []).factor)


def test_margins_are_zero_at_the_bars_and_shares_of_them_beyond():
    reading = lambda factor, decline: section_5_4.Reading("", factor, decline).margin  # noqa: E731
    assert reading(2.0, 9.0) == pytest.approx(0)
    assert reading(1.0, readings.ERRORS) == pytest.approx(0)
    assert reading(4.0, 9.0) == pytest.approx(-1)
    assert reading(1.0, 0.0) == pytest.approx(-1)
    assert reading(1.0, 9.0) == pytest.approx(1)
