"""Draw one mark of a panel: a line, points, a band, bars, a heat map, contours or an image."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lineament.evidence.figure import Mark, Panel

from . import style
from .style import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import Formatter

MANY_POINTS = 3000
LONG = 4.0  # the ratio of the ends of a log axis from which on labels at 2 and 5 are enough


@dataclass(frozen=True)
class Look:
    """What the marks of one panel share: the theme, each group's colour, and what is beneath the lines.

    `width` multiplies the width of every line.
    """

    theme: Theme
    colours: dict[int, str]
    on_field: bool = False
    width: float = 1.0

    def colour(self, mark: Mark) -> str:
        """The colour of a mark: its role's, or its group's if it was measured."""
        if mark.role == "measured":
            return self.colours[mark.group]
        if self.on_field:
            return style.FIELD_INK
        return self.theme.ink if mark.role == "theory" else self.theme.guide


def _line(axes: "Axes", mark: Mark, look: Look) -> None:
    kinds = {
        "theory": {"linewidth": look.width * style.THEORY_WIDTH, "zorder": 4},
        "measured": {"linewidth": look.width * style.MEASURED_WIDTH, "zorder": 3, "solid_capstyle": "round"},
        "reference": {"linewidth": look.width * style.GUIDE_WIDTH, "zorder": 2.5, "linestyle": (0, (4, 2.5))},
    }
    axes.plot(
        _given(mark, "x"),
        _given(mark, "y"),
        color=look.colour(mark),
        label=mark.label,
        path_effects=_halo(mark, look),
        **kinds[mark.role],
    )


def _points(axes: "Axes", mark: Mark, look: Look) -> None:
    colour = look.colour(mark)
    x = _given(mark, "x")
    axes.plot(
        x,
        _given(mark, "y"),
        linestyle="none",
        marker="o",
        zorder=3.5,
        label=mark.label,
        color=colour,
        markerfacecolor=colour if mark.role == "measured" else "none",
        markeredgewidth=0.8 if mark.role != "measured" else 0.0,
        alpha=0.85,
        rasterized=x.size > MANY_POINTS,
    )


def _band(axes: "Axes", mark: Mark, look: Look) -> None:
    axes.fill_between(
        _given(mark, "x"),
        _given(mark, "y"),
        _given(mark, "high"),
        color=look.colour(mark),
        alpha=0.22,
        linewidth=0,
        zorder=2,
        label=mark.label,
    )


def _bars(axes: "Axes", mark: Mark, look: Look) -> None:
    heights = _given(mark, "y")
    # A bar on a log axis has no zero to stand on: let it reach below the shortest one.
    floor = heights[heights > 0].min() / 2 if axes.get_yscale() == "log" and (heights > 0).any() else 0.0
    axes.stairs(
        heights,
        _given(mark, "x"),
        baseline=floor,
        fill=True,
        color=look.colour(mark),
        alpha=0.6,
        linewidth=0.4,
        label=mark.label,
    )


def _heat(axes: "Axes", mark: Mark, _: Look) -> None:
    x, y, z = _given(mark, "x"), _given(mark, "y"), _given(mark, "z")
    edges = _cell_edges(x, axes.get_xscale()), _cell_edges(y, axes.get_yscale())
    mesh = axes.pcolormesh(*edges, z, rasterized=True, zorder=1)
    bar = axes.get_figure().colorbar(mesh, ax=axes, label=mark.label, pad=0.02)  # type: ignore[union-attr]
    bar.outline.set_visible(False)  # type: ignore[operator]
    bar.solids.set_rasterized(True)  # type: ignore[union-attr]


def _contour(axes: "Axes", mark: Mark, look: Look) -> None:
    x, y, z = _given(mark, "x"), _given(mark, "y"), _given(mark, "z")
    colour = look.colour(mark)
    width = look.width * style.THEORY_WIDTH
    lines = axes.contour(x, y, z, colors=colour, linewidths=width, linestyles="solid", zorder=4)
    lines.set_path_effects(_halo(mark, look))
    for text in axes.clabel(lines, fontsize="x-small", inline_spacing=3):
        text.set_path_effects(_halo(mark, look))
    if mark.label:
        axes.plot([], [], color=colour, linewidth=width, label=mark.label)


def _image(axes: "Axes", mark: Mark, look: Look) -> None:
    axes.imshow(np.clip(_given(mark, "z"), 0.0, 1.0), cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    if mark.label:
        axes.set_xlabel(mark.label)


MARKS = {
    "line": _line,
    "points": _points,
    "band": _band,
    "bars": _bars,
    "heat": _heat,
    "contour": _contour,
    "image": _image,
}


def _given(mark: Mark, name: str) -> np.ndarray:
    values = getattr(mark, name)
    if values is None:
        raise ValueError(f"a mark of kind {mark.kind!r} needs `{name}`; none was given")
    return np.asarray(values, dtype=float)


def _halo(mark: Mark, look: Look) -> list:
    from matplotlib.patheffects import Normal, withStroke

    if not look.on_field:
        return []
    width = 2.2 + (style.MEASURED_WIDTH if mark.role == "measured" else style.THEORY_WIDTH)
    return [withStroke(linewidth=width, foreground=style.FIELD_HALO, alpha=0.7), Normal()]


def set_scale(axes: "Axes", which: str, panel: Panel) -> None:
    """Set the scale of one axis; a symmetric logarithm takes its linear range from the panel's data."""
    scale = getattr(panel, f"{which}_scale")
    change, axis = getattr(axes, f"set_{which}scale"), getattr(axes, f"{which}axis")
    if scale == "symlog":
        change("symlog", linthresh=_linear_range(panel, ("x",) if which == "x" else ("y", "high")))
        return
    change(scale)
    if scale == "log":
        axis.set_minor_formatter(_few_labels())


def _linear_range(panel: Panel, names: tuple[str, ...]) -> float:
    """Where a symmetric logarithm becomes linear: below the smallest value seen.

    A lone speck of rounding must not stretch the axis without end.
    """
    values = [getattr(mark, name) for mark in panel.marks for name in names]
    sizes = np.abs(np.concatenate([np.ravel(value) for value in values if value is not None] or [np.zeros(1)]))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    largest = sizes.max(initial=0.0) or 1.0
    return max(sizes.min(initial=largest), 1e-6 * largest)


def _few_labels() -> "Formatter":
    """Labels between powers of ten at 2 and 5 only, unless the axis is so short that it needs all: others overlap."""
    from matplotlib.ticker import LogFormatterSciNotation

    class Few(LogFormatterSciNotation):
        def __call__(self, x: float, pos: int | None = None) -> str:
            low, high = self.axis.get_view_interval()  # type: ignore[union-attr]
            leading = round(x / 10 ** np.floor(np.log10(x)))
            return super().__call__(x, pos) if leading in (2, 5) or high < LONG * low else ""

    return Few()


def _cell_edges(centres: np.ndarray, scale: str) -> np.ndarray:
    """Edges halfway between the centres, as the axis shows them: in the logarithm where the axis is logarithmic."""
    if scale == "log":
        if not (centres > 0).all():
            raise ValueError(f"a heat map on a log axis needs positive centres; the least given is {centres.min()}")
        return np.exp(_cell_edges(np.log(centres), "linear"))
    if centres.size == 1:
        return centres[0] + np.array([-0.5, 0.5])
    middle = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([[2 * centres[0] - middle[0]], middle, [2 * centres[-1] - middle[-1]]])
