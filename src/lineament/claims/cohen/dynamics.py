"""How the end-to-end matrix moves, without its layers: Theorem 1 and Corollary 1."""

import jax
import numpy as np

from ... import models, train
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...theory import end_to_end, layers
from ..instances import generator
from ..sizes import Size
from .networks import LOSSES, balanced_ensemble, balanced_layers, gradient_of, map_with_values, random_problem

UNTIL, LEAST = 2.0, 1e-7  # how long flows are followed; the least singular value of near-singular starts
STARTS = ("generic", "repeated values", "near-singular", "rank-deficient")


def _starts(rng: np.random.Generator, shape: tuple[int, int]) -> list[np.ndarray]:
    """One map of each kind in `STARTS`."""
    d = min(shape)
    spread = 10 ** rng.uniform(-1, 0.3, d)
    return [
        map_with_values(rng, shape, spread),
        map_with_values(rng, shape, np.full(d, 0.5)),
        map_with_values(rng, shape, [*spread[1:], LEAST]),
        map_with_values(rng, shape, spread[: d - 1]),
    ]


def _cases(scale: Size) -> list[tuple[int, str, tuple[int, int]]]:
    """Depth, loss, and shape (outputs, inputs)."""
    square, wide, tall = (4, 4), (3, 5), (5, 3)
    if scale == "quick":
        return [(2, "cross-entropy", wide), (3, "square", square), (5, "completion", tall)]
    return [
        (n, name, shape)
        for n in range(1, 7)
        for k, name in enumerate(LOSSES)
        for shape in (square, (wide, tall)[(n + k) % 2])
    ]


def end_to_end_dynamics(scale: Size, key: jax.Array) -> Evidence:
    """The equation in W alone, integrated in NumPy, against the product of layers that follow their own gradients.

    Both solvers are held to 1e-10; what is compared is W at all times, relative to ‖W‖ at that time. Starts are
    generic, with all singular values equal, with one of 1e-7, and of deficient rank. Beside it runs the plain
    gradient flow Ẇ = −∇ℓ(W), to show how much of the motion the sum accounts for.
    """
    rng = generator(key)
    times = np.linspace(0, UNTIL, 41)
    gaps, without, curves = {}, [], []
    for n, name, shape in _cases(scale):
        widths = (shape[1], *rng.integers(min(shape), max(shape) + 2, n - 1).tolist(), shape[0])
        net, problem, maps = models.DeepLinear(widths), random_problem(rng, name, shape), _starts(rng, shape)
        run = train.flow(net, problem, balanced_ensemble(rng, maps, widths), times=times, record=("end_to_end",),
                         rtol=1e-10, tolerance=0.0)  # fmt: skip
        gradient = gradient_of(problem)
        forecasts = [end_to_end.trajectory(times, W0, gradient, n) for W0 in maps]
        for kind, measured, forecast in zip(STARTS, run.end_to_end.values, forecasts, strict=True):
            gaps[n, name, shape, kind] = _gap(measured, forecast)
        plain = end_to_end.trajectory(times, maps[0], gradient, 1, rtol=1e-6)
        if n > 1:
            without.append(_gap(measured=run.end_to_end.values[0], forecast=plain).max())
        if len(curves) < 3 and n > 1:
            curves.append(_curves(times, run.end_to_end.values[0], forecasts[0], f"n = {n}, {name}"))
    worst = {case: gap.max() for case, gap in gaps.items()}
    by_kind = {kind: max(gap for case, gap in worst.items() if case[3] == kind) for kind in STARTS}
    return Evidence(
        checks=[
            at_most("worst relative gap between equation and layers", max(worst.values()), 1e-6),
            at_least("least gap that the plain gradient flow leaves", min(without), 1e-2),
        ],
        numbers={f"worst gap, {kind}": float(gap) for kind, gap in by_kind.items()},
        settings={"cases": [f"n = {n}, {name}, {s[0]}×{s[1]}" for n, name, s in _cases(scale)], "starts": STARTS},
        figure=fig.Figure(
            (*curves, _gap_panel(times, gaps)),
            "The equation in W alone (dark) is what the product of the layers does (colour), whatever the start.",
            2,
        ),
        remarks=(
            "The field is only Hölder continuous at maps that lack rank, for three or more layers; rank-deficient "
            "starts are therefore integrated on the set of maps of their rank, which the flow never leaves.",
        ),
    )


def _gap(measured: np.ndarray, forecast: np.ndarray) -> np.ndarray:
    return np.linalg.norm(measured - forecast, axis=(1, 2)) / np.linalg.norm(measured, axis=(1, 2))


def _curves(times: np.ndarray, measured: np.ndarray, forecast: np.ndarray, title: str) -> fig.Panel:
    """The six entries of W that move most along one flow."""
    flat = [W.reshape(len(times), -1) for W in (measured, forecast)]
    moved = np.argsort(-np.ptp(flat[0], axis=0))[:6]
    marks = [fig.measured(times, flat[0][:, k], "" if i else "layers", i) for i, k in enumerate(moved)]
    marks += [fig.theory(times, flat[1][:, k], "" if i else "equation (3)") for i, k in enumerate(moved)]
    return fig.Panel(tuple(marks), "time t", "entries of W", title)


