"""Corollary 1: the end-to-end dynamics are gradient flow with an implicit preconditioner of known eigenvalues."""

from typing import NamedTuple

import jax
import numpy as np

from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ...theory import end_to_end, layers
from ..instances import generator
from ..sizes import sizes
from .networks import STARTS, balanced_layers, map_with_values, maps_of_each_kind

BAR = 1e-10
ORIGIN = (
    "float64 rounding 2e-16, times the dimension (≤ 200) and a thousand for fractional powers of small eigenvalues"
)
SHAPES = ((1, 1), (1, 4), (4, 4), (3, 5), (6, 4))
DRAWN = (6, 4)  # the shape whose eigenvalues are drawn


class Settings(NamedTuple):
    """What is run at each size; shapes are (outputs, inputs)."""

    shapes: tuple[tuple[int, int], ...]
    depths: tuple[int, ...] = (1, 2, 3, 4, 5, 6)


@sizes(quick=Settings(SHAPES), full=Settings((*SHAPES, (12, 12), (8, 15), (20, 10))))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """The eigen-system from one singular value decomposition, against the dense Kronecker sum and its own eigenvalues.

    The dense matrix is built twice: as printed, with fractional powers of WWᵀ and WᵀW from their own eigenvalues; and
    from balanced layers, Σ_j (W_{j−1:1}ᵀW_{j−1:1}) ⊗ (W_{n:j+1}W_{n:j+1}ᵀ), without fractional powers at all, which
    also serves near-singular maps, whose small values the products WWᵀ and WᵀW lose. Errors are relative to the
    largest eigenvalue. That the preconditioner is applied without being formed is checked on random gradients.
    """
    rng = generator(key)
    rows, spectra = [], {}
    for shape in settings.shapes:
        for kind, W in zip(STARTS, maps_of_each_kind(rng, shape), strict=True):
            if kind == "rank-deficient":  # known exactly only if rounding cannot fill the null space
                W[-1], W[:, -1] = 0.0, 0.0
            for n in settings.depths:
                dense = _dense_matrices(rng, W, n, printed=kind != "near-singular")
                rows += [(n, *_errors(rng, W, n, Q)) for Q in dense]
                if shape == DRAWN and kind == "generic":
                    predicted = np.sort(end_to_end.eigensystem(W, n).values.ravel())[::-1]
                    spectra[n] = predicted, np.linalg.eigvalsh(dense[0])[::-1]
    depth, values, vectors, applied = np.array(rows).T
    return Evidence(
        checks=[
            at_most("worst relative error of the eigenvalues", values.max(), BAR, ORIGIN),
            at_most("worst relative residual of the eigenvectors", vectors.max(), BAR, ORIGIN),
            at_most("worst relative error of the preconditioner applied without forming it", applied.max(), BAR,
                    ORIGIN),
        ],
        numbers={f"eigenvalue error at a null space known to rounding, n = {n}": _lost(rng, n) for n in (2, 4, 6)},
        settings={"matrices": len(rows)},
        protocol={
            "map": "random: " + ", ".join(STARTS),
            "network": f"depths {', '.join(map(str, settings.depths))}; maps "
            + ", ".join(f"{a}×{b}" for a, b in settings.shapes),
            "gradient": "random",
        },
        figure=_figure(depth, {"eigenvalues": values, "eigenvectors": vectors, "applied": applied}, spectra),
        remarks=(
            "Maps of deficient rank here have a null space along the axes, which float64 holds exactly. Elsewhere a "
            "zero singular value is known to rounding only, and its eigenvalues to rounding^{2/n}: for n ≥ 3 the "
            "eigenvalues at such maps are exact but ill-conditioned.",
        ),
    )  # fmt: skip


