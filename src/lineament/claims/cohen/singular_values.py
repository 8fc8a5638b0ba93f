"""How singular values move along the flow: Proposition 4, Theorem 3 and Lemma 2."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.fft import dct
from scipy.linalg import block_diag

from ... import models, problems, train
from ...core import ensembles
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...theory import analytic_svd
from ...theory.singular_flow import singular_flow
from ..instances import generator, rotation
from ..sizes import Size
from .networks import LOSSES, balanced_ensemble, gradient_of, map_with_values, random_problem


def _two_blocks(rng: np.random.Generator, turns: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Start and target of two blocks in common turned bases: one rises from below the other to above it.

    Within a block directions turn as they please, but the blocks never mix, so that their singular values truly cross.
    """
    blocks = []
    for shape, first, last in (((2, 2), [0.35, 0.2], [3.0, 2.0]), ((2, 3), [1.3, 0.8], [0.9, 0.5])):
        U, V, angle = rotation(rng, 2), rotation(rng, shape[1])[:, :2], rng.uniform(0.2, 0.6)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        blocks.append(((U * first) @ V.T, (turn @ U * last) @ V.T))
    return tuple(turns[0] @ block_diag(*pair) @ turns[1].T for pair in zip(*blocks, strict=True))  # type: ignore[return-value]


def _coefficients(samples: np.ndarray) -> np.ndarray:
    """Sizes of the Chebyshev coefficients of functions sampled at Chebyshev points along axis 0."""
    return np.abs(np.asarray(dct(samples, type=1, axis=0))) / len(samples)


