"""Theorem 3: each singular value moves by its own power times the descent along its component."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from ... import models, train
from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ...theory import analytic_svd
from ..instances import generator
from ..sizes import sizes
from .networks import LOSSES, balanced_ensemble, gradient_of, map_with_values, random_problem
from .theorem_1 import Case

AGREE = 1e-5  # differences of three orders that agree to this have converged
DIFFERENCES = {
    4: np.array([0, 0, 1, -8, 0, 8, -1, 0, 0]) / 12,
    6: np.array([0, -1, 9, -45, 0, 45, -9, 1, 0]) / 60,
    8: np.array([3, -32, 168, -672, 0, 672, -168, 32, -3]) / 840,
}
"""Central differences over nine samples one apart, by their order."""


class Settings(NamedTuple):
    """What is run at each size: samples `spacing` apart are differentiated, by differences of these orders."""

    cases: tuple[Case, ...]
    starts: int
    probes: int
    spacing: float = 1e-4
    until: float = 2.0
    rtol: float = 1e-11
    orders: tuple[int, ...] = (4, 6, 8)


class Probed(NamedTuple):
    """One case: the worst error of a velocity, the shares of probes left out, and a panel."""

    error: float
    unresolved: list[float]
    panel: fig.Panel


@sizes(
    quick=Settings((Case(2, "square", (4, 4)), Case(3, "cross-entropy", (3, 5))), starts=3, probes=60),
    full=Settings(
        tuple(Case(n, loss, shape) for n in range(1, 6) for loss in LOSSES for shape in ((4, 4), (3, 5))),
        starts=6,
        probes=100,
    ),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Tracked singular values of trained networks, differentiated numerically, against the formula at each time.

    Branches are tracked over nine samples 1e-4 apart around each of many times, and differentiated by the central
    difference of eighth order. Errors are relative to the largest velocity that the r-th largest value has at any of
    these times. Where the differences of fourth, sixth and eighth order disagree, the branch turns faster than it is
    sampled (at an avoided crossing) and there is no measurement: such probes are left out and counted. Two orders alone
    agree by chance where their difference changes sign. One start in each case has a value of 1e-4.
    """
    rng = generator(key)
    probed = {case: _probe(rng, case, settings) for case in settings.cases}
    depths = sorted({case.n for case in settings.cases})
    unresolved = float(np.mean([share for probes in probed.values() for share in probes.unresolved]))
    return Evidence(
        checks=[
            at_most("worst relative error of the velocity of a branch", max(r.error for r in probed.values()), 1e-5,
                    "the differences' accuracy: those of three orders agree to 1e-5 where they count"),
            at_most("share of probes that the sampling does not resolve", unresolved, 0.01,
                    "one probe in a hundred may fall on an avoided crossing"),
        ],
        numbers={f"worst error, n = {n}": max(r.error for case, r in probed.items() if case.n == n) for n in depths},
        protocol={
            "loss": ", ".join(dict.fromkeys(case.loss for case in settings.cases)) + ", on random data",
            "network": f"depths {', '.join(map(str, depths))}; maps 4×4 and 3×5",
            "start": f"{settings.starts} balanced in each case, one of them nearly singular",
            "training": f"gradient flow until t = {settings.until:g}",
        },
        figure=fig.Figure(
            tuple(probes.panel for probes in probed.values())[:4],
            "Velocities of the tracked values (points) are those of Theorem 3.",
            2,
        ),
    )  # fmt: skip


def _probe(rng: np.random.Generator, case: Case, settings: Settings) -> Probed:
    """Train one case and compare measured with predicted velocities at every probe."""
    (n, name, shape), h = case, settings.spacing
    middle = np.linspace(5 * h, settings.until, settings.probes)
    times = np.concatenate([[0.0], (middle[:, None] + h * np.arange(-4, 5)).ravel()])
    widths = (shape[1], *[max(shape)] * (n - 1), shape[0])
    problem, d = random_problem(rng, name, shape), min(shape)
    maps = [map_with_values(rng, shape, 10 ** rng.uniform(-1.5, 0, d)) for _ in range(settings.starts - 1)]
    maps.append(map_with_values(rng, shape, [*10 ** rng.uniform(-1.5, 0, d - 1), 1e-4]))
    run = train.flow(models.DeepLinear(widths), problem, balanced_ensemble(rng, maps, widths), times=times,
                     record=("end_to_end",), rtol=settings.rtol, tolerance=0.0)  # fmt: skip
    gradient = gradient_of(problem)
    errors, unresolved, panels = [], [], []
    for W in run.end_to_end.values:
        clusters = W[1:].reshape(settings.probes, 9, *shape)
        by_order, forecast = _velocities(clusters, h, settings.orders, gradient, n)
        measured, largest = by_order[-1], np.abs(forecast).max(axis=0)
        resolved = np.all(np.abs(np.diff(by_order, axis=0)) <= AGREE * largest, axis=0)
        unresolved.append(float(1 - resolved.mean()))
        errors.append(float((np.abs(measured - forecast) / largest)[resolved].max()))
        panels.append(_velocity_panel(middle, measured, forecast, f"n = {n}, {name}"))
    return Probed(max(errors), unresolved, panels[0])


def _velocities(
    clusters: np.ndarray, h: float, orders: tuple[int, ...], gradient: Callable[[np.ndarray], np.ndarray], n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Velocities at the middle of each cluster of nine samples, largest value first.

    Returns:
        Measured by differences of each order (order, cluster, value), and predicted (cluster, value).
    """
    differences = np.stack([DIFFERENCES[order] for order in orders]) / h
    measured, forecast = [], []
    for W in clusters:
        U, s, V = analytic_svd.track(W)
        middle = len(W) // 2
        descending = np.argsort(-np.abs(s[middle]))
        measured.append((differences @ s)[:, descending])
        velocity = analytic_svd.singular_value_velocity(U[middle], s[middle], V[middle], gradient(W[middle]), n)
        forecast.append(velocity[descending])
    return np.stack(measured, axis=1), np.array(forecast)


def _velocity_panel(times: np.ndarray, measured: np.ndarray, forecast: np.ndarray, title: str) -> fig.Panel:
    marks = [fig.points(times[::2], column[::2], f"r = {r + 1}", r) for r, column in enumerate(measured.T)]
    marks += [fig.theory(times, column, "" if r else "Theorem 3") for r, column in enumerate(forecast.T)]
    return fig.Panel(tuple(marks), "time t", "dσᵣ/dt", title)
