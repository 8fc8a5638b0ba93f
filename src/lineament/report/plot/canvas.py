"""Draw a panel on axes of the caller, in the caller's style."""

from typing import TYPE_CHECKING

import numpy as np

from lineament.core import arguments
from lineament.evidence.figure import Panel

from .. import legends
from ..colours import colours_of
from ..draw import draw_panel
from ..marks import Look
from ..style import Theme

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

RAMP = 16  # colours of what is ordered
PLAIN_WIDTH = 1.5  # Matplotlib's own width of lines, for which the widths of `style` are made


def show(panel: Panel, ax: "Axes | None") -> "Axes":
    """Draw a panel on `ax`, or on new axes of pyplot if there is none, and return the axes."""
    import matplotlib.axes

    for name, scale in (("x_scale", panel.x_scale), ("y_scale", panel.y_scale)):
        arguments.one_of(name, scale, ("linear", "log", "symlog"))
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots()[1]
    elif not isinstance(ax, matplotlib.axes.Axes):
        raise ValueError(f"ax must be axes of matplotlib; got {arguments.shown(ax)}")
    theme = _theme(ax)
    width = float(matplotlib.rcParams["lines.linewidth"]) / PLAIN_WIDTH
    draw_panel(ax, panel, Look(theme, colours_of([panel], theme)[0], width=width))
    written = legends.write_names(ax, panel, theme)
    entries = legends.left_over(ax, panel, written)
    if entries:
        legends.write_legend(ax, panel, entries)
    return ax


def recorded(name: str, value: object) -> "xarray.DataArray":
    """Return what was recorded, with named dimensions."""
    import xarray

    return arguments.instance(name, value, xarray.DataArray)


def _theme(ax: "Axes") -> Theme:
    """The caller's colours: ink and paper are those of the axes, which may be older than today's settings."""
    import matplotlib
    from matplotlib.colors import to_hex, to_rgb, to_rgba

    behind = ax if to_rgba(ax.get_facecolor())[3] else ax.figure  # axes may be clear
    ink, paper = to_rgb(ax.xaxis.label.get_color()), to_rgb(behind.get_facecolor())
    # What is ordered takes the caller's own map, without the ends that are as light or as dark as paper and ink.
    ends = (0.25, 0.8) if sum(paper) > 1.5 else (0.3, 0.72)
    ramp = matplotlib.colormaps[matplotlib.rcParams["image.cmap"]](np.linspace(*ends, RAMP))
    cycle = matplotlib.rcParams["axes.prop_cycle"].by_key().get("color", [ink])
    return Theme(
        ink=to_hex(ink),
        paper=to_hex(paper),
        grid=to_hex(matplotlib.rcParams["grid.color"]),
        guide=to_hex(tuple(np.average([ink, paper], axis=0, weights=[0.6, 0.4]))),
        palette=tuple(dict.fromkeys(map(to_hex, cycle))),
        ramp=tuple(map(to_hex, ramp)),
    )


def axis_name(values: "xarray.DataArray") -> str:
    """The label of an axis: the long name and unit that an array carries, or its plain name."""
    name = str(values.attrs.get("long_name") or str(values.name or "").replace("_", " "))
    unit = values.attrs.get("units")
    return f"{name} [{unit}]" if unit else name
