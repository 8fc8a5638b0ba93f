"""Bars as they were chosen before anything was measured: none is moved to turn a verdict green."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from lineament.forecasting import (
    compare,
    components,
    curve_estimate,
    curve_result,
    held_out,
    linear_network,
    moments,
    network,
    network_train,
    network_words,
    paths,
    power_law,
    premises,
    regression,
    rows,
    scoreboard,
    scoreboard_curves,
    stopping,
    words,
)
from lineament.forecasting.forecast import (
    CAREFUL,
    DEEPEST,
    ENOUGH,
    FASTEST,
    LONGEST,
    MOST_STEPS,
    WIDEST,
    _refuse_start,
    _refuse_step_size,
    _settings,
)
from lineament.forecasting.learning_curve import (
    AHEAD,
    ALL_ROWS,
    ENDLESS,
    HALVES,
    LEAST_ROWS,
    MOST_ROWS,
    POINTS,
    REPEATS,
    SHARES,
    TRIALS,
    TRIED,
)


def test_bars_of_comparisons():
    assert (compare.TIME_BAR, compare.LOSS_BAR, compare.LEARNT_BAR) == (0.1, 0.02, 0.01)
    assert (compare.MOST_TRAINED, compare.RECORDS) == (10_000_000, 400)
    assert (network_train.LABEL_BAR, network_train.BATCH_ROOM) == (0.95, 0.05)
    assert (curve_result.HELPS, curve_result.SLOWLY, curve_result.NEARER) == (0.02, 0.9, 0.9)
    assert (components.BEGUN, components.HALF, paths.DONE, paths.MATTERS) == (0.1, 0.5, 0.9, 0.01)
    assert (stopping.WINDOW, stopping.NO_RISE, words.SAVES_LITTLE, words.LEARNS) == (0.05, 0.001, 0.01, 0.01)
    assert (premises.EXACT, rows.HEAVY, rows.FEW_TESTED) == (1e-8, 0.5, 20)


def test_bars_of_the_scoreboard():
    assert (scoreboard.TEST_BAR, scoreboard.TRAINING_BAR) == (0.05, {256: 0.1, 1024: 0.05})
    assert (scoreboard.ACCURACY_BAR, scoreboard.LABELS_BAR) == (0.02, 0.95)
    assert (scoreboard.MOST_STEPS, scoreboard.NETWORK_ROWS, scoreboard.NETWORK_SEED) == (120_000, 400, 20261118)
    assert (scoreboard_curves.MISS, scoreboard_curves.LEAST_ROWS) == (0.15, 200)
    assert (scoreboard_curves.SPLITS, scoreboard_curves.DRAWS, scoreboard_curves.FACTORS) == (5, 4, (2, 4))


def test_columns_of_the_scoreboard():
    assert {name: column.keywords for name, column in scoreboard.COLUMNS.items()} == {
        "linear, 1 layer": {"depth": 1}, "linear, 2 layers": {"depth": 2}, "linear, 3 layers": {"depth": 3},
        "Glorot, 2 layers": {"depth": 2, "start": "glorot"}, "Glorot, 3 layers": {"depth": 3, "start": "glorot"},
        "MLP, width 256": {"width": 256}, "MLP, width 1024": {"width": 1024},
        "MLP, as in PyTorch": {"width": 256, "start": "torch", "optimiser": "momentum", "batch_size": 32},
        "rows, least squares": {"kernel": "linear", "ridge": "none"}, "rows, ridge": {"kernel": "linear"},
        "rows, Gaussian kernel": {"kernel": "gaussian"}, "rows, ReLU kernel": {"kernel": "relu"},
    }  # fmt: skip


def test_what_a_forecast_spans_and_what_is_looked_at():
    assert (ENOUGH, CAREFUL, LONGEST, DEEPEST) == (0.999, 0.05, 100_000, 100)
    assert (MOST_STEPS, WIDEST, FASTEST) == (1_000_000_000_000, 100, 1_000_000)
    assert (network.MOMENTUM, network.HIDDEN, network.TEST_SHARE, network.MOST_WIDTH) == (0.9, 2, 0.25, 100_000)
    assert (linear_network.MOST_STEPS, rows.MOST_ROWS, held_out.FOLDS) == (1_000_000, 10_000, 10)
    assert (held_out.TIMES, held_out.FEWEST, paths.HEAVY, paths.FINE) == (100, 100, 0.001, 0.02)
    assert (moments.KEPT, moments.MOST_CLASSES, moments.FEW_VALUES, moments.SQUARED) == (2048, 1000, 20, 1e150)
    assert (words.SHOWN, network_words.LATE, components.NAMED) == (12, 10, 3)
    assert MOST_ROWS == {"linear": 2048, "gaussian": 1000, "relu": 1000}
    assert (LEAST_ROWS, ALL_ROWS, TRIED) == (40, 4, 0.8)
    assert (TRIALS, HALVES, REPEATS) == (8, 20, 6)
    assert (AHEAD, POINTS, ENDLESS) == (8, 60, 1000)
    assert (curve_estimate.SPARE, curve_estimate.LEARNT) == (0.3, 0.1)
    for grid, least, most, number in (
        (regression.RIDGES, 1e-4, 1e5, 61), (curve_estimate.SMALLER, 1e-8, 8e-5, 27),
        (curve_estimate.BEYOND, 1e-6, 0.95, 80),
    ):  # fmt: skip
        np.testing.assert_allclose(np.log(grid), np.linspace(np.log(least), np.log(most), number), atol=1e-12)
    np.testing.assert_array_equal(regression.LEAST_SQUARES.ridges, [0.0])
    np.testing.assert_array_equal(SHARES, [0.125, 0.18, 0.25, 0.35, 0.5, 0.7, 0.85])
    np.testing.assert_allclose(power_law.EXPONENTS, [0.05, *np.arange(1, 21) / 10])


# ---------------------------------------------------------------------------------------------------------
# What may be asked for


def asking(step_size=None, start_scale=1.0, depth=2):
    return _settings(depth, start_scale, step_size, None, 0)


def test_step_sizes_from_a_billion_steps_to_a_million_times_the_largest_stable():
    """With a recommended step of 0.02, a billionth of 2; with a largest one of 0.5, half a million."""
    for step_size in (None, 2.1e-9, 0.5, 499_999.0):
        assert _refuse_step_size(asking(step_size), 0.5, 0.02) is None
    for step_size in (1.9e-9, 500_001.0):
        with pytest.raises(ValueError, match=r"between 2e-09 and 5e\+05 for this table; got .* Recommended: 0\.02"):
            _refuse_step_size(asking(step_size), 0.5, 0.02)
    for largest, recommended in ((0.0, 0.1), (math.inf, 0.1), (1.0, 0.0), (1.0, math.inf), (math.nan, 0.1)):
        with pytest.raises(ValueError, match="depth must leave a step size that float64 can hold; got depth 3"):
            _refuse_step_size(asking(depth=3), largest, recommended)


def test_starts_up_to_a_hundred_times_the_target():
    task = SimpleNamespace(target=np.diag([3.0, 0.5]))
    assert _refuse_start(asking(start_scale=300.0), task) is None
    with pytest.raises(ValueError, match="start_scale must be at most 300 for this table; got 301"):
        _refuse_start(asking(start_scale=301.0), task)


def test_settings_reach_to_their_ends():
    assert _settings(1, 1e-300, 1e-300, 1, 0) == (1, 1e-300, 1e-300, 1, 0)
    assert _settings(100, 1.0, None, 10**12, 7) == (100, 1.0, None, 10**12, 7)
    for wrong in ((0, 1.0, None, 1, 0), (101, 1.0, None, 1, 0), (1, 0.0, None, 1, 0), (1, 1.0, 0.0, 1, 0),
                  (1, 1.0, None, 0, 0), (1, 1.0, None, 10**12 + 1, 0), (1, 1.0, None, None, -1)):  # fmt: skip
        with pytest.raises(ValueError, match="must be a"):
            _settings(*wrong)