def _tail(samples: np.ndarray) -> np.ndarray:
    """The largest of the last quarter of Chebyshev coefficients over the largest of all, for samples along axis 0."""
    coefficients = _coefficients(samples)
    return coefficients[-len(samples) // 4 :].max(axis=0) / coefficients.max()


def analytic_decomposition(scale: Size, key: jax.Array) -> Evidence:
    """Networks whose singular values cross on the way, sampled at Chebyshev points, where analyticity can be seen.

    The coefficients of an analytic function fall geometrically, those of one with kinks as k⁻². Branches tracked by
    their vectors, values and vectors alike, are held against the sorted values that a library returns. Start and
    target consist of two blocks in common, turned bases, so that values cross rather than avoid each other.
    """
    rng = generator(key)
    count, depths, points = (4, (3,), 193) if scale == "quick" else (16, (2, 3, 4, 5), 257)
    rows, drawn = [], []
    for n in depths:
        widths, until = (5, *[5] * (n - 1), 4), 1.5
        times = until * (1 - np.cos(np.linspace(0, np.pi, points))) / 2
        turned = [_two_blocks(rng, (rotation(rng, 4), rotation(rng, 5))) for _ in range(count)]
        run = train.flow(models.DeepLinear(widths), ensembles.stack([problems.whitened(T) for _, T in turned]),
                         balanced_ensemble(rng, [W for W, _ in turned], widths), times=times,
                         record=("end_to_end",), rtol=1e-11, tolerance=0.0)  # fmt: skip
        for W in run.end_to_end.values:
            U, s, V = analytic_svd.track(W, times)
            library = np.linalg.svd(W, compute_uv=False)
            drawn = drawn or [times, s, U, library]
            rows.append(
                (
                    _tail(s).max(),
                    max(_tail(U.reshape(points, -1)).max(), _tail(V.reshape(points, -1)).max()),
                    _tail(library).max(),
                    np.linalg.norm((U * s[:, None]) @ np.swapaxes(V, 1, 2) - W, axis=(1, 2)).max() / np.abs(W).max(),
                    np.sum(np.diff(np.argsort(-np.abs(s), axis=1), axis=0).any(axis=1)),
                )
            )
    values, vectors, library, residual, crossings = np.array(rows).T
    return Evidence(
        checks=[
            at_most("largest tail of the tracked values", values.max(), 1e-6),
            at_most("largest tail of the tracked vectors", vectors.max(), 1e-6),
            at_most("worst relative residual of U S Vᵀ", residual.max(), 1e-12),
            at_least("least number of crossings in a run", crossings.min(), 1),
            at_least("least tail of the sorted values, which have kinks", library.min(), 1e-6),
        ],
        numbers={"crossings in all": float(crossings.sum())},
        settings={"networks": len(rows), "depths": depths, "samples": points},
        figure=_branches_figure(*drawn),
        remarks=("At two or more layers crossings are exceptional: without a symmetry values avoid each other.",),
    )


def _branches_figure(times: np.ndarray, s: np.ndarray, U: np.ndarray, library: np.ndarray) -> fig.Figure:
    branches = [fig.measured(times, column, "" if r else "branches", r) for r, column in enumerate(s.T)]
    sorted_values = fig.theory(times, library[:, 1], "second largest")
    vectors = [fig.measured(times, U[:, 0, r], "", r) for r in range(s.shape[1])]
    k = np.arange(1, len(times))
    decay = [np.maximum(_coefficients(x).max(axis=1)[1:], 1e-16) for x in (s, U[:, 0], library)]
    names = ("tracked values", "tracked vectors", "sorted values")
    spectra = [fig.measured(k, y, name, i) for i, (y, name) in enumerate(zip(decay, names, strict=True))]
    return fig.Figure(
        (
            fig.Panel((*branches, sorted_values), "time t", "singular values", "tracked through crossings"),
            fig.Panel(tuple(vectors), "time t", "first entries of uᵣ", "their vectors"),
            fig.Panel(tuple(spectra), "index k", "Chebyshev coefficient", "smoothness", "log", "log"),
        ),
        "Tracked branches pass through crossings analytically; sorted values have kinks there.",
    )  # fmt: skip


def singular_value_dynamics(scale: Size, key: jax.Array) -> Evidence:
    """Tracked singular values of trained networks, differentiated numerically, against the formula at each time.

    Branches are tracked over seven samples 1e-4 apart around each of many times, and differentiated by the central
    difference of sixth order. Errors are relative to the largest velocity that the r-th largest value has at any of
    these times. Where the differences of fourth and sixth order disagree, the branch turns faster than it is sampled
    (at an avoided crossing) and there is no measurement: such probes are left out and counted. One start in each case
    has a value of 1e-4.
    """
    rng = generator(key)
    cases = ([(2, "square", (4, 4)), (3, "cross-entropy", (3, 5))] if scale == "quick" else
             [(n, name, shape) for n in range(1, 6) for name in LOSSES for shape in ((4, 4), (3, 5))])  # fmt: skip
    count, probes, h = (3, 60, 1e-4) if scale == "quick" else (6, 100, 1e-4)
    middle = np.linspace(4 * h, 2.0, probes)
    times = np.concatenate([[0.0], (middle[:, None] + h * np.arange(-3, 4)).ravel()])
    worst, panels, unresolved = {}, [], []
    for n, name, shape in cases:
        widths = (shape[1], *[max(shape)] * (n - 1), shape[0])
        problem, d = random_problem(rng, name, shape), min(shape)
        maps = [map_with_values(rng, shape, 10 ** rng.uniform(-1.5, 0, d)) for _ in range(count - 1)]
        maps.append(map_with_values(rng, shape, [*10 ** rng.uniform(-1.5, 0, d - 1), 1e-4]))
        run = train.flow(models.DeepLinear(widths), problem, balanced_ensemble(rng, maps, widths), times=times,
                         record=("end_to_end",), rtol=1e-11, tolerance=0.0)  # fmt: skip
        gradient, errors = gradient_of(problem), []
        for W in run.end_to_end.values:
            measured, rough, forecast = _velocities(W[1:].reshape(probes, 7, *shape), h, gradient, n)
            largest = np.abs(forecast).max(axis=0)
            resolved = np.abs(measured - rough) <= 1e-5 * largest
            unresolved.append(1 - resolved.mean())
            errors.append((np.abs(measured - forecast) / largest)[resolved].max())
            if len(errors) == 1 and len(panels) < 4:
                panels.append(_velocity_panel(middle, measured, forecast, f"n = {n}, {name}"))
        worst[n, name, shape] = float(max(errors))
    return Evidence(
        checks=[
            at_most("worst relative error of the velocity of a branch", max(worst.values()), 1e-5),
            at_most("share of probes that the sampling does not resolve", float(np.mean(unresolved)), 0.01),
        ],
        numbers={f"worst error, n = {n}": max(e for case, e in worst.items() if case[0] == n)
                 for n in sorted({case[0] for case in worst})},
        settings={"cases": [f"n = {n}, {name}, {s[0]}×{s[1]}" for n, name, s in cases], "starts": count},
        figure=fig.Figure(tuple(panels), "Velocities of the tracked values (points) are those of Theorem 3.", 2),
    )  # fmt: skip


def _velocities(
    clusters: np.ndarray, h: float, gradient: Callable[[np.ndarray], np.ndarray], n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Velocities at the middle of each cluster of seven samples, largest value first.

    They are measured by differences of sixth and, to see whether these have converged, of fourth order, and predicted.
    """
    measured, rough, forecast = [], [], []
    for W in clusters:
        U, s, V = analytic_svd.track(W)
        order = np.argsort(-np.abs(s[3]))
        measured.append((np.array([-1, 9, -45, 0, 45, -9, 1]) @ s / (60 * h))[order])
        rough.append((np.array([0, 1, -8, 0, 8, -1, 0]) @ s / (12 * h))[order])
        forecast.append(analytic_svd.singular_value_velocity(U[3], s[3], V[3], gradient(W[3]), n)[order])
    return np.array(measured), np.array(rough), np.array(forecast)


def _velocity_panel(times: np.ndarray, measured: np.ndarray, forecast: np.ndarray, title: str) -> fig.Panel:
    marks = [fig.points(times[::2], column[::2], f"r = {r + 1}", r) for r, column in enumerate(measured.T)]
    marks += [fig.theory(times, column, "" if r else "Theorem 3") for r, column in enumerate(forecast.T)]
    return fig.Panel(tuple(marks), "time t", "dσᵣ/dt", title)


SIGN = train.Record(
    "sign_and_log_det",
    lambda model, problem, layers: jnp.stack(
        [sum_of(jnp.stack([jnp.stack(jnp.linalg.slogdet(layer)) for layer in layers]))
         for sum_of in (lambda x: jnp.prod(x[:, 0]), lambda x: jnp.sum(x[:, 1]))]
    ),
    ("part",),
)  # fmt: skip


def determinant_keeps_its_sign(scale: Size, key: jax.Array) -> Evidence:
    """Balanced networks pulled towards targets of the other sign, from well-conditioned and from near-singular starts.

    The determinant is taken layer by layer, so that it is not lost in rounding of the product. Where the least
    singular value falls so low that float64 layers cannot be trusted (below 1e-12 of the largest), logarithms of the
    singular values are followed instead. Starts of deficient rank must stay so. The same maps in unbalanced layers
    are run beside them: for these the lemma does not hold.
    """
    rng = generator(key)
    d, until = 3, 24.0
    count, depths = (52, (2, 3)) if scale == "quick" else (120, (2, 3, 4, 6))
    times = np.linspace(0, until, 121)
    changed, loose, drift, gaps, panels, followed, falsely = [], [], [], [], [], [], 0
    for n in depths:
        widths = (d,) * (n + 1)
        problem, maps = _opposed(rng, d), [_start(rng, d, k) for k in range(count)]
        singular = [map_with_values(rng, (d, d), 10 ** rng.uniform(-1, 0, d - 1)) for _ in range(4)]
        balanced = balanced_ensemble(rng, [*maps, *singular], widths)
        free = _unbalanced(maps, n)
        start = ensembles.Ensemble(tuple(map(jnp.concatenate, zip(balanced.stacked, free, strict=True))))
        run = train.flow(models.DeepLinear(widths), problem, start, times=times, record=("singular_values", SIGN),
                         rtol=1e-9, tolerance=0.0)  # fmt: skip
        signs, logs = np.moveaxis(run.sign_and_log_det.values, -1, 0)
        values = run.singular_values.values
        drift.append((values[count : count + 4, :, -1] / values[count : count + 4, :, 0]).max())
        loose.append(np.mean((signs[count + 4 :] != signs[count + 4 :, :1]).any(axis=1)))
        gradient = gradient_of(problem)
        for k, W0 in enumerate(maps):
            if (values[k, :, -1] > 1e-12 * values[k, :, 0]).all():
                changed.append(bool((signs[k] != np.sign(np.linalg.det(W0))).any()))
                continue
            falsely += bool((signs[k] != signs[k, 0]).any())
            sign, log = singular_flow(times, W0, gradient, n, rtol=1e-8, atol=1e-10).sign_and_log_det
            changed.append(bool((sign != np.sign(np.linalg.det(W0))).any()) or not np.isfinite(log).all())
            followed.append((logs[k], log))
            seen = values[k, :, -1] > 1e-10 * values[k, :, 0]
            gaps.append(np.abs(log - logs[k])[seen].max())
        if len(panels) < 2:
            panels.append(_determinant_panel(times, signs, logs, count, n))
    return Evidence(
        checks=[
            at_least("balanced flows", len(changed), 100),
            at_most("changes of sign among them", sum(changed), 0),
            at_most("largest σ_min/σ_max on flows from deficient rank", max(drift), 1e-10),
            *([at_most("gap in log|det| between layers and logarithmic flow, while both see it", max(gaps), 1e-4)]
              if gaps else []),
        ],
        numbers={"flows followed in logarithms": len(followed), "whose layers falsely change sign": falsely}
        | {f"share of unbalanced flows that change it, n = {n}": float(x) for n, x in zip(depths, loose, strict=True)},
        settings={"size": d, "depths": depths, "flows at each depth": count, "time": until},
        figure=fig.Figure(
            (*panels, _vanishing_panel(times, followed)),
            "Balanced flows only approach det W = 0, which unbalanced layers cross; where it falls below what float64 "
            "layers resolve, logarithms keep it.",
        ),
        remarks=("Balance is needed: from the same maps split unevenly, most flows change the sign.",),
    )  # fmt: skip


def _opposed(rng: np.random.Generator, d: int) -> problems.Problem:
    """Whitened regression on a target of negative determinant."""
    T = map_with_values(rng, (d, d), np.linspace(1.5, 0.5, d))
    T[0] *= -np.sign(np.linalg.det(T))
    return problems.whitened(T)


def _start(rng: np.random.Generator, d: int, k: int) -> np.ndarray:
    """A map of positive determinant (of either sign for every fourth), near-singular for every second."""
    W = map_with_values(
        rng, (d, d), [*10 ** rng.uniform(-0.7, 0.3, d - 1), 10 ** rng.uniform(*((-8, -3), (-1, 0))[k % 2])]
    )
    W[0] *= np.sign(np.linalg.det(W)) if k % 4 else 1.0
    return W


def _unbalanced(maps: list[np.ndarray], n: int) -> list[Any]:
    """The same maps as W = W · I ⋯ I: one layer holds the map, the others are identities."""
    return [jnp.asarray(np.stack(maps)), *[jnp.tile(jnp.eye(maps[0].shape[0]), (len(maps), 1, 1))] * (n - 1)]


def _determinant_panel(times: np.ndarray, signs: np.ndarray, logs: np.ndarray, count: int, n: int) -> fig.Panel:
    """The determinant along some balanced and some unbalanced flows."""
    det = signs * np.exp(np.maximum(logs, -700))
    groups = (("unbalanced", slice(count + 5, count + 20, 2)), ("balanced", slice(1, min(count, 16), 2)))
    early = times <= times[-1] / 2
    marks = [
        fig.measured(times[early], row[early], "" if i else name, 1 - g)
        for g, (name, rows) in enumerate(groups)
        for i, row in enumerate(det[rows])
    ]
    return fig.Panel(tuple(marks), "time t", "det W", f"n = {n}")


def _vanishing_panel(times: np.ndarray, followed: list[tuple[np.ndarray, np.ndarray]]) -> fig.Panel:
    """The logarithm of |det W| by layers in float64 and by the flow in logarithms, where those are needed."""
    marks = []
    furthest_apart = sorted(followed, key=lambda pair: -np.abs(pair[0] - pair[1]).max())
    for i, (by_layers, by_logarithms) in enumerate(furthest_apart[:6]):
        marks.append(fig.measured(times, by_layers / np.log(10), "" if i else "layers", 2))
        marks.append(fig.theory(times, by_logarithms / np.log(10), "" if i else "logarithms"))
    return fig.Panel(tuple(marks), "time t", "log₁₀ |det W|", "balanced, near-singular")
