"""Layers as NumPy arrays: their product, their balance, and the balanced split of a map (Cohen & Razin, §2).

Layers are (W_1, …, W_n), first layer first; the map they compute is W_n ⋯ W_1, of shape (outputs, inputs).
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array, Layers

# A computed map misses one that lacks rank by some roundings: a singular value below this, times the larger side of
# the map and relative to the largest value, counts as zero.
ROUNDING = 32 * np.finfo(float).eps


def product(layers: Sequence[ArrayLike]) -> Array:
    """The end-to-end matrix `W_n ⋯ W_1` (Definition 2)."""
    W, *layers_after = arguments.layers(layers)
    for layer in layers_after:
        W = layer @ W
    if not np.isfinite(W).all():
        raise ValueError("layers must be small enough for a finite product; got one that overflows")
    return W


def unbalancedness(layers: Sequence[ArrayLike]) -> float:
    """The unbalancedness magnitude `max_j ‖W_{j+1}ᵀW_{j+1} − W_jW_jᵀ‖_F` (Definition 1); zero for one layer."""
    pairs = pairwise(arguments.layers(layers))
    return max((float(np.linalg.norm(after.T @ after - before @ before.T)) for before, after in pairs), default=0.0)


def balanced(W: ArrayLike, widths: Sequence[int]) -> Layers:
    """Layers of unbalancedness zero with product W (below Assumption 1; Procedure 1 of Arora et al. 2019a).

    Args:
        W: the map, `(outputs, inputs)`.
        widths: (inputs, hidden widths …, outputs); every hidden width at least the rank of W.
    """
    W, widths = arguments.matrix("W", W), arguments.counts("widths", widths)
    if len(widths) < 2 or W.shape != (widths[-1], widths[0]):
        raise ValueError(f"widths must be W's inputs, hidden widths and outputs {W.shape[::-1]}; got {widths}")
    U, s, Vt = np.linalg.svd(W, full_matrices=False)
    # Rounding in place of a zero must go: its root would not be small, 1e-17^{1/6} ≈ 1e-3.
    s[s <= ROUNDING * max(W.shape) * s[0]] = 0.0
    r = min(s.size, *widths)
    if np.any(s[r:] > 0):
        raise ValueError(f"widths must be at least the rank of W, whose singular values are {s}; got {widths}")
    root = s[:r] ** (1 / (len(widths) - 1))
    frames = [Vt[:r].T, *(np.eye(width, r) for width in widths[1:-1]), U[:, :r]]
    return tuple((after * root) @ before.T for before, after in pairwise(frames))
