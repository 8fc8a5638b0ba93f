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
