"""Corollary 3.3: on well-conditioned data the network reaches the optimal linear model before it leaves its twin."""

import jax
import numpy as np

from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ..instances import generator
from ..sizes import Size
from .rates import AGREE, Courses, against, kinds, rate, sweep
from .setting import Course

REACH = 4.0  # how far to train, in units of d log d/η
C = 2.0  # the constant in T: the twin is d^{−4ζ²λ} of the way off by then, 2ζ² = 0.85 for erf


def to_optimum(course: Course) -> tuple[np.ndarray, np.ndarray]:
    """The mean square of network − optimal linear model along the run, on training and (truncated) fresh examples."""
    on_train = np.mean((course.network - course.twin.predict(np.inf)) ** 2, axis=1)
    on_fresh = (course.network_fresh - course.twin.predict(np.inf, course.task.fresh)) ** 2
    return on_train, np.mean(np.minimum(on_fresh, 1), axis=1)


def at_time(courses: Courses, c: float) -> np.ndarray:
    """The distances at c·d log d/η, as (training or fresh, size, law, copy)."""

    def read(course: Course) -> tuple[float, float]:
        index = np.flatnonzero(course.steps <= course.twin.horizon(c))[-1]
        on_train, on_fresh = (float(curve[index]) for curve in to_optimum(course))
        return on_train, on_fresh

    return np.moveaxis(np.array([[[read(each) for each in copies] for copies in row] for row in courses]), -1, 0)


def reaches_the_optimum(scale: Size, key: jax.Array) -> Evidence:
    """Erf networks whose first layer trains with η1 = d/4 on the laws of Theorem 3.2, all with λ_min(Σ) ≥ 1/2.

    The distance of the network's outputs from those of the least-squares fit on the features of eq. 5 is read off at
    T = 2 d log d/η1 on training and fresh examples and fitted against d; m = 4d^{5/4}, n = 2d^{3/2}. The distances at ½,
    1 and 4 times d log d/η1 are given beside it: too early the twin itself has not arrived, too late the network leaves.
    """
    sizes = [8, 16, 32, 64] if scale == "quick" else [16, 32, 64, 128]
    groups = [(8, 16, 32), (64,)] if scale == "quick" else [(d,) for d in sizes]
    copies = 2 if scale == "quick" else 6
    laws = kinds(width=(4.0, 1.25), examples=(2.0, 1.5), step=(0.25, 1.0))
    courses = sweep(generator(key), groups, laws, activation="erf", trains=(True, False), copies=copies,
                            reach=REACH, count=17)  # fmt: skip
    table = at_time(courses, C)
    slopes = [rate(sizes, gap) for gap in table]
    return Evidence(
        checks=[
            at_most("upper end of the slope in d at T, training examples", slopes[0][2], 0.0),
            at_most("upper end of the slope in d at T, fresh examples", slopes[1][2], 0.0),
            at_most(f"mean MSE to the optimum at T, d = {sizes[-1]}, worst law, over E[y²]",
                    float(table[:, -1].mean(axis=-1).max()), AGREE),
        ],
        numbers={"slope, training": slopes[0][0], "slope, fresh": slopes[1][0]}
        | {f"slope, fresh, at {c:g} d log d/η": rate(sizes, at_time(courses, c)[1])[0] for c in (0.5, 1.0, REACH)}
        | {f"slope, training, at {c:g} d log d/η": rate(sizes, at_time(courses, c)[0])[0] for c in (0.5, 1.0, REACH)},
        settings={"d": sizes, "m": "4d^1.25", "n": "2d^1.5", "η1": "d/4", "T": "2 d log d/η1", "copies": copies},
        figure=_figure(courses, sizes, table),
        remarks=[
            "c has to be neither small nor large: the twin is within d^{−4cζ²} of its optimum, up to constants, while "
            "what the network memorises of the training labels beyond its twin grows as (c d log d/n)².",
        ],
    )  # fmt: skip


def _figure(courses: Courses, sizes: list[int], table: np.ndarray) -> fig.Figure:
    """The distance to the optimum along the run, of network and twin, and at T against d."""
    panels = []
    for place, title in enumerate(("training examples", "fresh examples")):
        marks = []
        for group, (d, row) in enumerate(zip(sizes, courses, strict=True)):
            one = row[0][0]
            inside = (one.steps <= REACH * one.twin.horizon()) & (one.steps > 0)
            curve = np.mean([to_optimum(each)[place][inside] for each in row[0]], axis=0)
            times = one.steps[inside] / one.twin.horizon()
            marks.append(fig.measured(times, curve, f"d = {d}", group))
            inputs = one.task.X if place == 0 else one.task.fresh
            off = one.twin.predict(one.steps[inside], inputs) - one.twin.predict(np.inf, inputs)
            marks.append(fig.theory(times, np.mean(off**2, axis=1), "twin" if group == 0 else "", group))
        marks.append(fig.reference([C, C], [1e-3, 1.0], "T"))
        panels.append(
            fig.Panel(tuple(marks), "t/(d log d/η)", "MSE to the optimum", title, "linear", "log", (1e-3, 1.0))
        )
    tables: dict[str, np.ndarray] = dict(zip(("training", "fresh"), table, strict=True))
    last = against(sizes, tables, "at T")
    return fig.Figure(
        (*panels, fig.Panel(last.marks, last.x_label, "MSE to the optimum", "at T", "linear", "log", last.y_limits)),
        "At T the network is close to the optimal linear model, the closer the larger d; later it leaves.",
    )
