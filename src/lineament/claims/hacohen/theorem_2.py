"""Theorem 2 and Corollary 2.1: how long, and how near, the gradient scale matrices stay at the identity."""

from typing import NamedTuple

import jax
import numpy as np
from scipy import special

from ...evidence import Check, Evidence, at_most, within
from ...evidence import figure as fig
from ...theory import wide_limit
from ..instances import generator, slope
from ..sizes import sizes
from .scales import draw
from .wide import (
    LEFT,
    RIGHT,
    Grid,
    Member,
    Moments,
    flow_all,
    limit_start,
    moments,
    steady_step,
    train_all,
    two_layers,
)


class Settings(NamedTuple):
    """What is run at each size.

    Attributes:
        grid: Two-layer networks over the width.
        deep_norms: How many norms of the optimum the four-layer networks are trained to.
        starts: Over which the mean of the first change is taken.
        norms: Spectral norms of the optimum of the two-layer networks.
        steps: Of these, past convergence.
        inputs: q.
        outputs: K.
        flow_until: The time to which two-layer networks follow gradient flow.
    """

    grid: Grid
    deep_norms: int
    starts: int
    norms: tuple[float, ...] = (0.1, 1.0, 3.0)
    steps: int = 160
    inputs: int = 8
    outputs: int = 2
    flow_until: float = 20.0


class ScaleMatrices(NamedTuple):
    """Two-layer networks: A₁ and B₂ as (norm, width, seed, step, …), and the limit of infinite width for each norm."""

    widths: np.ndarray
    A: np.ndarray
    B: np.ndarray
    limits: list[wide_limit.Limit]

    def away(self, which: str) -> np.ndarray:
        """The spectral distance of A or B from I at the end, mean over seeds, (norm, width)."""
        matrices = getattr(self, which)[:, :, :, -1]
        return np.linalg.norm(matrices - np.eye(matrices.shape[-1]), 2, axis=(-2, -1)).mean(axis=-1)

    def to_limit(self, which: str) -> np.ndarray:
        """The largest Frobenius distance of A or B from the wide limit over time, root mean square of seeds."""
        apart = [getattr(self, which)[i] - getattr(limit, which) for i, limit in enumerate(self.limits)]
        return np.stack([np.sqrt(np.mean(np.sum(gap**2, axis=(-2, -1)).max(axis=-1), axis=-1)) for gap in apart])


class Ends(NamedTuple):
    """Four-layer networks: norms of the optimum, slope of what second order leaves out, and ‖A₁ − I‖ at the end."""

    norms: np.ndarray
    left: float
    away: np.ndarray


