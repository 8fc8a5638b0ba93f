r"""The solution of least nuclear norm of a sensing or completion problem, with a certificate.

    minimise ‖W‖_*  subject to  ⟨A_k, W⟩ = y_k,  k = 1 … m

(Cohen & Razin, Section 4.1, where Supposition 1 compares it with what a linear network finds; Recht, Fazel & Parrilo
2010.) Its dual is

    maximise ⟨y, λ⟩  subject to  ‖Σ_k λ_k A_k‖ ≤ 1  (spectral norm).

The semi-definite programme goes to cvxpy. What it returns is not taken on trust: the matrix is moved to the nearest
one that fits the measurements, the multipliers are scaled until they are just admissible, and then the two norms
enclose the least one.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..core import arguments

Matrix = np.ndarray


class LeastNuclear(NamedTuple):
    """A matrix that fits the measurements, and how near its nuclear norm is to the least.

    Attributes:
        matrix: the solution.
        norm: its nuclear norm, an upper bound of the least.
        bound: a lower bound of the least nuclear norm, from admissible multipliers.
        multipliers: those multipliers λ, one for each measurement.
        residual: the largest misfit |⟨A_k, W⟩ − y_k|.
    """

    matrix: Matrix
    norm: float
    bound: float
    multipliers: np.ndarray
    residual: float

    @property
    def gap(self) -> float:
        """(norm − bound)/norm: the share by which the norm can exceed the least. Zero for the zero matrix."""
        return (self.norm - self.bound) / self.norm if self.norm > 0 else 0.0


def least_nuclear_sensing(A: ArrayLike, y: ArrayLike, accuracy: float = 1e-5) -> LeastNuclear:
    """The matrix of least nuclear norm with `⟨A_k, W⟩ = y_k`.

    Args:
        A: The measurements, of shape (m, outputs, inputs).
        y: Their values, of shape (m,).
        accuracy: The largest certified relative gap allowed.
    """
    A, y, accuracy = arguments.matrices("A", A), arguments.vector("y", y), _accuracy(accuracy)
    if A.ndim != 3 or len(A) != len(y):
        raise ValueError(f"A must be {len(y)} measurements (m, outputs, inputs), one for each of y; got {A.shape}")
    flat = A.reshape(len(A), -1)
    fitted, *_ = np.linalg.lstsq(flat, y, rcond=None)
    if np.abs(flat @ fitted - y).max() > 1e-9 * np.abs(y).max():
        raise ValueError("y must be measurements of some matrix; got values that no matrix fits")

    def fit(W: Matrix) -> Matrix:
        correction, *_ = np.linalg.lstsq(flat, y - flat @ W.ravel(), rcond=None)
        return W + correction.reshape(W.shape)

    return _solve(sparse.csr_array(flat), y, A.shape[1:], fit, accuracy)


def least_nuclear_completion(
    rows: ArrayLike, columns: ArrayLike, values: ArrayLike, shape: tuple[int, int], accuracy: float = 1e-5
) -> LeastNuclear:
    """The matrix of least nuclear norm with the given entries.

    Args:
        rows: Row of each observed entry.
        columns: Column of each observed entry; no entry is observed twice.
        values: The observed entries.
        shape: The shape of the matrix.
        accuracy: The largest certified relative gap allowed.
    """
    y, sides, accuracy = arguments.vector("values", values), arguments.counts("shape", shape), _accuracy(accuracy)
    if len(sides) != 2:
        raise ValueError(f"shape must be two numbers, rows and columns; got {sides}")
    i, j = arguments.indices("rows", rows, y.size, sides[0]), arguments.indices("columns", columns, y.size, sides[1])
    flat = i * shape[1] + j
    if len(np.unique(flat)) < len(flat):
        raise ValueError("rows and columns must be of entries that differ; got an entry more than once")

    def fit(W: Matrix) -> Matrix:
        W = W.copy()
        W[i, j] = y
        return W

    measurements = sparse.csr_array((np.ones(len(y)), (np.arange(len(y)), flat)), shape=(len(y), shape[0] * shape[1]))
    return _solve(measurements, y, shape, fit, accuracy)


def _solve(
    A: sparse.csr_array, y: np.ndarray, shape: tuple[int, ...], fit: Callable[[Matrix], Matrix], accuracy: float
) -> LeastNuclear:
    largest = np.abs(y).max()
    if largest == 0:
        return LeastNuclear(np.zeros(shape), 0.0, 0.0, np.zeros(len(y)), 0.0)
    # The problem is scaled so that the solvers' tolerances mean the same for any y.
    gap = 1.0
    for solver, options in _attempts(shape, accuracy):
        solution = _certify(*_programme(A, y / largest, shape, solver, options), A, y, shape, largest, fit)
        if abs(solution.gap) <= accuracy:  # a bound far above the norm is none
            return solution
        gap = min(gap, abs(solution.gap))
    raise RuntimeError(f"the least nuclear norm was found only within a relative gap of {gap:.2g}")


def _attempts(shape: tuple[int, ...], accuracy: float) -> list[tuple[str, dict[str, float]]]:
    """Solvers to be tried in turn, until the certificate is good enough.

    The splitting solver is the quickest by far on large matrices, and mostly as accurate as it is asked to be. Where
    it is slow, small matrices go to the interior-point solver, whose cost grows with the sixth power of their size.
    """
    splitting = lambda tolerance, most: (  # noqa: E731
        "SCS",
        {"eps_abs": tolerance, "eps_rel": tolerance, "max_iters": most},
    )
    last = ("CLARABEL", {}) if sum(shape) <= 80 else splitting(accuracy / 100, 50_000)
    return [splitting(accuracy, 3000), splitting(accuracy / 10, 6000), last]


def _programme(
    A: sparse.csr_array, y: np.ndarray, shape: tuple[int, ...], solver: str, options: dict[str, float]
) -> tuple[Matrix, np.ndarray]:
    """The solution and the multipliers that a solver finds."""
    import cvxpy  # takes a second

    W = cvxpy.Variable(shape)
    constraint: Any = A @ cvxpy.vec(W, order="C") == y
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate")  # the certificate says how inaccurate
        cvxpy.Problem(cvxpy.Minimize(cvxpy.normNuc(W)), [constraint]).solve(solver=solver, **options)
    if W.value is None or constraint.dual_value is None:
        raise RuntimeError("the solver found no matrix of least nuclear norm that fits the measurements")
    return np.asarray(W.value), np.asarray(constraint.dual_value)


def _certify(
    W: Matrix,
    multipliers: np.ndarray,
    A: sparse.csr_array,
    y: np.ndarray,
    shape: tuple[int, ...],
    scale: float,
    fit: Callable[[Matrix], Matrix],
) -> LeastNuclear:
    W = fit(scale * W)
    # cvxpy's multipliers carry the sign of its Lagrangian; the bound decides which is meant.
    multipliers = multipliers * np.sign(multipliers @ y)
    multipliers = multipliers / max(np.linalg.norm((A.T @ multipliers).reshape(shape), 2), 1e-300)
    residual = np.abs(A @ W.ravel() - y).max()
    return LeastNuclear(W, float(np.linalg.norm(W, "nuc")), float(multipliers @ y), multipliers, float(residual))


def _accuracy(accuracy: float) -> float:
    return arguments.number("accuracy", accuracy, above=0, below=1)
