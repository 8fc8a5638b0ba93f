"""Figure 2: a network that learns the norm of its input, beside its twin and beside the twin without the norm."""

from collections.abc import Mapping
from typing import NamedTuple

import jax
import numpy as np

from ...evidence import Check, Evidence, at_least, at_most
from ...evidence import figure as fig
from ...theory.twin import Twin
from ..instances import generator
from ..sizes import sizes
from .setting import Comparison, Task, follow

DRAWN = 256  # the width whose networks are drawn over time
NAMES = ("full", "naive")


class Settings(NamedTuple):
    """What is run at each size.

    Attributes:
        examples: n.
        widths: m; those of one group run as one program.
        copies: Networks of each width, group by group.
        dimension: d.
        step_size: η of both layers.
        fresh: Examples that are not trained on.
    """

    examples: int
    widths: tuple[tuple[int, ...], ...]
    copies: tuple[int, ...]
    dimension: int = 20
    step_size: float = 1.0
    fresh: int = 1000


@sizes(
    quick=Settings(examples=1000, widths=((64, 256), (1024,)), copies=(6, 2)),
    full=Settings(examples=10_000, widths=((64,), (128,), (256,), (512,), (1024,), (4096,)), copies=(8,) * 6),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """ReLU networks of several widths with both layers training at d = 20, η = 1, beside both twins, to 1.5T.

    The gap is the mean square of network − twin on fresh examples, as a mean over networks and over 0 < t ≤ T. Every
    network has data of its own, ‖a‖ = 1.
    """
    d, rng = settings.dimension, generator(key)
    T = d * np.log(d) / settings.step_size
    at = np.unique(np.r_[0, np.linspace(1, T, 20), np.linspace(T, 1.5 * T, 8)].astype(int))
    comparisons = _networks(rng, settings, at)
    # copy, (MSE to the full and the naive twin, gaps of the test loss to both), time
    curves = {width: np.array([_curves(comparison) for comparison in copies]) for width, copies in comparisons.items()}
    inside = (at > 0) & (at <= T)
    mean = {width: curve[..., inside].mean(axis=(0, 2)) for width, curve in curves.items()}
    largest = {width: curve[..., inside].mean(axis=0).max(axis=1) for width, curve in curves.items()}
    ratios = {width: float(gaps[1] / gaps[0]) for width, gaps in mean.items()}
    widest, narrowest = max(ratios), min(ratios)
    return Evidence(
        checks=[
            at_least(f"naive twin's gap over full twin's, m = {width}", ratio, 3.0,
                     "\"a much better approximation\": three times at least")
            for width, ratio in ratios.items() if width >= DRAWN
        ] + [at_least(f"that ratio at m = {widest} over its value at m = {narrowest}", ratios[widest] / ratios[narrowest],
                      1.0, "theory: the full twin's gap falls with the width, the naive twin's does not"),
             at_least(f"naive twin's gap of the test loss over full twin's, m = {widest}",
                      float(mean[widest][3] / mean[widest][2]), 3.0, "what the figure shows; three times at least"),
             _descended(comparisons[widest][0])],
        numbers={f"ratio of the gaps, m = {width}": ratio for width, ratio in ratios.items()}
        | {f"ratio of the gaps at T, m = {w}": float(np.divide(*v[:, 1::-1, inside].mean(axis=0)[:, -1]))
           for w, v in curves.items()}
        | {f"ratio of the largest gaps up to T, m = {w}": float(v[1] / v[0]) for w, v in largest.items()}
        | {f"ratio of the gaps of the test loss, m = {w}": float(v[3] / v[2]) for w, v in mean.items()}
        | {f"{name} twin's gap, m = {w}": float(v[i]) for i, name in enumerate(NAMES) for w, v in mean.items()},
        settings={"T": T},
        protocol={
            "data": f"x ~ N(0, I), d = {d}, y = ‖x‖/√d + ReLU(aᵀx), ‖a‖ = 1",
            "network": "two layers, ReLU, mirrored start, both layers train",
            "width": f"m = {', '.join(str(width) for width in ratios)}",
            "loss": "square loss",
            "optimiser": "full-batch gradient descent",
            "step size": f"η = {settings.step_size:g}",
            "examples": f"{settings.examples} to train, {settings.fresh} fresh",
            "measure": "mean square of network − twin on fresh examples, mean over t ≤ T; the test losses beside it",
            "repeats": f"{' and '.join(str(count) for count in dict.fromkeys(settings.copies))} networks of each "
            f"width",
        },
        figure=_figure(comparisons[DRAWN][0], curves[DRAWN], mean, T),
        remarks=[
            "What the full twin lacks falls with the width, as noise of order 1/m does; what the naive twin lacks "
            "stays.",
        ],
    )  # fmt: skip


def _networks(rng: np.random.Generator, settings: Settings, at: np.ndarray) -> dict[int, list[Comparison]]:
    """Networks of each width, each with data of its own."""
    comparisons: dict[int, list[Comparison]] = {}
    eta = settings.step_size
    for widths, copies in zip(settings.widths, settings.copies, strict=True):
        members = [(_norm_task(rng, settings), width) for width in widths for _ in range(copies)]
        for comparison in follow(rng, members, activation="relu", first=eta, second=eta, at=at):
            comparisons.setdefault(comparison.width, []).append(comparison)
    return comparisons


def _norm_task(rng: np.random.Generator, settings: Settings) -> Task:
    n, d = settings.examples, settings.dimension
    X, a = rng.normal(size=(n + settings.fresh, d)), rng.normal(size=d)
    y = np.linalg.norm(X, axis=1) / np.sqrt(d) + np.maximum(X @ (a / np.linalg.norm(a)), 0)
    return Task(X[:n], y[:n], X[n:], y[n:], 1.0)


def _descended(comparison: Comparison) -> Check:
    """Both twins against descent on their features, step by step."""
    task, at, gaps = comparison.task, comparison.steps, []
    for twin in (comparison.twin, _naive(comparison)):
        psi, fresh = twin.features(task.X), twin.features(task.fresh)
        weights, path = np.zeros(psi.shape[1]), []
        for step in range(at[-1] + 1):
            if step in at:
                path.append(fresh @ weights)
            weights = weights - twin.step_size / len(psi) * (psi.T @ (psi @ weights - task.y))
        gaps.append(np.abs(twin.predict(at, task.fresh) - path).max() / np.abs(path).max())
    return at_most("both twins, largest relative gap to descent on their features", max(gaps), 1e-11,
                   "both are exact: rounding of so many steps")  # fmt: skip


def _naive(comparison: Comparison) -> Twin:
    full = comparison.twin
    return Twin(comparison.task.X, comparison.task.y, full.features.naive(), step_size=full.step_size)


def _curves(comparison: Comparison) -> list[np.ndarray]:
    """Along the run: mean square of network − twin for full and naive twin, and the gaps of their test losses."""
    fresh, y, at = comparison.task.fresh, comparison.task.fresh_y, comparison.steps
    twins = (comparison.twin, _naive(comparison))
    apart = [np.mean((comparison.network_fresh - twin.predict(at, fresh)) ** 2, axis=1) for twin in twins]
    return apart + [np.abs(comparison.losses()[1] - twin.loss(at, fresh, y)) for twin in twins]


def _figure(comparison: Comparison, curves: np.ndarray, mean: Mapping[int, np.ndarray], T: float) -> fig.Figure:
    shown = comparison.steps > 0
    at, fresh, y = comparison.steps[shown], comparison.task.fresh, comparison.task.fresh_y
    test = comparison.losses()[1][shown]
    full, naive = (twin.loss(at, fresh, y) for twin in (comparison.twin, _naive(comparison)))
    low, top = 0.6 * float(min(test.min(), full.min())), 2 * float(max(test.max(), naive.max()))
    single = fig.Panel(
        (fig.measured(at, test, f"network, m = {DRAWN}", 0), fig.theory(at, full, "twin"),
         fig.reference(at, naive, "naive twin")),
        "step", "test loss", "one network", "log", "log", (low, top),
    )  # fmt: skip
    mean_curves = curves.mean(axis=0)[:, shown]
    high = 1.9 * float(mean_curves[1].max())
    apart = fig.Panel(
        (fig.measured(at, mean_curves[0], "twin", 1), fig.measured(at, mean_curves[1], "naive twin", 2),
         fig.reference([T, T], [0.0, high], "T")),
        "step", "MSE, fresh", f"m = {DRAWN}, mean of networks", y_limits=(0.0, high),
    )  # fmt: skip
    widths = np.array(sorted(mean))
    gap = np.array([mean[width] for width in widths])
    over = fig.Panel(
        (fig.points(np.log2(widths), gap[:, 0], "twin", 1), fig.measured(np.log2(widths), gap[:, 0], "", 1),
         fig.points(np.log2(widths), gap[:, 1], "naive twin", 2), fig.measured(np.log2(widths), gap[:, 1], "", 2)),
        "log₂ m", "mean MSE up to T", "over the width", "linear", "log",
        (0.5 * float(gap[:, 0].min()), 4 * float(gap.max())),
    )  # fmt: skip
    ratio = gap[-1, 1] / gap[-1, 0]
    return fig.Figure(
        (single, apart, over),
        f"Without the norm among its features the twin misses what the network learns: {ratio:.0f} times the gap at "
        f"m = {widths[-1]}.",
    )
