"""The ranks of the layers along a run, from their singular values."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lineament.core import arguments

from .recording import Recording


class Ranks(NamedTuple):
    """Ranks of one layer (step,), NaN where it was not there.

    `effective` is the exponential of the entropy of the normalised singular values (Roy & Vetterli 2007), `stable` is
    `‖W‖²_F / ‖W‖²`; both are zero for a zero matrix.
    """

    effective: NDArray[np.float64]
    stable: NDArray[np.float64]


def ranks(recording: Recording) -> dict[str, Ranks]:
    """The ranks of each layer at every record before any trouble."""
    arguments.instance("recording", recording, Recording)
    return {name: _ranks(spectrum) for name, spectrum in recording.sound.spectra.items()}


def _ranks(spectrum: NDArray[np.float64]) -> Ranks:
    missing = np.isnan(spectrum).all(axis=1)
    s = np.nan_to_num(spectrum)
    total, largest = s.sum(axis=1, keepdims=True), s.max(axis=1, initial=0)
    p = s / np.where(total > 0, total, 1)
    entropy = -np.sum(p * np.log(np.where(p > 0, p, 1)), axis=1)
    effective = np.where(total[:, 0] > 0, np.exp(entropy), 0)
    stable = np.sum(s**2, axis=1) / np.where(largest > 0, largest, 1) ** 2
    return Ranks(np.where(missing, np.nan, effective), np.where(missing, np.nan, stable))
