"""The report on Assumption 3.1: its numbers by hand, its verdicts on data that satisfy it and that do not."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament.theory import assumptions
from lineament.theory.assumptions import check


def line(report, name):
    return next(entry for entry in report.lines if entry.name.startswith(name))


@given(st.integers(2, 30), st.integers(1, 8), st.floats(0.1, 10), st.integers(0, 2**32 - 1))
def test_numbers_by_hand(n, d, scale, seed):
    x = scale * np.random.default_rng(seed).normal(size=(n, d))
    report = check(x)
    covariance = np.atleast_2d(np.cov(x.T))
    values = np.linalg.eigvalsh(covariance)
    overlaps = [np.dot(x[i], x[j]) / d for i in range(n) for j in range(i)]
    norms = np.sum(x**2, axis=1) / d
    unit = np.sqrt(np.log(n) / d)
    assert (report.examples, report.dimension, report.pairs) == (n, d, n * (n - 1) // 2)
    assert report.trace == pytest.approx(np.trace(covariance) / d, rel=1e-10, abs=0)
    assert report.largest == pytest.approx(values[-1], rel=1e-10, abs=0)
    assert report.least == pytest.approx(values[0], abs=1e-10 * values[-1])
    assert report.gram == pytest.approx(np.linalg.norm(x @ x.T, 2) / n, rel=1e-10, abs=0)
    assert report.norm_constant == pytest.approx(np.max(np.abs(norms - 1)) / unit, rel=1e-10, abs=0)
    assert report.overlap_constant == pytest.approx(np.max(np.abs(overlaps)) / unit, rel=1e-10, abs=0)
    assert line(report, "rms").value == pytest.approx(np.sqrt(np.mean(np.square(overlaps))), rel=1e-10, abs=0)
    assert line(report, "sd").value == pytest.approx(np.std(norms), abs=1e-10 * scale**2)
    assert line(report, "‖mean‖").value == pytest.approx(np.sum(x.mean(axis=0) ** 2) * d / np.trace(covariance))


@pytest.mark.parametrize("d", [20, 60, 180])
def test_gaussians_and_signs_satisfy_it(d):
    rng = np.random.default_rng(0)
    scale = np.linspace(0.3, 1.7, d)
    for x in (
        rng.normal(size=(1500, d)),
        np.sign(rng.normal(size=(1500, d))),
        rng.normal(size=(1500, d)) * scale**0.5,
    ):
        report = check(x)
        assert report.holds, str(report)
        assert "holds" in str(report)
    assert report.spread == pytest.approx(np.mean(scale**2), rel=0.03, abs=0)
    # The Gaussian references are met, not just not exceeded.
    for name in ("sd", "rms", "max |‖x‖", "max |⟨"):
        assert line(report, name).value == pytest.approx(line(report, name).reference, rel=0.3, abs=0)


@pytest.mark.parametrize(
    ("make", "fails"),
    [
        (lambda x, rng: x + 0.5, {"‖mean‖", "rms"}),
        (lambda x, rng: 1.5 * x, {"TrΣ/d"}),
        (lambda x, rng: x * np.exp(0.5 * rng.normal(size=(len(x), 1))), {"TrΣ/d", "sd", "max |‖x‖", "max |⟨"}),
        (lambda x, rng: np.sqrt(0.5) * (x + rng.normal(size=(len(x), 1))), {"‖Σ‖"}),
    ],
)
def test_what_breaks_it_is_named(make, fails):
    rng = np.random.default_rng(1)
    report = check(make(rng.normal(size=(3000, 100)), rng))
    assert not report.holds
    assert "does not hold" in str(report)
    failing = {entry.name for entry in report.lines if not entry.holds}
    assert all(any(name.startswith(start) for name in failing) for start in fails), str(report)


def test_a_dominant_direction_does_not_fail_the_norms_by_itself():
    """The references know the covariance: what fails is ‖Σ‖, while norms are as spread as a Gaussian's."""
    rng = np.random.default_rng(2)
    report = check(np.sqrt(0.5) * (rng.normal(size=(3000, 100)) + rng.normal(size=(3000, 1))))
    assert {entry.name for entry in report.lines if not entry.holds} == {"‖Σ‖·d/TrΣ"} | {
        entry.name for entry in report.lines if entry.name.startswith("max") and not entry.holds
    }
    assert line(report, "sd").value == pytest.approx(line(report, "sd").reference, rel=0.1, abs=0)


def test_claim_31_rates():
    """Largest deviations fall as √(log n/d) with n = d^{3/2}: their constants do not drift."""
    rng, sizes = np.random.default_rng(3), np.array([32, 64, 128, 256])
    reports = [check(rng.normal(size=(int(d**1.5), d))) for d in sizes]
    for constant in ("norm_constant", "overlap_constant"):
        values = [getattr(report, constant) for report in reports]
        assert abs(np.polyfit(np.log(sizes), np.log(values), 1)[0]) < 0.15


def test_drawn_pairs_are_reproducible_and_different_examples():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(300, 10))
    assert check(x, pairs=1000) == check(x, pairs=1000)
    assert check(x, pairs=1000) != check(x, pairs=1000, seed=1)
    assert check(x, pairs=1000).pairs == 1000
    # Orthogonal examples overlap only with themselves, which is never counted.
    assert line(check(np.eye(100), pairs=500), "max |⟨").value == 0


