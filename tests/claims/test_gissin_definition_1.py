"""Definition 1: brute force sees on which side of the threshold a start lies, where both modes take long and alike."""

import numpy as np
import pytest

from lineament.claims.gissin import definition_1
from lineament.theory import phases

TARGETS, S, F, DEPTH = (0.349516, 0.335147), 0.036336, 0.903743, 2.012860


@pytest.mark.parametrize("side", [-1e-6, 1e-6])
def test_a_long_plateau_of_two_alike_modes_is_resolved(side):
    target_i, target_j = TARGETS
    threshold = np.exp(phases.log_threshold(DEPTH, target_i / target_j, S, F, target_j))
    assert 1e-44 < threshold < 1e-42, "a start so small that time is known to few digits"
    assert definition_1._simulate(threshold * (1 + side), TARGETS, S, F, DEPTH) == (side < 0)
