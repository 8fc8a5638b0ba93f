"""Depth can accelerate convex training without bound: Claim 1."""

from typing import NamedTuple

import jax
import numpy as np

from ... import models, problems, starts, train
from ...core import ensembles
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...theory.end_to_end import field_one_output
from ..instances import slope
from ..sizes import Size

POWERS = (4, 6, 8)
EPSILON, START = 1e-2, 1e-3


class Family(NamedTuple):
    """`ℓ(w) = ((w₁ − 1)^p + b (w₂ − λ)^p) / 2p` with b = λ^{1−p}: two examples, a steep near one and a flat far one.

    Both pull equally at the origin. The steep coordinate bounds the step of gradient descent, η < 4 in these units,
    and by such steps the flat one is a long way off. Along the end-to-end dynamics the steep coordinate is settled
    while ‖w‖ is about 1, and the effective step then grows with ‖w‖ up to λ.
    """

    p: int
    distance: np.ndarray

    @property
    def slope(self) -> np.ndarray:
        """The coefficient b of the flat coordinate."""
        return self.distance ** (1.0 - self.p)

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """∇ℓ at w `(families, …, 2)`."""
        lead = (slice(None),) + (None,) * (w.ndim - 2)
        steep = (w[..., 0] - 1) ** (self.p - 1)
        flat = self.slope[lead] * (w[..., 1] - self.distance[lead]) ** (self.p - 1)
        return np.stack([steep, flat], axis=-1) / 2

    def loss(self, w: np.ndarray) -> np.ndarray:
        """The loss; its least value is 0."""
        lead = (slice(None),) + (None,) * (w.ndim - 2)
        flat = self.slope[lead] * (w[..., 1] - self.distance[lead]) ** self.p
        return ((w[..., 0] - 1) ** self.p + flat) / (2 * self.p)

    def problems(self) -> list[problems.Problem]:
        """The same as ℓp regressions on two examples."""
        roots = self.slope ** (1 / self.p)
        return [
            problems.lp_regression(np.diag([1.0, b]), np.array([1.0, b * far]), p=self.p)
            for b, far in zip(roots, self.distance, strict=True)
        ]


def arbitrary_acceleration(scale: Size, key: jax.Array) -> Evidence:
    """A family of two examples each, indexed by λ, along which the speed-up grows in proportion to λ.

    Gradient descent is bounded below for *every* step size: beyond η = 4/(1 − w₁(0))^{p−2} the steep coordinate
    diverges, and below it the flat coordinate is the slower the smaller η, so that its own recursion at that η counts
    the fewest iterations. The end-to-end dynamics of depth 2 and 3, stepped as printed, are bounded above by the best
    of a grid of step sizes. So the ratio is a lower bound of the speed-up. Networks of depth 1 and 2 are trained by
    gradient descent as well, over grids of step sizes. For p = 2, where no gain is claimed, the same ratio is shown.
    """
    quick = scale == "quick"
    distances = np.geomspace(16, 1024, 7) if quick else np.geomspace(16, 4096, 17)
    grid = np.geomspace(1e-3, 40, 80 if quick else 300)
    least, fewest, gains = {}, {}, {}
    for p in (2, *POWERS):
        family = Family(p, distances)
        least[p] = _fewest_by_descent(family)
        for n in (2, 3):
            fewest[p, n] = _fewest_end_to_end(family, n, grid, int(4 * least[p].max()))
            gains[p, n] = least[p] / fewest[p, n]
    near = 4 * np.r_[np.geomspace(0.1, 0.9, 12), 1 - np.geomspace(0.1, 1e-3, 12)]
    trained = {p: _trained(Family(p, distances), 2, grid, int(least[p].max() / 4)) for p in POWERS}
    single = {p: _trained(Family(p, distances), 1, near, int(1.5 * least[p].max())) for p in POWERS}
    slopes = {(p, n): slope(distances, gain)[0] for (p, n), gain in gains.items() if p > 2}
    return Evidence(
        checks=[
            *(at_least(f"slope of log speed-up in log λ, p = {p}, n = 2", slopes[p, 2], 0.5) for p in POWERS),
            *(at_least(f"speed-up at the largest λ, p = {p}, n = 2", gains[p, 2][-1], 10) for p in POWERS),
            *(
                at_least(f"speed-up of trained layers at the largest λ, p = {p}", (single[p] / trained[p])[-1], 10)
                for p in POWERS
            ),
            at_least(
                "least of trained over fewest iterations, depth 1",
                min((single[p] / least[p]).min() for p in POWERS),
                1.0,
            ),
            at_most("speed-up at the largest λ, p = 2, n = 2", gains[2, 2][-1], 2.0),
        ],
        numbers={f"slope, p = {p}, n = {n}": value for (p, n), value in slopes.items()}
        | {f"speed-up at λ = {distances[-1]:.0f}, p = {p}, n = {n}": float(g[-1]) for (p, n), g in gains.items()},
        settings={"λ": list(distances), "ε": EPSILON, "‖w(0)‖": START, "step sizes ζ": f"{grid.size}, 0.001 … 40"},
        figure=_gain_figure(distances, least, fewest, gains, trained),
        remarks=(
            "The gain needs a minimiser whose flat coordinate is far and whose steep one is near: the preconditioner, "
            "about ‖w‖, must be larger on the way through the valley than it was on the way down to it.",
        ),
    )


