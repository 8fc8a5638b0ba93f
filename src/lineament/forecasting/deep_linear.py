"""A deep linear network on the rows of a table, from any start: by its own equations, nothing linearised.

The layers are first made as narrow as they can be without training otherwise (`lineament.theory.narrowing`), then
moved by the recursion of descent (`lineament.theory.layer_descent`), with its real step size and momentum. Outputs on
rows, losses and accuracies follow from the map alone. Training, by contrast, moves the layers as they are, in JAX, on
the rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from lineament.core.arguments import Array, Layers
from lineament.linearisation import Band, Linearised, Loss, Safety, batches, losses
from lineament.theory import layer_descent, narrowing

ALIKE = 1e-3
"""How far losses of two narrower networks, of successive orders, may differ for the wider one to be used."""

FLOAT32 = 1e-3
"""What rounding in single precision, in which networks are trained, may do to a loss over a training."""

MOST_ORDER = 6
"""Orders that are tried; by then the narrow network is as wide as the whole one, or the step size too large."""


@dataclass(frozen=True, eq=False)
class LayerSolution:
    """Outputs of a linear network at any step.

    Attributes:
        layers: (W_1, …, W_N) at the start, narrowed.
        X: training rows.
        y: their targets.
        X_test: test rows.
        loss: which loss is trained.
        step_size: η.
        momentum: μ.
        weight_decay: λ.
    """

    layers: Layers
    X: Array
    y: Array
    X_test: Array
    loss: Loss
    step_size: float
    momentum: float
    weight_decay: float = 0.0
    _kept: dict[int, Array] = field(default_factory=dict, repr=False)

    def maps(self, steps: Array) -> Array:
        """The map after so many steps, (step, outputs, inputs); what was computed once is kept."""
        at, back = np.unique(steps.astype(np.int64), return_inverse=True)
        missing = [int(step) for step in at if int(step) not in self._kept]
        if missing:
            found = self._descend(missing, self.gradient())
            self._kept.update(zip(missing, found, strict=True))
        return np.array([self._kept[int(step)] for step in at])[back]

    def outputs(self, steps: Array) -> tuple[Array, Array]:
        """Outputs on training and test rows, (step, n, k) and (step, m, k)."""
        W = np.swapaxes(self.maps(steps), -1, -2)
        with np.errstate(over="ignore", invalid="ignore"):
            return self.X @ W, self.X_test @ W

    def gradient(self) -> Callable[[Array, int], Array]:
        """∇ℓ over maps: from second moments for square loss, from all rows for cross-entropy."""
        X, y, n = self.X, self.y, len(self.X)
        if self.loss == "square":
            sxx, syx = X.T @ X / n, y.T @ X / n
            return lambda W, step: W @ sxx - syx
        return lambda W, step: (softmax(X @ W.T, axis=1) - y).T @ X / n

    def spread(self, y_test: Array, at: np.ndarray, batch_size: int, seed: int) -> tuple[Array, Array]:
        """Training and test loss, (run, step) each, over orders of the rows in batches."""
        drawn = batches.draw(len(self.X), batch_size, max(int(at[-1]), 1), seed)

        def gradient(W: Array, step: int) -> Array:
            X, y = self.X[drawn[step]], self.y[drawn[step]]
            f = X @ np.swapaxes(W, -1, -2)
            slope = (f if self.loss == "square" else softmax(f, axis=-1)) - y
            return np.swapaxes(slope, -1, -2) @ X / batch_size

        found = self._descend(at, gradient, runs=drawn.shape[1])
        W = np.moveaxis(np.swapaxes(found, -1, -2), 1, 0)
        return losses.mean(self.loss, self.X @ W, self.y), losses.mean(self.loss, self.X_test @ W, y_test)

    def _descend(self, at: ArrayLike, gradient: layer_descent.Gradient, runs: int | None = None) -> Array:
        return layer_descent.descend(
            at, self.layers, gradient, self.step_size, self.momentum, self.weight_decay, runs=runs
        )


def narrowest(layers: Layers, at: np.ndarray, solve: Callable[[Layers], LayerSolution]) -> tuple[LayerSolution, float]:
    """The solution for the narrowest layers that train alike, and how far the last order changed the training loss.

    Args:
        layers: at the start.
        at: steps at which losses are compared.
        solve: from layers to their solution.
    """
    solution, gap = solve(narrowing.narrowed(layers)), 0.0
    for order in range(1, MOST_ORDER + 1):
        if len(layers) <= 2 or _widths(solution.layers) == _widths(layers):
            return solution, 0.0
        wider = solve(narrowing.narrowed(layers, order))
        if _widths(wider.layers) == _widths(solution.layers):  # the space is closed: a balanced start, for one
            return solution, 0.0
        gap = _gap(solution, wider, at)
        solution = wider
        if gap <= ALIKE:
            return solution, gap
    return solve(layers), 0.0


def _gap(one: LayerSolution, other: LayerSolution, at: np.ndarray) -> float:
    steps = at.astype(float)
    a, b = (losses.mean(each.loss, each.outputs(steps)[0], each.y) for each in (one, other))
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.abs(a / b - 1)
    # Where both have overflowed there is nothing to compare.
    return float(np.max(np.where(np.isnan(a) & np.isnan(b), 0.0, np.where(np.isnan(off), np.inf, off))))


def _widths(layers: Layers) -> list[int]:
    return [W.shape[0] for W in layers]


@dataclass(frozen=True, eq=False, repr=False)
class DeepLinear(Linearised):
    """A deep linear network's training; what `Linearised` is for other networks, but exact.

    Attributes:
        narrowing: how far the last order of narrowing changed a training loss, as a share of it.
    """

    narrowing: float = 0.0

    @property
    def exact(self) -> bool:
        """Nothing is linearised."""
        return True

    @cached_property
    def error_bar(self) -> Band:
        """What narrowing the layers may have changed, and orders of batches."""
        off, curves = self.narrowing + FLOAT32, self.curves
        band = self.band or Band(curves.loss, curves.loss, curves.test_loss, curves.test_loss)
        return Band((1 - off) * np.minimum(curves.loss, band.low), (1 + off) * np.maximum(curves.loss, band.high),
                    (1 - off) * np.minimum(curves.test_loss, band.test_low),
                    (1 + off) * np.maximum(curves.test_loss, band.test_high))  # fmt: skip

    @cached_property
    def safety(self) -> Safety:
        """Safe as long as it is finite: no looks at the network are needed."""
        finite = np.isfinite(self.curves.loss)
        step = np.inf if finite.all() else float(self.at[max(int(np.argmin(finite)) - 1, 0)])
        nothing = np.zeros(0)
        return Safety(step, np.zeros(0, np.int64), nothing, nothing, nothing, nothing, True)
