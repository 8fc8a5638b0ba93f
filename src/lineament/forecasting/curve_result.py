"""A learning curve: the test error that more rows would bring, how sure that is, and what it stands on."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lineament.core import arguments

from .words import count, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
Method = Literal["theory", "power_law"]

HELPS = 0.02
"""Twice the rows help if they lower the test error by at least this share."""

SLOWLY = 0.9
"""Rows that help so little, but would bring the test error below this share of its value in the end, help slowly."""

NEARER = 0.9
"""A forecast that misses by more than this share of another's miss is no better than it."""


class Trial(NamedTuple):
    """What was forecast from some rows for more of them, and what was measured on rows held out.

    Attributes:
        used: the rows that the forecasts were made from.
        rows: the rows they were made for.
        measured: the test error on these.
        theory: the forecast by theory.
        power_law: that by a power law.
        unchanged: the error on the rows used, taken to stay as it is.
    """

    used: int
    rows: int
    measured: float
    theory: float
    power_law: float
    unchanged: float


class Step(NamedTuple):
    """The test error on so many rows, with its band, and the two forecasts that it was made of."""

    rows: int
    error: float
    low: float
    high: float
    theory: float
    power_law: float


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Test error against the number of rows; made by :func:`learning_curve`.

    Errors are mean squared errors on new rows as shares of the target's variance: 1 is a forecast by the mean alone.

    Attributes:
        name: the table.
        kernel: "linear", "gaussian" or "relu".
        ridge: "tuned" for a penalty chosen on every number of rows, "none" for least squares.
        rows: the number of rows of the table.
        used: how many of them were looked at.
        level: the rate at which the band is to hold the truth.
        weight: how much theory counts beside the power law, between 0 and 1, by how near they came in the trials.
        at: numbers of rows, rising, (number,).
        error: the forecast test error there.
        low: the band's lower end.
        high: its upper end.
        theory: the forecast by theory alone.
        power_law: that by a power law alone.
        subsamples: numbers of rows that were drawn from the table.
        measured: cross-validated test errors on these.
        steps: the table as it is, twice and four times its rows.
        limit: the forecast for a thousand times the rows.
        trials: how the forecasts did on sizes held out.
    """

    name: str
    kernel: str
    ridge: str
    rows: int
    used: int
    level: float
    weight: float
    at: Array
    error: Array
    low: Array
    high: Array
    theory: Array
    power_law: Array
    subsamples: Array
    measured: Array
    steps: tuple[Step, Step, Step]
    limit: float
    trials: tuple[Trial, ...]

    def __repr__(self) -> str:
        return f"LearningCurve({self.name[-40:]}, {self.kernel}: {self.sentences[0]})"

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences) + self.to_frame().to_html(
            index=False
        )

    @property
    def method(self) -> Method:
        """Which of the two forecasts came nearer in the trials, and counts for more."""
        return "theory" if self.weight >= 0.5 else "power_law"

    def miss(self, method: Method | Literal["unchanged"]) -> float:
        """How far off forecasts were in the trials, as a root mean square of the error's logarithm."""
        arguments.one_of("method", method, Trial._fields[3:])
        return miss(self.trials, method)

    @property
    def gain(self) -> float:
        """The share of the test error that twice the rows save."""
        return 1 - self.steps[1].error / self.steps[0].error

    @property
    def helps(self) -> bool:
        """Whether twice the rows lower the test error noticeably."""
        return self.gain >= HELPS

    @property
    def sentences(self) -> tuple[str, ...]:
        """What there is to say."""
        now, twice, four = self.steps
        error = "test error, as a share of the target's variance,"
        told = [
            f"Double the rows ({count(now.rows)} → {count(twice.rows)}): {error} {now.error:.2g} → {_banded(twice)}; "
            f"four times the rows: {_banded(four)}. The bands are to hold {percent(self.level)} of the time.",
            self._verdict(),
            self._chosen(),
        ]
        if self.used < self.rows:
            told.append(f"{count(self.used)} of the {count(self.rows)} rows were looked at.")
        return tuple(told)

    def _verdict(self) -> str:
        if self.helps:
            return f"More rows help: twice as many save {percent(self.gain)} of the test error."
        if self.limit < SLOWLY * self.steps[0].error:
            return (
                f"More rows help slowly: twice as many save {percent(max(self.gain, 0), 1)} of the test error, very many "
                f"would leave {self.limit:.2g}."
            )
        return (
            f"More rows hardly help {self._learner()}: twice as many save {percent(max(self.gain, 0), 1)} of the test "
            f"error, and any number leaves {self.limit:.2g}. What is left needs other features or another model."
        )

    def _learner(self) -> str:
        if self.kernel == "linear":
            return "a linear fit" if self.ridge == "tuned" else "least squares"
        return "a fit with this kernel"

    def _chosen(self) -> str:
        theory, law, unchanged = (self.miss(m) for m in ("theory", "power_law", "unchanged"))
        misses = (
            f"on sizes held out, theory was off by {percent(theory)}, a power law fitted to subsamples by "
            f"{percent(law)}, and taking the error to stay as it is by {percent(unchanged)}"
        )
        shares = f"theory ({percent(self.weight)}) and a power law ({percent(1 - self.weight)})"
        adds = "" if theory < NEARER * min(law, unchanged) else ". Theory adds nothing here"
        return f"Forecast by the weighted mean of {shares}: {misses}{adds}."

    def to_frame(self) -> pd.DataFrame:
        """A table of the curve: rows, error, low, high, and the two forecasts that it was made of."""
        import pandas as pd

        names = ("error", "low", "high", "theory", "power_law")
        return pd.DataFrame({"rows": self.at} | {name: getattr(self, name) for name in names})

    def plot(self, *, dark: bool = False) -> Figure:
        """Draw the curve with its band over the cross-validated errors; a notebook shows it, and `savefig` saves it."""
        from lineament.report import curve_figure, draw

        return draw.draw(curve_figure.figure(self), dark=dark)


def miss(trials: tuple[Trial, ...], method: str) -> float:
    """The root mean square of log(forecast/measured) over trials."""
    return float(np.sqrt(np.mean(logs(trials, method) ** 2)))


def logs(trials: tuple[Trial, ...], method: str) -> Array:
    """The values log(forecast/measured) of trials."""
    return np.array([np.log(getattr(trial, method) / trial.measured) for trial in trials])


def _banded(step: Step) -> str:
    return f"{step.error:.2g} ({step.low:.2g}–{step.high:.2g})"