@sizes(
    quick=Settings(grid=Grid((64, 128, 256, 512, 1024, 2048), seeds=6), deep_norms=6, starts=20_000),
    full=Settings(grid=Grid(tuple(2**k for k in range(6, 16)), seeds=12), deep_norms=16, starts=200_000),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """A and B from the start through convergence, at rising width and for optima of small and large norm.

    Two-layer networks from Definition 3 by descent, against the recursion that A, B and W obey at infinite width:
    trained networks must approach that limit as m^{−1/2}, and as printed the limit would be the identity. Gradient flow
    of networks that begin with A = B = I and W = 0 exactly, against the corrected limit A₁ = √(I + WWᵀ) and
    B₂ = √(I + WᵀW) at two layers, and against its second order at four. The mean of the first change at finite width, by
    Monte Carlo: the rates q/m and K/m of Theorems 6 and 7.
    """
    rng = generator(key)
    data = moments(rng, settings.inputs, settings.outputs)
    runs = _two_layers(rng, data, settings)
    ends = _deep_ends(rng, settings)
    return Evidence(
        checks=[
            _exact_limit(rng, data, settings),
            *_approach(runs, settings),
            within("slope against |Wopt| of what second order leaves out at four layers, relative", ends.left, 1.8, 2.2,
                   "theory: the next order is |W|², slope 2 ± 10 %"),
            *_few_steps(data, settings),
            _first_change(rng, settings.starts),
            _exact_descent(rng, data, settings),
        ],
        printed=[
            at_most(f"slope against m of |{name} − I| at convergence, optimum of norm {settings.norms[-1]:g}",
                    slope(runs.widths, runs.away(name)[-1])[0], -0.35,
                    "printed: |A − I| and |B − I| tend to 0 with the width; m^(−1/2), + 30 %")
            for name in ("A", "B")
        ],
        correction=r"L=2,\ m\to\infty:\quad A_1=\left(I+WW^\top\right)^{1/2},\quad "
        r"B_2=\left(I+W^\top W\right)^{1/2}",
        numbers={
            f"|{name} − I| at convergence, m = {runs.widths[-1]}, optimum {optimum:g}": float(runs.away(name)[i, -1])
            for name in ("A", "B")
            for i, optimum in enumerate(settings.norms)
        } | {"slope of |A − I| against m at convergence, optimum 0.1": slope(runs.widths, runs.away("A")[0])[0]},
        settings={"d": "1 … 0.3"},
        protocol={
            "network": f"linear, two layers, m = {settings.grid.widths[0]} … {settings.grid.widths[-1]}; four layers "
            "that begin as infinitely wide ones do",
            "data": f"q = {settings.inputs}, K = {settings.outputs}, eigenvalues 1 … 0.3, optima of norm "
            f"{', '.join(f'{optimum:g}' for optimum in settings.norms)}",
            "loss": "square loss",
            "start": "Definition 3",
            "step size": "0.25/(L(1 + |Wopt|²)^½); gradient flow for the exact limit",
            "time": "from the start through convergence",
        },
        figure=_figure(runs, settings, ends),
        remarks=[
            "At a fixed number of steps A and B are I + O(μ²), as Theorem 2 says; the squares add up over the 1/μ "
            "steps to convergence, so Corollary 2.1, which drops them, holds only while the map is small.",
            "By hand: one input, one output, two units, W₁ = (1, 0)ᵀ, W₂ = (0, 1). Flow keeps W₁ = (cosh s, sinh s)ᵀ "
            "and W₂ = (sinh s, cosh s), so that w = sinh 2s and A = B = cosh 2s = √(1 + w²). At w = 1, A = √2.",
            "The traces of A and B change alike, so a diagonal entry of A moves q/K times as much as one of B: that "
            "is why A is seen to leave first. In spectral norm they leave together.",
            "Theorem 7's mean is tr Σ_XX/m, printed q/m; Theorem 6's first change is 2μ(l−1)(K/m)Σ_XX, printed "
            "2μl(K/m)I.",
        ],
    )  # fmt: skip


def _two_layers(rng: np.random.Generator, data: Moments, settings: Settings) -> ScaleMatrices:
    members = two_layers(rng, data, settings.norms, settings.grid)
    at = np.arange(0, settings.steps + 1, 8)
    run = train_all(data, members, settings.steps, at, (LEFT, RIGHT))
    shape = (len(settings.norms), len(settings.grid.widths), settings.grid.seeds, len(at))
    limits = [
        wide_limit.descent(data.d, optimum * data.direction, steady_step(optimum, 2), settings.steps)
        for optimum in settings.norms
    ]
    A, B = run.A.values[:, :, 0], run.B.values[:, :, 1]
    return ScaleMatrices(
        np.array(settings.grid.widths),
        A.reshape(*shape, *A.shape[-2:]),
        B.reshape(*shape, *B.shape[-2:]),
        [wide_limit.Limit(*(part[at] for part in limit)) for limit in limits],
    )


def _exact_limit(rng: np.random.Generator, data: Moments, settings: Settings) -> Check:
    """Gradient flow of two-layer networks that begin with A = B = I and W = 0, against the roots of I + WWᵀ, I + WᵀW."""
    layers = limit_start(rng, settings.inputs, settings.outputs, 2)
    times = np.linspace(0.0, settings.flow_until, 24)
    run = flow_all(data, layers, settings.norms, times, (LEFT, RIGHT, "end_to_end"))
    A, B = wide_limit.scales(run.end_to_end.values)
    gaps = [
        np.linalg.norm(measured - exact, axis=(-2, -1)) / np.linalg.norm(exact, axis=(-2, -1))
        for measured, exact in ((run.A.values[:, :, 0], A), (run.B.values[:, :, 1], B))
    ]
    return at_most("two layers, largest relative gap of A₁ to √(I + WWᵀ) and B₂ to √(I + WᵀW) along flow", np.max(gaps),
                   1e-7, "solver's relative tolerance 1e-9 × 100")  # fmt: skip


def _exact_descent(rng: np.random.Generator, data: Moments, settings: Settings) -> Check:
    """Descent of two-layer networks that begin with A = B = I and W = 0, against the recursion of the wide limit."""
    layers = limit_start(rng, settings.inputs, settings.outputs, 2)
    members = [Member(layers, norm, steady_step(norm, 2)) for norm in settings.norms]
    run = train_all(data, members, settings.steps, np.arange(settings.steps + 1), (LEFT, RIGHT, "end_to_end"))
    measured = run.A.values[:, :, 0], run.B.values[:, :, 1], run.end_to_end.values
    gaps = []
    for i, member in enumerate(members):
        limit = wide_limit.descent(data.d, member.norm * data.direction, member.step_size, settings.steps)
        gaps += [np.abs(of[i] - exact).max() / np.abs(exact).max() for of, exact in zip(measured, limit, strict=True)]
    return at_most("two layers, largest relative gap of A₁, B₂ and W to the recursion along descent", max(gaps), 1e-11,
                   "both are exact: rounding of so many steps")  # fmt: skip


def _approach(runs: ScaleMatrices, settings: Settings) -> list[Check]:
    """How trained networks near the wide limit, and how the changes of A and B compare."""
    rates = [slope(runs.widths, gap)[0] for name in ("A", "B") for gap in runs.to_limit(name)]
    eye = np.eye(settings.outputs)
    begin = np.sqrt(np.mean((runs.A[:, :, :, 0] - eye) ** 2, axis=(0, 2, 3, 4)))
    change_A, change_B = (
        np.einsum("...ii->...i", of[1:, -1, :, -1] - of[1:, -1, :, 0]).mean() for of in (runs.A, runs.B)
    )
    ratio = change_A / change_B * settings.outputs / settings.inputs
    bar = (-0.65, -0.35, "theory: slope −½ ± 30 %, with few seeds at each width")
    return [
        within("least slope against m of the distance to the wide limit", min(rates), *bar),
        within("largest slope against m of the distance to the wide limit", max(rates), *bar),
        within("slope against m of the distance from I at the start", slope(runs.widths, begin)[0], -0.6, -0.4,
               "theory: slope −½ ± 20 %"),
        within("A's mean diagonal change over B's, times K/q, widest", ratio, 0.9, 1.1,
               "theory: the traces change alike, 1 ± 10 % at finite width"),
    ]  # fmt: skip


def _few_steps(data: Moments, settings: Settings) -> list[Check]:
    """At a fixed number of steps the printed O(μ²) is right."""
    step_sizes = np.geomspace(1e-4, 1e-2, 7)
    few = [wide_limit.descent(data.d, data.direction, float(mu), 5).A[-1] for mu in step_sizes]
    away = [np.linalg.norm(A - np.eye(settings.outputs), 2) for A in few]
    return [within("slope against μ of |A − I| after five steps at infinite width", slope(step_sizes, away)[0], 1.9, 2.1,
                   "printed: O(μ²), slope 2 ± 5 %")]  # fmt: skip


def _deep_ends(rng: np.random.Generator, settings: Settings) -> Ends:
    """Deep networks from A = B = I and W = 0, with orthogonal layers inside, to optima of falling norm.

    To second order each layer has moved by the same W/L between its neighbours' frames, which gives A_l = I + c WWᵀ with
    c = (nL + n(n−1)/2)/L², n = L − l, and B_l alike with n = l − 1. Flow is reached from two step sizes by extrapolation.
    """
    q, K, depth, step_size = settings.inputs, settings.outputs, 4, 0.008
    norms = np.geomspace(0.1, 1.6, settings.deep_norms)
    data, layers = moments(rng, q, K), limit_start(rng, q, K, depth)
    members = [Member(layers, float(optimum), mu) for mu in (step_size, step_size / 2) for optimum in norms]
    run = train_all(data, members, 3500, np.array([0, 3500]), (LEFT, RIGHT, "end_to_end"))
    A, B, W = (
        2 * of[len(norms) :, -1] - of[: len(norms), -1] for of in (run.A.values, run.B.values, run.end_to_end.values)
    )
    n = np.arange(depth)
    share = (n * depth + n * (n - 1) / 2) / depth**2
    gaps = []
    for a, b, w in zip(A, B, W, strict=True):
        forecast_A = np.eye(K) + share[::-1, None, None] * (w @ w.T)
        forecast_B = np.eye(q) + share[:, None, None] * (w.T @ w)
        gap = np.linalg.norm(a - forecast_A) + np.linalg.norm(b - forecast_B)
        gaps.append(gap / (np.linalg.norm(a - np.eye(K)) + np.linalg.norm(b - np.eye(q))))
    small = norms <= 0.6
    left = slope(norms[small], np.array(gaps)[small])[0]
    return Ends(norms, left, np.linalg.norm(A[:, 0] - np.eye(K), 2, axis=(1, 2)))


def _first_change(rng: np.random.Generator, count: int) -> Check:
    """The mean over starts of the first change per step of A₁ and B₂, −2 tr(Σ)/m I and −2(K/m)Σ, by one real step.

    A step forward less a step backward leaves only what is linear in the step size.
    """
    deviations = []
    for q, K, m in ((4, 2, 8), (4, 2, 32), (12, 2, 8), (4, 5, 8)):
        data = moments(rng, q, K, 0.1)
        W1, W2 = draw(rng, (q, m, K), np.full(2, 1 / m), "normal", count)
        Er = (W2 @ W1 - data.direction) * data.d
        G1, G2 = W2.swapaxes(1, 2) @ Er, Er @ W1.swapaxes(1, 2)
        forward, back = W2 - 0.1 * G2, W2 + 0.1 * G2
        dA = np.einsum("nij,nij->ni", forward, forward) - np.einsum("nij,nij->ni", back, back)
        forward, back = W1 - 0.1 * G1, W1 + 0.1 * G1
        dB = np.einsum("nij,nij->nj", forward, forward) - np.einsum("nij,nij->nj", back, back)
        for change, rate in ((dA / 0.2, -2 * data.d.sum() / m), (dB / 0.2, -2 * K / m * data.d)):
            deviations.append((change.mean(axis=0) - rate) / (change.std(axis=0) / count**0.5))
    z = np.abs(np.concatenate(deviations))
    bar = float(-special.ndtri(0.5 * (1 - (1 - 1e-3) ** (1 / z.size))))
    return at_most("largest deviation of the mean first change from its rate, in standard errors", z.max(), bar,
                   "standard errors: chance exceeds this once in a thousand such experiments")  # fmt: skip


def _figure(runs: ScaleMatrices, settings: Settings, ends: Ends) -> fig.Figure:
    """Distance from I over time and against width, and at the end against the norm of the optimum."""
    steps, eye, away = np.linspace(0, settings.steps, runs.A.shape[3]), np.eye(runs.A.shape[-1]), runs.away("A")
    over_time, width = [], []
    for i, optimum in enumerate(settings.norms):
        distance = np.linalg.norm(runs.A[i, -1] - eye, 2, axis=(-2, -1))
        limit = np.linalg.norm(runs.limits[i].A - eye, 2, axis=(-2, -1))
        over_time += [
            fig.measured(steps, distance.mean(axis=0), f"|Wopt| = {optimum:g}", i),
            fig.band(steps, distance.min(axis=0), distance.max(axis=0), "", i),
            fig.theory(steps[1:], limit[1:], "m = ∞"),
        ]
        width += [
            fig.points(runs.widths, away[i], f"|Wopt| = {optimum:g}", i),
            fig.theory(runs.widths[[0, -1]], [(1 + optimum**2) ** 0.5 - 1] * 2, "m = ∞"),
        ]
    width.append(fig.reference(runs.widths, away[0, 0] * (runs.widths / runs.widths[0]) ** -0.5, "slope −1/2"))
    marks = (fig.points(ends.norms, ends.away, "", 3), fig.theory(ends.norms, 15 / 16 * ends.norms**2, "second order"))
    name = "|A₁ − I|"
    return fig.Figure(
        (
            fig.Panel(
                tuple(over_time), "step s", name, f"L = 2, m = {runs.widths[-1]}", y_scale="log", y_limits=(1e-3, 5.0)
            ),
            fig.Panel(tuple(width), "width m", name, "L = 2, converged", "log", "log", (1e-3, 5.0)),
            fig.Panel(marks, "|Wopt|", name, "L = 4, converged", "log", "log"),
        ),
        f"However wide the network, A leaves the identity as the map grows: by {away[-1, -1]:.2f} at m = "
        f"{runs.widths[-1]} for an optimum of norm {settings.norms[-1]:g}, where √(1 + |Wopt|²) − 1 is "
        f"{(1 + settings.norms[-1] ** 2) ** 0.5 - 1:.2f}.",
        3,
    )
