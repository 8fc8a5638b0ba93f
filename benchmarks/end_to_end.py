"""The velocity of the end-to-end matrix, against the preconditioner as a matrix and against powers of matrices."""

import numpy as np
from scipy.linalg import fractional_matrix_power

from lineament.theory import end_to_end

from .harness import Row, compare

DEPTH, SIZE, DENSE = 4, 200, 40


def _case(d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(d, d)) / d**0.5, rng.normal(size=(d, d))


def _power(X: np.ndarray, exponent: float) -> np.ndarray:
    values, Q = np.linalg.eigh(X)
    return (Q * np.clip(values, 0, None) ** exponent) @ Q.T


def _kronecker(W: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Corollary 1 as printed: form the preconditioner, which changes with W at every step, and apply it."""
    P = np.zeros((W.size, W.size))
    for j in range(1, DEPTH + 1):
        P += np.kron(_power(W.T @ W, (DEPTH - j) / DEPTH), _power(W @ W.T, (j - 1) / DEPTH))
    return -(P @ G.ravel(order="F")).reshape(W.shape, order="F")


def _powers(W: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Theorem 1 as printed: each power of WWᵀ and WᵀW by an eigendecomposition of its own."""
    left, right = W @ W.T, W.T @ W
    terms = [_power(left, (j - 1) / DEPTH) @ G @ _power(right, (DEPTH - j) / DEPTH) for j in range(1, DEPTH + 1)]
    return -np.sum(terms, axis=0)


def _scipy_powers(W: np.ndarray, G: np.ndarray) -> np.ndarray:
    """The same by SciPy's fractional powers, which do not know that the matrices are symmetric."""
    left, right = W @ W.T, W.T @ W
    power = lambda X, k: np.real(fractional_matrix_power(X, k / DEPTH))  # noqa: E731
    return -np.sum([power(left, j - 1) @ G @ power(right, DEPTH - j) for j in range(1, DEPTH + 1)], axis=0)


def rows() -> list[Row]:
    """Velocities per CPU second at depth 4: 40×40 against the dense form, 200×200 against powers of matrices."""
    found = []
    memory = 8 * SIZE**4 / 1e9
    for d, name, other, bar, times in (
        (DENSE, "Kronecker form, dense", _kronecker, 20.0, 1),
        (SIZE, "eigh for each power", _powers, None, 3),
        (SIZE, "SciPy fractional_matrix_power", _scipy_powers, None, 1),
    ):
        W, G = _case(d)
        truth, ours = other(W, G), end_to_end.field(W, G, DEPTH)
        gap = np.linalg.norm(truth - ours) / np.linalg.norm(ours)
        if gap > 1e-8:
            raise RuntimeError(f"{name} and end_to_end.field differ by {gap:.1e}: nothing to compare")
        repeat = 400 if d == DENSE else 20

        def field(W: np.ndarray = W, G: np.ndarray = G, repeat: int = repeat) -> None:
            for _ in range(repeat):
                end_to_end.field(W, G, DEPTH)

        def naive(W: np.ndarray = W, G: np.ndarray = G, other=other, times: int = times) -> None:
            for _ in range(times):
                other(W, G)

        row = compare(f"end-to-end field, {d}×{d}, n = {DEPTH}", ("end_to_end.field", field, float(repeat)),
                      (name, naive, float(times)), bar=bar, unit="velocities")  # fmt: skip
        note = f"gap {gap:.0e}" + (f"; the dense form at 200×200 would take {memory:.1f} GB" if d == DENSE else "")
        found.append(Row(**{**row.__dict__, "note": note}))
    return found
