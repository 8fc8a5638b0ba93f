"""A power law `a + b n^−c` fitted to errors on subsamples: what one would do without any theory."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

Array = NDArray[np.float64]

EXPONENTS = np.concatenate([[0.05], np.arange(0.1, 2.05, 0.1)])
"""Exponents c that are tried; a and b, both at least 0, follow by least squares of relative errors."""


class PowerLaw(NamedTuple):
    """The law `floor + drop (n/unit)^−exponent`."""

    floor: float
    drop: float
    exponent: float
    unit: float

    def __call__(self, rows: Array) -> Array:
        """The error on numbers of rows."""
        return self.floor + self.drop * (np.asarray(rows, np.float64) / self.unit) ** -self.exponent


def fit(rows: Array, error: Array, weight: Array | None = None) -> PowerLaw:
    """The law of least squared relative error.

    Args:
        rows: numbers of rows, (number,).
        error: the errors measured there, positive.
        weight: how much each counts, (number,); all the same if not given.
    """
    unit = float(np.max(rows))
    root = np.ones(len(rows)) if weight is None else np.sqrt(weight)
    found = []
    for exponent in EXPONENTS:
        design = np.stack([np.ones(len(rows)), (rows / unit) ** -exponent], axis=1) * (root / error)[:, None]
        (floor, drop), miss = nnls(design, root)
        found.append((miss, PowerLaw(float(floor), float(drop), float(exponent), unit)))
    return min(found, key=lambda pair: pair[0])[1]
