"""What is left out of a call to a measure means what the reference says."""

from functools import partial

import numpy as np
import pytest
from scipy import stats

from lineament.measure import agreement, order

A, B = np.random.default_rng(0).normal(size=(2, 12))
STEPS, TWIN = np.arange(6.0), np.ones((6, 3))
PARTING = TWIN + 0.05 * STEPS[:, None]
FEATURES, CLASSES = np.random.default_rng(1).normal(size=(30, 2)), np.arange(30) % 3


@pytest.mark.parametrize(
    ("function", "given", "left_out"),
    [
        (order.constancy, (A, B), {"confidence": 0.95, "method": "fisher"}),
        (partial(order.constancy, method="bootstrap"), (A, B), {"resamples": 1000, "seed": 0}),
        (order.discriminability, (FEATURES, CLASSES), {"k": 10}),
        (agreement.linear_phase, (STEPS, PARTING, TWIN), {"threshold": 0.02, "scale": 1.0}),
    ],
    ids=["fisher", "bootstrap", "neighbours", "linear phase"],
)  # fmt: skip
def test_what_is_left_out(function, given, left_out):
    short, full = function(*given), function(*given, **left_out)
    for one, other in zip(short, full, strict=True):
        np.testing.assert_array_equal(one, other)


def test_intervals_of_fisher_for_both_correlations():
    """Pearson's as SciPy has it; Spearman's variance is (1 + r²/2)/(n − 3) (Bonett & Wright 2000)."""
    b = A + 0.3 * B
    found = order.constancy(A, b, confidence=0.9)
    np.testing.assert_allclose(found.pearson_interval, stats.pearsonr(A, b).confidence_interval(0.9), rtol=1e-10)
    r = stats.spearmanr(A, b)[0]
    half = stats.norm.ppf(0.95) * np.sqrt((1 + r**2 / 2) / (len(A) - 3))
    np.testing.assert_allclose(found.spearman_interval, np.tanh(np.arctanh(r) + half * np.array([-1, 1])), rtol=1e-10)


def test_the_bootstrap_takes_equal_tails_of_resampled_correlations():
    found = order.constancy(A, B, method="bootstrap", confidence=0.8, resamples=60, seed=3)
    rng = np.random.default_rng(3)
    drawn = [rng.integers(0, 12, 12) for _ in range(60)]
    for interval, correlation in (
        (found.pearson_interval, stats.pearsonr),
        (found.spearman_interval, stats.spearmanr),
    ):
        values = [correlation(A[rows], B[rows])[0] for rows in drawn]
        np.testing.assert_allclose(interval, np.quantile(values, [0.1, 0.9]), rtol=1e-10)


def test_the_end_of_the_linear_phase_lies_between_two_records():
    """The gap is (0.05 s)² at the recorded steps: 0.0225 at 3, 0.01 at 2, and straight between."""
    found = agreement.linear_phase(STEPS, PARTING, TWIN)
    np.testing.assert_allclose(found[:3], [2 + (0.02 - 0.01) / 0.0125, 2, 4], rtol=1e-10)


def test_rounding_carries_no_correlation_past_one():
    """Of a score with a multiple of itself; unclipped, one in five exceeds 1 and its interval is not a number."""
    for seed in range(30):
        a = np.random.default_rng(seed).normal(size=5)
        same, opposite = order.constancy(a, 3 * a + 1), order.constancy(a, -3 * a - 1)
        assert same.pearson <= 1
        assert opposite.pearson >= -1
        np.testing.assert_allclose([*same.pearson_interval, *opposite.pearson_interval], [1, 1, -1, -1], rtol=1e-6)


def test_outputs_must_be_there_but_one_is_enough():
    with pytest.raises(ValueError, match="network must be"):
        agreement.relative_mse(np.ones((0, 3)), np.ones((0, 3)))
    np.testing.assert_allclose(agreement.relative_mse([[3.0]], [[2.0]]), [0.25])
