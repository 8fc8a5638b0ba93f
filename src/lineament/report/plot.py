"""Plots of a user's own runs, in the look of the atlas: measurement in colour, theory a thin dark line over it."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from lineament.evidence import figure
from lineament.evidence.figure import Axis, Mark, Panel

from . import style
from .draw import draw_panel, group_colours
from .marks import Look

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

MEMBER = "member"
LABELLED_MODES = 6


def overlay(
    measured: "xarray.DataArray",
    forecast: "xarray.DataArray | ArrayLike | None" = None,
    *,
    ax: "Axes | None" = None,
    x: str | None = None,
    x_scale: Axis = "linear",
    y_scale: Axis = "linear",
    spread: tuple[float, float] = (0.1, 0.9),
) -> "Axes":
    """Draw a forecast over what was measured along training.

    Args:
        measured: What was measured, over time or step, with at most one further dimension (such as `mode`), one colour
            each. A dimension `member` is summed up by its median, and its spread is drawn as a band.
        forecast: What theory says, with the dimensions of `measured` or with those but `member`.
        ax: Where to draw; new axes of pyplot if none are given.
        x: The dimension along the horizontal axis; `time` or `step`, whichever `measured` has, if not given.
        x_scale: "linear", "log" or "symlog".
        y_scale: The same for the vertical axis.
        spread: The quantiles of the members between which the band lies.

    Returns:
        The axes. `overlay_data` gives what is drawn on them as plain numbers.
    """
    import matplotlib

    panel = overlay_data(measured, forecast, x=x, x_scale=x_scale, y_scale=y_scale, spread=spread)
    with matplotlib.rc_context(style.rc(style.LIGHT)):
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.subplots(figsize=(4.4, 3.4), layout="constrained")[1]
        draw_panel(ax, panel, Look(style.LIGHT, group_colours(panel.marks, style.LIGHT)))
    return ax


def overlay_data(
    measured: "xarray.DataArray",
    forecast: "xarray.DataArray | ArrayLike | None" = None,
    *,
    x: str | None = None,
    x_scale: Axis = "linear",
    y_scale: Axis = "linear",
    spread: tuple[float, float] = (0.1, 0.9),
) -> Panel:
    """What `overlay` draws, as the data of a panel."""
    if not 0.0 <= spread[0] <= spread[1] <= 1.0:
        raise ValueError(f"spread must be two rising quantiles between 0 and 1; got {spread}")
    along = _along(measured, x)
    series = [name for name in measured.dims if name not in (along, MEMBER)]
    if len(series) > 1:
        raise ValueError(
            f"measured has the dimensions {measured.dims}; besides {along!r} and {MEMBER!r} at most one can be drawn"
        )
    ordered = measured.transpose(*([MEMBER] if MEMBER in measured.dims else []), along, *series)
    values = _by_member(ordered.to_numpy(), member=MEMBER in measured.dims, series=bool(series))
    position = measured[along].to_numpy().astype(float)
    marks: list[Mark] = []
    for mode in range(values.shape[-1]):
        members = values[..., mode]
        if len(members) > 1:
            marks.append(figure.band(position, *np.quantile(members, spread, axis=0), group=mode))
        marks.append(figure.measured(position, np.median(members, axis=0), _label(measured, series, mode), mode))
    if forecast is not None:
        marks += _theory(position, _by_member(*_matched(forecast, ordered), series=bool(series)))
    return Panel(tuple(marks), _name(measured[along]), _name(measured), x_scale=x_scale, y_scale=y_scale)


def _theory(position: np.ndarray, expected: np.ndarray) -> list[Mark]:
    middle = np.median(expected, axis=0)
    return [figure.theory(position, middle[:, mode], "theory", mode) for mode in range(middle.shape[-1])]


def _along(measured: "xarray.DataArray", x: str | None) -> str:
    choices = (x,) if x is not None else ("time", "step")
    for name in choices:
        if name in measured.dims:
            return name
    raise ValueError(
        f"x must be a dimension of measured, which has {measured.dims}; looked for {' and '.join(choices)}"
    )


def _by_member(values: np.ndarray, member: bool, series: bool) -> np.ndarray:
    """Values as (member, time, mode), with a length of one where a dimension is missing."""
    values = np.asarray(values, dtype=float)
    values = values if member else values[None]
    return values if series else values[..., None]


def _matched(forecast: "xarray.DataArray | ArrayLike", measured: "xarray.DataArray") -> tuple[np.ndarray, bool]:
    """The forecast in the order of the run's dimensions, and whether it has members of its own."""
    single = measured.isel({MEMBER: 0}) if MEMBER in measured.dims else measured
    if hasattr(forecast, "dims"):
        names = [name for name in measured.dims if name in forecast.dims]  # type: ignore[union-attr]
        if set(forecast.dims) - set(names):  # type: ignore[union-attr]
            raise ValueError(f"forecast has the dimensions {forecast.dims}, measured only {measured.dims}")  # type: ignore[union-attr]
        forecast = forecast.transpose(*names).to_numpy()  # type: ignore[union-attr]
    array = np.asarray(forecast, dtype=float)
    if array.shape not in (single.shape, measured.shape):
        allowed = " or ".join(str(shape) for shape in dict.fromkeys((single.shape, measured.shape)))
        raise ValueError(f"forecast has the shape {array.shape}; over {measured.dims} it must be {allowed}")
    return array, array.ndim > single.ndim


def _name(values: "xarray.DataArray") -> str:
    """The label of an axis: the long name and unit that a run carries, or its plain name."""
    name = str(values.attrs.get("long_name") or str(values.name or "").replace("_", " "))
    unit = values.attrs.get("units")
    return f"{name} [{unit}]" if unit else name


def _label(measured: "xarray.DataArray", series: list, mode: int) -> str:
    if not series or measured.sizes[series[0]] > LABELLED_MODES:
        return "measured"
    name = series[0]
    return f"{name} {measured[name].to_numpy()[mode] if name in measured.coords else mode + 1}"
