"""How long the gradient scale matrices stay at the identity: Theorem 2 and Corollary 2.1."""

from typing import NamedTuple

import jax
import numpy as np
from scipy.stats import norm

from ...evidence import Evidence, at_most, within
from ...evidence import figure as fig
from ..instances import generator, slope
from ..sizes import Size
from .scales import draw
from .setting import (
    LEFT,
    RIGHT,
    Limit,
    Task,
    limit_start,
    steady_step,
    task,
    train_all,
    two_layers,
    wide_limit,
)

STEPS = 160
SIZES = (0.1, 1.0, 3.0)


class Runs(NamedTuple):
    """Two-layer networks: A₁ and B₂ as (size, width, seed, step, …), and the limit of infinite width for each size."""

    widths: np.ndarray
    A: np.ndarray
    B: np.ndarray
    limits: list[Limit]


def stay_at_identity(scale: Size, key: jax.Array) -> Evidence:
    """A and B from the start through convergence, at rising width and for optima of small and large norm.

    Two-layer networks from Definition 3 by descent, against the recursion that A, B and W obey at infinite width:
    trained networks must approach that limit as m^{−1/2}, and as printed the limit would be the identity. Four-layer
    networks that begin with A = B = I and W = 0 exactly: how A and B end, for optima of falling norm. The mean of the
    first change at finite width, by Monte Carlo: the rates q/m and K/m of Theorems 6 and 7.
    """
    rng = generator(key)
    q, K = 8, 2
    the_task = task(rng, q, K)
    runs = _two_layers(rng, the_task, scale)
    eye_A, eye_B = np.eye(K), np.eye(q)
    begin = np.sqrt(np.mean((runs.A[:, :, :, 0] - eye_A) ** 2, axis=(0, 2, 3, 4)))
    gap_A, gap_B = (
        np.stack(
            [
                np.sqrt(np.mean(np.sum((of[i] - limit) ** 2, axis=(-2, -1)).max(axis=-1), axis=-1))
                for i, limit in enumerate([each[which] for each in runs.limits])
            ]
        )
        for which, of in enumerate((runs.A, runs.B))
    )
    away_A = np.linalg.norm(runs.A[:, :, :, -1] - eye_A, 2, axis=(-2, -1)).mean(axis=-1)
    away_B = np.linalg.norm(runs.B[:, :, :, -1] - eye_B, 2, axis=(-2, -1)).mean(axis=-1)
    rates = [slope(runs.widths, gap)[0] for gap in (*gap_A, *gap_B)]
    change_A, change_B = (
        np.einsum("...ii->...i", of[1:, -1, :, -1] - of[1:, -1, :, 0]).mean() for of in (runs.A, runs.B)
    )
    sizes, left, apart = _deep_ends(rng, scale, q, K)
    z, bar = _first_change(rng, scale)
    steps = np.geomspace(1e-4, 1e-2, 7)
    few = [np.linalg.norm(wide_limit(the_task, 1.0, step, 5).A[-1] - eye_A, 2) for step in steps]
    return Evidence(
        checks=[
            within("least slope against m of the distance to the wide limit", min(rates), -0.65, -0.35),
            within("largest slope against m of the distance to the wide limit", max(rates), -0.65, -0.35),
            within("slope against m of the distance from I at the start", slope(runs.widths, begin)[0], -0.6, -0.4),
            within("slope against |Wopt| of what the corrected form leaves out, relative", left, 1.8, 2.2),
            within("slope against μ of |A − I| after five steps at infinite width", slope(steps, few)[0], 1.9, 2.1),
            within("A's mean diagonal change over B's, times K/q, widest", change_A / change_B * K / q, 0.9, 1.1),
            at_most("largest deviation of the mean first change from its rate, in standard errors", z, bar),
        ],
        printed=[
            at_most(
                f"slope against m of |{name} − I| at convergence, optimum of norm {SIZES[-1]:g}",
                slope(runs.widths, away[-1])[0],
                -0.35,
            )
            for name, away in (("A", away_A), ("B", away_B))
        ],
        correction=r"L=2,\ m\to\infty:\quad A_1=I+\frac12WW^\top+O(\|W\|^4),\quad "
        r"B_2=I+\frac12W^\top W+O(\|W\|^4)",
        numbers={
            **{
                f"|{name} − I| at convergence, m = {runs.widths[-1]}, optimum {size:g}": float(away[i, -1])
                for name, away in (("A", away_A), ("B", away_B))
                for i, size in enumerate(SIZES)
            },
            "slope of |A − I| against m at convergence, optimum 0.1": slope(runs.widths, away_A[0])[0],
        },
        settings={
            "q, K": (q, K),
            "widths": [int(m) for m in runs.widths],
            "norms of the optimum": list(SIZES),
            "steps": STEPS,
            "networks each": runs.A.shape[2],
        },
        figure=_figure(runs, away_A, away_B, sizes, apart),
        remarks=[
            "At a fixed number of steps A and B are I + O(μ²), as Theorem 2 says; the squares add up over the 1/μ steps "
            "to convergence, so Corollary 2.1, which drops them, holds only while the map is small.",
            "The traces of A and B change alike, so a diagonal entry of A moves q/K times as much as one of B: that is "
            "why A is seen to leave first. In spectral norm they leave together.",
            "Theorem 7's mean is tr Σ_XX/m, printed q/m; Theorem 6's first change is 2μ(l−1)(K/m)Σ_XX, printed "
            "2μl(K/m)I.",
        ],
    )


