"""A network's training, forecast from its start alone: losses, accuracies, and the answer on every example."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..core import arguments
from . import error_bar, learnt, losses, safe
from .losses import Loss
from .safe import Safety
from .shown import Shown
from .solution import Solution
from .tangents import AbstractTangents, Array, Kernel, Progress

RECORDS = 120
"""Steps at which curves are drawn."""


class Curves(NamedTuple):
    """Losses and shares of right answers at the steps `at`; not-a-number without test targets, or without classes."""

    loss: Array
    test_loss: Array
    accuracy: Array
    test_accuracy: Array


class Band(NamedTuple):
    """Least and largest loss at the steps `at`: over orders of the examples in minibatches, or of an error bar."""

    low: Array
    high: Array
    test_low: Array
    test_high: Array


@dataclass(frozen=True, eq=False, repr=False)
class Linearised(Shown):
    """Linearised training of a network; made by `lineament.linearise` and `lineament.torch.linearise`.

    Attributes:
        network: the network at its start.
        X: training inputs.
        y: targets, (n, k); one-hot for classes.
        X_test: test inputs, or None.
        y_test: their targets, or None.
        loss_name: "square" or "cross-entropy".
        classes: whether outputs are classes.
        step_size: η of gradient descent.
        momentum: μ.
        ridge: ρ, the penalty (ρ/2n)‖θ − θ₀‖².
        weight_decay: λ, the penalty (λ/2)‖θ‖².
        batch_size: examples in a step; None for all.
        steps: how far curves are drawn.
        kernel: "all" where every output has its own kernel, "mean" where they share one.
        largest_stable: the step size beyond which descent would not settle at the start's curvature.
        solution: what computes outputs at any step.
        notices: what a reader should know beforehand.
        seed: of the orders of the examples in minibatches.
        progress: called with the share of a long computation that is done.
    """

    network: AbstractTangents
    X: Any
    y: Array
    X_test: Any
    y_test: Array | None
    loss_name: Loss
    classes: bool
    step_size: float
    momentum: float
    ridge: float
    weight_decay: float
    batch_size: int | None
    steps: int
    kernel: Kernel
    largest_stable: float
    solution: Solution
    notices: tuple[str, ...]
    seed: int
    progress: Progress | None = None

    @property
    def _forecast(self) -> "Linearised":
        return self

    @property
    def exact(self) -> bool:
        """Whether nothing is linearised, so that the forecast has no end but that of its arithmetic."""
        return False

    @cached_property
    def at(self) -> np.ndarray:
        """The steps of the curves: even in steps, and even in their logarithm."""
        both = [np.linspace(0, self.steps, RECORDS // 2 + 1), np.geomspace(1, self.steps, RECORDS // 2)]
        return np.unique(np.rint(np.concatenate(both)).astype(np.int64))

    def outputs(self, steps: Any) -> tuple[Array, Array]:
        """Outputs on training and test points, ``(*steps, n, k)`` and ``(*steps, m, k)``, after whole steps."""
        count = arguments.real("steps", steps, least=0, infinite=self.loss_name == "square")
        if not np.equal(count, np.floor(count)).all():
            raise ValueError("steps must be whole numbers; got fractions of steps")
        if not count.size:
            raise ValueError("steps must be at least one; got none")
        here, there = self.solution.outputs(count.ravel())
        return here.reshape(*count.shape, *here.shape[1:]), there.reshape(*count.shape, *there.shape[1:])

    def answers(self, step: float) -> np.ndarray:
        """What the network will say on every test point after so many steps: its class, or its outputs."""
        there = self.outputs(arguments.number("step", step, infinite=True))[1]
        return np.argmax(there, axis=-1) if self.classes else there

    @cached_property
    def _recorded(self) -> tuple[Array, Array]:
        return self.solution.outputs(self.at.astype(float))

    @cached_property
    def curves(self) -> Curves:
        """Losses and accuracies at the steps `at`."""
        here, there = self._recorded
        nothing = np.full(len(self.at), np.nan)
        test, right, test_right = nothing, nothing, nothing
        if self.y_test is not None:
            test = losses.mean(self.loss_name, there, self.y_test)
        if self.classes:
            right = losses.accuracy(here, self.y)
            test_right = nothing if self.y_test is None else losses.accuracy(there, self.y_test)
        return Curves(losses.mean(self.loss_name, here, self.y), test, right, test_right)

    @cached_property
    def band(self) -> Band | None:
        """How far losses differ between orders of the examples in minibatches; None where all are taken at once."""
        if self.batch_size is None:
            return None
        here, there = self.solution.spread(self.y_test, self.at, self.batch_size, self.seed)
        return Band(here.min(axis=0), here.max(axis=0), there.min(axis=0), there.max(axis=0))

    @cached_property
    def error_bar(self) -> Band:
        """Between which losses those of the network are to be expected, step by step."""
        seen, curves, band = self.safety, self.curves, self.band
        ratio = error_bar.ratio_at(self.at, seen.steps, seen.loss, seen.forecast)
        test_ratio = ratio
        if len(seen.test_loss):
            test_ratio = error_bar.ratio_at(self.at, seen.steps, seen.test_loss, seen.test_forecast)
        here = error_bar.bounds(curves.loss, ratio, band and band.low, band and band.high)
        there = error_bar.bounds(curves.test_loss, test_ratio, band and band.test_low, band and band.test_high)
        return Band(*here, *there)

    @cached_property
    def learnt_at(self) -> Array:
        """The step from which each training example is answered rightly; infinity if it is not in these steps."""
        return learnt.learnt_at(self.at, learnt.right(self._recorded[0], self.y, self.classes))

    def late(self, count: int = 10) -> np.ndarray:
        """The training examples that are learnt last, the very last first."""
        count = arguments.count("count", count)
        # Among those that are never learnt, the one that is furthest off comes first.
        left = losses.each(self.loss_name, self._recorded[0][-1], self.y)
        return np.lexsort((-left, -self.learnt_at))[:count]

    @cached_property
    def safety(self) -> Safety:
        """The network carried along in large steps, until its loss departs from the forecast."""
        return safe.safety(
            self.network, self.solution, self.X, self.y, self.X_test, self.y_test, self.steps, self.progress
        )

    @property
    def safe_step(self) -> float:
        """The step until which the forecast is safe; infinity where it is safe to the last."""
        return self.safety.step
