"""How the classifiers of Figures 6 and 7 are compared, and what becomes of runs that diverge."""

import numpy as np
import pytest

from lineament.claims.gissin import classification
from lineament.claims.gissin.classification import Comparison, Settings

SETTINGS = Settings((1, 3), (1.0, 0.1), 4, 1e-2, 100)


def comparison(deep):
    shallow = np.array([[0.80, 0.82, 0.81, 0.79]] * 2)
    return Comparison({}, {1: shallow, 3: np.asarray(deep)}, np.array([0.78, 0.80, 0.80, 0.78]))


def test_a_run_that_diverged_has_gained_nothing():
    gained = classification.gains(comparison([[0.9, np.nan, 0.92, 0.9], [0.95, 0.96, 0.94, 0.95]]))
    np.testing.assert_allclose(gained[3][0], [0.12, 0.0, 0.12, 0.12])


def test_the_mean_is_told_in_its_standard_errors():
    values = np.array([1.0, 2.0, 3.0, 4.0])
    assert classification.in_errors(values) == pytest.approx(2.5 / (np.std(values, ddof=1) / 2))


def test_depth_that_only_diverges_does_not_pass():
    good = comparison([[0.9, 0.91, 0.92, 0.9], [0.95, 0.96, 0.94, 0.95]])
    assert all(check.passed for check in classification.depth_checks(good))
    lost = comparison([[0.9, np.nan, np.nan, np.nan], [0.95, 0.96, 0.94, 0.95]])
    assert not all(check.passed for check in classification.depth_checks(lost))


def test_a_smaller_start_that_lowers_the_correlation_does_not_pass():
    fallen = comparison([[0.95, 0.96, 0.94, 0.95], [0.9, 0.91, 0.92, 0.9]])
    assert not any(check.passed for check in classification.start_checks(fallen))


def test_what_diverged_is_said():
    told = classification.on_divergence(comparison([[0.9, np.nan, 0.92, 0.9], [0.95, 0.96, 0.94, 0.95]]), SETTINGS)
    assert "1 of 4 at N = 3, σ₀ = 1" in told
    assert classification.on_divergence(comparison(np.full((2, 4), 0.9)), SETTINGS) == "No run diverged."


def test_runs_that_ran_out_of_steps_leave_it_undecided():
    run = classification.Classifiers(np.arange(2), np.ones((1, 1, 2, 3)), np.array([[0.5]]))
    late = comparison(np.full((2, 4), 0.9))._replace(runs={3: run})
    assert "1 runs ran out of steps" in late.void
    assert all(check.void for check in classification.depth_checks(late))
    assert not late._replace(runs={3: run._replace(loss=np.array([[classification.STOP]]))}).void
    assert not late._replace(runs={3: run._replace(loss=np.array([[np.nan]]))}).void  # diverged: counted elsewhere


def test_runs_beyond_the_authors_limit_are_counted():
    steps = np.array([0, 40_000, 60_000, 80_000])
    paths = np.array([[0.0, 1.0, 1.0, 1.0], [0.0, 1.0, 2.0, 2.0]])[None, :, :, None]  # the second moves until 60,000
    run = classification.Classifiers(steps, paths, np.full((1, 2), classification.STOP))
    np.testing.assert_array_equal(run.stopped, [[40_000, 60_000]])
    told = classification.on_limit(comparison(np.full((2, 4), 0.9))._replace(runs={3: run}), SETTINGS)
    assert "1 of 2 runs took longer" in told