def _figure(depth: np.ndarray, errors: dict[str, np.ndarray], spectra: dict) -> fig.Figure:
    """Eigenvalues of one map at three depths, and the worst errors over all maps."""
    depths, drawn = np.unique(depth), (2, 3, 6)
    marks = [
        fig.points(depths + 0.15 * (i - 1), np.maximum([error[depth == n].max() for n in depths], 1e-17), name, i)
        for i, (name, error) in enumerate(errors.items())
    ]
    index = np.arange(DRAWN[0] * DRAWN[1])
    points = [fig.points(index, spectra[n][1], f"n = {n}", i) for i, n in enumerate(drawn)]
    lines = [fig.theory(index, spectra[n][0], "" if i else "Corollary 1") for i, n in enumerate(drawn)]
    bar = fig.reference([depths.min(), depths.max()], [BAR, BAR], "bar")
    return fig.Figure(
        (
            fig.Panel((*points, *lines), "index", "eigenvalue of P(W)", "a 6×4 map"),
            fig.Panel((*marks, bar), "depth n", "worst relative error", "all maps", y_scale="log"),
        ),
        "The eigenvalues of the dense preconditioner (points) are read off one singular value decomposition.",
        2,
    )


def _dense_matrices(rng: np.random.Generator, W: np.ndarray, n: int, printed: bool) -> list[np.ndarray]:
    """The preconditioner as a matrix: from balanced layers, and as printed where float64 allows that."""
    widths = (W.shape[1], *[min(W.shape) + 1] * (n - 1), W.shape[0])
    return [_from_layers(balanced_layers(rng, W, widths)), *([_as_printed(W, n)] if printed else [])]


def _lost(rng: np.random.Generator, n: int) -> float:
    """The eigenvalue error at a map of rank 3 whose null space is not along the axes, against its balanced layers."""
    W = map_with_values(rng, (4, 4), [1.0, 0.7, 0.4])
    return _errors(rng, W, n, _from_layers(balanced_layers(rng, W, (4,) * (n + 1))))[0]


def _power(X: np.ndarray, exponent: float) -> np.ndarray:
    """[X]^β of a positive semidefinite matrix; eigenvalues that are rounding are zero, and X⁰ = I."""
    if exponent == 0:
        return np.eye(len(X))
    values, Q = np.linalg.eigh(X)
    values = np.where(values > 1e-13 * values.max(), values, 0.0)
    return (Q * values**exponent) @ Q.T


def _as_printed(W: np.ndarray, n: int) -> np.ndarray:
    return sum(np.kron(_power(W.T @ W, (n - j) / n), _power(W @ W.T, (j - 1) / n)) for j in range(1, n + 1))  # type: ignore[return-value]


def _from_layers(split: layers.Layers) -> np.ndarray:
    """Equation (4): the product rule, before balance turns products of layers into powers of W."""
    total = np.zeros((split[0].shape[1] * split[-1].shape[0],) * 2)
    for j in range(len(split)):
        below = layers.product(split[:j]) if j else np.eye(split[0].shape[1])
        above = layers.product(split[j + 1 :]) if j + 1 < len(split) else np.eye(split[-1].shape[0])
        total += np.kron(below.T @ below, above @ above.T)
    return total


def _errors(rng: np.random.Generator, W: np.ndarray, n: int, Q: np.ndarray) -> tuple[float, float, float]:
    """Errors of eigenvalues, of eigenvectors (as residuals) and of the field, against the dense matrix Q."""
    values, U, V = end_to_end.eigensystem(W, n)
    largest = values.max() or 1.0  # zero at the zero map
    spectrum = np.abs(np.sort(values.ravel()) - np.linalg.eigvalsh(Q)).max() / largest
    vectors = np.kron(V, U)  # columns vec(u_r v_r'ᵀ), column-first
    residual = np.linalg.norm(Q @ vectors - vectors * values.ravel(order="F"), axis=0).max() / largest
    G = rng.normal(size=W.shape)
    velocity = -(Q @ G.ravel(order="F")).reshape(W.shape, order="F")
    applied = np.linalg.norm(end_to_end.field(W, G, n) - velocity) / (largest * np.linalg.norm(G))
    return float(spectrum), float(residual), float(applied)
