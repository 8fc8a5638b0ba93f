"""Names of lines, written beside them: a reader need not look from a legend to a curve and back.

A panel is laid over a grid of cells. A name may stand where its box touches nothing that is drawn, and where no other
line is nearer to it than its own. If one name of a panel finds no such place, none is written: it has a legend then.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .cells import Cells, Grid, count_in, grown, pixels, sums, wider
from .style import Theme, lettering

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

GAP = 2.5  # points between a line and its name
MARGINS = (4, 2)  # cells around a name that should be free of other lines, the best first
MOST = 7  # names in a panel
TOGETHER = 0.5  # of a line: the share that lies on another one, from which on a name beside both would not say which
ALONG = 48  # places that are tried on a line
SIDES = np.array([(0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1), (1, 0), (-1, 0)])
ACROSS, UPWARDS = ("right", "center", "left"), ("top", "center", "bottom")


class Spot(NamedTuple):
    """Where a name stands: the place on its line in pixels, the side of it, and the box in cells."""

    place: np.ndarray
    side: np.ndarray
    box: np.ndarray


def write(axes: "Axes", lines: Sequence["Line2D"], theme: Theme) -> list[str]:
    """Write the names of lines beside them, if all of them find a place; the picture must have been laid out.

    Returns:
        The names that are written. One that lies on another line is not among them: a legend has to say which is which.
    """
    grid = Grid(axes)
    shapes = {line: grid.along(line) for line in axes.lines}
    clear = [line for line in lines if not _hidden(line, shapes)]
    widest = max((line.get_linewidth() for line in lines), default=0.0)
    if any(line.get_linewidth() == widest for line in lines if line not in clear):
        return []  # not some measurements by a name and others by a legend
    for order in (clear, clear[::-1]) if len(clear) <= MOST else ():
        spots = _spots(axes, order, shapes, grid)
        if spots:
            for line, spot in zip(order, spots, strict=True):
                _annotate(axes, line, spot, theme)
            return [str(line.get_label()) for line in clear]
    return []


def _hidden(line: "Line2D", shapes: dict["Line2D", Cells]) -> bool:
    """Whether half of a line lies on others, or nothing of it is seen.

    A measurement under its forecast keeps its name, since it is wider and shows its colour; the forecast does not.
    """
    own = shapes[line]
    rivals = [cells for other, cells in shapes.items() if other is not line and _rival(line, other)]
    return not own.any() or any((own & grown(cells, 1)).sum() > TOGETHER * own.sum() for cells in rivals)


def _rival(line: "Line2D", other: "Line2D") -> bool:
    return other.get_linestyle() != "None" and other.get_linewidth() >= line.get_linewidth()


def _spots(axes: "Axes", lines: Sequence["Line2D"], shapes: dict["Line2D", Cells], grid: Grid) -> list[Spot] | None:
    """Where the names stand, line by line, or nothing if one finds no place."""
    taken = grid.full.copy()
    spots: list[Spot] = []
    for line in lines:
        places, sides, boxes = _candidates(axes, line, grid)
        free = np.flatnonzero(count_in(sums(taken), boxes) == 0)
        foreign = sums(taken & ~grown(shapes[line], 2))
        for margin in MARGINS:
            good = free[count_in(foreign, wider(boxes[free], margin, grid.shape)) == 0]
            if good.size:
                break
        else:
            return None
        best = good[0]
        spots.append(Spot(places[best], sides[best], boxes[best]))
        left, low, right, high = wider(boxes[best][None], 1, grid.shape)[0]
        taken[left:right, low:high] = True
    return spots


def _candidates(axes: "Axes", line: "Line2D", grid: Grid) -> tuple[np.ndarray, np.ndarray, NDArray[np.int64]]:
    """Places on a line, sides of them and the boxes of its name there, those within the panel; right ones come first."""
    vertices = pixels(line)
    vertices = vertices[np.isfinite(vertices).all(axis=1)]
    reach = np.interp(np.linspace(1, 0, ALONG), np.linspace(0, 1, len(vertices)), np.arange(len(vertices)))
    along = np.arange(len(vertices))
    places = np.stack([np.interp(reach, along, column) for column in vertices.T], axis=1)
    # In steps of equal length along the line, as it is seen: its vertices may be crowded at one end.
    length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(places, axis=0).T))])
    even = np.linspace(0, length[-1], ALONG)
    places = np.stack([np.interp(even, length, column) for column in places.T], axis=1)
    places, sides = np.repeat(places, len(SIDES), axis=0), np.tile(SIDES, (ALONG, 1))
    size, gap = _size(axes, str(line.get_label())), GAP * axes.figure.dpi / 72 + line.get_linewidth() / 2
    low = places + sides * gap + (sides - 1) / 2 * size
    boxes = np.concatenate([grid.places(low), grid.places(low + size) + 1], axis=1)
    inside = (boxes[:, :2] >= 1).all(axis=1) & (boxes[:, 2:] < grid.shape).all(axis=1)
    return places[inside], sides[inside], boxes[inside]


def _size(axes: "Axes", name: str) -> np.ndarray:
    text = axes.text(0, 0, name, fontsize="small")
    box = text.get_window_extent()
    text.remove()
    return np.array([box.width, box.height])


def _annotate(axes: "Axes", line: "Line2D", spot: Spot, theme: Theme) -> None:
    gap = GAP + line.get_linewidth() * 36 / axes.figure.dpi
    axes.annotate(
        str(line.get_label()),
        tuple(axes.transData.inverted().transform(spot.place)),
        tuple(spot.side * gap),
        textcoords="offset points",
        ha=ACROSS[spot.side[0] + 1],
        va=UPWARDS[spot.side[1] + 1],
        color=lettering(str(line.get_color()), theme),
        fontsize="small",
        zorder=5,
    )
