"""Gas sensors: the ethanol task of the data behind the figure on ℓp regression (Arora, Cohen & Hazan 2018).

"Gas Sensor Array Drift at Different Concentrations" (UCI 270): 2565 measurements of ethanol by 16 sensors, 8 features
each, at concentrations of 2.5 … 600 ppm. The stored table is the one that the package uci_datasets prepared: numbers
only, the last column ln(1 + ppm) less its mean.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from . import catalogue

NAME = "gas-sensors"
FILE = "uci/gas.csv.gz"
TITLE = "gas sensor array drift, ethanol (2565 × 128)"
MEAN = 4.3565  # of ln(1 + ppm), which the preparation took away, to its last printed digit

LABELS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"ppm": lambda ppm: ppm, "ln(1 + ppm)": np.log1p}
"""The two readings of the label, as functions of the concentration."""


def has_gas() -> bool:
    """Whether the table is at hand."""
    return catalogue.locate(NAME) is not None


def ethanol(folder: str | Path | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Features (2565, 128) and concentrations in ppm (2565,).

    Args:
        folder: A data folder to read from; by default those of the catalogue. Nothing is downloaded.
    """
    table = catalogue.load_table(NAME, folder=folder, download=False)
    chunks = list(table.chunks())
    X, y = (np.concatenate([chunk[part] for chunk in chunks]).astype(float) for part in (0, 1))
    return X, np.expm1(y + MEAN)