def test_memory_does_not_grow_with_the_number_of_examples(monkeypatch):
    monkeypatch.setattr(assumptions, "BLOCK", 256)
    rng = np.random.default_rng(5)
    peaks = []
    for n in (2000, 16_000):
        x = rng.normal(size=(n, 40)).astype(np.float32)
        tracemalloc.start()
        check(x, pairs=2000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 16_000 * 8 * 8  # a few numbers for each example, not its 40 columns in float64


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check(np.ones(3)), "x must be"),
        (
            lambda: check(np.ones((1, 3))),
            r"x must be a matrix of at least 2 example\(s\), one a row; got shape \(1, 3\)",
        ),
        (lambda: check(np.ones((2, 3), dtype=complex)), "x must be"),
        (lambda: check([[1.0, np.nan], [0.0, 1.0]]), "x must be finite"),
        (lambda: check(np.ones((4, 3))), "x must be examples that differ; got equal ones"),
        (lambda: check(np.eye(3), pairs=0), "pairs must be a whole number of at least 1; got 0"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("scale", [0.1, 3.0])
def test_every_line_scales_as_it_must(scale):
    """TrΣ/d as the square of the inputs, TrΣ²/d as the fourth power, ratios not at all; with few examples."""
    x = np.random.default_rng(2).normal(size=(12, 8))
    plain, scaled = check(x), check(scale * x)
    assert scaled.trace == pytest.approx(scale**2 * plain.trace)
    assert scaled.largest == pytest.approx(scale**2 * plain.largest)
    assert scaled.spread == pytest.approx(scale**4 * plain.spread)
    for name in ("‖mean‖²·d/TrΣ", "‖Σ‖·d/TrΣ"):
        one, two = (next(line for line in report.lines if line.name == name) for report in (plain, scaled))
        assert one.value == pytest.approx(two.value)


def test_what_each_line_allows():
    report = check(np.random.default_rng(3).normal(size=(50, 8)))
    allowed = {line.name: line.allowed for line in report.lines}
    assert allowed["TrΣ/d"] == pytest.approx(1.1)
    assert allowed["‖Σ‖·d/TrΣ"] == 10.0
    assert allowed["‖mean‖²·d/TrΣ"] == pytest.approx(2 * 8 / 50 + 0.1)
    for line in report.lines[3:]:
        assert line.allowed == pytest.approx(2 * line.reference)


@pytest.mark.parametrize("seed", range(10))
def test_whitened_examples_whose_eigenvalues_are_all_one(seed):
    """LAPACK's solver for a few eigenvalues gives up on some such matrices."""
    X = np.random.default_rng(seed).standard_normal((25, 10))
    report = check(np.linalg.qr(X)[0] * 5)
    assert report.gram == pytest.approx(1, abs=1e-13)


@given(st.integers(2, 40), st.integers(1, 8), st.floats(0.3, 3), st.floats(-1, 1), st.integers(0, 2**32 - 1))
def test_references_and_bars_by_hand(n, d, scale, mean, seed):
    rng = np.random.default_rng(seed)
    x = scale * rng.normal(size=(n, d)) * np.linspace(1, 3, d) + mean
    report, S = check(x), np.atleast_2d(np.cov(x.T))
    trace, pairs = np.trace(S), n * (n - 1) / 2
    spread = max(np.sum(S**2) - trace**2 / n, trace**2 / d) / d
    sd, overlap = np.sqrt(2 * spread / d), np.sqrt(spread / d)
    expected = {
        "‖mean‖": (d / n, 2 * d / n + 0.1),
        "TrΣ": (1.0, 1.1),
        "‖Σ‖": (1.0, 10.0),
        "sd": (sd, 2 * sd),
        "max |‖x‖": (sd * np.sqrt(2 * np.log(2 * n)), 2 * sd * np.sqrt(2 * np.log(2 * n))),
        "rms": (overlap, 2 * overlap),
        "max |⟨": (overlap * np.sqrt(2 * np.log(2 * pairs)), 2 * overlap * np.sqrt(2 * np.log(2 * pairs))),
    }
    assert report.spread == pytest.approx(spread, rel=1e-9, abs=0)
    for name, (reference, allowed) in expected.items():
        entry = line(report, name)
        assert (entry.reference, entry.allowed) == pytest.approx((reference, allowed), rel=1e-9, abs=0), name
        within = abs(entry.value - 1) <= 0.1 if name == "TrΣ" else entry.value <= entry.allowed
        assert entry.holds == within, name
    assert line(report, "TrΣ").value == pytest.approx(trace / d)
    assert line(report, "‖Σ‖").value == pytest.approx(np.linalg.norm(S, 2) * d / trace)
    assert line(report, "max |‖x‖").value == pytest.approx(np.max(np.abs(np.sum(x**2, axis=1) / d - 1)))


def test_drawn_pairs_are_all_pairs_alike():
    """Nine of ten pairs of five examples, drawn 400 times: each pair has its share, within six deviations."""
    x = np.array([[2.0], [3.0], [5.0], [7.0], [11.0]])  # whose products differ
    first, second = np.triu_indices(5, 1)
    exact = np.einsum("pi,pi->p", x[first], x[second])
    drawn = np.concatenate([assumptions._overlaps(x, 9, seed) for seed in range(400)])
    counts = np.array([np.sum(drawn == value) for value in exact])
    assert counts.sum() == drawn.size == 3600
    assert np.all(np.abs(counts - 360) < 6 * np.sqrt(360 * 0.9))


def test_all_pairs_are_taken_as_long_as_no_more_than_asked_for():
    x = np.random.default_rng(0).normal(size=(5, 3))
    first, second = np.triu_indices(5, 1)
    exact = np.einsum("pi,pi->p", x[first], x[second])
    np.testing.assert_allclose(assumptions._overlaps(x, 10, 0), exact, rtol=1e-14)
    assert assumptions._overlaps(x, 9, 0).size == 9
