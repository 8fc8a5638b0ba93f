"""What a claim wants drawn, as plain data.

A claim returns *data for its figure*, not a picture: claims stay free of plotting, a figure can be tested by its
numbers, stored with the evidence, and drawn again in another format. `lineament.report.draw` draws it.

Roles fix the look everywhere: `theory` is the thin dark line, `measured` the coloured one, `reference` a dashed
guide, a band the spread. Marks of one `group` share a colour.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

Role = Literal["theory", "measured", "reference"]
Kind = Literal["line", "points", "band", "bars", "heat", "contour", "image"]
Axis = Literal["linear", "log", "symlog"]
MOST = 2000  # markers of one kind in a panel


@dataclass(frozen=True, eq=False)
class Mark:
    """One thing on a panel. `z` is the field of a heat map or contour, or the pixels of an image."""

    kind: Kind
    role: Role = "measured"
    x: np.ndarray | None = None
    y: np.ndarray | None = None
    z: np.ndarray | None = None
    high: np.ndarray | None = None
    label: str = ""
    group: int = 0


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes: what is on them and how they are labelled."""

    marks: tuple[Mark, ...]
    x_label: str = ""
    y_label: str = ""
    title: str = ""
    x_scale: Axis = "linear"
    y_scale: Axis = "linear"
    y_limits: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Figure:
    """Panels in rows of `columns`, and a caption that states the finding in one line."""

    panels: tuple[Panel, ...]
    caption: str
    columns: int = 3


def _array(values: ArrayLike) -> np.ndarray:
    return np.asarray(values, dtype=float)


def theory(x: ArrayLike, y: ArrayLike, label: str = "", group: int = 0) -> Mark:
    """A forecast: drawn thin and dark, over everything else."""
    return Mark("line", "theory", _array(x), _array(y), label=label, group=group)


def measured(x: ArrayLike, y: ArrayLike, label: str = "", group: int = 0) -> Mark:
    """A measurement along a run: a coloured line."""
    return Mark("line", "measured", _array(x), _array(y), label=label, group=group)


def reference(x: ArrayLike, y: ArrayLike, label: str = "", group: int = 0) -> Mark:
    """A guide for the eye, such as a bound or a slope: dashed and grey."""
    return Mark("line", "reference", _array(x), _array(y), label=label, group=group)


def points(x: ArrayLike, y: ArrayLike, label: str = "", group: int = 0, role: Role = "measured") -> Mark:
    """Single measurements, one marker each; of more than a figure can show apart, some at equal distances."""
    shown = slice(None, None, -(-max(np.size(x), 1) // MOST))
    return Mark("points", role, _array(x)[shown], _array(y)[shown], label=label, group=group)


def band(x: ArrayLike, low: ArrayLike, high: ArrayLike, label: str = "", group: int = 0) -> Mark:
    """The spread of a measurement, between `low` and `high`."""
    return Mark("band", "measured", _array(x), _array(low), high=_array(high), label=label, group=group)


def bars(edges: ArrayLike, heights: ArrayLike, label: str = "", group: int = 0) -> Mark:
    """A histogram: `edges` has one entry more than `heights`."""
    return Mark("bars", "measured", _array(edges), _array(heights), label=label, group=group)


def heat(x: ArrayLike, y: ArrayLike, z: ArrayLike, label: str = "") -> Mark:
    """A measured field `z[y, x]` as colours; `label` names the colour bar."""
    return Mark("heat", "measured", _array(x), _array(y), _array(z), label=label)


def contour(x: ArrayLike, y: ArrayLike, z: ArrayLike, label: str = "") -> Mark:
    """A forecast field `z[y, x]` as thin dark contour lines."""
    return Mark("contour", "theory", _array(x), _array(y), _array(z), label=label)


def image(pixels: ArrayLike, label: str = "") -> Mark:
    """A picture: grey (height, width) or colour (height, width, 3), values in [0, 1]."""
    return Mark("image", "measured", z=_array(pixels), label=label)
