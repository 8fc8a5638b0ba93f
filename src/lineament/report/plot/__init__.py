"""Plots of your own runs: measurement in colour, theory a thin dark line over it.

Every function draws on `ax`, or on new axes of pyplot, in whatever style is set: colours, fonts and widths of lines are
those of Matplotlib's settings at the time, and the dark line takes the colour of the axes' own text. Every function
returns what it has drawn as an :class:`xarray.Dataset`, so that a figure can be tested, or drawn by other means.

:func:`style` has two sheets to draw with, for papers and for slides::

    with plt.rc_context(la.plot.style("paper")):
        data = la.plot.overlay(run.singular_values, forecast)
        plt.savefig("modes.pdf")
"""

from .heatmap import heatmap
from .learning_order import learning_order
from .overlay import overlay
from .phases import phases
from .sheets import style
from .spectrum import spectrum

__all__ = ["heatmap", "learning_order", "overlay", "phases", "spectrum", "style"]
