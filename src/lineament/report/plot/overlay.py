"""A forecast over what was measured along training."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from lineament.core import arguments
from lineament.evidence import figure
from lineament.evidence.figure import Axis, Mark, Panel

from .canvas import axis_name, recorded, show

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

MEMBER = "member"
LABELLED = 6  # lines that are named; more are told apart by an even ramp of colours


def overlay(
    measured: "xarray.DataArray",
    forecast: "xarray.DataArray | ArrayLike | None" = None,
    *,
    ax: "Axes | None" = None,
    x: str | None = None,
    x_scale: Axis = "linear",
    y_scale: Axis = "linear",
    spread: tuple[float, float] = (0.1, 0.9),
) -> "xarray.Dataset":
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
        What is drawn: `measured`, and where there are any `low` and `high` of the members and `forecast`.

    Example:
        >>> import numpy as np, xarray, lineament as la
        >>> time = np.linspace(0, 4, 50)
        >>> modes = la.theory.modes.trajectory(time[:, None], [2.0, 1.0], start=0.1, depth=2)
        >>> run = xarray.DataArray(modes * 1.02, dims=("time", "mode"), coords={"time": time})
        >>> data = la.plot.overlay(run, modes)
        >>> round(float(abs(data.measured / data.forecast - 1).max()), 3)
        0.02
    """
    import xarray

    recorded("measured", measured)
    spread = (*arguments.vector("spread", spread, 2),)
    if not 0.0 <= spread[0] <= spread[1] <= 1.0:
        raise ValueError(f"spread must be two rising quantiles between 0 and 1; got {spread}")
    along = _along(measured, x)
    series = [name for name in measured.dims if name not in (along, MEMBER)]
    if len(series) > 1:
        raise ValueError(
            f"measured must have at most one dimension besides {along!r} and {MEMBER!r}; got {measured.dims}"
        )
    ordered = measured.transpose(*([MEMBER] if MEMBER in measured.dims else []), along, *series)
    single = ordered.isel({MEMBER: 0}, drop=True) if MEMBER in measured.dims else ordered

    def summed(values: np.ndarray) -> "xarray.DataArray":
        return xarray.DataArray(values, dims=single.dims, coords=single.coords, attrs=measured.attrs)

    data = {"measured": summed(ordered.to_numpy())} if MEMBER not in measured.dims else {}
    if not data:
        members = ordered.to_numpy().astype(float)
        data["measured"] = summed(np.median(members, axis=0))
        data["low"], data["high"] = map(summed, np.quantile(members, spread, axis=0))
    if forecast is not None:
        data["forecast"] = summed(_matched(forecast, ordered, single))
    drawn = xarray.Dataset(data)
    show(_panel(drawn, along, series, axis_name(measured), x_scale, y_scale), ax)
    return drawn


def _panel(drawn: "xarray.Dataset", along: str, series: list, name: str, x_scale: Axis, y_scale: Axis) -> Panel:
    position = drawn[along].to_numpy().astype(float)
    columns = {key: value.to_numpy().reshape(len(position), -1).T for key, value in drawn.data_vars.items()}
    count = len(columns["measured"])
    marks: list[Mark] = []
    for group in range(count):
        if "low" in columns:
            marks.append(figure.band(position, columns["low"][group], columns["high"][group], group=group))
        marks.append(figure.measured(position, columns["measured"][group], _label(drawn, series, group), group))
    marks += [
        figure.theory(position, curve, "theory", group) for group, curve in enumerate(columns.get("forecast", ()))
    ]
    return Panel(tuple(marks), axis_name(drawn[along]), name, x_scale=x_scale, y_scale=y_scale)


def _along(measured: "xarray.DataArray", x: str | None) -> str:
    choices = (x,) if x is not None else ("time", "step")
    for name in choices:
        if isinstance(name, str) and name in measured.dims:
            return name
    raise ValueError(
        f"x must be a dimension of measured, which has {measured.dims}; looked for {' and '.join(map(str, choices))}"
    )


def _matched(
    forecast: "xarray.DataArray | ArrayLike", measured: "xarray.DataArray", single: "xarray.DataArray"
) -> np.ndarray:
    """The forecast in the order of the run's dimensions; one for each member is summed up by its median."""
    if hasattr(forecast, "dims"):
        names = [name for name in measured.dims if name in forecast.dims]  # type: ignore[union-attr]
        if set(forecast.dims) - set(names):  # type: ignore[union-attr]
            raise ValueError(
                f"forecast must have no dimension that measured lacks, {measured.dims}; got {forecast.dims}"  # type: ignore[union-attr]
            )
        forecast = forecast.transpose(*names).to_numpy()  # type: ignore[union-attr]
    array = arguments.real("forecast", forecast)
    if array.shape not in (single.shape, measured.shape):
        allowed = " or ".join(str(shape) for shape in dict.fromkeys((single.shape, measured.shape)))
        raise ValueError(f"forecast must be {allowed} over {measured.dims}; got the shape {array.shape}")
    return np.median(array, axis=0) if array.ndim > single.ndim else array


def _label(drawn: "xarray.Dataset", series: list, group: int) -> str:
    if not series or drawn.sizes[series[0]] > LABELLED:
        return "measured"
    name = series[0]
    return f"{name} {drawn[name].to_numpy()[group] if name in drawn.coords else group + 1}"
