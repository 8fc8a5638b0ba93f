"""What is learnt when: examples, modes or components in the order in which they were learnt."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from lineament.core import arguments
from lineament.evidence import figure
from lineament.evidence.figure import Axis, Mark, Panel
from lineament.theory.phases import Timetable

from .canvas import show

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

NAMED = 25  # things that have a name each beside the axis


def learning_order(
    learnt: ArrayLike | Timetable,
    forecast: ArrayLike | Timetable | None = None,
    *,
    ax: "Axes | None" = None,
    names: Sequence[str] | None = None,
    x_scale: Axis = "linear",
    x_label: str = "step",
) -> "xarray.Dataset":
    """Draw when each thing was learnt, in the order of learning, with the forecast of each beside it.

    Args:
        learnt: The step or time at which each example, mode or component was learnt, NaN or infinite where it never was:
            what `lineament.recording.learning_step`, `Linearised.learnt_at` or a `Timetable` of `theory.phases` says. A
            timetable is drawn as a span from begin to end, with its half.
        forecast: The same by theory.
        ax: Where to draw; new axes of pyplot if none are given.
        names: What each is called; shown for up to 25.
        x_scale: "linear", "log" or "symlog".
        x_label: What `learnt` counts.

    Returns:
        What is drawn, over `place`, from 1: `item` (its number in what was given, from 0), `learnt`, `forecast`, and
        `begins` and `ends` of timetables. Its attributes hold `never`, how many were never learnt, and with a forecast
        `spearman`, the rank correlation of the two orders among those that both say are learnt.

    Example:
        >>> import numpy as np, lineament as la
        >>> table = la.theory.phases.timetable([4.0, 2.0, 1.0], start=1e-3, depth=3)
        >>> seen = np.array([1.1, 0.9, 1.0]) * table.half
        >>> data = la.plot.learning_order(seen, table, names=["first", "second", "third"], x_label="time")
        >>> data.item.values.tolist(), data.attrs["spearman"]
        ([0, 1, 2], 1.0)
    """
    import xarray

    when, spans = _read("learnt", learnt, None)
    expected, expected_spans = (None, {}) if forecast is None else _read("forecast", forecast, len(when))
    names = None if names is None else arguments.words("names", names)
    if names is not None and len(names) != len(when):
        raise ValueError(f"names must be {len(when)}, one for each that is learnt; got {len(names)}")
    order = np.argsort(when, kind="stable")  # NaN, never, comes last
    data = {"item": order, "learnt": when[order]}
    data |= {} if expected is None else {"forecast": expected[order]}
    data |= {name: values[order] for name, values in {**spans, **expected_spans}.items()}
    about: dict[str, float] = {"never": int(np.isnan(when).sum())}
    if expected is not None:
        about["spearman"] = _spearman(when, expected)
    drawn = xarray.Dataset(
        {name: ("place", values) for name, values in data.items()},
        coords={"place": np.arange(1, len(order) + 1)},
        attrs={"never": int(np.isnan(when).sum())}
        | ({} if expected is None else {"spearman": _spearman(when, expected)}),
    )
    if names is not None:
        drawn["name"] = ("place", [names[item] for item in order])
    axes = show(_panel(drawn, bool(spans), x_scale, x_label), ax)
    if names is not None and len(order) <= NAMED:
        axes.set_yticks(drawn.place, drawn.name.values.tolist())
        axes.minorticks_off()
    axes.invert_yaxis()  # what comes first stands on top
    return drawn


def _panel(drawn: "xarray.Dataset", measured_spans: bool, x_scale: Axis, x_label: str) -> Panel:
    place = drawn.place.to_numpy()
    marks: list[Mark] = []
    if "begins" in drawn:
        line = figure.measured if measured_spans else figure.theory
        for row, begins, ends in zip(place, drawn.begins.to_numpy(), drawn.ends.to_numpy(), strict=True):
            marks.append(line([begins, ends], [row, row]))
    marks.append(figure.points(drawn.learnt, place, "measured" if "forecast" in drawn else ""))
    if "forecast" in drawn:
        marks.append(figure.points(drawn.forecast, place, "forecast", role="theory"))
    return Panel(tuple(marks), x_label, "" if "name" in drawn else "in the order of learning", x_scale=x_scale)


def _read(name: str, given: "ArrayLike | Timetable", length: int | None) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """When each is learnt, NaN for never, and the spans of a timetable."""
    if isinstance(given, Timetable):
        begins, half, ends = (_times(f"{name}.{part}", getattr(given, part), length) for part in Timetable._fields)
        return half, {"begins": begins, "ends": ends}
    return _times(name, given, length), {}


def _times(name: str, given: ArrayLike, length: int | None) -> np.ndarray:
    array = np.atleast_1d(arguments.numeric(name, given)).astype(float)
    if array.ndim != 1 or not array.size or (length is not None and array.size != length):
        wanted = "a vector" if length is None else f"a vector of {length}, one for each that is learnt"
        raise ValueError(f"{name} must be {wanted}; got the shape {array.shape}")
    return np.where(np.isfinite(array), array, np.nan)


def _spearman(when: np.ndarray, expected: np.ndarray) -> float:
    from scipy.stats import spearmanr

    both = np.isfinite(when) & np.isfinite(expected)
    found: Any = spearmanr(when[both], expected[both]) if both.sum() > 1 else None
    return float("nan") if found is None else float(found.statistic)
