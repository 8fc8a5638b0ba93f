"""Spectra side by side: singular values or eigenvalues, largest first."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from lineament.core import arguments
from lineament.evidence import figure
from lineament.evidence.figure import Axis, Mark, Panel

from .canvas import show

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes


def spectrum(
    values: ArrayLike | Mapping[str, ArrayLike],
    forecast: ArrayLike | None = None,
    *,
    ax: "Axes | None" = None,
    y_scale: Axis = "log",
    label: str = "singular value",
) -> "xarray.Dataset":
    """Draw the singular values or eigenvalues of one matrix or several, from the largest to the smallest.

    Args:
        values: The values of one spectrum in any order, or several spectra by their names, of any lengths.
        forecast: What theory says of the (one) spectrum or of all: a thin dark line.
        ax: Where to draw; new axes of pyplot if none are given.
        y_scale: "linear", "log" (which leaves out what is not positive) or "symlog".
        label: What the values are, beside the vertical axis.

    Returns:
        What is drawn: `values` over `spectrum` and `mode` (from 1), missing where a spectrum is shorter; and `forecast`.

    Example:
        >>> import numpy as np, lineament as la
        >>> W = np.random.default_rng(0).normal(size=(20, 30))
        >>> before, after = (np.linalg.svd(M, compute_uv=False) for M in (W, W @ np.diag(np.arange(30) < 5)))
        >>> data = la.plot.spectrum({"whole": before, "after the cut": after}, y_scale="linear")
        >>> int((data["values"].sel(spectrum="after the cut") > 1e-9).sum())
        5
    """
    import xarray

    named = values if isinstance(values, Mapping) else {"measured": values}
    if not named:
        raise ValueError("values must hold at least one spectrum; got none")
    spectra = {
        name: _falling(f"values[{name!r}]" if values is named else "values", each) for name, each in named.items()
    }
    expected = None if forecast is None else _falling("forecast", forecast)
    count = max(map(len, (*spectra.values(), *([] if expected is None else [expected]))))
    mode = np.arange(1, count + 1)
    data: dict[str, Any] = {
        "values": (("spectrum", "mode"), np.stack([_padded(each, count) for each in spectra.values()]))
    }
    if expected is not None:
        data["forecast"] = (("mode",), _padded(expected, count))
    drawn = xarray.Dataset(data, coords={"spectrum": list(spectra), "mode": mode})
    marks: list[Mark] = []
    for group, (name, each) in enumerate(spectra.items()):
        marks.append(
            figure.points(mode[: len(each)], each, name if len(spectra) > 1 or forecast is not None else "", group)
        )
    if expected is not None:
        marks.append(figure.theory(mode[: len(expected)], expected, "theory"))
    show(Panel(tuple(marks), "mode", label, y_scale=y_scale), ax)
    return drawn


def _falling(name: str, values: ArrayLike) -> np.ndarray:
    return np.sort(arguments.vector(name, values))[::-1]


def _padded(values: np.ndarray, count: int) -> np.ndarray:
    return np.concatenate([values, np.full(count - len(values), np.nan)])
