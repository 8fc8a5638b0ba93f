"""Two style sheets for Matplotlib: one for papers, one for slides."""

from typing import Any, Literal

from lineament.core import arguments

from .. import style as looks

COLUMN = 3.3  # inches: the width of a column of most two-column journals and proceedings


def style(name: Literal["paper", "slides"]) -> dict[str, Any]:
    """Settings of Matplotlib for figures in the look of the atlas.

    Use them for a block, or from here on::

        with plt.rc_context(la.plot.style("paper")): ...
        plt.style.use(la.plot.style("slides"))

    Args:
        name: "paper": the width of a column, lettering of 8 points in a font that goes with the text of a paper, vector
            files with letters that can be searched. "slides": a whole 16 : 9 slide, large letters without serifs and
            thick lines.
    """
    from matplotlib.rcsetup import cycler

    sheet = arguments.one_of("name", name, tuple(_SHEETS))
    shared = {
        **looks.rc(looks.LIGHT),
        "axes.prop_cycle": cycler(color=looks.LIGHT.palette),
        "figure.constrained_layout.use": True,
    }
    return {**shared, **_SHEETS[sheet]}


_SHEETS: dict[str, dict[str, Any]] = {
    "paper": {
        "axes.labelsize": 8.0,
        "axes.titlesize": 8.0,
        "figure.figsize": (COLUMN, 0.75 * COLUMN),
        "font.size": 8.0,
        "legend.fontsize": 7.0,
        "lines.linewidth": 1.2,
        "lines.markersize": 3.5,
        "savefig.dpi": 300.0,
        "svg.fonttype": "none",
        "xtick.labelsize": 7.0,
        "ytick.labelsize": 7.0,
    },
    "slides": {
        "axes.labelsize": 20.0,
        "axes.linewidth": 1.2,
        "axes.titlesize": 22.0,
        "figure.figsize": (10.0, 5.6),
        "font.family": ["DejaVu Sans"],
        "font.size": 20.0,
        "grid.linewidth": 0.9,
        "legend.fontsize": 18.0,
        "lines.linewidth": 3.0,
        "lines.markersize": 9.0,
        "mathtext.fontset": "dejavusans",
        "savefig.dpi": 150.0,
        "xtick.labelsize": 16.0,
        "ytick.labelsize": 16.0,
    },
}
