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

from ..core import arguments

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


def _array(name: str, values: ArrayLike) -> np.ndarray:
    """Real numbers, of which some may be missing (not-a-number) or infinite; truth values count as 0 and 1."""
    truths = getattr(values, "dtype", None) == np.bool_
    return np.asarray(values, float) if truths else arguments.numeric(name, values).astype(float)


def theory(x: ArrayLike, y: ArrayLike, label: str = "", group: int = 0) -> Mark:
    """A forecast: drawn thin and dark, over everything else."""
    return Mark("line", "theory", _array("x", x), _array("y", y), label=label, group=group)


def measured(x: ArrayLike, y: ArrayLike, label: str = "", group: int = 0) -> Mark:
    """A measurement along a run: a coloured line."""
    return Mark("line", "measured", _array("x", x), _array("y", y), label=label, group=group)


def reference(x: ArrayLike, y: ArrayLike, label: str = "", group: int = 0) -> Mark:
    """A guide for the eye, such as a bound or a slope: dashed and grey."""
    return Mark("line", "reference", _array("x", x), _array("y", y), label=label, group=group)


def points(x: ArrayLike, y: ArrayLike, label: str = "", group: int = 0, role: Role = "measured") -> Mark:
    """Single measurements, one marker each; of more than a figure can show apart, some at equal distances."""
    across, up = np.atleast_1d(_array("x", x)), np.atleast_1d(_array("y", y))
    shown = slice(None, None, -(-max(across.size, 1) // MOST))
    return Mark("points", role, across[shown], up[shown], label=label, group=group)


def band(x: ArrayLike, low: ArrayLike, high: ArrayLike, label: str = "", group: int = 0) -> Mark:
    """The spread of a measurement, between `low` and `high`."""
    return Mark(
        "band", "measured", _array("x", x), _array("low", low), high=_array("high", high), label=label, group=group
    )


def bars(edges: ArrayLike, heights: ArrayLike, label: str = "", group: int = 0) -> Mark:
    """A histogram: `edges` has one entry more than `heights`."""
    return Mark("bars", "measured", _array("edges", edges), _array("heights", heights), label=label, group=group)


def heat(x: ArrayLike, y: ArrayLike, z: ArrayLike, label: str = "") -> Mark:
    """A measured field `z[y, x]` as colours; `label` names the colour bar."""
    return Mark("heat", "measured", _array("x", x), _array("y", y), _array("z", z), label=label)


def contour(x: ArrayLike, y: ArrayLike, z: ArrayLike, label: str = "") -> Mark:
    """A forecast field `z[y, x]` as thin dark contour lines."""
    return Mark("contour", "theory", _array("x", x), _array("y", y), _array("z", z), label=label)


def image(pixels: ArrayLike, label: str = "") -> Mark:
    """A picture: grey (height, width) or colour (height, width, 3), values in [0, 1]."""
    return Mark("image", "measured", z=_array("pixels", pixels), label=label)
