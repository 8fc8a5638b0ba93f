"""Until which step a forecast is safe: the network itself, carried along in large steps.

Between two looks at the network the linearised forecast moves by its closed form, and the departure from it by
`lineament.linearisation.response`: a look costs about three steps of training, and looks can be hundreds of steps apart.
At each look the loss of the network is compared with the forecast; the forecast is safe as long as they agree. How far
apart looks may be follows from how well the last one was foreseen.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import losses
from .response import Response, Stiff
from .solution import Solution
from .tangents import AbstractTangents, Array, Progress

DEPARTED = 0.1
"""A forecast no longer holds where a loss differs from it by more than this share."""
CAUTION = 0.8
"""The share of that at which the step is called no longer safe: the estimate has an error of its own."""
FORESEEN = 0.02
"""How well the loss at a look must have been foreseen, as a share of it, for the next to be further away."""
CAREFUL_GROWTH = 1.2
"""By how much the distance of looks grows once one was too large."""
MOST_LOOKS = 60
"""Looks at the network; where they run out, what lies beyond counts as not safe."""


@dataclass(frozen=True, eq=False)
class Safety:
    """What the looks at the network showed.

    Attributes:
        step: the first step at which the forecast is no longer safe; infinity if it is safe to the end.
        steps: of the looks.
        loss: training loss of the network carried along.
        forecast: training loss of the linearised network there.
        test_loss: of the network on test points; empty without.
        test_forecast: of the linearised network there.
        finished: whether the looks reached the end, or a departure.
    """

    step: float
    steps: np.ndarray
    loss: Array
    forecast: Array
    test_loss: Array
    test_forecast: Array
    finished: bool

    @property
    def departure(self) -> Array:
        """The larger of the two relative differences from the forecast at each look."""
        return departure(self.loss, self.forecast, self.test_loss, self.test_forecast)


def departure(loss: Array, forecast: Array, test_loss: Array, test_forecast: Array) -> Array:
    """How far losses are from their forecasts, as a share of them: of training or test loss, whichever is more."""
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.abs(loss / forecast - 1)
        if len(test_loss):
            off = np.maximum(off, np.abs(test_loss / test_forecast - 1))
    return np.where(np.isnan(off), np.inf, off)


def first_departure(steps: np.ndarray, off: Array, bar: float) -> float:
    """The step at which a departure first exceeds the bar, interpolated in the logarithm of the step."""
    beyond = np.flatnonzero(off > bar)
    if not len(beyond):
        return np.inf
    i = int(beyond[0])
    if i == 0 or not np.isfinite(off[i]):
        return float(steps[max(i - 1, 0)])
    return float(np.exp(np.interp(bar, off[i - 1 : i + 1], np.log(np.maximum(steps[i - 1 : i + 1], 1)))))


def safety(
    network: AbstractTangents, solution: Solution, X: Any, y: Array, X_test: Any, y_test: Array | None, steps: int,
    progress: Progress | None = None,
) -> Safety:  # fmt: skip
    """Carry the network along until its loss departs from the forecast, or for so many steps."""
    walk = _Walk(network, solution, X, y)
    # A first look after one step, then further and further apart.
    stride, growth, seen, looks = 1, 2.0, [], 0
    while walk.step < steps and looks < MOST_LOOKS:
        looks += 1
        found = walk.look(min(stride, steps - walk.step))
        if found.missed > FORESEEN and stride > 1:
            # Too far. From now on distances grow with care: what limits them, the drift of the kernel, stays.
            stride, growth = max(1, stride // 2), CAREFUL_GROWTH
            continue
        walk.accept(found)
        test = np.zeros(0) if y_test is None else _test(network, solution, found, X_test, y_test)
        seen.append((found.step, found.loss, found.forecast, *test))
        last = np.array([found.loss]), np.array([found.forecast])
        if departure(*last, test[:1], test[1:])[0] > DEPARTED:
            break
        # Never more than half of the way so far, since the forecast itself moves fastest at the beginning.
        grown = growth * stride if found.missed < FORESEEN / 2 else stride
        stride = max(1, min(int(np.ceil(grown)), walk.step // 2))
        if progress is not None:
            progress(min(1.0, np.log1p(walk.step) / np.log1p(steps)))
    table = np.array(seen, float).reshape(len(seen), -1)
    test = (table[:, 3], table[:, 4]) if table.shape[1] > 3 else (np.zeros(0), np.zeros(0))
    off = departure(table[:, 1], table[:, 2], *test)
    step = first_departure(table[:, 0], off, CAUTION * DEPARTED)
    finished = bool(walk.step >= steps or off[-1] > DEPARTED)
    if not finished:
        step = min(step, float(walk.step))
    if progress is not None:
        progress(1.0)
    return Safety(step, table[:, 0].astype(np.int64), table[:, 1], table[:, 2], *test, finished)


def _test(network: AbstractTangents, solution: Solution, found: "_Look", X_test: Any, y_test: Array) -> Array:
    forecast = solution.outputs(np.array([float(found.step)]))[1][0]
    seen = network.outputs(X_test, found.change)
    return np.array([losses.mean(solution.loss, seen, y_test), losses.mean(solution.loss, forecast, y_test)])


@dataclass(frozen=True, eq=False)
class _Look:
    """The network at one step, and what it was expected to be."""

    step: int
    change: Any
    gradient: Any
    linear: Array
    drive: Array
    loss: float
    forecast: float
    missed: float
    summed: Array
    stiff: Stiff


class _Walk:
    """The departure from linearised training at the last look, and what the next needs of the one before."""

    def __init__(self, network: AbstractTangents, solution: Solution, X: Any, y: Array) -> None:
        self.network, self.solution, self.X, self.y = network, solution, X, y
        n = len(y)
        self.optimiser = solution.optimiser
        self.response = Response(solution.given, solution.loss, self.optimiser)
        self.step, self.stiff, self.stride = 0, self.response.begin, 1
        self.linear = losses.slope(solution.loss, solution.start, y) / n
        gradient = network.pull_back(X, self.linear)
        nothing = network.combine([0.0], [gradient])
        # Gradients of the network and linearised ones, (n, k), each summed up: the same sums, so that they cancel.
        self.sums, self.linear_sums = (nothing, nothing), (np.zeros_like(y), np.zeros_like(y))
        self.gradient = self.before = gradient
        self.linear_before = self.linear
        self.drive = self.drive_before = np.zeros_like(y)

    def look(self, stride: int) -> _Look:
        """Foresee the network after so many steps, with γ going on as it went, and look."""
        solution, response, n = self.solution, self.response, len(self.y)
        step = self.step + stride
        at = np.array([float(step)])
        c, f = solution.coefficients(at)[0], solution.outputs(at)[0][0]
        ratio = stride / self.stride if self.step else 0.0
        drive = self.drive + ratio * (self.drive - self.drive_before)
        _, e, u = response.carry(self.stiff, stride, self.drive, drive, f)
        weights = self.optimiser.summed(stride)
        w = weights[1]
        gone = self.network.combine(
            [w[0], w[1], w[2] + w[3] * (1 + ratio), -w[3] * ratio], [*self.sums, self.gradient, self.before]
        )
        linear = w[0] * self.linear_sums[0] + w[1] * self.linear_sums[1]
        linear = linear + (w[2] + w[3] * (1 + ratio)) * self.linear - w[3] * ratio * self.linear_before
        pulled = self.network.pull_back(self.X, c + linear - e)
        drift = float(solution.drift(at)[0])
        change = self.network.combine([1.0, -1.0, drift], [pulled, gone, self.network.origin])
        outputs, gradient = self.network.gradient(self.X, self.y, solution.loss, change)
        held = _held(solution.loss, f, u)
        expected = (losses.slope(solution.loss, f, self.y) + held) / n
        seen = self.network.push_forward(self.X, gradient) - response.times_kernel(expected)
        stiff, _, u_seen = response.carry(self.stiff, stride, self.drive, seen, f)
        loss = float(losses.mean(solution.loss, outputs, self.y))
        shifted = float(losses.mean(solution.loss, outputs + u_seen - u, self.y))
        forecast = float(losses.mean(solution.loss, f, self.y))
        missed = abs(shifted - loss) / forecast if forecast > 0 else 0.0
        missed = missed if np.isfinite(missed) else np.inf
        return _Look(step, change, gradient, expected, seen, loss, forecast, missed, weights, stiff)

    def accept(self, found: _Look) -> None:
        """Go there, with γ as it was seen instead of foreseen."""
        stride = found.step - self.step
        self.stiff = found.stiff
        parts = [*self.sums, self.gradient, found.gradient]
        self.sums = tuple(self.network.combine(row, parts) for row in found.summed)
        linear = [*self.linear_sums, self.linear, found.linear]
        self.linear_sums = tuple(sum(w * part for w, part in zip(row, linear, strict=True)) for row in found.summed)
        self.before, self.gradient = self.gradient, found.gradient
        self.linear_before, self.linear = self.linear, found.linear
        self.drive_before, self.drive = self.drive, found.drive
        self.stride, self.step = stride, found.step


def _held(loss: losses.Loss, f: Array, u: Array) -> Array:
    """The curvature of the loss at f, times u."""
    if loss == "square":
        return u
    p = losses.slope(loss, f, np.zeros_like(f))
    return p * (u - np.sum(p * u, axis=1, keepdims=True))
