"""Draw a claim's figure: `Figure` data in, a picture out.

Matplotlib is imported when something is drawn, and only its object interface: no global state, no display.
"""

import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lineament.core import arguments
from lineament.evidence.figure import Figure, Panel
from lineament.execution import files

from . import legends, style
from .colours import colours_of
from .marks import MARKS, Look, set_scale
from .style import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

    from lineament.execution.store import Stored

PANEL_WIDTHS = {1: 4.4, 2: 3.5, 3: 2.75}
NARROWEST = 2.4
ASPECT = 0.78
FORMATS = ("pdf", "png", "svg")


def draw(figure: Figure, *, dark: bool = False) -> "Picture":
    """Draw every panel of a figure, in rows of `figure.columns`."""
    import matplotlib
    from matplotlib.figure import Figure as Picture

    if not figure.panels:
        raise ValueError("figure.panels is empty; a figure needs at least one panel to draw")
    theme = style.DARK if arguments.truth("dark", dark) else style.LIGHT
    columns = max(1, min(figure.columns, len(figure.panels)))
    rows = -(-len(figure.panels) // columns)
    width = PANEL_WIDTHS.get(columns, NARROWEST)
    colours = colours_of(figure.panels, theme)
    with matplotlib.rc_context(style.rc(theme)):
        picture = Picture(figsize=(columns * width, rows * width * ASPECT), layout="constrained")
        grid = list(picture.subplots(rows, columns, squeeze=False).flat)
        for spare in grid[len(figure.panels) :]:
            spare.remove()
        grid = grid[: len(figure.panels)]
        for axes, panel, own in zip(grid, figure.panels, colours, strict=True):
            draw_panel(axes, panel, Look(theme, own))
        for axes in picture.axes:  # colour bars among them
            _fix_ticks(axes, theme)
        legends.explain(picture, grid, figure.panels, theme)
    return picture


def draw_panel(axes: "Axes", panel: Panel, look: Look) -> None:
    """Draw one panel on given axes, without names and legend."""
    field = any(mark.kind in ("heat", "image") for mark in panel.marks)
    look = replace(look, on_field=field)
    axes.set(xlabel=panel.x_label, ylabel=panel.y_label)
    if panel.title:
        axes.set_title(panel.title)
    # Scales come first: the edges of a heat map's cells and the base of a bar depend on them.
    set_scale(axes, "x", panel)
    set_scale(axes, "y", panel)
    if field:
        axes.grid(False)
    for mark in panel.marks:
        MARKS[mark.kind](axes, mark, look)
    if panel.y_limits is not None:
        axes.set_ylim(*panel.y_limits)


def _fix_ticks(axes: "Axes", theme: Theme) -> None:
    """Fix the look of ticks, which are made when the picture is rendered, after the style's settings are gone."""
    axes.tick_params(which="both", color=theme.ink, labelcolor=theme.ink, width=0.6, labelsize=8.0)
    axes.tick_params(which="major", length=3.0)
    axes.tick_params(which="minor", length=1.6)


def svg(figure: Figure, *, dark: bool = False) -> str:
    """The figure as an SVG document. The same figure gives the same text."""
    return render(draw(figure, dark=dark), "svg").decode()


def save(figure: Figure, path: str | Path, *, dark: bool = False) -> Path:
    """Save the figure as PNG, PDF or SVG, by the ending of the path."""
    path = Path(path)
    form = path.suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise ValueError(f"path {str(path)!r} must end in one of {', '.join('.' + form for form in FORMATS)}")
    return files.write(path, render(draw(figure, dark=dark), form))


def draw_files(record: "Stored", folder: Path) -> None:
    """Save the figure of a run beside its evidence, for print and for the web."""
    if record.figure is not None:
        for form in ("png", "svg"):
            save(record.figure, folder / f"{record.id}.{record.size}.{record.seed}.{form}")


def render(picture: "Picture", form: str) -> bytes:
    """A drawn figure as a file; what would change from one saving to the next is left out."""
    import matplotlib

    undated = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
    target = io.BytesIO()
    with matplotlib.rc_context(style.rc(style.LIGHT)):  # what both themes share: fonts and how letters are written
        picture.savefig(target, format=form, metadata=undated[form], facecolor=picture.get_facecolor())
    return target.getvalue()
