"""Corollary 3.3: on well-conditioned data the network reaches the optimal linear model before it leaves its twin."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np

from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ..instances import generator
from ..sizes import sizes
from .rates import AGREE, AGREES, EXAMPLES, NARROW, Comparisons, against, falls, flat, kinds, rate, sweep
from .setting import Comparison

FOURTH = (0.25, 1.0)  # η1 = d/4


class Settings(NamedTuple):
    """What is run at each size.

    Attributes:
        groups: The dimensions d; those of one group run as one program.
        copies: Networks of each law at each d.
        constant: c in T = c d log d/η1: the twin is d^{−4ζ²λ} of the way off by then, 2ζ² = 0.85 for erf.
        reach: How far to train, in units of d log d/η1.
    """

    groups: tuple[tuple[int, ...], ...]
    copies: int
    constant: float = 2.0
    reach: float = 4.0


def to_optimum(comparison: Comparison) -> tuple[np.ndarray, np.ndarray]:
    """The mean square of network − optimal linear model along the run, on training and (truncated) fresh examples."""
    on_train = np.mean((comparison.network - comparison.twin.predict(np.inf)) ** 2, axis=1)
    on_fresh = (comparison.network_fresh - comparison.twin.predict(np.inf, comparison.task.fresh)) ** 2
    return on_train, np.mean(np.minimum(on_fresh, 1), axis=1)


def at_time(comparisons: Comparisons, c: float) -> np.ndarray:
    """The distances at c·d log d/η, as (training or fresh, size, law, copy)."""

    def read(comparison: Comparison) -> tuple[float, float]:
        index = np.flatnonzero(comparison.steps <= comparison.twin.horizon(c))[-1]
        on_train, on_fresh = (float(curve[index]) for curve in to_optimum(comparison))
        return on_train, on_fresh

    return np.moveaxis(
        np.array([[[read(comparison) for comparison in copies] for copies in row] for row in comparisons]), -1, 0
    )


@sizes(
    quick=Settings(groups=((8, 16, 32), (64,)), copies=2),
    full=Settings(groups=((16,), (32,), (64,), (128,)), copies=6),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Erf networks whose first layer trains with η1 = d/4 on the laws of Theorem 3.2, all with λ_min(Σ) ≥ 1/2.

    The distance of the network's outputs from those of the least-squares fit on the features of eq. 5 is read off at
    T = 2 d log d/η1 on training and fresh examples and fitted against d; m = 4d^{5/4}, n = 2d^{3/2}. The distances at ½,
    1 and 4 times d log d/η1 are given beside it: too early the twin itself has not arrived, too late the network leaves.
    """
    d = flat(settings.groups)
    laws = kinds(width=NARROW, examples=EXAMPLES, step_size=FOURTH)
    comparisons = sweep(
        generator(key), settings.groups, laws, activation="erf", trains=(True, False), copies=settings.copies,
        reach=settings.reach, count=17,
    )  # fmt: skip
    table = at_time(comparisons, settings.constant)
    slopes = [rate(d, gap) for gap in table]
    level = float(table[:, -1].mean(axis=-1).max())
    other_slopes = {c: [rate(d, gap)[0] for gap in at_time(comparisons, c)] for c in (0.5, 1.0, settings.reach)}
    return Evidence(
        checks=[
            falls("upper end of the slope in d at T, training examples", slopes[0]),
            falls("upper end of the slope in d at T, fresh examples", slopes[1]),
            at_most(f"mean MSE to the optimum at T, d = {d[-1]}, worst law, over E[y²]", level, AGREE, AGREES),
        ],
        numbers={"slope, training": slopes[0][0], "slope, fresh": slopes[1][0]}
        | {f"slope, fresh, at {c:g} d log d/η": slope for c, (_, slope) in other_slopes.items()}
        | {f"slope, training, at {c:g} d log d/η": slope for c, (slope, _) in other_slopes.items()},
        settings={"d": d},
        protocol={
            "inputs": "white Gaussian; Gaussian with eigenvalues of Σ from ½ to 3/2; corners of the cube",
            "labels": "±1: of a teacher, of a teacher with non-zero mean, of pure chance",
            "activation": "erf",
            "width": "m = 4d^1.25",
            "examples": "n = 2d^1.5",
            "step size": "η1 = d/4, η2 = 0",
            "time": f"T = {settings.constant:g} d log d/η1; ½, 1 and {settings.reach:g} beside it",
        },
        figure=_figure(comparisons, d, table, settings),
        remarks=[
            "c has to be neither small nor large: the twin is within d^{−4cζ²} of its optimum, up to constants, while "
            "what the network memorises of the training labels beyond its twin grows as (c d log d/n)².",
        ],
    )


def _figure(comparisons: Comparisons, sizes: Sequence[int], table: np.ndarray, settings: Settings) -> fig.Figure:
    """The distance to the optimum along the run, of network and twin, and at T against d."""
    panels = []
    for place, title in enumerate(("training examples", "fresh examples")):
        marks = []
        for group, (d, row) in enumerate(zip(sizes, comparisons, strict=True)):
            first = row[0][0]
            inside = (first.steps <= settings.reach * first.twin.horizon()) & (first.steps > 0)
            curve = np.mean([to_optimum(comparison)[place][inside] for comparison in row[0]], axis=0)
            times = first.steps[inside] / first.twin.horizon()
            marks.append(fig.measured(times, curve, f"d = {d}", group))
            inputs = first.task.X if place == 0 else first.task.fresh
            off = first.twin.predict(first.steps[inside], inputs) - first.twin.predict(np.inf, inputs)
            marks.append(fig.theory(times, np.mean(off**2, axis=1), "twin" if group == 0 else "", group))
        marks.append(fig.reference([settings.constant] * 2, [1e-3, 1.0], "T"))
        panels.append(
            fig.Panel(tuple(marks), "t/(d log d/η)", "MSE to the optimum", title, "linear", "log", (1e-3, 1.0))
        )
    tables: dict[str, np.ndarray] = dict(zip(("training", "fresh"), table, strict=True))
    last = against(sizes, tables, "at T")
    return fig.Figure(
        (*panels, fig.Panel(last.marks, last.x_label, "MSE to the optimum", "at T", "linear", "log", last.y_limits)),
        f"At T the network is within {100 * table[:, -1].mean(axis=-1).max():.1f} % of the optimal linear model in "
        f"mean square at d = {sizes[-1]}, and nearer the larger d is; later it leaves.",
    )