def _two_layers(rng: np.random.Generator, the_task: Task, scale: Size) -> Runs:
    widths, seeds, members = two_layers(rng, the_task, SIZES, scale)
    at = np.arange(0, STEPS + 1, 8)
    run = train_all(the_task, members, STEPS, at, (LEFT, RIGHT))
    shape = (len(SIZES), len(widths), seeds, len(at))
    limits = [wide_limit(the_task, size, steady_step(size, 2), STEPS) for size in SIZES]
    A, B = run.A.values[:, :, 0], run.B.values[:, :, 1]
    return Runs(
        widths,
        A.reshape(*shape, *A.shape[-2:]),
        B.reshape(*shape, *B.shape[-2:]),
        [Limit(*(each[at] for each in limit)) for limit in limits],
    )


def _deep_ends(rng: np.random.Generator, scale: Size, q: int, K: int) -> tuple[np.ndarray, float, np.ndarray]:
    """Deep networks from A = B = I and W = 0, with orthogonal layers inside, to optima of falling norm.

    To second order each layer has moved by the same W/L between its neighbours' frames, which gives A_l = I + c WWᵀ with
    c = (nL + n(n−1)/2)/L², n = L − l, and B_l alike with n = l − 1. Flow is reached from two step sizes by extrapolation.

    Returns:
        The norms, the slope of the relative gap to that form, and ‖A₁ − I‖ at the end.
    """
    depth, sizes, step = 4, np.geomspace(0.1, 1.6, 6 if scale == "quick" else 16), 0.008
    the_task, layers = task(rng, q, K), limit_start(rng, q, K, depth)
    members = [(layers, float(size), mu) for mu in (step, step / 2) for size in sizes]
    run = train_all(the_task, members, 3500, np.array([0, 3500]), (LEFT, RIGHT, "end_to_end"))
    A, B, W = (
        2 * of[len(sizes) :, -1] - of[: len(sizes), -1] for of in (run.A.values, run.B.values, run.end_to_end.values)
    )
    n = np.arange(depth)
    share = (n * depth + n * (n - 1) / 2) / depth**2
    gaps = []
    for a, b, w in zip(A, B, W, strict=True):
        forecast_A = np.eye(K) + share[::-1, None, None] * (w @ w.T)
        forecast_B = np.eye(q) + share[:, None, None] * (w.T @ w)
        gap = np.linalg.norm(a - forecast_A) + np.linalg.norm(b - forecast_B)
        gaps.append(gap / (np.linalg.norm(a - np.eye(K)) + np.linalg.norm(b - np.eye(q))))
    small = sizes <= 0.6
    return sizes, slope(sizes[small], np.array(gaps)[small])[0], np.linalg.norm(A[:, 0] - np.eye(K), 2, axis=(1, 2))


