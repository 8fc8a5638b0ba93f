"""Draw a claim's figure: `Figure` data in, a picture out.

Matplotlib is imported when something is drawn, and only its object interface: no global state, no display.
"""

import html
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

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
    theme = style.DARK if dark else style.LIGHT
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
    return _render(figure, "svg", dark=dark).decode()


def embed(figure: Figure, name: str) -> str:
    """The figure as an SVG element of a page, in the page's own colours (`style.tokens`).

    Args:
        figure: What to draw; its caption becomes the element's accessible name.
        name: Prefix of every id inside the element, unique on the page.
    """
    text = svg(figure)
    text = text[text.index("<svg") :]
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", text)
    variables = {colour: f"var({token})" for token, colour in style.tokens(style.LIGHT).items()}
    text = re.sub(r"(?<=: )#[0-9a-f]{6}\b", lambda found: variables.get(found[0], found[0]), text)
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    # A hundredth of a point is finer than any screen; more digits only make pages heavy.
    text = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), text)
    # Points are 1/72 inch, CSS pixels 1/96: below 0.8 of its drawn size the lettering is too small to read.
    width = float(re.search(r'width="([\d.]+)pt"', text)[1]) * 96 / 72  # type: ignore[index]
    text = re.sub(r' (width|height)="[\d.]+pt"', "", text, count=2)
    size = f"min-width:{0.8 * width:.0f}px;max-width:{1.4 * width:.0f}px"
    label = html.escape(" ".join(re.sub(r"[$\\{}]", "", figure.caption).split()), quote=True)
    return text.replace("<svg", f'<svg role="img" aria-label="{label}" style="{size}"', 1)


def save(figure: Figure, path: str | Path, *, dark: bool = False) -> Path:
    """Save the figure as PNG, PDF or SVG, by the ending of the path."""
    path = Path(path)
    form = path.suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise ValueError(f"path {str(path)!r} must end in one of {', '.join('.' + form for form in FORMATS)}")
    return files.write(path, _render(figure, form, dark=dark))


def draw_files(record: "Stored", folder: Path) -> None:
    """Save the figure of a run beside its evidence, for print and for the web."""
    if record.figure is not None:
        for form in ("png", "svg"):
            save(record.figure, folder / f"{record.id}.{record.size}.{record.seed}.{form}")


def _render(figure: Figure, form: str, *, dark: bool) -> bytes:
    import matplotlib

    # What would change from one saving to the next is left out.
    undated = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
    target = io.BytesIO()
    with matplotlib.rc_context(style.rc(style.DARK if dark else style.LIGHT)):
        draw(figure, dark=dark).savefig(target, format=form, metadata=undated[form])
    return target.getvalue()
