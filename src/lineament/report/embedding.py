"""Figures as elements of a page, in the page's own colours, panel below panel where the page is narrow."""

import html
import re
from typing import TYPE_CHECKING

import numpy as np

from lineament.evidence.figure import Figure

from . import style
from .draw import draw, render

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SMALLEST, LARGEST = 0.8, 1.4  # of its drawn size: below it letters are too small to read, above it clumsy
AIR = 2.0  # points around a panel


def embed(figure: Figure, name: str) -> str:
    """The figure as an element of a page, in the page's own colours (`style.tokens`).

    A narrow page shows the same drawing panel by panel: each is a window on its part of it, so that nothing is drawn or
    sent twice.

    Args:
        figure: What to draw; its caption becomes the element's accessible name.
        name: Prefix of every id inside the element, unique on the page.
    """
    picture = draw(figure)
    owners = _name_parts(picture, len(figure.panels))
    text = _with_pages_colours(render(picture, "svg").decode(), name)
    label = html.escape(" ".join(re.sub(r"[$\\{}]", "", figure.caption).split()), quote=True)
    width, height = (72 * size for size in picture.get_size_inches())
    text = re.sub(r' (width|height)="[\d.]+pt"', "", text, count=2)
    text = text.replace("<svg", f'<svg role="img" aria-label="{label}" style="{_span(width)}"', 1)
    if len(figure.panels) == 1:
        return f'<div class="picture">{text}</div>'
    windows = "".join(_window(picture, parts, name, height) for parts in owners)
    kind = "stacks" if min(figure.columns, len(figure.panels)) < 3 else "stacks wide"
    return f'<div class="picture {kind}">{text}<div class="panels" aria-hidden="true">{windows}</div></div>'


def _with_pages_colours(text: str, name: str) -> str:
    """The drawing with ids of its own, variables of the page for colours, and no more digits than a screen can show."""
    text = text[text.index("<svg") :]
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", text)
    variables = {colour: f"var({token})" for token, colour in style.tokens(style.LIGHT).items()}
    text = re.sub(r"(?<=: )#[0-9a-f]{6}\b", lambda found: variables.get(found[0], found[0]), text)
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    # A hundredth of a point is finer than any screen; more digits only make pages heavy.
    return re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), text)


def _span(points: float) -> str:
    """The range of widths of a drawing. Points are 1/72 inch, pixels of a page 1/96."""
    width = points * 96 / 72
    return f"min-width:{SMALLEST * width:.0f}px;max-width:{LARGEST * width:.0f}px"


def _name_parts(picture: "Picture", panels: int) -> list[list]:
    """Give every part an id, and say which belong together: a panel with its colour bars, or the figure's legend."""
    grid, bars = picture.axes[:panels], picture.axes[panels:]
    owners: list[list] = [[axes] for axes in grid]
    for bar in bars:
        place = bar.get_position()
        # The panel on the same height whose right edge is nearest.
        far = [abs(place.x0 - axes.get_position().x1) + 10 * abs(place.y0 - axes.get_position().y0) for axes in grid]
        owners[int(np.argmin(far))].append(bar)
    owners += [[legend] for legend in picture.legends]
    for number, part in enumerate(part for parts in owners for part in parts):
        part.set_gid(f"part_{number}")
    return owners


def _window(picture: "Picture", parts: list, name: str, height: float) -> str:
    """One part of the drawing by itself; it must have been rendered, or it is not known where its parts lie."""
    boxes = [part.get_tightbbox() if hasattr(part, "get_tightbbox") else part.get_window_extent() for part in parts]
    edges = np.array([box.extents for box in boxes]) * 72 / picture.dpi
    (left, low), (right, high) = edges[:, :2].min(axis=0) - AIR, edges[:, 2:].max(axis=0) + AIR
    view = f"{left:.1f} {height - high:.1f} {right - left:.1f} {high - low:.1f}"
    uses = "".join(f'<use href="#{name}-{part.get_gid()}"/>' for part in parts)
    most = f"max-width:{LARGEST * 96 / 72 * (right - left):.0f}px"
    return f'<svg viewBox="{view}" style="{most}">{uses}</svg>'