def _first_change(rng: np.random.Generator, scale: Size) -> tuple[float, float]:
    """The mean over starts of the first change per step of A₁ and B₂, −2 tr(Σ)/m I and −2(K/m)Σ, by one real step.

    A step forward less a step backward leaves only what is linear in the step.
    """
    count, deviations = 20_000 if scale == "quick" else 200_000, []
    for q, K, m in ((4, 2, 8), (4, 2, 32), (12, 2, 8), (4, 5, 8)):
        the_task = task(rng, q, K, 0.1)
        W1, W2 = draw(rng, (q, m, K), np.full(2, 1 / m), "normal", count)
        Er = (W2 @ W1 - the_task.direction) * the_task.d
        G1, G2 = W2.swapaxes(1, 2) @ Er, Er @ W1.swapaxes(1, 2)
        forward, back = W2 - 0.1 * G2, W2 + 0.1 * G2
        dA = np.einsum("nij,nij->ni", forward, forward) - np.einsum("nij,nij->ni", back, back)
        forward, back = W1 - 0.1 * G1, W1 + 0.1 * G1
        dB = np.einsum("nij,nij->nj", forward, forward) - np.einsum("nij,nij->nj", back, back)
        for change, rate in ((dA / 0.2, -2 * the_task.d.sum() / m), (dB / 0.2, -2 * K / m * the_task.d)):
            deviations.append((change.mean(axis=0) - rate) / (change.std(axis=0) / count**0.5))
    z = np.abs(np.concatenate(deviations))
    return float(z.max()), float(norm.isf(0.5 * (1 - (1 - 1e-3) ** (1 / z.size))))


def _figure(runs: Runs, away_A: np.ndarray, away_B: np.ndarray, sizes: np.ndarray, apart: np.ndarray) -> fig.Figure:
    """Distance from I over time and against width, and at the end against the norm of the optimum."""
    steps, eye = np.linspace(0, STEPS, runs.A.shape[3]), np.eye(runs.A.shape[-1])
    over_time, width = [], []
    for i, size in enumerate(SIZES):
        distance = np.linalg.norm(runs.A[i, -1] - eye, 2, axis=(-2, -1))
        limit = np.linalg.norm(runs.limits[i].A - eye, 2, axis=(-2, -1))
        over_time += [
            fig.measured(steps, distance.mean(axis=0), f"|Wopt| = {size:g}", i),
            fig.band(steps, distance.min(axis=0), distance.max(axis=0), "", i),
            fig.theory(steps[1:], limit[1:], "m = ∞"),
        ]
        width += [
            fig.points(runs.widths, away_A[i], f"|Wopt| = {size:g}", i),
            fig.theory(runs.widths[[0, -1]], [limit[-1]] * 2, "m = ∞"),
        ]
    guide = away_A[0, 0] * (runs.widths / runs.widths[0]) ** -0.5
    width.append(fig.reference(runs.widths, guide, "slope −1/2"))
    ends = (fig.points(sizes, apart, "", 3), fig.theory(sizes, 15 / 16 * sizes**2, "second order"))
    name = "|A₁ − I|"
    return fig.Figure(
        (
            fig.Panel(
                tuple(over_time),
                "step s",
                name,
                f"L = 2, m = {runs.widths[-1]}",
                y_scale="log",
                y_limits=(1e-3, 5.0),
            ),
            fig.Panel(tuple(width), "width m", name, "L = 2, converged", "log", "log", (1e-3, 5.0)),
            fig.Panel(ends, "|Wopt|", name, "L = 4, converged", "log", "log"),
        ),
        "However wide the network, A leaves the identity as the map grows: the limit of infinite width is not I.",
        3,
    )
