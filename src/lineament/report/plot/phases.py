"""The map of incremental learning (Gissin et al. 2020, Definition 1): from which starts modes come one by one."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from lineament.core import arguments
from lineament.evidence import figure
from lineament.evidence.figure import Mark, Panel
from lineament.theory.phases import threshold

from .canvas import recorded, show

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

POINTS = 120


def phases(
    depth: ArrayLike,
    measured: "xarray.DataArray | None" = None,
    *,
    ax: "Axes | None" = None,
    s: float = 0.1,
    f: float = 0.9,
    ratios: tuple[float, float] = (1.3, 30.0),
) -> "xarray.Dataset":
    """Draw the largest start from which two modes are learnt one after the other, against the ratio of their targets.

    Below a depth's line the weaker mode has learnt less than `s` of its target when the stronger has learnt `f` of its
    own. The line is exact (:func:`lineament.theory.phases.threshold`).

    Args:
        depth: The number of layers, one or several.
        measured: A field over the dimensions `ratio` and `start` (in units of the weaker target), such as a sweep gives:
            1 where your runs were incremental, 0 where they were not, or anything between. Drawn beneath the lines.
        ax: Where to draw; new axes of pyplot if none are given.
        s: How little of the weaker mode may have been learnt, in (0, ½].
        f: How much of the stronger mode must have been learnt, in [½, 1).
        ratios: The least and the largest ratio of the targets.

    Returns:
        What is drawn: `threshold` over `depth` and `ratio`, and `measured` as it was given.

    Example:
        >>> import lineament as la
        >>> data = la.plot.phases([2, 3, 10])
        >>> bool((data.threshold.diff("depth") > 0).all())  # depth lets larger starts be incremental
        True
    """
    import xarray

    depths = arguments.vector("depth", np.atleast_1d(arguments.numeric("depth", depth)), least=1, infinite=True)
    low, high = arguments.rising("ratios", ratios, length=2, above=1)
    ratio = np.geomspace(low, high, POINTS)
    edge = threshold(depths[:, None], ratio, s, f)
    data: dict[str, Any] = {"threshold": (("depth", "ratio"), np.where(edge > 0, edge, np.nan))}
    marks: list[Mark] = []
    if measured is not None:
        if set(recorded("measured", measured).dims) != {"ratio", "start"}:
            raise ValueError(f"measured must be over the dimensions ratio and start; got {measured.dims}")
        field = measured.transpose("start", "ratio")
        data["measured"] = field.rename(ratio="measured_ratio")
        marks.append(figure.heat(field.ratio, field.start, field, "one after the other"))
    drawn = xarray.Dataset(data, coords={"depth": depths, "ratio": ratio})
    # One forecast is the thin dark line. Of several the depth must be told apart, so that they have colours.
    for group, one in enumerate(depths):
        line, name = figure.theory if len(depths) == 1 or measured is not None else figure.measured, f"depth {one:g}"
        marks.append(line(ratio, drawn.threshold.to_numpy()[group], name, group))
    panel = Panel(tuple(marks), "ratio of the targets", "largest start / weaker target", x_scale="log", y_scale="log")
    show(panel, ax)
    return drawn
