"""Kernels as matrices: one row for each training point, or for each output of each point."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import arguments
from ..core.arguments import Array

SYMMETRIC = 1e-5
"""How far a kernel may be from its transpose, relative to its largest entry: kernels may be computed in float32."""


@dataclass(frozen=True, eq=False)
class Shapes:
    """Arguments of linearised training, checked, as matrices.

    Attributes:
        n: training points.
        outputs: k.
        kernel: (n, n), or (nk, nk) where outputs have kernels of their own.
        y: (n, k), or (nk, 1) likewise.
        cross: (m, n), or (mk, nk) likewise.
        vector: whether targets came as a vector.
    """

    n: int
    outputs: int
    kernel: np.ndarray
    y: Array
    cross: np.ndarray | None
    vector: bool

    @property
    def full(self) -> bool:
        """Whether outputs have kernels of their own."""
        return len(self.kernel) != self.n

    @property
    def others(self) -> int:
        """How many other points there are."""
        return 0 if self.cross is None else len(self.cross) // (self.outputs if self.full else 1)

    def flat(self, values: Array) -> Array:
        """Values (*t, points, outputs), or without outputs for targets (n,), in the form of the kernel's columns."""
        table = values[..., None] if self.vector else values
        return table.reshape(*table.shape[:-2], -1, 1) if self.full else table

    def folded(self, values: Array, points: int) -> Array:
        """The inverse of `flat`."""
        table = values.reshape(*values.shape[:-2], points, self.outputs)
        return table[..., 0] if self.vector else table


def shapes(kernel: Any, y: Any, cross: Any = None) -> Shapes:
    """Check a kernel, targets and a kernel of other points, and bring them into matrix form."""
    K = _kernel("kernel", kernel)
    whole, n = matrix_of(K)
    targets = arguments.labels("y", y, n)
    k = 1 if targets.ndim == 1 else targets.shape[1]
    _refuse_outputs("kernel", K, k)
    other = None if cross is None else _kernel("cross", cross)
    if other is not None:
        _refuse_outputs("cross", other, k)
        if other.shape[1] != n or other.ndim != K.ndim:
            shape = f"(m, {n})" if K.ndim == 2 else f"(m, {n}, {k}, {k})"
            raise ValueError(f"cross must be of shape {shape}, other points by training points; got {other.shape}")
    full = K.ndim == 4 and k > 1
    table = targets[:, None] if targets.ndim == 1 else targets
    return Shapes(
        n,
        k,
        whole,
        table.reshape(-1, 1) if full else table,
        None if other is None else matrix(other),
        targets.ndim == 1,
    )


def matrix_of(kernel: Any) -> tuple[np.ndarray, int]:
    """A kernel of training points as a symmetric matrix, and the number of points."""
    K = _kernel("kernel", kernel)
    if K.shape[0] != K.shape[1] or (K.ndim == 4 and K.shape[2] != K.shape[3]):
        raise ValueError(f"kernel must be of shape (n, n) or (n, n, k, k); got shape {K.shape}")
    table = matrix(K)
    _refuse_asymmetric(table)
    return table, len(K)


def _kernel(name: str, value: Any) -> np.ndarray:
    """A kernel in the real type it comes in: one in float32 is not copied."""
    K = arguments.numeric(name, value)
    if K.ndim not in (2, 4) or 0 in K.shape:
        raise ValueError(f"{name} must be of shape (n, n) or (n, n, k, k); got shape {K.shape}")
    if K.dtype not in (np.float32, np.float64):
        K = K.astype(np.float64)
    if not np.isfinite(K).all():
        raise ValueError(f"{name} must be finite; got an entry that is not")
    return K


def _refuse_outputs(name: str, K: np.ndarray, k: int) -> None:
    if K.ndim == 4 and K.shape[2:] != (k, k):
        raise ValueError(f"{name} must be of shape (…, {k}, {k}) for targets of {k} output(s); got shape {K.shape}")


def matrix(K: np.ndarray) -> np.ndarray:
    """A kernel (m, n, k, k) as a matrix of outputs by outputs, (mk, nk); one that is a matrix as it is."""
    if K.ndim == 2:
        return K
    m, n, k, _ = K.shape
    return np.ascontiguousarray(K.transpose(0, 2, 1, 3)).reshape(m * k, n * k)


def _refuse_asymmetric(K: np.ndarray) -> None:
    # A block of rows at a time: a second kernel of ten thousand points would not fit beside the first.
    largest = max(float(K.max()), -float(K.min()))
    for i in range(0, len(K), 1024):
        off = float(np.abs(K[i : i + 1024] - K[:, i : i + 1024].T).max())
        if off > SYMMETRIC * largest:
            raise ValueError(f"kernel must be symmetric; its entries differ from its transpose's by up to {off:.3g}")
