"""Linearise a lineament model at its start."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.model import AbstractModel
from .linearised import Linearised
from .losses import Loss
from .make import make
from .tangents import Kernel, Progress


def linearise(
    model: AbstractModel,
    parameters: Any,
    X: ArrayLike,
    y: ArrayLike,
    X_test: ArrayLike | None = None,
    y_test: ArrayLike | None = None,
    *,
    loss: Loss = "square",
    step_size: float | None = None,
    momentum: float = 0.0,
    ridge: float = 0.0,
    weight_decay: float = 0.0,
    batch_size: int | None = None,
    steps: int = 1500,
    kernel: Kernel | None = None,
    renew: int = 0,
    memory: float = 2**30,
    seed: int = 0,
    progress: Progress | None = None,
) -> Linearised:
    """Forecast how a network will be trained, from its parameters at the start alone.

    The network is replaced by its tangent there, whose training is known: outputs, losses and accuracy at any step, the
    answer on every example, which examples come late, and a step until which all that can be trusted. The wider the
    network and the smaller the step, the longer it holds.

    Args:
        model: such as `MLP`, `ConvNet`, or a model of one's own.
        parameters: where its training will begin.
        X: training inputs, one example a row.
        y: targets (n,) or (n, k); for cross-entropy numbers of classes (n,), or shares of classes (n, k).
        X_test: test inputs.
        y_test: their targets.
        loss: "square", ½ mean‖f − y‖² with the sum over outputs, or "cross-entropy".
        step_size: η of gradient descent; by default a tenth of the largest that is stable at the start.
        momentum: μ of heavy-ball momentum, as in optax and PyTorch.
        ridge: ρ ≥ 0, the penalty (ρ/2n)‖θ − θ₀‖² on the distance from the start.
        weight_decay: λ ≥ 0, the penalty (λ/2)‖θ‖², as PyTorch's SGD has it.
        batch_size: examples a step; by default all. The forecast is the mean, with a band of what the order does.
        steps: how far curves are drawn.
        kernel: "all" for a kernel of every pair of outputs, "mean" for one that outputs share; by default "all" up to
            6000 examples × outputs.
        renew: how many times the tangent may be renewed on the way; 0 for that of the start alone. Each costs a kernel. A
            forecast with renewed tangents follows a network that learns features, and says when it can no longer.
        memory: about how many bytes to use beyond the kernel.
        seed: of the orders of the examples in batches.
        progress: called now and then with the share that is done, of the kernels and of looking for the safe step.
    """
    from .in_jax import Tangents

    network = Tangents(model, parameters, arguments.number("memory", memory, above=0))
    rows = _rows("X", X)
    test = None if X_test is None else _rows("X_test", X_test)
    if test is not None and test.shape[1:] != rows.shape[1:]:
        raise ValueError(f"X_test must have rows of shape {rows.shape[1:]} as X has; got {test.shape[1:]}")
    return make(
        network, rows, y, test, y_test, loss=loss, step_size=step_size, momentum=momentum, ridge=ridge,
        weight_decay=weight_decay, batch_size=batch_size, steps=steps, kernel=kernel, renew=renew, seed=seed,
        progress=progress,
    )  # fmt: skip


def _rows(name: str, value: ArrayLike) -> np.ndarray:
    rows = arguments.numeric(name, value)
    if rows.ndim < 2 or not len(rows):
        raise ValueError(f"{name} must hold examples, one a row; got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError(f"{name} must be finite; got an entry that is not")
    return rows
