"""What a forecast, and a comparison of it with its run, show of themselves: words, a table, a figure, a page."""

from __future__ import annotations

from html import escape
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lineament.core import arguments

from . import words

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from .compare import Comparison
    from .result import Forecast


class Shown:
    """A forecast that can be looked at, with the run it was compared with, if there is one.

    Drawing needs Matplotlib and lives in `lineament.report`, which is loaded when a figure or a page is asked for.
    """

    @property
    def _made(self) -> Forecast:
        raise NotImplementedError

    @property
    def _run(self) -> Comparison | None:
        return None

    @property
    def sentences(self) -> tuple[str, ...]:
        """What there is to say, a sentence or two each, as on the page."""
        return words.sentences(self._made, self._run)

    def __str__(self) -> str:
        return "\n".join((words.title(self._made), *self.sentences, *self._made.notices))

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in (*self.sentences, *self._made.notices))
        table = self.to_frame().head(words.SHOWN).to_html(index=False, float_format="{:.4g}".format, na_rep="–")
        return f"<h3>{escape(words.title(self._made))}</h3>{said}{table}"

    def to_frame(self) -> pd.DataFrame:
        """A table with one row for each component (or mode), those that explain most first.

        `begins`, `half` and `ends` are the steps at which a tenth, a half and nine tenths of it are learnt, infinity if
        not in the range of the forecast; `half_measured` is when it was half learnt in the run, where it was looked at.
        """
        import pandas as pd

        made, run = self._made, self._run
        rows = pd.DataFrame(
            {
                "number": component.number,
                "strength" if made.whiten else "variance": component.strength if made.whiten else component.variance,
                "explained": component.explained,
                **{name: made.step_of(getattr(component, name)) for name in ("begins", "half", "ends")},
                "features": words.made_of(component.features),
            }
            for component in sorted(made.components, key=lambda component: -component.explained)
        )
        if run is not None:
            measured = {component.number: component.measured for component in run.halfway}
            rows.insert(
                len(rows.columns) - 1, "half_measured", [measured.get(number, nan) for number in rows["number"]]
            )
        return rows

    def plot(self, which: Literal["learning", "timetable", "spectrum"] = "learning", *, dark: bool = False) -> Figure:
        """Draw one of the figures of the page; a notebook shows it, and `savefig` saves it."""
        from lineament.report import draw, forecast_figures

        figures = forecast_figures.figures(self._made, self._run)
        return draw.draw(figures[arguments.one_of("which", which, figures)], dark=dark)

    def report(self, path: str | Path) -> Path:
        """Write the page, one self-contained HTML file; its folder is made if it is missing."""
        from lineament.report import forecast_page

        return forecast_page.write_file(arguments.path("path", path), self._made, self._run)
