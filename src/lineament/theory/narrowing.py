r"""A narrower linear network that trains alike, whatever the start.

A hidden layer of a linear network is seen from both sides: training moves layer j along L_jᵀ∇R_jᵀ, with L_j the
product of the layers after it and R_j of those before. So hidden space l matters only through what reaches it: the
images W_l ⋯ W_1 of the inputs, the images (W_N ⋯ W_{l+1})ᵀ of the outputs, and what these become as layers move. With
two layers the span of both stays what it is: Gram matrices W_1ᵀW_1, W_2W_2ᵀ and the product move by equations of their
own, and a network of width inputs + outputs, whose second moments are the same, trains alike to the last digit. With
more layers the images mix,

.. math:: S_l \leftarrow S_l + W_l S_{l-1} + W_{l+1}^\top S_{l+1},

a Krylov space. How much a further order adds falls off with how far layers move relative to their start, so that few
orders do; from a balanced start the space is closed at once. Restricted to these spaces the layers are a network of
their own.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array, Layers

SEEN = 1e-10
"""Directions that reach a hidden layer by less than this share of the largest are rounding."""


def narrowed(layers: Sequence[ArrayLike], order: SupportsIndex = 0) -> Layers:
    """Layers of the same product and Gram matrices that train alike: to rounding for one and two layers.

    Args:
        layers: (W_1, …, W_n) at the start.
        order: how often images of inputs and outputs are passed on between hidden layers, for three layers and more.

    Returns:
        Layers of hidden widths no larger than before.
    """
    Ws, count = arguments.layers(layers), arguments.count("order", order, 0, 1000)
    if len(Ws) == 1:
        return Ws
    spaces = _images(Ws)
    for _ in range(count):
        spaces = _passed_on(Ws, spaces)
    frames = [np.eye(Ws[0].shape[1]), *map(_frame, spaces), np.eye(Ws[-1].shape[0])]
    return tuple(after.T @ W @ before for W, (before, after) in zip(Ws, pairwise(frames), strict=True))


def _images(Ws: Layers) -> list[Array]:
    """What inputs and outputs send into every hidden layer, side by side, as unit columns."""
    forwards, backwards = [Ws[0]], [Ws[-1].T]
    for W in Ws[1:-1]:
        forwards.append(W @ forwards[-1])
    for W in Ws[-2:0:-1]:
        backwards.append(W.T @ backwards[-1])
    return [_unit(np.concatenate(both, axis=1)) for both in zip(forwards, backwards[::-1], strict=True)]


def _passed_on(Ws: Layers, spaces: list[Array]) -> list[Array]:
    """Every space with the images of its neighbours."""
    found = []
    for place, space in enumerate(spaces):
        parts = [space]
        if place > 0:
            parts.append(Ws[place] @ spaces[place - 1])
        if place + 1 < len(spaces):
            parts.append(Ws[place + 1].T @ spaces[place + 1])
        # An orthonormal frame in place of the columns: raw images of images would all turn to the same direction.
        found.append(_frame(np.concatenate([_unit(part) for part in parts], axis=1)))
    return found


def _unit(columns: Array) -> Array:
    length = np.linalg.norm(columns, axis=0)
    return columns / np.where(length > 0, length, 1.0)


def _frame(columns: Array) -> Array:
    """An orthonormal frame of the span; the identity where that is everything."""
    U, s, _ = np.linalg.svd(columns, full_matrices=False)
    kept = U[:, s > SEEN * s[0]] if s.size and s[0] > 0 else U[:, :1]
    return np.eye(len(columns)) if kept.shape[1] == len(columns) else kept
