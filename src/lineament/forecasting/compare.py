"""Train the network that a forecast describes, and lay the measurement over the forecast.

The trainer knows the second moments, the start, the step size and the number of steps. It moves the layers, in JAX; the
forecast's path was found from the map alone, in NumPy, and is only read when the run is over.
"""

import time as clock
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import arguments
from ..evidence import Check, Verdict, at_most, judge
from . import paths, words
from .components import HALF
from .paths import Progress
from .result import Forecast
from .shown import Shown

if TYPE_CHECKING:
    from ..core.run import Run

Array = NDArray[np.float64]

TIME_BAR = 0.1
"""How far anything may come earlier or later than forecast, as a share of its time.

Descent with steps η takes log(1 + ηλ)/λ where the flow takes η. At the recommended η, where ηλ ≤ 0.1, all of training
may run up to about 5 % fast or slow, whatever the start.
"""

LOSS_BAR = 0.02
"""How far the loss may lie outside what was forecast for times within `TIME_BAR`, as a share of what can be learnt."""

LEARNT_BAR = words.LEARNS
"""The least share of what can be learnt that a run must learn, or be forecast to learn, to be compared at all."""

MOST_TRAINED = 10_000_000
"""Steps that are trained; more would take hours."""

RECORDS = 400
"""Points at which the run is looked at."""


class Halfway(NamedTuple):
    """When a component that matters was to be half learnt, and when it was, in steps."""

    number: int
    forecast: float
    measured: float


@dataclass(frozen=True, eq=False)
class Comparison(Shown):
    """A forecast beside the run it forecast.

    Attributes:
        forecast: what was forecast.
        run: the training itself: loss and end-to-end map along it, final layers, settings.
        expected: the loss that was forecast at the recorded steps.
        share: measured share of every component (or mode) that is learnt, (step, component).
        halfway: for every component that matters and was to be half learnt in the run.
        checks: what the verdict is read from.
        widths: of the network that was trained, inputs first.
        seconds: how long training took.
    """

    forecast: Forecast
    run: "Run"
    expected: Array
    share: Array
    halfway: tuple[Halfway, ...]
    checks: tuple[Check, ...]
    widths: tuple[int, ...]
    seconds: float

    def __repr__(self) -> str:
        return f"Comparison({self.verdict}: {words.comparison(self)} {words.brief(self.forecast)})"

    @property
    def _made(self) -> Forecast:
        return self.forecast

    @property
    def _run(self) -> "Comparison":
        return self

    @property
    def steps(self) -> NDArray[np.int64]:
        """The recorded steps."""
        return self.run.step.values

    @property
    def loss(self) -> Array:
        """Measured training loss at the recorded steps."""
        return self.run.loss.values

    @property
    def diverged_at(self) -> int | None:
        """The step at which the loss ceased to be finite, or None."""
        step = int(self.run.diverged_at)
        return None if step < 0 else step

    @property
    def gap(self) -> float:
        """The largest difference of the loss from the forecast at the same step, as a share of the first loss."""
        return _worst((self.loss - self.expected) / self.expected[0])

    @property
    def holds(self) -> bool:
        """Whether every check passed."""
        return self.verdict is Verdict.HOLDS

    @property
    def verdict(self) -> Verdict:
        """`holds` or `differs`, as of an experiment; `undecided` where nothing was learnt that could be compared."""
        return judge(self.checks)


