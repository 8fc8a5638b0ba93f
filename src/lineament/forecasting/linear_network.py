"""From rows of a table to the forecast of a deep linear network, with the start that frameworks give it, or any other."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from lineament.core import arguments
from lineament.core.arguments import Array
from lineament.linearisation import CAREFUL, LOSSES, Loss

from .deep_linear import DeepLinear, LayerSolution, narrowest
from .forecast import DEEPEST
from .rows import Rows
from .stability import sharpness, sharpness_of_layers
from .task import from_covariances

Start = Literal["balanced", "glorot", "he", "torch"]
STARTS: tuple[Start, ...] = ("balanced", "glorot", "he", "torch")
STARTS_IN_WORDS = {"glorot": "Glorot's", "he": "He's", "torch": "PyTorch's default"}

MOST_STEPS = 10**6
"""Steps of the recursion; more take minutes, and the forecast by components has no such limit."""


def deep_linear(
    rows: Rows,
    *,
    depth: int,
    width: int,
    start: Start,
    start_scale: float,
    loss: Loss,
    step_size: float | None,
    momentum: float,
    weight_decay: float,
    batch_size: int | None,
    steps: int,
    seed: int,
) -> DeepLinear:
    """Forecast a linear network of so many layers; arguments as in `lineament.forecast_network`.

    No layer has a bias. Centred targets need none; for cross-entropy a constant input stands in for them, without which
    rare classes would be as likely as others where all features are at their means.
    """
    from lineament import models
    from lineament.linearisation.in_jax import Tangents

    depth, steps = arguments.count("depth", depth, most=DEEPEST), arguments.count("steps", steps, most=MOST_STEPS)
    arguments.one_of("loss", loss, LOSSES)
    decay = arguments.number("weight_decay", weight_decay, least=0)
    if batch_size is not None:
        batch_size = arguments.count("batch_size", batch_size, most=len(rows.X))
    if loss == "cross-entropy":
        rows = replace(rows, X=_with_constant(rows.X), X_test=_with_constant(rows.X_test))
    model = models.DeepLinear((rows.X.shape[1], *[width] * (depth - 1), rows.y.shape[1]))
    parameters = begin(model, start, start_scale, seed)
    layers = tuple(np.asarray(W, np.float64) for W in parameters)
    most = _largest_stable(rows, layers, momentum, decay)
    eta = CAREFUL * (1 - momentum) / (1 + momentum) * most if step_size is None else step_size
    eta = arguments.number("step_size", eta, above=0)

    def solve(narrow: Any) -> LayerSolution:
        return LayerSolution(narrow, rows.X, rows.y, rows.X_test, loss, eta, momentum, decay)

    looked = np.unique(np.rint(np.geomspace(1, steps, 12)).astype(np.int64))
    solution: Any  # it has the outputs at any step, which is all that curves ask of a solution
    solution, gap = narrowest(layers, looked, solve)
    return DeepLinear(
        Tangents(model, parameters, 2**30), rows.X, rows.y, rows.X_test, rows.y_test, loss, rows.classes, eta, momentum,
        0.0, decay, batch_size, steps, "all", most, solution, _notices(solution, eta, most, loss), seed, None, gap,
    )  # fmt: skip


def _with_constant(X: Array) -> Array:
    return np.concatenate([X, np.ones((len(X), 1))], axis=1)


def begin(model: Any, start: Start, start_scale: float, seed: int) -> Any:
    """Where training begins."""
    from lineament import starts

    if start == "balanced":
        scale = arguments.number("start_scale", start_scale, above=0)
        return starts.balanced(model, seed, start_scale=scale)
    return {"glorot": starts.glorot, "he": starts.he, "torch": starts.torch_default}[start](model, seed)


def _largest_stable(rows: Rows, layers: Any, momentum: float, decay: float) -> float:
    """2(1 + μ)/λmax at the start, or at the balanced best map of square loss, whichever is sharper."""
    n = len(rows.X)
    sxx, syx, syy = rows.X.T @ rows.X / n, rows.y.T @ rows.X / n, rows.y.T @ rows.y / n
    task = from_covariances(sxx, syx, syy, whiten=False)
    sharpest = max(sharpness_of_layers(layers, sxx), sharpness(task.target, task.d, len(layers)))
    return 2 * (1 + momentum) / (sharpest + decay)


def _notices(solution: LayerSolution, eta: float, most: float, loss: Loss) -> tuple[str, ...]:
    told = []
    largest = most if loss == "square" else 2 * most  # the curvature of softmax is at most a half
    if eta >= largest:
        told.append(
            f"The step size {eta:.3g} is not below {largest:.3g}, the largest that is stable at the start and at the "
            "balanced optimum: descent may wander or diverge, and the forecast with it."
        )
    constant = "a constant input stands in for them" if loss == "cross-entropy" else "features and target are centred"
    told.append(f"The network has no biases: {constant}.")
    return tuple(told)
