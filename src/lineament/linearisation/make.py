"""From a network at its start and examples to a forecast: checks, kernels, and the step size where none is given."""

from typing import Any

import numpy as np

from ..core import arguments
from ..theory import linearised
from ..theory.kernel_shapes import shapes
from . import losses
from .linearised import Linearised
from .losses import Loss
from .renewed import Renewed
from .solution import Solution
from .tangents import AbstractTangents, Array, Kernel, Progress

CAREFUL = 0.1
"""The default step size, as a share of the largest stable one."""

FAR = 3.0
"""Targets that deviate so many times more than the outputs at the start ask the parameters to move far."""

MOST_ROWS = 6000
"""Rows of the kernel, examples times outputs, up to which every output has its own; beyond, outputs share their mean."""


def make(
    network: AbstractTangents,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    loss: Loss,
    step_size: float | None,
    momentum: float,
    ridge: float,
    weight_decay: float,
    batch_size: int | None,
    steps: int,
    kernel: Kernel | None,
    renew: int,
    seed: int,
    progress: Progress | None,
) -> Linearised:
    """Compute kernels and outputs at the start; arguments as in `lineament.linearise`."""
    loss = arguments.one_of("loss", loss, losses.LOSSES)
    steps = arguments.count("steps", steps, most=10**9)
    mu = arguments.number("momentum", momentum, least=0, below=1)
    rho = arguments.number("ridge", ridge, least=0)
    decay = arguments.number("weight_decay", weight_decay, least=0)
    renewals = arguments.count("renew", renew, 0)
    progress = None if progress is None else arguments.function("progress", progress)
    n = len(X)
    if batch_size is not None:
        batch_size = arguments.count("batch_size", batch_size, most=n)
    start = network.outputs(X)
    k = start.shape[1]
    targets, classes = targets_of("y", y, n, k, loss)
    test, start_test = None, np.zeros((0, k))
    if X_test is not None:
        start_test = network.outputs(X_test)
        test = None if y_test is None else targets_of("y_test", y_test, len(X_test), k, loss)[0]
    elif y_test is not None:
        raise ValueError("y_test must be left out without X_test; got targets of test points")
    kind: Kernel = kernel if kernel is not None else ("all" if k == 1 or n * k <= MOST_ROWS else "mean")
    arguments.one_of("kernel", kind, ("all", "mean"))
    K, cross = _kernels(network, X, X_test, "mean" if k == 1 else kind, progress)
    most = linearised.largest_step(K, mu, rho + n * decay)
    # With momentum, gradients are followed for 1/(1 − μ) steps each: the same pace asks for smaller ones.
    eta = CAREFUL * (1 - mu) / (1 + mu) * most if step_size is None else step_size
    eta = arguments.number("step_size", eta, above=0)
    origin = _origin(network, X, X_test, start_test) if decay else None
    solution = Solution(shapes(K, targets, cross), loss, start, start_test, eta, mu, rho, decay, origin)
    said = (*_notices(kind, k, n, eta, most, loss), *_far(start, targets, loss))
    fields = (
        network, X, targets, X_test, test, loss, classes, eta, mu, rho, decay, batch_size, steps, kind, most, solution,
        said, arguments.count("seed", seed, 0), progress,
    )  # fmt: skip
    return Renewed(*fields, renewals) if renewals else Linearised(*fields)


def _origin(network: AbstractTangents, X: Any, X_test: Any, start_test: Array) -> tuple[Array, Array]:
    """What the parameters of the start are to the tangent, on training and test points."""
    test = start_test if X_test is None else network.push_forward(X_test, network.origin)
    return network.push_forward(X, network.origin), test


def targets_of(name: str, y: Any, n: int, k: int, loss: Loss) -> tuple[Array, bool]:
    """Targets (n, k) of n examples for a network of k outputs, and whether they are classes."""
    values = arguments.array(name, y)
    if loss == "cross-entropy" and values.ndim == 1:
        labels = arguments.indices(name, values, n, k)
        if k < 2:
            raise ValueError("loss must be 'square' for a network of one output; got 'cross-entropy'")
        return np.eye(k)[labels], True
    table = arguments.labels(name, values, n)
    table = table[:, None] if table.ndim == 1 else table
    if table.shape[1] != k:
        raise ValueError(f"{name} must have a column for each of the network's {k} output(s); got {table.shape[1]}")
    hot = k > 1 and bool(((table == 0) | (table == 1)).all() and (table.sum(axis=1) == 1).all())
    if loss == "cross-entropy" and (table.min() < 0 or np.abs(table.sum(axis=1) - 1).max() > 1e-6):
        raise ValueError(f"{name} must be class numbers (n,), or shares of classes that sum to 1 in every row")
    return table, hot or loss == "cross-entropy"


def _kernels(
    network: AbstractTangents, X: Any, X_test: Any, kind: Kernel, progress: Progress | None
) -> tuple[np.ndarray, np.ndarray | None]:
    K = network.kernel(X, None, kind)
    if progress is not None:
        progress(0.5)
    cross = None if X_test is None else network.kernel(X_test, X, kind)
    if progress is not None:
        progress(1.0)
    for name, part in (("kernel", K), ("cross kernel", cross)):
        if part is not None and not np.isfinite(part).all():
            raise ValueError(
                f"the network must have a finite tangent {name} at its start; it has not: scale inputs down"
            )
    return K, cross


def _far(start: Array, targets: Array, loss: Loss) -> tuple[str, ...]:
    """Name targets that lie far from what the network says at its start."""
    here, there = float(np.sqrt(np.mean(start**2))), float(np.sqrt(np.mean(targets**2)))
    if loss != "square" or there <= FAR * here:
        return ()
    return (
        f"Targets are {there:.3g} large, the network's outputs at the start {here:.3g}: its parameters must move far and "
        "it leaves its linear regime early. With targets of deviation 1 (--scale-target) a forecast is safe for longer.",
    )


def _notices(kind: Kernel, k: int, n: int, eta: float, most: float, loss: Loss) -> tuple[str, ...]:
    told: list[str] = []
    # The curvature of softmax is at most a half.
    largest = most if loss == "square" else 2 * most
    if eta >= largest:
        told.append(
            f"The step size {eta:.3g} is not below {largest:.3g}, the largest that is stable at the start: the "
            "linearised network diverges, and the network itself leaves the linear regime at once."
        )
    elif eta > 0.5 * largest:
        told.append(
            f"The step size {eta:.3g} is {100 * eta / largest:.0f} % of the largest that is stable at the start."
        )
    if kind == "mean" and k > 1:
        told.append(
            f"{n} examples of {k} outputs share the mean of their kernels, as they would at infinite width; every output "
            "would have its own with kernel='all'."
        )
    return tuple(told)
