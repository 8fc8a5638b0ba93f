r"""Gradient descent on the layers of a linear network as a recursion of small matrices, from any start.

.. math:: V_j \leftarrow μ V_j + L_j^\top\,\nabla\ell(W)\,R_j^\top + λ W_j, \qquad W_j \leftarrow W_j - η V_j,

with L_j the product of the layers after W_j, R_j of those before, and λ weight decay. The loss enters through its
gradient over the map alone, so that square loss, cross-entropy and the gradient of a batch are all the same to it. Step
size and momentum are those of the training, not of a flow. With :func:`lineament.theory.narrowing.narrowed` layers a
step costs what the narrow network does.
"""

from collections.abc import Callable, Sequence
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array

MOST_STEPS = 10**8
"""Steps of the recursion; more would take days."""

Gradient = Callable[[Array, int], ArrayLike]
"""∇ℓ as a function of the map, or of maps (run, outputs, inputs), and of the step, from 0."""


def descend(
    steps: ArrayLike,
    layers: Sequence[ArrayLike],
    gradient: Gradient,
    step_size: float,
    momentum: float = 0.0,
    weight_decay: float = 0.0,
    *,
    runs: SupportsIndex | None = None,
) -> Array:
    """The maps after steps of gradient descent.

    Args:
        steps: rising whole numbers, 1-D.
        layers: (W_1, …, W_n) at the start.
        gradient: ∇ℓ as a function of the map and of the step, which a batch may depend on.
        step_size: η > 0.
        momentum: μ of heavy-ball momentum, V ← μV + ∇, W ← W − ηV, in [0, 1).
        weight_decay: λ ≥ 0, the penalty (λ/2) Σ‖W_j‖².
        runs: so many runs from the same start at once; the gradient then takes maps (run, outputs, inputs).

    Returns:
        Maps (step, outputs, inputs), or (step, run, outputs, inputs); not-a-number once a run has overflowed.
    """
    Ws = arguments.layers(layers)
    at = arguments.rising("steps", steps, strictly=False, least=0, most=MOST_STEPS)
    if not np.equal(at, np.floor(at)).all():
        raise ValueError("steps must be whole numbers; got fractions of steps")
    eta = arguments.number("step_size", step_size, above=0)
    mu = arguments.number("momentum", momentum, least=0, below=1)
    decay = arguments.number("weight_decay", weight_decay, least=0)
    arguments.function("gradient", gradient)
    lead = () if runs is None else (arguments.count("runs", runs),)
    arguments.held("runs", *lead, sum(W.size for W in Ws))
    arguments.held("steps", at.size, *lead, len(Ws[-1]), Ws[0].shape[1])
    now = [np.broadcast_to(W, (*lead, *W.shape)).copy() for W in Ws]
    moving = [np.zeros_like(W) for W in now]
    before, after = _products(now)
    arguments.matrices("gradient(W, 0)", gradient(before[-1], 0), before[-1].shape)
    found, done = [], 0
    with np.errstate(over="ignore", invalid="ignore"):
        for wanted in at.astype(int):
            for step in range(done, wanted):
                G = np.asarray(gradient(before[-1], step), np.float64)
                for j, (V, L, R) in enumerate(zip(moving, after, [None, *before[:-1]], strict=True)):
                    slope = G if L is None else np.swapaxes(L, -1, -2) @ G
                    V *= mu
                    V += slope if R is None else slope @ np.swapaxes(R, -1, -2)
                    V += decay * now[j]
                    now[j] = now[j] - eta * V  # a new array: the products still hold the old one
                before, after = _products(now)
            done = wanted
            found.append(np.where(np.isfinite(before[-1]), before[-1], np.nan))
    return np.array(found)


def _products(layers: Sequence[Array]) -> tuple[list[Array], list[Array | None]]:
    """Products W_j ⋯ W_1 for every j, and W_n ⋯ W_{j+1}, None for the last layer."""
    before: list[Array] = [layers[0]]
    for W in layers[1:]:
        before.append(W @ before[-1])
    after: list[Array | None] = [None]
    for W in layers[:0:-1]:
        last = after[-1]
        after.append(W if last is None else last @ W)
    return before, after[::-1]