def _gap_panel(times: np.ndarray, gaps: dict) -> fig.Panel:
    """The worst gap over all cases against time, for each kind of start."""
    marks = []
    for i, kind in enumerate(STARTS):
        worst = np.max([gap for case, gap in gaps.items() if case[3] == kind], axis=0)
        marks.append(fig.measured(times[1:], np.maximum(worst[1:], 1e-17), kind, i))
    marks.append(fig.reference(times[[1, -1]], [1e-6, 1e-6], "bar"))
    return fig.Panel(tuple(marks), "time t", "worst relative gap", "equation against layers", y_scale="log")


def implicit_preconditioner(scale: Size, key: jax.Array) -> Evidence:
    """The eigen-system from one singular value decomposition, against the dense Kronecker sum and its own eigenvalues.

    The dense matrix is built twice: as printed, with fractional powers of WWᵀ and WᵀW from their own eigenvalues; and
    from balanced layers, Σ_j (W_{j−1:1}ᵀW_{j−1:1}) ⊗ (W_{n:j+1}W_{n:j+1}ᵀ), without fractional powers at all, which
    also serves near-singular maps, whose small values the products WWᵀ and WᵀW lose. Errors are relative to the
    largest eigenvalue. That the preconditioner is applied without being formed is checked on random gradients.
    """
    rng = generator(key)
    shapes = [(1, 1), (1, 4), (4, 4), (3, 5), (6, 4)]
    shapes += [] if scale == "quick" else [(12, 12), (8, 15), (20, 10)]
    rows, spectra = [], {}
    for shape in shapes:
        for kind, W in zip(STARTS, _starts(rng, shape), strict=True):
            if kind == "rank-deficient":  # known exactly only if rounding cannot fill the null space
                W[-1], W[:, -1] = 0.0, 0.0
            for n in range(1, 7):
                widths = (shape[1], *[min(shape) + 1] * (n - 1), shape[0])
                dense = [_from_layers(balanced_layers(rng, W, widths))]
                dense += [] if kind == "near-singular" else [_as_printed(W, n)]
                rows += [(n, *_errors(rng, W, n, Q)) for Q in dense]
                if shape == (6, 4) and kind == "generic":
                    predicted = np.sort(end_to_end.eigensystem(W, n).values.ravel())[::-1]
                    spectra[n] = predicted, np.linalg.eigvalsh(dense[0])[::-1]
    depth, values, vectors, applied = np.array(rows).T
    names = ("eigenvalues", "eigenvectors", "applied")
    marks = [
        fig.points(depth + 0.15 * (i - 1), np.maximum([e[depth == n].max() for n in depth], 1e-17), name, i)
        for i, (name, e) in enumerate(zip(names, (values, vectors, applied), strict=True))
    ]
    drawn = (2, 3, 6)
    points = [fig.points(np.arange(24), spectra[n][1], f"n = {n}", i) for i, n in enumerate(drawn)]
    lines = [fig.theory(np.arange(24), spectra[n][0], "" if i else "Corollary 1") for i, n in enumerate(drawn)]
    return Evidence(
        checks=[
            at_most("worst relative error of the eigenvalues", values.max(), 1e-10),
            at_most("worst relative residual of the eigenvectors", vectors.max(), 1e-10),
            at_most("worst relative error of the preconditioner applied without forming it", applied.max(), 1e-10),
        ],
        numbers={f"eigenvalue error at a null space known to rounding, n = {n}": _lost(rng, n) for n in (2, 4, 6)},
        settings={"matrices": len(rows), "shapes": shapes, "depths": "1 … 6", "maps": STARTS},
        figure=fig.Figure(
            (
                fig.Panel((*points, *lines), "index", "eigenvalue of P(W)", "a 6×4 map"),
                fig.Panel((*marks, fig.reference([1, 6], [1e-10, 1e-10], "bar")), "depth n", "worst relative error",
                          "all maps", y_scale="log"),
            ),
            "The eigenvalues of the dense preconditioner (points) are read off one singular value decomposition.",
            2,
        ),
        remarks=(
            "Maps of deficient rank here have a null space along the axes, which float64 holds exactly. Elsewhere a "
            "zero singular value is known to rounding only, and its eigenvalues to rounding^{2/n}: for n ≥ 3 the "
            "eigenvalues at such maps are exact but ill-conditioned.",
        ),
    )  # fmt: skip


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
    size = values.max() or 1.0  # zero at the zero map
    spectrum = np.abs(np.sort(values.ravel()) - np.linalg.eigvalsh(Q)).max() / size
    vectors = np.kron(V, U)  # columns vec(u_r v_r'ᵀ), column-first
    residual = np.linalg.norm(Q @ vectors - vectors * values.ravel(order="F"), axis=0).max() / size
    G = rng.normal(size=W.shape)
    velocity = -(Q @ G.ravel(order="F")).reshape(W.shape, order="F")
    applied = np.linalg.norm(end_to_end.field(W, G, n) - velocity) / (size * np.linalg.norm(G))
    return float(spectrum), float(residual), float(applied)
