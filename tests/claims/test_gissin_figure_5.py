"""What Figure 5 reads off its runs, at the authors' stop and at the end."""

import numpy as np
import pytest

from lineament.claims.gissin import figure_5
from lineament.claims.gissin.quadratic import VALUES, Descents


def run(stop):
    """One member whose values rise in turn to their goals; the first overshoots for a while, and there is a fifth."""
    rise = np.clip(np.linspace(0, 5, 51)[:, None] - np.arange(4), 0, 1)
    top = np.concatenate([VALUES * rise, np.full((51, 1), 0.1)], axis=1)
    top[40:45, 0] = 1.2
    error = np.linspace(1, 0, 51)[None]
    return Descents(np.arange(51.0), top[None], error, np.array([stop]), np.array([True]))


def test_values_learnt_in_turn_have_no_overlap_and_an_overshoot_is_told():
    reading = figure_5._read(run(50), figure_5.run_end(run(50)))
    assert reading.overlap[0] == pytest.approx(0.0, abs=1e-12)
    assert reading.overshoot[0] == pytest.approx(1.2)
    assert reading.fifth[0] == pytest.approx(0.1)
    assert reading.fourth[0] == pytest.approx(0.25)
    assert reading.error[0] == 0.0


def test_what_comes_after_the_stop_is_not_read():
    reading = figure_5._read(run(35), run(35).stop)
    assert reading.overshoot[0] == pytest.approx(1.0)
    assert reading.fourth[0] == pytest.approx(0.125)
    assert reading.error[0] == pytest.approx(0.3)


def _ends(errors, late=0):
    done = np.arange(len(errors)) >= late
    return figure_5.Ends(np.asarray(errors), done)


def _recovery(middle):
    """The check of the error on the small set; fifth values are told apart clearly."""
    small = figure_5.QUICK.training.examples[1]
    fifth = {True: np.array([0.01, 0.02, 0.01]), False: np.array([0.1, 0.11, 0.12])}
    stopped = {
        (small, bias): figure_5.Reading(*(np.zeros(3),) * 2, fifth[bias], *(np.zeros(3),) * 2) for bias in fifth
    }
    return figure_5._low_rank(stopped, middle, figure_5.QUICK.training)[1]


def test_a_median_that_is_not_told_from_the_bar_is_void_and_more_runs_tell_it():
    few = np.geomspace(1e-3, 5e-2, 24)
    assert "not told from the bar" in _recovery(_ends(few)).void
    many = _ends(np.repeat(np.r_[few[:16], few[16:] / 2], 8))
    assert many.interval[0] < np.median(many.error) < many.interval[1] < 0.01
    assert _recovery(many).passed
    assert not _recovery(many).void


def test_runs_that_did_not_end_make_recovery_void():
    assert "12 of 24 runs" in _recovery(_ends(np.full(24, 1e-3), late=12)).void
    assert not _recovery(_ends(np.full(24, 1e-3), late=11)).void


def test_the_ends_of_groups_are_those_of_all_their_runs():
    ends = figure_5.Ends.of(run(50), run(35), run(20))
    assert ends.error.tolist() == [0.0, 0.0, 0.0]
    assert ends.done.all()
