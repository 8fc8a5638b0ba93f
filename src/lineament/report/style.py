"""The one look of every figure: theory thin and dark, measurement coloured, spread a band, guides dashed and grey.

The colours are those of Okabe & Ito, *Color Universal Design* (2008), told apart with any colour vision; what is ordered
has those of the middle of Matplotlib's map "plasma", which get steadily lighter. The dark
theme keeps their hues at a lightness midway between paper and ink, so that theory stands out over them there too.
"""

from dataclasses import dataclass
from typing import Any

THEORY_WIDTH = 0.8
MEASURED_WIDTH = 2.4
GUIDE_WIDTH = 0.9
FIELD_INK = "#0e0e11"
"""Lines over a heat map stay dark in both themes, because the map beneath does not change."""
FIELD_HALO = "#fefefd"
FIELD_MAP = "viridis"
MODES_MAP = "plasma"
"""Colours of groups that follow each other, from the first to the last."""


@dataclass(frozen=True)
class Theme:
    """The colours of a page: ink, paper, the palette of measurements, and a ramp for those that are ordered."""

    ink: str
    paper: str
    grid: str
    guide: str
    palette: tuple[str, ...]
    ramp: tuple[str, ...] = ()


LIGHT = Theme(
    ink="#17191e",
    paper="#fffffe",
    grid="#e4e5ea",
    guide="#74777f",
    palette=("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
    ramp=("#8808a6", "#a21d9a", "#b83289", "#cc4778", "#dc5d67", "#ea7457", "#f58c46", "#fca636"),
)
DARK = Theme(
    ink="#f1f3f6",
    paper="#16181d",
    grid="#2d3038",
    guide="#9a9da6",
    palette=("#2383c6", "#d65e10", "#17a87d", "#cd7cac", "#dd9c18", "#60b0e2"),
    ramp=("#930fa3", "#a51f99", "#b7318a", "#c8437b", "#d6556d", "#e3685f", "#ee7b51", "#f79044"),
)


def lettering(colour: str, theme: Theme) -> str:
    """A colour for letters: halfway from that of a line to the ink, since thin strokes need more contrast than lines."""
    if colour in (theme.ink, FIELD_INK):
        return colour
    mixed = ((int(colour[place : place + 2], 16) + int(theme.ink[place : place + 2], 16)) // 2 for place in (1, 3, 5))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def rc(theme: Theme) -> dict[Any, Any]:
    """Matplotlib's settings for a theme; fixed salt and fonts, so that the same figure gives the same file."""
    return {
        "axes.axisbelow": True,
        "axes.edgecolor": theme.ink,
        "axes.facecolor": "none",
        "axes.grid": True,
        "axes.labelcolor": theme.ink,
        "axes.labelsize": 9.0,
        "axes.linewidth": 0.6,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlecolor": theme.ink,
        "axes.titlelocation": "left",
        "axes.titlesize": 9.5,
        "figure.facecolor": theme.paper,
        "font.family": ["STIXGeneral", "DejaVu Serif"],  # the second for signs that the first lacks, such as ₀
        "font.size": 9.0,
        "grid.color": theme.grid,
        "grid.linewidth": 0.5,
        "image.cmap": FIELD_MAP,
        "legend.edgecolor": theme.grid,
        "legend.facecolor": theme.paper,
        "legend.fontsize": 8.0,
        "legend.framealpha": 0.92,
        "legend.handlelength": 1.5,
        "legend.labelcolor": theme.ink,
        "lines.markersize": 4.0,
        "mathtext.fontset": "stix",
        "patch.linewidth": 0.6,
        "pdf.fonttype": 42,
        "savefig.dpi": 200.0,
        "savefig.facecolor": theme.paper,
        "svg.fonttype": "path",
        "svg.hashsalt": "lineament",
        "text.color": theme.ink,
        "xtick.color": theme.ink,
        "xtick.labelsize": 8.0,
        "ytick.color": theme.ink,
        "ytick.labelsize": 8.0,
    }


def tokens(theme: Theme) -> dict[str, str]:
    """The colours of a theme by the name of the CSS variable that stands for them on a page."""
    lines = {f"--mark-{index}": colour for index, colour in enumerate(theme.palette)}
    lines |= {f"--ramp-{index}": colour for index, colour in enumerate(theme.ramp)}
    lines["--guide"] = theme.guide
    letters = {f"{name}-letters": lettering(colour, theme) for name, colour in lines.items()}
    return {"--ink": theme.ink, "--paper": theme.paper, "--grid": theme.grid, **lines, **letters}
