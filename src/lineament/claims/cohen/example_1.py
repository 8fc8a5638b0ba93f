"""Example 1 and Exercise 3: deficiency margins on whitened data."""

from typing import NamedTuple

import jax
import numpy as np
from scipy import optimize, special

from ...evidence import Evidence, at_most, within
from ...evidence import figure as fig
from ...theory import certificates as theory
from ..instances import generator
from ..sizes import sizes
from .networks import unit

Shape = tuple[int, int]
DIMENSIONS = (2, 10, 100)
FACTORS = (0.5, 1 - 1e-3, 1 + 1e-3, 1.5)  # of the distance at which the margin ends
SHAPES: tuple[Shape, ...] = ((2, 2), (3, 2), (2, 4), (1, 3), (4, 1))


class Settings(NamedTuple):
    """What is run at each size; shapes are (outputs, inputs)."""

    shapes: tuple[Shape, ...]
    minimisations: int
    random_maps: int


class Distances(NamedTuple):
    """Distances to deficiency by formula and by minimisation, and maps that Definition 3 decides otherwise."""

    formula: np.ndarray
    minimised: np.ndarray
    wrong: int
    decided: int


@sizes(
    quick=Settings(SHAPES, minimisations=6, random_maps=20_000),
    full=Settings((*SHAPES, (4, 4), (5, 3), (1, 1), (3, 6)), minimisations=25, random_maps=400_000),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """The nearest deficient map by constrained minimisation, and Definition 3 on the loss of whitened data itself.

    σ_min(W') ≤ δ says that a unit vector v has ‖W'v‖ ≤ δ (of W'ᵀ, for wide maps). The distance is minimised over W'
    and v together, from several starts, and never sees a singular value decomposition. Maps on both sides of the
    boundary, a relative 1e-3 from it, then have the margin δ or not by Definition 3: whether their loss is below that
    of every deficient map found. Where there is one output, the share of small random maps that have a margin is
    counted too.
    """
    rng = generator(key)
    distances = _distances(rng, settings)
    gap = np.abs(distances.minimised - distances.formula) / np.maximum(distances.formula, 1e-3)
    radius, share, error, forecast = _share_with_margin(rng, settings.random_maps)
    return Evidence(
        checks=[
            at_most("worst relative gap of minimised and printed distance", gap.max(), 1e-5,
                    "the minimiser's accuracy: 1e-9 in its constraints, over distances down to 1e-3, times ten"),
            at_most("maps about the boundary on which Definition 3 decides otherwise", distances.wrong, 0,
                    "an exact statement: every map"),
            at_most("worst share of random maps with a margin, off its forecast, in standard errors",
                    np.max(np.abs(share - forecast) / error), 4.5,
                    "4.5 standard errors: one in 7000 that any of 21 shares is further off"),
            within("share of small random maps that have a margin, one output", share[:, 0].mean(), 0.48, 0.52,
                   "printed value: close to 0.5, ± 0.02"),
        ],
        numbers={"distances minimised": float(len(gap)), "maps decided": float(distances.decided)},
        protocol={
            "loss": "square loss on whitened instances",
            "map": "random targets " + ", ".join(f"{a}×{b}" for a, b in settings.shapes) + "; maps 0.1 % inside and "
            "outside the boundary",
            "measure": "minimisation over maps and unit vectors; the loss of whitened data (Definition 3)",
        },
        figure=_figure(distances, radius, share, forecast),
    )  # fmt: skip


def _distances(rng: np.random.Generator, settings: Settings) -> Distances:
    """Minimise the distance for every shape, and decide maps on both sides of it."""
    formula, minimised, wrong, decided = [], [], 0, 0
    for outputs, inputs in settings.shapes:
        for trial in range(settings.minimisations):
            X, Y = _whitened_data(rng, outputs, inputs)
            target = Y @ X.T / X.shape[1]
            least = np.linalg.svd(target, compute_uv=False)[-1]
            delta = least * (rng.uniform(0.05, 0.95) if trial % 4 else rng.uniform(1.0, 1.5))
            nearest = _nearest_deficient(rng, target, delta)
            formula.append(theory.distance_to_deficient(target, delta))
            minimised.append(float(np.linalg.norm(nearest - target)))
            for factor in FACTORS:
                away = factor * (formula[-1] or 0.1 * least)  # the target itself is deficient: nothing has a margin
                W = target + away * unit(rng, target.shape)
                has = bool(_loss(W, X, Y) < _loss(nearest, X, Y))
                wrong += has != (theory.deficiency_margin(W, target) > delta)
                decided += 1
    return Distances(np.array(formula), np.array(minimised), wrong, decided)


def _figure(distances: Distances, radius: np.ndarray, share: np.ndarray, forecast: np.ndarray) -> fig.Figure:
    longest = float(distances.formula.max())
    formula = (
        fig.points(distances.formula, distances.minimised, "minimised", 0),
        fig.theory([0, longest], [0, longest], "formula"),
    )
    shares = [
        mark
        for group, d in enumerate(DIMENSIONS)
        for mark in (
            fig.points(radius, share[group], f"d = {d}", group),
            fig.theory(radius, forecast[group], "forecast" if group == 0 else ""),
        )
    ]
    return fig.Figure(
        (
            fig.Panel(formula, "max{0, σmin − δ}", "least distance found", "Exercise 3"),
            fig.Panel(tuple(shares), "‖W‖ / ‖Λ‖", "share with a margin", "random maps, one output", "log"),
        ),
        "The nearest deficient map is as far as the formula says; with one output, half of the small random maps "
        "have a margin.",
        2,
    )


def _share_with_margin(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """How many random directions of a given size have a margin, and the area of that cap of the sphere."""
    radius = np.geomspace(1e-3, 1, 7)
    share, forecast = np.zeros((2, len(DIMENSIONS), radius.size))
    for i, d in enumerate(DIMENSIONS):
        cosine = rng.normal(size=count)
        cosine /= np.sqrt(cosine**2 + rng.chisquare(d - 1, count))
        share[i] = np.mean(1 - 2 * radius[:, None] * cosine + radius[:, None] ** 2 < 1, axis=1)
        forecast[i] = special.betainc((d - 1) / 2, 0.5, 1 - radius**2 / 4) / 2
    return radius, share, np.sqrt(forecast * (1 - forecast) / count), forecast


def _whitened_data(rng: np.random.Generator, outputs: int, inputs: int) -> tuple[np.ndarray, np.ndarray]:
    """Instances as columns whose uncentred covariance is the identity, and noisy labels."""
    m = 5 * max(inputs, outputs)
    X = np.linalg.qr(rng.normal(size=(m, inputs)))[0].T * np.sqrt(m)
    return X, rng.normal(size=(outputs, inputs)) @ X + 0.3 * rng.normal(size=(outputs, m))


def _loss(W: np.ndarray, X: np.ndarray, Y: np.ndarray) -> float:
    return float(np.sum((W @ X - Y) ** 2) / (2 * X.shape[1]))


def _nearest_deficient(rng: np.random.Generator, target: np.ndarray, delta: float) -> np.ndarray:
    """Minimise ‖W' − target‖² over W' and unit v with ‖W'v‖ ≤ δ, from several starts."""
    if target.shape[0] < target.shape[1]:
        return _nearest_deficient(rng, target.T, delta).T
    entries, inputs = target.size, target.shape[1]
    split = lambda z: (z[:entries].reshape(target.shape), z[entries:])  # noqa: E731

    def deficient(z: np.ndarray) -> float:
        W, v = split(z)
        return delta**2 - float(np.sum((W @ v) ** 2))

    def deficient_slope(z: np.ndarray) -> np.ndarray:
        W, v = split(z)
        return -2 * np.concatenate([np.outer(W @ v, v).ravel(), W.T @ (W @ v)])

    constraints = [
        {"type": "ineq", "fun": deficient, "jac": deficient_slope},
        {
            "type": "eq",
            "fun": lambda z: np.sum(z[entries:] ** 2) - 1,
            "jac": lambda z: np.concatenate([np.zeros(entries), 2 * z[entries:]]),
        },
    ]
    best, nearest = np.inf, None
    for _ in range(8):
        v = rng.normal(size=inputs)
        begin = np.concatenate([(target + 0.1 * rng.normal(size=target.shape)).ravel(), v / np.linalg.norm(v)])
        outcome = optimize.minimize(
            lambda z: float(np.sum((z[:entries] - target.ravel()) ** 2)),
            begin,
            jac=lambda z: np.concatenate([2 * (z[:entries] - target.ravel()), np.zeros(inputs)]),
            method="SLSQP",
            constraints=constraints,
            options={"ftol": 1e-15, "maxiter": 500},
        )
        if deficient(outcome.x) > -1e-9 and abs(np.sum(outcome.x[entries:] ** 2) - 1) < 1e-9 and outcome.fun < best:
            best, nearest = outcome.fun, split(outcome.x)[0]
    if nearest is None:
        raise RuntimeError(f"no minimisation of the distance to σ_min ≤ {delta:.3g} met its constraints")
    return nearest
