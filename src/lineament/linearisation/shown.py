"""What a forecast of a network shows of itself: words, tables, a figure."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Literal

import numpy as np

from . import losses, words

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from .linearised import Linearised


class Shown:
    """A forecast that can be looked at. Drawing needs Matplotlib, and is loaded when a figure is asked for."""

    @property
    def _forecast(self) -> Linearised:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"Linearised({words.brief(self._forecast)})"

    def __str__(self) -> str:
        return "\n".join((*self.sentences, *self._forecast.notices))

    @property
    def sentences(self) -> tuple[str, ...]:
        """What there is to say, a sentence or two each."""
        return words.sentences(self._forecast)

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in (*self.sentences, *self._forecast.notices))
        rows = self.to_frame()
        some = rows.iloc[np.unique(np.linspace(0, len(rows) - 1, 12).astype(int))]
        table = some.to_html(index=False, float_format="{:.4g}".format, na_rep="–")
        return f"<h3>{escape(self._forecast.network.name)}</h3>{said}{table}"

    def to_frame(self) -> pd.DataFrame:
        """A table with one row for each recorded step: losses with error bars, accuracies, and whether it is safe."""
        import pandas as pd

        made = self._forecast
        columns: dict[str, object] = {"step": made.at, "loss": made.curves.loss}
        if made.y_test is not None:
            columns["test_loss"] = made.curves.test_loss
        if made.classes:
            columns["accuracy"] = made.curves.accuracy
            if made.y_test is not None:
                columns["test_accuracy"] = made.curves.test_accuracy
        columns |= {"loss_low": made.error_bar.low, "loss_high": made.error_bar.high}
        if made.y_test is not None:
            columns |= {"test_loss_low": made.error_bar.test_low, "test_loss_high": made.error_bar.test_high}
        return pd.DataFrame(columns | {"safe": made.at <= made.safe_step})

    def examples(self) -> pd.DataFrame:
        """A table with one row for each training example, those learnt last first.

        `learnt_at` is the step from which its answer is right, `loss` what is left at the last step.
        """
        import pandas as pd

        made = self._forecast
        order = made.late(len(made.y))
        left = losses.each(made.loss_name, made.outputs(made.steps)[0], made.y)
        return pd.DataFrame({"example": order, "learnt_at": made.learnt_at[order], "loss": left[order]})

    def plot(self, which: Literal["loss", "accuracy", "examples"] = "loss", *, dark: bool = False) -> Figure:
        """Draw losses, accuracies or when examples are learnt; a notebook shows it, and `savefig` saves it."""
        from lineament.core import arguments
        from lineament.report import draw, linearised_figures

        figures = linearised_figures.figures(self._forecast)
        return draw.draw(figures[arguments.one_of("which", which, figures)], dark=dark)
