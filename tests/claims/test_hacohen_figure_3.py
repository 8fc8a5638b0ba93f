"""When the scale matrices of Figure 3 are judged, and when the run cannot answer."""

from types import SimpleNamespace

import numpy as np
import pytest

from lineament.claims.hacohen.figure_3 import _void

TASK = SimpleNamespace(classes=5, tests=np.zeros((400, 3)))


@pytest.mark.parametrize(("accuracy", "words"), [(0.30, ""), (0.235, "not told from chance"), (None, "no step size")])
def test_a_peak_of_chance_leaves_it_undecided(accuracy, words):
    curves = np.full((10, 4), 0.2)
    curves[:, 2] = accuracy or 0.2
    judged = [] if accuracy is None else [SimpleNamespace(accuracy=curves)]
    told = _void(judged, 100, 400, TASK)
    assert words in told
    assert bool(told) == bool(words)
