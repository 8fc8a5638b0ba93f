"""What a forecast of a network on a table, and its comparison with a run, show of themselves."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from . import network_words

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from .network import NetworkForecast
    from .network_train import NetworkComparison


class NetworkShown:
    """A forecast that can be looked at, with the run it was compared with, if there is one."""

    @property
    def _made(self) -> NetworkForecast:
        raise NotImplementedError

    @property
    def _run(self) -> NetworkComparison | None:
        return None

    @property
    def sentences(self) -> tuple[str, ...]:
        """What there is to say, a sentence or two each, as on the page."""
        return network_words.sentences(self._made, self._run)

    def __repr__(self) -> str:
        verdict = "" if self._run is None else f"{self._run.verdict}: "
        return f"{type(self).__name__}({verdict}{network_words.brief(self._made)})"

    def __str__(self) -> str:
        return "\n".join((network_words.title(self._made), *self.sentences, *self._made.notices))

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in (*self.sentences, *self._made.notices))
        table = self.examples().head(network_words.LATE).to_html(index=False, float_format="{:.4g}".format)
        return f"<h3>{escape(network_words.title(self._made))}</h3>{said}{table}"

    def to_frame(self) -> pd.DataFrame:
        """A table with one row for each recorded step; what was measured in columns that end in `_trained`."""
        frame = self._made.linearised.to_frame()
        if self._run is not None:
            for name, values in self._run.run.items():
                if name != "step":
                    frame[f"{name}_trained"] = values
        return frame

    def examples(self) -> pd.DataFrame:
        """A table with one row for each training row of the table, those learnt last first."""
        frame = self._made.linearised.examples()
        frame.insert(0, "row", self._made.rows.train[frame.pop("example").to_numpy()])
        return frame

    def plot(self, which: Literal["loss", "accuracy", "examples"] = "loss", *, dark: bool = False) -> Figure:
        """Draw one of the figures of the page; a notebook shows it, and `savefig` saves it."""
        from lineament.core import arguments
        from lineament.report import draw, linearised_figures

        run = None if self._run is None else self._run.run
        figures = linearised_figures.figures(self._made.linearised, run)
        return draw.draw(figures[arguments.one_of("which", which, figures)], dark=dark)

    def report(self, path: str | Path) -> Path:
        """Write the page, one self-contained HTML file; its folder is made if it is missing."""
        from lineament.report import network_page

        return network_page.write_file(Path(path), self._made, self._run)
