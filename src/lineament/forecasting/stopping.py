r"""When to stop: expected test loss along a path, from the spectrum and the noise.

Least squares on n examples misses the truth by noise. If component j is learnt up to the share g_j, its part of the
excess risk is (1 − g_j)² s_j + g_j² v_j, where v_j is the variance of what least squares learns there and s_j the signal.
Least squares sees s_j + v_j, so s_j is estimated by what it sees, less v_j: for fixed shares the sum is unbiased
(Mallows' C_p). At depth one it is the forecast of :mod:`lineament.theory.early_stopping`; at larger depths the shares
themselves depend on the sample, which is disregarded, and so is the difference of a test covariance from the sample's:
this estimate is for new labels of the table's own inputs (a fixed design), and too low for new rows when there are few
rows for each column. For those rows of the table are held out (:mod:`.held_out`).
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .held_out import HeldOut
from .paths import Progress

Array = NDArray[np.float64]

WINDOW = 0.05
"""The window holds the times at which the expected test loss is within this share of its least value."""

NO_RISE = 1e-3
"""A rise of the expected test loss by less than this share is none."""


Method = Literal["leave-one-out", "cross-validation", "fixed design"]


@dataclass(frozen=True, eq=False)
class Stopping:
    """When the expected test loss is least.

    Attributes:
        noise: residual variance, summed over outputs, on n − 1 − (components) degrees of freedom.
        loss: expected test loss ½E‖Wx − y‖² on new rows at the times of the path.
        best: the time at which it is least; infinity if it never rises.
        window: first and last time around the best at which it is within 5 % of least; infinity for "to the end".
        least: its least value.
        final: its value when everything is learnt.
        within_range: false where the loss still falls at the end of the path, but will rise beyond it.
        method: where the loss comes from: rows left out one by one, rows left out in tenths, or the formula for a fixed
            design, where the table is too wide to hold rows out.
        cross_validated: the loss on tenths of the rows that were left out, as a check; None as before.
        error: by how much the loss of a network trained on such a table is off from it, as a standard deviation, at
            every time; None as before.
        final_error: the same when everything is learnt; None as before.
        fixed_design: the same for new labels of the table's own inputs; None where it is that.
    """

    noise: float
    loss: Array
    best: float
    window: tuple[float, float]
    least: float
    final: float
    within_range: bool
    method: Method = "fixed design"
    cross_validated: Array | None = None
    error: Array | None = None
    final_error: float | None = None
    fixed_design: "Stopping | None" = None

    @property
    def gain(self) -> float:
        """The share of the final test loss that stopping at the best time saves."""
        return 1 - self.least / self.final if self.final > 0 else 0.0


def stopping(path: Progress, seen: Array, variance: Array, noise: float, n: int) -> Stopping:
    """The expected test loss along a path.

    Args:
        path: shares over time.
        seen: d_j ‖ŵ_j‖², the signal and noise that least squares sees in every component.
        variance: v_j, the noise among it.
        noise: the variance of the labels around the truth, summed over outputs.
        n: the number of examples.
    """
    g = path.share
    excess = (1 - g) ** 2 @ (seen - variance) + g**2 @ variance + path.spill
    floor = noise * (1 + 1 / n)  # the mean of the target is estimated too
    return _read(path.time, 0.5 * (floor + excess), 0.5 * (floor + float(np.sum(variance))), noise)


def on_new_rows(time: Array, fixed: Stopping, found: HeldOut, learnt: Array, n: int) -> Stopping:
    r"""When to stop by rows held out; the estimate for a fixed design stays beside it.

    Errors of rows left out are not independent, as all fits share rows, and the loss of the one network that is trained
    differs from the mean over tables that they estimate. With k of n directions learnt from Gaussian rows and noise, the
    variances are 1/(1 − k/n) and (k/n)/(1 − k/n) times that of independent errors: together (n + k)/(n − k).

    Args:
        time: of the path.
        fixed: the estimate for a fixed design.
        found: what rows that were held out show at these times, and at the end.
        learnt: how many directions are learnt at these times, and at the end, (time + 1,).
        n: the number of examples.
    """
    error = found.error * np.sqrt((n + learnt) / (n - learnt))
    return replace(
        _read(time, found.loss[:-1], float(found.loss[-1]), fixed.noise),
        method="leave-one-out" if found.one_by_one else "cross-validation",
        cross_validated=found.cross_validated[:-1],
        error=error[:-1],
        final_error=float(error[-1]),
        fixed_design=fixed,
    )


def _read(time: Array, loss: Array, final: float, noise: float) -> Stopping:
    """The best time and the window around it, from the loss over time and in the end."""
    loss, final = np.maximum(loss, 0.0), max(final, 0.0)  # without noise, an unbiased estimate may be rounded below 0
    i = int(np.argmin(loss))
    if final <= loss[i] * (1 + NO_RISE):
        near = time[loss <= (1 + WINDOW) * final]
        begins = float(near[0]) if len(near) else float(time[-1])
        return Stopping(noise, loss, np.inf, (begins, np.inf), final, final, True)
    near = loss <= (1 + WINDOW) * loss[i]
    first = i - int(np.argmin(np.append(near[: i + 1][::-1], False))) + 1
    after = int(np.argmin(np.append(near[i:], False)))
    to_the_end = i + after == len(loss) and final <= (1 + WINDOW) * loss[i]
    last = np.inf if to_the_end else float(time[i + after - 1])
    return Stopping(noise, loss, float(time[i]), (float(time[first]), last), float(loss[i]), final, i < len(loss) - 1)
