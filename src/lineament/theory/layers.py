"""Layers as NumPy arrays: their product, their balance, and the balanced split of a map (Cohen & Razin, §2).

Layers are (W_1, …, W_n), first layer first; the map they compute is W_n ⋯ W_1, of shape (outputs, inputs).
"""

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Layers = tuple[Array, ...]

# A computed map misses one that lacks rank by some roundings: a singular value below this, times the larger side of
# the map and relative to the largest value, counts as zero.
ROUNDING = 32 * np.finfo(float).eps


def matrix(name: str, value: ArrayLike, shape: tuple[int, ...] | None = None) -> Array:
    """The argument as a finite float64 matrix, or a stack of them; of the given shape, if one is given."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim < 2 or 0 in array.shape[-2:]:
        raise ValueError(f"{name} must be a matrix with at least one row and column; got shape {array.shape}")
    if shape is not None and array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}; got {array.shape}")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} must be finite; entry {where} is {array[where]}")
    return array


def whole_depth(depth: SupportsIndex) -> int:
    """The depth as a whole number of at least 1."""
    try:
        n = operator.index(depth)
    except TypeError:
        raise ValueError(f"depth must be a whole number of at least 1; got {depth!r}") from None
    if n < 1:
        raise ValueError(f"depth must be a whole number of at least 1; got {n}")
    return n


def chain(layers: Sequence[ArrayLike]) -> Layers:
    """The layers as float64 matrices that can be multiplied."""
    matrices = tuple(matrix(f"layer {j}", W) for j, W in enumerate(layers, start=1))
    if not matrices:
        raise ValueError("layers must hold at least one matrix")
    for j, (before, after) in enumerate(pairwise(matrices), start=1):
        if before.ndim != 2 or after.ndim != 2 or after.shape[1] != before.shape[0]:
            raise ValueError(f"layer {j + 1} of shape {after.shape} cannot follow layer {j} of shape {before.shape}")
    return matrices


def product(layers: Sequence[ArrayLike]) -> Array:
    """The end-to-end matrix `W_n ⋯ W_1` (Definition 2)."""
    matrices = chain(layers)
    W = matrices[0]
    for after in matrices[1:]:
        W = after @ W
    return W


def unbalancedness(layers: Sequence[ArrayLike]) -> float:
    """The unbalancedness magnitude `max_j ‖W_{j+1}ᵀW_{j+1} − W_jW_jᵀ‖_F` (Definition 1); zero for one layer."""
    return max(
        (float(np.linalg.norm(after.T @ after - before @ before.T)) for before, after in pairwise(chain(layers))),
        default=0.0,
    )


def balanced(W: ArrayLike, widths: Sequence[int]) -> Layers:
    """Layers of unbalancedness zero with product W (below Assumption 1; Procedure 1 of Arora et al. 2019a).

    Args:
        W: the map, `(outputs, inputs)`.
        widths: (inputs, hidden widths …, outputs); every hidden width at least the rank of W.
    """
    W = matrix("W", W)
    if len(widths) < 2 or W.shape != (widths[-1], widths[0]):
        raise ValueError(f"widths must run from W's inputs to its outputs, {W.shape[::-1]}; got {tuple(widths)}")
    U, s, Vt = np.linalg.svd(W, full_matrices=False)
    # Rounding in place of a zero must go: its root would not be small, 1e-17^{1/6} ≈ 1e-3.
    s[s <= ROUNDING * max(W.shape) * s[0]] = 0.0
    r = min(s.size, *widths)
    if np.any(s[r:] > 0):
        raise ValueError(f"widths {tuple(widths)} hold maps of rank {r} at most; the singular values of W are {s}")
    root = s[:r] ** (1 / (len(widths) - 1))
    frames = [Vt[:r].T, *(np.eye(width, r) for width in widths[1:-1]), U[:, :r]]
    return tuple((after * root) @ before.T for before, after in pairwise(frames))
