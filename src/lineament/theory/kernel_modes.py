r"""Functions φ(K) of a kernel applied to residuals: exactly from its eigenvectors, or from a Krylov space.

The Krylov space of a residual r holds K r, K² r, …; in an orthonormal basis V of it the kernel is a small tridiagonal
matrix T, and φ(K) r ≈ ‖r‖ V φ(T) e₁ (Lanczos). For a time of training that ends, a hundred products with the kernel
give eight digits, where all its eigenvectors would cost as much as thousands. Every output has a space of its own, and
all of them share the pass over the kernel, which is read a block of rows at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from ..core.arguments import Array

ROUNDING = np.finfo(float).eps
ACCURACY = 1e-10
"""What may remain of the last terms of a Krylov space, relative to the residual."""
WHOLE = 1000
"""Kernels of at most this many rows are diagonalised: that takes no longer than a Krylov space."""
LARGEST_SHARE = 8
"""A Krylov space of more than the rows over this costs more than all eigenvectors."""
BLOCK = 2048
"""Rows of the kernel that are turned into float64 at a time."""
LOOK = 10
"""Products between two looks at whether a Krylov space suffices."""

Filter = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Modes:
    """Directions of a kernel, how much of the residual lies along each, and its eigenvalue there.

    Attributes:
        values: (mode,) for eigenvectors; (mode, output) for Krylov spaces, one an output.
        basis: (row, mode) or (row, mode, output).
        weights: (mode, output).
        noise: what rounding of the kernel makes of an eigenvalue that is zero, at most.
    """

    values: Array
    basis: Array
    weights: Array
    noise: float = 0.0

    def sound(self, learnt: Array) -> Array:
        """Coefficients (*times, mode) without those that training has by then got out of rounding alone.

        A residual along a direction that the kernel lacks is never learnt; rounding, small as it is, would learn it late.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where((self.values <= self.noise) & (learnt * self.noise >= 0.5), 0.0, learnt)

    def seen_from(self, rows: np.ndarray) -> Array:
        """Rows of a kernel against the same columns, in terms of the modes."""
        if self.basis.ndim == 2:
            return _product(rows, self.basis)
        n, m, k = self.basis.shape
        return _product(rows, self.basis.reshape(n, m * k)).reshape(len(rows), m, k)

    def combine(self, seen: Array, filtered: Array) -> Array:
        """`Σ_modes seen · filtered · weight`: filtered is (*times, mode[, output]); returns (*times, row, output)."""
        shared = self.basis.ndim == 2
        parts = (filtered[..., None] if shared else filtered) * self.weights
        if shared:
            return seen @ parts
        return np.einsum("pmk,...mk->...pk", seen, parts, optimize=True)


def modes(kernel: np.ndarray, residual: Array, filtered: Filter | None = None) -> Modes:
    """Eigenvectors of a kernel; for a large one, and a filter that a Krylov space can bear, that space.

    Args:
        kernel: symmetric, (row, row).
        residual: (row, output).
        filtered: the hardest function of eigenvalues that is wanted; by default any may be asked for later.
    """
    if filtered is not None and len(kernel) > WHOLE:
        found = _krylov(kernel, residual, filtered)
        if found is not None:
            return found
    values, basis = scipy.linalg.eigh(kernel.astype(np.float64), driver="evd", overwrite_a=True, check_finite=False)
    _refuse_indefinite(values, kernel.dtype)
    # What is below rounding is zero: nothing is learnt there, and eigenvalues just below zero would grow for ever.
    values = np.where(values > ROUNDING * len(kernel) * np.abs(values).max(), values, 0.0)
    return Modes(values, basis, basis.T @ residual, _noise(values, kernel.dtype))


def _refuse_indefinite(values: Array, dtype: np.dtype) -> None:
    """Refuse eigenvalues, in rising order, that go below zero by far more than rounding: no kernel has them."""
    if len(values) and values[0] < -(np.finfo(dtype).eps ** 0.5) * np.abs(values).max():
        raise ValueError(
            "kernel must be positive semi-definite, as any kernel is; its eigenvalues go from "
            f"{values[0]:.3g} to {values[-1]:.3g}"
        )


def _noise(values: Array, dtype: np.dtype) -> float:
    """How large an eigenvalue can be that is rounding: entries are off by half a unit in their last place each.

    Together that is so much of the Frobenius norm, for kernels in float32 far above the rounding of their eigenvalues.
    """
    largest = values.max(initial=0.0)
    if largest == 0:
        return 0.0
    entries = np.finfo(dtype).eps / 2 * float(np.linalg.norm(values / largest))
    return largest * max(ROUNDING * len(values), entries)


def top_value(kernel: np.ndarray) -> float:
    """The largest eigenvalue of a symmetric matrix, by Lanczos with a fixed vector to begin with."""
    from scipy.sparse.linalg import eigsh

    if len(kernel) <= 50 or not kernel.any():
        return float(max(np.linalg.eigvalsh(kernel)[-1], 0.0))
    begin = np.random.default_rng(0).standard_normal(len(kernel)).astype(kernel.dtype)
    return float(eigsh(kernel, k=1, which="LA", v0=begin, return_eigenvectors=False)[0])


def _krylov(kernel: np.ndarray, residual: Array, filtered: Filter) -> Modes | None:
    n, k = residual.shape
    most = n // LARGEST_SHARE
    norm = np.linalg.norm(residual, axis=0)
    V = np.zeros((most + 1, n, k))
    V[0] = residual / np.where(norm > 0, norm, 1.0)
    alpha, beta = np.zeros((most, k)), np.zeros((most, k))
    for j in range(most):
        w = _product(kernel, V[j])
        alpha[j] = np.sum(w * V[j], axis=0)
        for _ in range(2):  # once would leave the spaces' directions to rounding
            w -= np.einsum("ink,ik->nk", V[: j + 1], np.einsum("ink,nk->ik", V[: j + 1], w))
        beta[j] = np.linalg.norm(w, axis=0)
        alive = beta[j] > ROUNDING * n * np.abs(alpha[0])
        V[j + 1] = np.where(alive, w, 0.0) / np.where(alive, beta[j], 1.0)
        beta[j] = np.where(alive, beta[j], 0.0)
        if (j + 1) % LOOK == 0 or not alive.any():
            found = [scipy.linalg.eigh_tridiagonal(alpha[: j + 1, o], beta[:j, o]) for o in range(k)]
            values = np.stack([np.maximum(each, 0.0) for each, _ in found], axis=1)
            weights = np.stack([vectors[0] for _, vectors in found], axis=1)
            last = np.stack([vectors[-LOOK:] for _, vectors in found], axis=2)  # (place, mode, output)
            tail = np.einsum("lmk,...mk,mk->...lk", last, filtered(values), weights)
            scale = np.abs(np.einsum("...mk,mk->...k", filtered(values), weights**2)).max()
            if not alive.any() or np.abs(tail).max() <= ACCURACY * scale:
                bases = [V[: j + 1, :, o].T @ vectors for o, (_, vectors) in enumerate(found)]
                return Modes(values, np.stack(bases, axis=2), weights * norm)
    return None


def _product(kernel: np.ndarray, columns: Array) -> Array:
    """A product in float64, a block of rows at a time, so that a kernel in float32 is never copied whole."""
    if kernel.dtype == np.float64:
        return kernel @ columns
    out = np.empty((len(kernel), columns.shape[1]))
    for i in range(0, len(kernel), BLOCK):
        out[i : i + BLOCK] = kernel[i : i + BLOCK].astype(np.float64) @ columns
    return out
