"""A panel as a grid of cells: which of them something is drawn in."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D
    from matplotlib.transforms import BboxBase

Cells = NDArray[np.bool_]
Boxes = NDArray[np.int64]
CELL = 3.0  # pixels
FAR = 1e4  # pixels: what lies further outside need not be followed


class Grid:
    """The cells of a panel that has been laid out, and which are full."""

    def __init__(self, axes: "Axes") -> None:
        from matplotlib.collections import PolyCollection

        axes.autoscale_view()  # limits that follow the data are set only when they are asked for
        frame = axes.get_window_extent()
        self.corner = np.array([frame.x0, frame.y0])
        self.shape = (max(1, int(frame.width // CELL)), max(1, int(frame.height // CELL)))
        self.full = np.zeros(self.shape, bool)
        for line in axes.lines:
            self.full |= self.along(line)
        for band in axes.collections:
            if isinstance(band, PolyCollection):
                self.full |= self._edges(band)
        for patch in axes.patches:  # bars: nothing may stand on them
            outline = patch.get_transform().transform(patch.get_path().vertices)
            self.full |= np.logical_or.accumulate(self.cells(dense(outline))[:, ::-1], axis=1)[:, ::-1]
        for text in axes.texts:
            self.full[self.under(text.get_window_extent())] = True

    def under(self, box: "BboxBase") -> tuple[slice, slice]:
        """The cells of the panel that a box in pixels touches."""
        left, low, right, high = np.maximum(self.places(np.array([box.p0, np.add(box.p1, CELL)])), 0).ravel()
        return slice(left, right), slice(low, high)

    def places(self, at: np.ndarray) -> Boxes:
        """The cells, by their numbers, of places in pixels."""
        return np.floor((np.clip(at, -FAR, FAR) - self.corner) / CELL).astype(np.int64)

    def cells(self, at: np.ndarray) -> Cells:
        """The cells of places in pixels, as a mask, without those outside the panel or not finite."""
        mask = np.zeros(self.shape, bool)
        at = at[np.isfinite(at).all(axis=1)]
        numbers = self.places(at)
        x, y = numbers[((numbers >= 0) & (numbers < self.shape)).all(axis=1)].T
        mask[x, y] = True
        return mask

    def along(self, line: "Line2D") -> Cells:
        """The cells of a line, or of the markers of one that has no stroke."""
        vertices = pixels(line)
        if line.get_linestyle() == "None":
            return grown(self.cells(vertices), 1)
        return self.cells(dense(vertices))

    def _edges(self, band: "PolyCollection") -> Cells:
        """The edges of bands: a name may stand within a wide one, but not across its edge."""
        mask = np.zeros(self.shape, bool)
        for path in band.get_paths():
            mask |= self.cells(dense(band.get_transform().transform(path.vertices)))
        return mask


def pixels(line: "Line2D") -> np.ndarray:
    """The vertices of a line in pixels, NaN where they are not finite."""
    with np.errstate(all="ignore"):
        vertices = np.asarray(line.get_transform().transform(line.get_xydata()), float)
    return np.clip(np.where(np.isfinite(vertices), vertices, np.nan), -FAR, FAR)


def dense(vertices: np.ndarray) -> np.ndarray:
    """The vertices of a curve and places between them, less than a cell apart."""
    if len(vertices) < 2:
        return vertices
    vertices = np.clip(vertices, -FAR, FAR)
    steps = np.diff(vertices, axis=0)
    length = np.nan_to_num(np.abs(steps).max(axis=1))
    count = np.maximum(np.ceil(1.5 * length / CELL), 1).astype(int)
    which = np.repeat(np.arange(len(steps)), count)
    share = (np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)) / count[which]
    return np.concatenate([vertices[which] + share[:, None] * steps[which], vertices[-1:]])


def grown(cells: Cells, by: int) -> Cells:
    """The cells and all within `by` cells of them, left, right, up and down first."""
    for _ in range(by):
        larger = cells.copy()
        larger[1:] |= cells[:-1]
        larger[:-1] |= cells[1:]
        larger[:, 1:] |= cells[:, :-1]
        larger[:, :-1] |= cells[:, 1:]
        cells = larger
    return cells


def sums(cells: Cells) -> NDArray[np.int64]:
    """The number of full cells below and left of every corner, so that a box is counted at once."""
    total = np.zeros((cells.shape[0] + 1, cells.shape[1] + 1), np.int64)
    total[1:, 1:] = cells.cumsum(axis=0).cumsum(axis=1)
    return total


def count_in(total: NDArray[np.int64], boxes: Boxes) -> NDArray[np.int64]:
    """How many full cells are in each box (left, low, right, high), the last two not included."""
    left, low, right, high = boxes.T
    return total[right, high] - total[left, high] - total[right, low] + total[left, low]


def wider(boxes: Boxes, margin: int, shape: tuple[int, int]) -> Boxes:
    """Boxes with a margin on every side, cut at the edges of the panel."""
    grown_boxes = boxes + np.array([-margin, -margin, margin, margin])
    return np.clip(grown_boxes, 0, [*shape, *shape])
