"""The forecast's own error bar: how far a loss may lie from its forecast, step by step, from the looks at the network.

At every look the network carried along was seen beside the forecast (`safe`). The bar reaches from the one to the
other, and beyond by what a look itself may miss. Narrow networks depart early and wide ones late, so that the width of
the network is in it, as are the step size and the time. Between looks the departure is interpolated in the logarithm
of the step. After the last one its logarithm grows in proportion to the step: two losses that fall at different rates
part like that. Orders of minibatches widen the bar by the band they span.
"""

import numpy as np

from .safe import FORESEEN
from .tangents import Array


def ratio_at(at: np.ndarray, looks: np.ndarray, loss: Array, forecast: Array) -> Array:
    """Loss of the network over its forecast at the steps `at`, from what it was at the looks."""
    if not len(looks):
        return np.ones(len(at))
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.where(forecast > 0, loss / forecast - 1, 0.0)
    off = np.where(np.isfinite(off), off, np.inf)
    steps = np.concatenate([[0.0], looks])
    between = np.interp(np.log1p(at), np.log1p(steps), np.concatenate([[0.0], off]))
    beyond = at > looks[-1]
    with np.errstate(over="ignore"):
        grown = np.maximum(1 + off[-1], 0.0) ** (at / looks[-1])
    return np.where(beyond, grown, 1 + between)


def bounds(curve: Array, ratio: Array, low: Array | None = None, high: Array | None = None) -> tuple[Array, Array]:
    """Least and largest loss that are to be expected, where the forecast is `curve`.

    Args:
        curve: the forecast.
        ratio: of the network carried along, over the forecast.
        low: least loss over orders of batches; by default all examples are taken at once.
        high: the largest.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        least, most = np.minimum(1.0, ratio) * (1 - FORESEEN), np.maximum(1.0, ratio) * (1 + FORESEEN)
        below = curve if low is None else np.minimum(curve, low)
        above = curve if high is None else np.maximum(curve, high)
        return least * below, most * above
