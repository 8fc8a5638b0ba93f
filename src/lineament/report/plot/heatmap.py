"""A field over two settings: what a sweep measured as colours, what theory says as contours over it."""

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from lineament.core import arguments
from lineament.evidence import figure
from lineament.evidence.figure import Axis, Mark, Panel

from .canvas import axis_name, recorded, show

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes


def heatmap(
    measured: "xarray.DataArray",
    forecast: "xarray.DataArray | ArrayLike | None" = None,
    *,
    ax: "Axes | None" = None,
    x: str | None = None,
    x_scale: Axis = "linear",
    y_scale: Axis = "linear",
) -> "xarray.Dataset":
    """Draw a field over two settings, such as two dimensions of a sweep, with a forecast as dark contours.

    Args:
        measured: A field of two dimensions that have numbers as coordinates.
        forecast: What theory says of the same field: an array over the same dimensions, or of the same shape.
        ax: Where to draw; new axes of pyplot if none are given.
        x: The dimension along the horizontal axis; the last one of `measured` if not given.
        x_scale: "linear" or "log".
        y_scale: The same for the vertical axis.

    Returns:
        What is drawn: `measured` and, where there is one, `forecast`, over (y, x).

    Example:
        >>> import numpy as np, xarray, lineament as la
        >>> depth, start = np.arange(2, 6), np.geomspace(1e-4, 1e-1, 7)
        >>> when = la.theory.modes.time_to(0.5, 1.0, start=start, depth=depth[:, None])
        >>> field = xarray.DataArray(when, dims=("depth", "start"), coords={"depth": depth, "start": start})
        >>> data = la.plot.heatmap(field, when, x_scale="log")
        >>> data.measured.dims
        ('depth', 'start')
    """
    import xarray

    recorded("measured", measured)
    if measured.ndim != 2:
        raise ValueError(f"measured must have two dimensions; got {measured.dims}")
    across = measured.dims[-1] if x is None else x
    if not isinstance(across, str) or across not in measured.dims:
        raise ValueError(f"x must be a dimension of measured, which has {measured.dims}; got {x!r}")
    (up,) = [name for name in measured.dims if name != across]
    field = measured.transpose(up, across)
    data = {"measured": field}
    if forecast is not None:
        data["forecast"] = _alike(forecast, measured).transpose(up, across)
    drawn = xarray.Dataset(data)
    places = drawn[across].to_numpy().astype(float), drawn[up].to_numpy().astype(float)
    marks: list[Mark] = [figure.heat(*places, field.to_numpy(), axis_name(measured))]
    if forecast is not None:
        marks.append(figure.contour(*places, drawn.forecast.to_numpy(), "theory"))
    names = axis_name(drawn[across]), axis_name(drawn[up])
    show(Panel(tuple(marks), *names, x_scale=x_scale, y_scale=y_scale), ax)
    return drawn


def _alike(forecast: "xarray.DataArray | ArrayLike", measured: "xarray.DataArray") -> "xarray.DataArray":
    """The forecast as an array over the dimensions of what was measured."""
    if hasattr(forecast, "dims"):
        if set(forecast.dims) != set(measured.dims):  # type: ignore[union-attr]
            raise ValueError(f"forecast must be over the dimensions {measured.dims}; got {forecast.dims}")  # type: ignore[union-attr]
        return forecast.transpose(*measured.dims)  # type: ignore[union-attr]
    array = arguments.real("forecast", forecast)
    if array.shape != measured.shape:
        raise ValueError(f"forecast must have the shape of measured, {measured.shape}; got {array.shape}")
    return measured.copy(data=array)
