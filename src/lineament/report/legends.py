"""Where a panel's legend goes: inside, if it covers no data there, else below the axes."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

BETWEEN = 12  # points looked at between two vertices of a curve
LINE, HANDLE = 0.18, 0.4  # height of a line of a legend, and width of what stands beside its text, in inches


def clear(picture: "Picture", grid: list["Axes"]) -> None:
    """Move every legend that covers curves or points of its panel to below the axes, and make room for it there."""
    with_legend = [axes for axes in grid if axes.get_legend() is not None]
    if not with_legend:
        return
    picture.draw_without_rendering()  # only now is it known where things lie
    lines: dict[int, int] = {}
    for axes in with_legend:
        if covers(axes):
            row = axes.get_subplotspec().rowspan.start  # type: ignore[union-attr]
            lines[row] = max(lines.get(row, 0), _below(axes))
    picture.set_figheight(picture.get_figheight() + LINE * sum(lines.values()))


def covers(axes: "Axes") -> bool:
    """Whether the legend lies on a curve or a point."""
    left, low, right, high = axes.get_legend().get_window_extent().extents  # type: ignore[union-attr]
    seen = _seen(axes)
    return bool(np.any((seen[:, 0] > left) & (seen[:, 0] < right) & (seen[:, 1] > low) & (seen[:, 1] < high)))


def _seen(axes: "Axes") -> np.ndarray:
    """Points along every curve and of every cloud, in pixels; guides are left out."""
    points = [np.empty((0, 2))]
    for line in axes.lines:
        if line.get_linestyle() in ("-", "None"):
            points.append(_along(line.get_transform().transform(line.get_xydata())))
    for cloud in axes.collections:
        offsets = np.ma.filled(np.ma.asarray(cloud.get_offsets(), float), np.nan)
        if len(offsets) > 1:
            points.append(cloud.get_offset_transform().transform(offsets))
    return np.concatenate(points)


def _along(vertices: np.ndarray) -> np.ndarray:
    """The vertices of a curve and points between them; where the curve is not finite, none."""
    vertices = np.where(np.isfinite(vertices), vertices, np.nan)
    if len(vertices) < 2:
        return vertices
    share = np.arange(BETWEEN)[:, None, None] / BETWEEN
    between = vertices[:-1] + share * np.diff(vertices, axis=0)
    return np.concatenate([between.reshape(-1, 2), vertices[-1:]])


def _below(axes: "Axes") -> int:
    """Put the legend under the label of the x-axis, in as many columns as fit, and say how many lines it takes."""
    from matplotlib.transforms import ScaledTranslation

    old, picture = axes.get_legend(), axes.get_figure(root=True)
    assert old is not None
    assert picture is not None
    drawn = {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    labels = [text.get_text() for text in old.get_texts()]
    frame, dots = axes.get_window_extent(), picture.dpi
    widest = max(text.get_window_extent().width for text in old.get_texts()) + HANDLE * dots
    columns = max(1, min(len(labels), int(axes.get_tightbbox().width // widest)))  # type: ignore[union-attr]
    # The label's distance from the axes stays as it is, however large the axes become.
    drop = (frame.y0 - axes.xaxis.get_tightbbox().y0) / dots  # type: ignore[union-attr]
    under = axes.transAxes + ScaledTranslation(0, -drop, picture.dpi_scale_trans)
    axes.legend(
        [drawn[label] for label in labels], labels, loc="upper center", bbox_to_anchor=(0.5, 0.0),
        bbox_transform=under, ncols=columns, frameon=False, borderaxespad=0.2,
    )  # fmt: skip
    return -(-len(labels) // columns)
