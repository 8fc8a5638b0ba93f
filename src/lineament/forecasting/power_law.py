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


def fit(rows: Array, error: Array) -> PowerLaw:
    """The law of least squared relative error.

    Args:
        rows: numbers of rows, (number,).
        error: the errors measured there, positive.
    """
    unit = float(np.max(rows))
    found = []
    for exponent in EXPONENTS:
        design = np.stack([np.ones(len(rows)), (rows / unit) ** -exponent], axis=1) / error[:, None]
        (floor, drop), miss = nnls(design, np.ones(len(rows)))
        found.append((miss, PowerLaw(float(floor), float(drop), float(exponent), unit)))
    return min(found, key=lambda pair: pair[0])[1]