def train(forecast: Forecast) -> Comparison:
    """Train the network of a forecast by gradient descent and compare.

    Raises:
        ValueError: if JAX computes in float32, where the comparison would mean little, or if there are too many steps.
    """
    import jax
    import jax.numpy as jnp

    from lineament import starts
    from lineament.models import DeepLinear
    from lineament.problems import regression_from_moments
    from lineament.train import descend

    arguments.instance("forecast", forecast, Forecast)
    if forecast.steps > MOST_TRAINED:
        raise ValueError(
            f"steps must be at most {MOST_TRAINED} to be trained; got {forecast.steps}: give fewer steps, or a larger "
            "step size"
        )
    if not jax.config.read("jax_enable_x64"):
        raise ValueError('training is compared in float64; call jax.config.update("jax_enable_x64", True) first')
    begun = clock.perf_counter()
    m = forecast.moments
    sxx, syx, back = m.sxx, m.syx, forecast.directions.T
    if forecast.whiten:
        V = forecast.directions
        sxx, syx, back = V.T @ m.sxx @ V, m.syx @ V, np.eye(V.shape[1])
    outputs, inputs = syx.shape
    net = DeepLinear((inputs, *[min(outputs, inputs)] * (forecast.depth - 1), outputs))
    layers = starts.balanced(net, map=jnp.asarray(forecast.W0 @ back))
    problem = regression_from_moments(sxx, syx, m.syy)
    at = _looked_at(forecast.steps)
    run = descend(
        net, problem, layers, step_size=forecast.step_size, steps=forecast.steps, at=at, record=("loss", "end_to_end"),
        on_divergence="keep",
    )  # fmt: skip
    seconds = clock.perf_counter() - begun
    with np.errstate(over="ignore", invalid="ignore"):  # a run that diverges ends in infinities
        measured = Progress(
            forecast.step_size * at.astype(np.float64), *_read(forecast, run.end_to_end.values @ back.T)
        )
    expected = np.interp(measured.time, forecast.time, forecast.loss)
    halfway = _halfway(forecast, measured)
    checks = _checks(forecast, measured.time, run.loss.values, halfway)
    return Comparison(forecast, run, expected, measured.share, halfway, checks, net.widths, seconds)


def _checks(forecast: Forecast, time: Array, loss: Array, halfway: tuple[Halfway, ...]) -> tuple[Check, ...]:
    """What forecast and run must agree on; void where neither has learnt anything to speak of."""
    expected = np.interp(time, forecast.time, forecast.loss)
    learnt = max(np.ptp(curve[np.isfinite(curve)]) for curve in (loss, expected)) / forecast.path.left[0]
    void = "" if learnt >= LEARNT_BAR else f"nothing is learnt in {forecast.steps} steps; give more of them"
    off = _outside(forecast, time, loss)
    origin = f"times within {TIME_BAR:.0%}, as steps of the recommended size allow"
    name = "loss outside the forecast for nearby times, as a share of what can be learnt"
    checks = [at_most(name, off, LOSS_BAR, origin, void=void)]
    if halfway:
        late = _worst(np.array([half.measured / half.forecast - 1 for half in halfway if half.forecast > 0]))
        checks.append(at_most("largest gap of a half-learning step, as a share of it", late, TIME_BAR, origin))
    return tuple(checks)


def _looked_at(steps: int) -> NDArray[np.int64]:
    """Steps at which to record: even in steps, and even in their logarithm, for what is learnt first."""
    linear, early = np.linspace(0, steps, RECORDS // 2 + 1), np.geomspace(1, steps, RECORDS // 2)
    return np.unique(np.rint(np.concatenate([linear, early])).astype(np.int64))


def _read(forecast: Forecast, maps: Array) -> tuple[Array, Array, Array]:
    """Share, spill and loss left of measured maps; of modes where inputs are whitened."""
    if not forecast.whiten:
        return paths.shares(maps, forecast.target, forecast.variances)
    U, s, Vt = np.linalg.svd(forecast.target, full_matrices=False)
    kept = len(forecast.components)
    inside = np.einsum("ki,tkj,ij->ti", U[:, :kept], maps, Vt[:kept])
    share = inside / s[:kept]
    gap = np.sum((maps - forecast.target) ** 2, axis=(1, 2))
    return share, gap - np.sum((inside - s[:kept]) ** 2, axis=1), 0.5 * gap


def _halfway(forecast: Forecast, measured: Progress) -> tuple[Halfway, ...]:
    when = paths.first_passage(measured, HALF) / forecast.step_size
    return tuple(
        Halfway(component.number, forecast.step_of(component.half), float(when[component.number - 1]))
        for component in forecast.components
        if words.matters(forecast, component) and np.isfinite(component.half)
    )


def _outside(forecast: Forecast, time: Array, loss: Array) -> float:
    """How far the loss ever leaves the band of forecasts for times within the bar: the loss of a flow only falls."""
    high = np.interp((1 - TIME_BAR) * time, forecast.time, forecast.loss)
    low = np.interp((1 + TIME_BAR) * time, forecast.time, forecast.loss, right=forecast.floor)
    return _worst(np.maximum(np.maximum(loss - high, low - loss), 0.0) / forecast.path.left[0])


def _worst(gaps: Array) -> float:
    """The largest absolute value; not a number if any is not."""
    return float(np.max(np.abs(gaps))) if gaps.size else 0.0
