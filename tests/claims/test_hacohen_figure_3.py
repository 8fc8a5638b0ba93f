"""When the scale matrices of Figure 3 are judged, and when the run cannot answer."""

from types import SimpleNamespace

import numpy as np
import pytest

from lineament.claims.hacohen.figure_3 import FULL, Cell, _too_narrow, _void

TASK = SimpleNamespace(classes=5, tests=np.zeros((400, 3)))


@pytest.mark.parametrize(("accuracy", "words"), [(0.30, ""), (0.235, "not told from chance"), (None, "no step size")])
def test_a_peak_of_chance_leaves_it_undecided(accuracy, words):
    curves = np.full((10, 4), 0.2)
    curves[:, 2] = accuracy or 0.2
    judged = [] if accuracy is None else [SimpleNamespace(accuracy=curves)]
    told = _void(FULL, judged, TASK)
    assert words in told
    assert bool(told) == bool(words)


@pytest.mark.parametrize(("moved", "words"), [(0.05, "too narrow"), (0.15, "")])
def test_a_wider_control_tells_a_narrow_run_from_a_statement_that_differs(moved, words):
    best = FULL.epochs.index(160)
    accuracy = np.where(np.arange(len(FULL.epochs)) >= best, 0.4, 0.3) * np.ones((10, 1))
    summary = np.zeros((10, len(FULL.epochs), 2, 5, 4))
    summary[..., 0] = 1.0  # diagonals at their means, and nothing beside them
    summary[:, 1:, 0, 1, 0] += moved * np.linspace(0.9, 1.0, 10)[:, None]  # but A₂
    control = [Cell("cross-entropy", "Glorot", 0.5, 1e-4, 4096, summary, accuracy, False)]
    told = _too_narrow(FULL, control)
    assert words in told
    assert bool(told) == bool(words)
    assert not _too_narrow(FULL, [])