def _fewest_by_descent(family: Family) -> np.ndarray:
    """Iterations that the flat coordinate alone needs at the largest step for which the steep one does not diverge."""
    p, b = family.p, family.slope
    eta = 4 / (1 - START) ** (p - 2) / 2
    residual, count = family.distance - START, np.zeros(b.size, int)
    while (running := b * residual**p / (2 * p) > EPSILON).any():
        residual = np.where(running, residual * (1 - eta * b * residual ** (p - 2)), residual)
        count += running
    return count


def _fewest_end_to_end(family: Family, n: int, grid: np.ndarray, longest: int) -> np.ndarray:
    """The least iterations over a grid of step sizes of the printed discretisation of the end-to-end dynamics."""
    first = np.full((family.distance.size, grid.size), np.inf)
    w = np.full((*first.shape, 2), START / np.sqrt(2))
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(longest):
            done = family.loss(w) <= EPSILON
            first = np.where(done & (first > k), k, first)
            best = first.min(axis=1)
            going = (first > k) & np.isfinite(w).all(axis=-1) & (np.abs(w).max(axis=-1) < 1e6)
            if (best <= k).all() or not going.any():
                break
            w = np.where(going[..., None], w, START)
            move = field_one_output(w, family.gradient(w), n)
            w = np.where(going[..., None], w + grid[:, None] * move, np.inf)
    return first.min(axis=1)


def _trained(family: Family, depth: int, grid: np.ndarray, longest: int) -> np.ndarray:
    """The least iterations of gradient descent on the layers of a network, over a grid of step sizes."""
    net = models.DeepLinear((2,) + (1,) * depth)
    start = starts.balanced(net, map=np.full((1, 2), START / np.sqrt(2)))
    each = family.problems()
    problem = ensembles.stack([problem for problem in each for _ in grid])
    at = np.unique(np.r_[np.arange(0, 150), np.geomspace(150, longest, 400)].astype(int))
    run = train.descend(
        net,
        problem,
        start,
        step=np.tile(grid, len(each)),
        steps=longest,
        at=at,
        tolerance=EPSILON,
        on_divergence="keep",
    )
    return first_step(at, run.loss.values <= EPSILON).reshape(len(each), grid.size).min(axis=1)


def first_step(at: np.ndarray, reached: np.ndarray) -> np.ndarray:
    """The first recorded step at which a run has arrived, or infinity."""
    return np.where(reached.any(axis=1), at[np.argmax(reached, axis=1)], np.inf)


def _gain_figure(
    distances: np.ndarray,
    least: dict[int, np.ndarray],
    fewest: dict[tuple[int, int], np.ndarray],
    gains: dict[tuple[int, int], np.ndarray],
    trained: dict[int, np.ndarray],
) -> fig.Figure:
    counts = [
        fig.theory(distances, least[4], "descent, any step"),
        fig.measured(distances, fewest[4, 2], "depth 2", 0),
        fig.measured(distances, fewest[4, 3], "depth 3", 1),
        fig.points(distances, trained[4], "layers, depth 2", 2),
    ]

    def panel(n: int) -> fig.Panel:
        marks = [fig.measured(distances, gains[p, n], f"p = {p}", group) for group, p in enumerate(POWERS)]
        marks += [
            fig.measured(distances, np.where(gains[2, n] > 0, gains[2, n], np.nan), "p = 2", 3),
            fig.reference(distances, distances / 8, "slope 1"),
        ]
        return fig.Panel(tuple(marks), "λ", "speed-up", f"depth {n}", "log", "log")

    return fig.Figure(
        (fig.Panel(tuple(counts), "λ", "iterations at the best step", "p = 4", "log", "log"), panel(2), panel(3)),
        "Along the family the speed-up by depth grows in proportion to λ for p = 4, 6 and 8, and not for p = 2.",
    )
