"""The figure of a learning curve, as data: the forecast with its band over the cross-validated errors."""

import numpy as np

from lineament.evidence.figure import Figure, Panel, band, points, reference, theory
from lineament.forecasting import LearningCurve
from lineament.forecasting.words import percent


def figure(curve: LearningCurve, later: tuple[np.ndarray, np.ndarray] | None = None) -> Figure:
    """The test error against the number of rows.

    Args:
        curve: The forecast.
        later: Numbers of rows and test errors that were measured on more rows afterwards, if there are any.
    """
    held = f"{100 * curve.level:.0f} % band"
    marks = [
        band(curve.at, curve.low, curve.high, held),
        points(curve.subsamples, curve.measured, "subsamples, measured"),
        *([points(later[0], later[1], "more rows, measured", group=1)] if later is not None else []),
        reference([curve.rows] * 2, [float(curve.low.min()), float(curve.high.max())], "rows there are"),
        theory(curve.at, curve.error, "forecast"),
    ]
    panel = Panel(
        tuple(marks),
        "rows",
        "test error / variance of the target",
        "Would more rows help?",
        x_scale="log",
        y_scale="log",
    )
    saved = f"Twice the rows save {percent(max(curve.gain, 0.0), 1)} of the test error"
    return Figure((panel,), f"{saved}: forecast, its band, and what subsamples of the table show.", columns=1)
