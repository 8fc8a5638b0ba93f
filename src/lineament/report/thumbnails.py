"""A figure at the size of a thumb: the first panel that shows data, without letters, in the page's own colours.

Matplotlib would take half a second and a hundred kilobytes for each; a few strokes are enough to recognise a figure by.
"""

from collections.abc import Callable

import numpy as np
from markupsafe import Markup

from lineament.evidence.figure import Figure, Mark, Panel

from . import style
from .colours import colours_of

WIDTH, HEIGHT, EDGE = 96, 60, 3
VERTICES, DOTS = 40, 60
CELLS, LEVELS = (10, 16), 8  # rows and columns of a field, and its shades
SPAN = 20.0  # decades of a logarithmic axis that are shown at most

Unit = Callable[[np.ndarray], np.ndarray]


def thumbnail(figure: Figure | None) -> Markup:
    """A small drawing of a figure, or nothing where there is none to see."""
    for place, panel in enumerate(figure.panels if figure else ()):
        if any(mark.kind != "contour" for mark in panel.marks):
            colours = colours_of(figure.panels, style.LIGHT)[place]  # type: ignore[union-attr]
            strokes = "".join(_strokes(panel, {group: _variable(colour) for group, colour in colours.items()}))
            return Markup(  # numbers and colours alone: nothing of it is text from elsewhere
                f'<svg class="thumb" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">{strokes}</svg>'
            )
    return Markup("")


def _variable(colour: str) -> str:
    names = {value: name for name, value in style.tokens(style.LIGHT).items()}
    return f"var({names[colour]})" if colour in names else colour


def _strokes(panel: Panel, colours: dict[int, str]) -> list[str]:
    """One path for each mark, guides first and theory last."""
    for mark in panel.marks:
        if mark.z is not None and mark.kind != "contour":
            return _field(mark.z if mark.kind == "heat" else mark.z[::-1], grey=mark.kind == "image")
    x_of, y_of = _unit(panel, "x", panel.x_scale), _unit(panel, "y", panel.y_scale)
    order = {"reference": 0, "measured": 1, "theory": 2}
    marks = sorted(panel.marks, key=lambda mark: order[mark.role])
    return [path for mark in marks if (path := _stroke(mark, x_of, y_of, colours[mark.group]))]


def _stroke(mark: Mark, x_of: Unit, y_of: Unit, colour: str) -> str:
    if mark.x is None or mark.y is None:
        return ""
    x, y = x_of(mark.x), y_of(mark.y)
    if mark.kind == "band" and mark.high is not None:
        outline = np.r_[x, x[::-1]], np.r_[y, y_of(mark.high)[::-1]]
        return f'<path fill="{colour}" fill-opacity=".25" d="{_line(*outline)}z"/>'
    if mark.kind == "bars":
        x, y = np.repeat(x, 2), np.r_[HEIGHT - EDGE, np.repeat(y, 2), HEIGHT - EDGE]
        return f'<path fill="{colour}" fill-opacity=".6" d="{_line(x, y)}z"/>'
    if mark.kind == "points":
        kept = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
        kept = kept[:: -(-len(kept) // DOTS) or 1]
        dots = "".join(f"M{x[i]:.0f} {y[i]:.0f}h0" for i in kept)
        ink = colour if mark.role == "measured" else "var(--ink)"
        return f'<path stroke="{ink}" stroke-width="2.6" stroke-linecap="round" d="{dots}"/>' if dots else ""
    look = {"measured": (colour, "2"), "theory": ("var(--ink)", ".8"), "reference": ("var(--guide)", ".8")}[mark.role]
    dashes = ' stroke-dasharray="3 2"' if mark.role == "reference" else ""
    return f'<path fill="none" stroke="{look[0]}" stroke-width="{look[1]}"{dashes} d="{_line(x, y)}"/>'


def _line(x: np.ndarray, y: np.ndarray) -> str:
    """A line through a few of the points, broken where they are not finite."""
    kept = np.unique(np.linspace(0, len(x) - 1, VERTICES).astype(int))
    path, pen = [], "M"
    for i in kept:
        if np.isfinite(x[i]) and np.isfinite(y[i]):
            path.append(f"{pen}{x[i]:.1f} {y[i]:.1f}")
            pen = "L"
        else:
            pen = "M"
    return "".join(path)


def _unit(panel: Panel, which: str, scale: str) -> Unit:
    """From values on an axis to places on the thumbnail."""
    names = ("x",) if which == "x" else ("y", "high")
    seen = [np.ravel(getattr(mark, name)) for mark in panel.marks for name in names if getattr(mark, name) is not None]
    values = np.concatenate([*seen, np.zeros(0)])
    values = values[np.isfinite(values) & ((values > 0) | (scale != "log"))]
    limits = panel.y_limits if which == "y" and panel.y_limits is not None else None
    values = np.array(limits, float) if limits is not None else values
    small = np.abs(values[values != 0]).min(initial=np.inf)
    bend = small if np.isfinite(small) else 1.0

    def flat(array: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            if scale == "log":
                return np.log10(array)
            return (
                np.sign(array) * np.log10(1 + np.abs(array) / bend) if scale == "symlog" else np.asarray(array, float)
            )

    ends = flat(values)
    ends = ends[np.isfinite(ends)]
    low, high = (float(ends.min()), float(ends.max())) if ends.size else (0.0, 1.0)
    low = max(low, high - SPAN) if scale == "log" else low
    reach = (high - low) or 1.0
    size = WIDTH if which == "x" else HEIGHT

    def place(array: np.ndarray) -> np.ndarray:
        share = np.clip((flat(array) - low) / reach, -0.5, 1.5)
        along = EDGE + share * (size - 2 * EDGE)
        return along if which == "x" else size - along

    return place


def _field(z: np.ndarray, grey: bool) -> list[str]:
    """A field in a few shades; rows run upwards."""
    import matplotlib
    from matplotlib.colors import to_hex

    z = z.mean(axis=-1) if z.ndim == 3 else z
    rows, columns = (
        np.unique(np.linspace(0, n - 1, most).astype(int)) for n, most in zip(z.shape, CELLS, strict=True)
    )
    z = z[np.ix_(rows, columns)]
    low, high = np.nanmin(z), np.nanmax(z)
    shade = np.nan_to_num((z - low) / ((high - low) or 1.0) * (LEVELS - 1)).round().astype(int)
    tall, wide = HEIGHT / len(rows), WIDTH / len(columns)
    colours = matplotlib.colormaps["gray" if grey else style.FIELD_MAP](np.linspace(0, 1, LEVELS))
    paths = []
    for level in np.unique(shade):
        cells = "".join(
            f"M{column * wide:.1f} {HEIGHT - (row + 1) * tall:.1f}h{wide:.1f}v{tall:.1f}h-{wide:.1f}z"
            for row, column in np.argwhere(shade == level)
        )
        paths.append(f'<path fill="{to_hex(colours[level])}" d="{cells}"/>')
    return paths
