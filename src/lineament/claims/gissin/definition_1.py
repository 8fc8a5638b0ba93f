"""Learning phases: what it means that two values are learnt one after the other (Definition 1)."""

from typing import NamedTuple

import jax
import numpy as np
from scipy.integrate import solve_ivp

from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ...theory import phases
from ..instances import generator
from ..sizes import sizes

S, F = 0.1, 0.9  # of the figures
NONE = "theory: the decision is exact; the integrator is asked for thirteen digits, the nearest start has six"


class Settings(NamedTuple):
    """How many random instances are decided, and how many runs each panel of the figure holds."""

    instances: int
    drawn: int


def _simulate(start: float, targets: tuple[float, float], s: float, f: float, depth: float) -> bool:
    """Definition 1 by brute force: integrate both modes in time until one of them passes its mark; i must be first."""
    power, goal = 1 - 2 / depth, np.array(targets)
    marks = np.log([f * goal[0], s * goal[1]])

    def field(t: float, u: np.ndarray) -> np.ndarray:
        return np.exp(power * u) * (goal - np.exp(u))

    def passed(mode: int):
        def event(t: float, u: np.ndarray) -> float:
            return u[mode] - marks[mode]

        event.terminal = True  # type: ignore[attr-defined]
        return event

    if start > s * goal[1]:
        return False
    with np.errstate(over="ignore", invalid="ignore"):  # in trial steps that the solver then rejects
        run = solve_ivp(field, (0, 1e300), np.log([start, start]), "DOP853", events=[passed(0), passed(1)],
                        rtol=1e-13, atol=1e-13)  # fmt: skip
    return bool(run.t_events[0].size)


@sizes(quick=Settings(150, 60), full=Settings(3000, 300))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """The exact decision against brute force: both modes integrated in time until one of them passes its mark.

    Random targets, fractions, depths from 1 (where no pair is ever incremental) to infinity and starts over ten
    orders of magnitude; then close to the boundary, a relative 1e-3 to 1e-6 on either side of the largest incremental
    start.
    """
    rng, count = generator(key), settings.instances
    s, f, depth = rng.uniform(0.001, 0.25, count), rng.uniform(0.75, 0.999, count), depths(rng, count, 1.0)
    target_j = 10 ** rng.uniform(-1, 1, count)
    target_i = target_j * (1 + 10 ** rng.uniform(-1.5, 2, count))
    start = target_j * 10 ** rng.uniform(-10, -0.01, count)
    random = _disagreements(start, target_i, target_j, s, f, depth)

    exact = phases.log_threshold(depth, target_i / target_j, s, f, target_j)
    near = np.flatnonzero(exact > np.log(1e-250))
    side = np.resize([-1, 1], near.size) * 10.0 ** -np.resize([3, 4, 5, 6, 6, 5, 4, 3], near.size)
    edge = np.exp(exact[near]) * (1 + side)
    close = _disagreements(edge, target_i[near], target_j[near], s[near], f[near], depth[near])

    panels, drawn = _diagram(rng, settings.drawn)
    return Evidence(
        checks=[
            at_most("disagreements on random instances", random, 0, NONE),
            at_most("disagreements within 1e-3 to 1e-6 of the boundary", close, 0, NONE),
            at_most("disagreements in the figure", drawn, 0, NONE),
        ],
        numbers={
            "instances near the boundary": float(near.size),
            "share of random instances that are incremental": float(np.mean(exact >= np.log(start))),
        },
        protocol={
            "fractions": "s from 0.001 to 1/4, f from 3/4 to 0.999",
            "targets": "σi*/σj* − 1 from 0.03 to 100",
            "start": "σ0/σj* from 1e-10 to 1, and within 1e-3 to 1e-6 of the exact threshold",
            "depth": "1, 1.5, 2, 3, 4, real numbers up to 100, infinity",
            "optimiser": "gradient flow, integrated by SciPy",
        },
        figure=fig.Figure(
            panels,
            f"All {3 * settings.drawn} integrated runs are incremental exactly below the closed threshold, which "
            "falls exponentially as r → 1 at depth 2 and only polynomially at greater depth (s = 0.1, f = 0.9).",
        ),
    )


def depths(rng: np.random.Generator, count: int, least: float) -> np.ndarray:
    """Whole depths, real ones and infinity; from 1 or from 2 on."""
    choices = [1.0, 1.5, 2.0, 2.0, 3.0, 4.0, np.inf, np.nan, np.nan]
    depth = rng.choice([n for n in choices if not n < least], count)
    return np.where(np.isnan(depth), 2 + 10 ** rng.uniform(-2, 2, count), depth)


def _disagreements(*columns: np.ndarray) -> int:
    """How often exact decision and brute force differ; columns are those of `is_incremental`."""
    exact = phases.is_incremental(*columns)
    brute = [_simulate(start, (i, j), s, f, depth) for start, i, j, s, f, depth in zip(*columns, strict=True)]
    return int(np.sum(exact != brute))


def _diagram(rng: np.random.Generator, count: int) -> tuple[tuple[fig.Panel, ...], int]:
    """Runs in the plane of ratio and start, with the exact threshold over them, at three depths."""
    panels, wrong = [], 0
    for depth, least in ((2.0, 1e-8), (3.0, 1e-5), (np.inf, 1e-3)):
        ratio, start = 1 + 10 ** rng.uniform(-1, 1, count), 10 ** rng.uniform(np.log10(least), np.log10(0.3), count)
        runs = np.array([_simulate(x, (r, 1.0), S, F, depth) for x, r in zip(start, ratio, strict=True)])
        wrong += int(np.sum(runs != phases.is_incremental(start, ratio, 1.0, S, F, depth)))
        line = 1 + np.geomspace(0.1, 10, 200)
        curve = phases.threshold(depth, line, S, F)
        seen = curve > least / 3
        marks = (
            fig.points(ratio[runs] - 1, start[runs], "incremental", 0),
            fig.points(ratio[~runs] - 1, start[~runs], "not", 1),
            fig.theory(line[seen] - 1, curve[seen], "exact threshold"),
        )
        name = "∞" if np.isinf(depth) else f"{depth:g}"
        panels.append(fig.Panel(marks, "r − 1", "σ₀ / σⱼ*", f"N = {name}", x_scale="log", y_scale="log"))
    return tuple(panels), wrong
