"""Problems of many shapes as one ensemble: networks padded with zeros.

A linear network padded with hidden units, inputs or outputs that are zero keeps them at zero for ever, so that its
flow is that of the smaller network. One compiled program then serves every shape.
"""

from collections.abc import Sequence

import numpy as np


def pad(matrices: Sequence[np.ndarray], shape: tuple[int, int] | None = None) -> np.ndarray:
    """Stack matrices of different shapes, each filled up with zeros to the largest, or to the shape given."""
    rows, columns = shape or tuple(np.max([matrix.shape for matrix in matrices], axis=0))
    return np.stack([np.pad(m, ((0, rows - m.shape[0]), (0, columns - m.shape[1]))) for m in matrices])
