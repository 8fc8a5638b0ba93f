"""The layers of a recording as a table: ranks at the start and the end, and their course as a small curve."""

from typing import NamedTuple

import numpy as np

from lineament import recording as rec
from lineament.recording import Recording

WIDTH, HEIGHT = 120, 24
"""Of a small curve, in pixels."""
POINTS = 60
"""Records that a small curve shows."""


class Layer(NamedTuple):
    """A row of the table: effective and stable rank at the first and last record, of so many modes."""

    name: str
    modes: int
    effective: tuple[float, float]
    stable: tuple[float, float]
    curve: str
    collapsed: bool


def layers(recording: Recording) -> list[Layer]:
    """A row for each layer whose singular values are known, in the order in which they were recorded."""
    sound = recording.sound
    rows = []
    for name, rank in rec.ranks(sound).items():
        known = np.isfinite(rank.effective)
        if known.any():
            effective, stable = rank.effective[known], rank.stable[known]
            modes = sound.spectra[name].shape[1]
            fallen = len(effective) > 1 and effective[-1] < rec.COLLAPSED * effective[0]
            curve = points(sound.steps[known], effective, modes)
            rows.append(Layer(name or "(the model)", modes, _ends(effective), _ends(stable), curve, bool(fallen)))
    return rows


def points(x: np.ndarray, y: np.ndarray, top: float) -> str:
    """The points of a polyline from 0 to `top`, at the most `POINTS` of them, the first and the last included."""
    places = np.unique(np.linspace(0, len(x) - 1, min(len(x), POINTS)).round().astype(int))
    span = max(float(x[-1] - x[0]), np.finfo(float).tiny)
    across = 1 + (WIDTH - 2) * (x[places] - x[0]) / span
    down = HEIGHT - 1 - (HEIGHT - 2) * y[places] / max(top, np.finfo(float).tiny)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))


def _ends(course: np.ndarray) -> tuple[float, float]:
    return float(course[0]), float(course[-1])
