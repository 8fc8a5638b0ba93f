"""Lemma 1: gradient flow conserves the difference of neighbouring layers' Gram matrices."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import measure, models, train
from ...evidence import Evidence, at_most, within
from ...evidence import figure as fig
from ..instances import generator, slope
from ..sizes import sizes
from .networks import LOSSES, random_problem
from .unbalanced import WEIGHT, unbalanced_ensemble

CONSERVED = train.Record(
    "conserved",
    lambda model, problem, layers: jnp.concatenate([D.ravel() for D in measure.conserved(layers)]),
    ("entry",),
)


class Settings(NamedTuple):
    """What is run at each size."""

    widths: tuple[int, ...]
    members: int
    time: float = 4.0
    step_sizes: tuple[float, ...] = tuple(2.0**-k for k in range(6, 14))
    rtol: float = 1e-9


@sizes(quick=Settings((4, 5, 4, 3), members=4), full=Settings((6, 8, 7, 9, 5), members=32))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Unbalanced networks on five analytic losses: by flow the drift stays at solver accuracy, by descent it is O(η).

    Drift is the Frobenius norm of the change of all conserved matrices together, relative to the largest squared layer
    norm. Descent runs for a fixed time with ever smaller steps; the drift at its end must fall as η¹ over the finer half
    of the step sizes, where the rate has set in for the steepest loss too.
    """
    rng, widths = generator(key), settings.widths
    model = models.DeepLinear(widths)
    flows, descents, marks = {}, {}, []
    for group, name in enumerate(LOSSES):
        problem = random_problem(rng, name, (widths[-1], widths[0]))
        start = unbalanced_ensemble(model, jax.random.fold_in(key, group), settings.members)
        run = train.flow(model, problem, start, until=settings.time, record=(CONSERVED, WEIGHT), rtol=settings.rtol,
                         tolerance=0.0)  # fmt: skip
        drift = _drift(run)
        flows[name] = drift.max()
        marks.append(fig.measured(run.time, np.maximum(drift.max(axis=0), 1e-17), name, group))
        descents[name] = _drift_of_descent(model, problem, start, settings)
    etas = np.array(settings.step_sizes)
    fine = slice(len(etas) // 2, None)
    slopes = {name: slope(etas[fine], ends[fine])[0] for name, ends in descents.items()}
    rate = "theory: slope 1 ± 10 %"
    return Evidence(
        checks=[
            at_most("worst relative drift along gradient flow", max(flows.values()), 1e-6,
                    "solver's relative accuracy 1e-9, times 1000 for what adds up over a run"),
            within("least slope of the drift of descent in η", min(slopes.values()), 0.9, 1.1, rate),
            within("largest slope of the drift of descent in η", max(slopes.values()), 0.9, 1.1, rate),
        ],
        numbers={f"slope, {name}": value for name, value in slopes.items()}
        | {f"drift of flow, {name}": float(value) for name, value in flows.items()},
        protocol={
            "loss": "square, ℓ4, cross-entropy, matrix completion and sensing, on random data",
            "network": f"widths {widths}",
            "start": f"{settings.members} with unbalanced layers, every layer with a variance of its own",
            "training": f"gradient flow until t = {settings.time:g}; gradient descent beside it",
        },
        figure=_figure(marks, etas, descents),
    )  # fmt: skip


def _drift(run: Any) -> np.ndarray:
    """How far the conserved matrices have moved from where they began, against the squared size of the layers."""
    moved = run.conserved.values - run.conserved.values[:, :1]
    return np.linalg.norm(moved, axis=-1) / run.weight.values


def _drift_of_descent(model: models.DeepLinear, problem: Any, start: Any, settings: Settings) -> np.ndarray:
    """The worst drift at the end of gradient descent, for each step size."""
    ends = []
    for step_size in settings.step_sizes:
        steps = round(settings.time / step_size)
        run = train.descend(model, problem, start, step_size=step_size, steps=steps, at=[0, steps],
                            record=(CONSERVED, WEIGHT))  # fmt: skip
        ends.append(_drift(run)[:, -1].max())
    return np.array(ends)


def _figure(flow_marks: list[fig.Mark], etas: np.ndarray, descents: dict[str, np.ndarray]) -> fig.Figure:
    points = [fig.points(etas, ends, name, group) for group, (name, ends) in enumerate(descents.items())]
    top = max(ends[0] for ends in descents.values())
    guide = fig.reference(etas, 2 * top * etas / etas[0], "slope 1")
    bar = fig.reference(flow_marks[0].x[[0, -1]], [1e-6, 1e-6], "bar")  # type: ignore[index]
    return fig.Figure(
        (
            fig.Panel((*flow_marks, bar), "time t", "relative drift", "gradient flow", y_scale="log"),
            fig.Panel((*points, guide), "step size η", "relative drift", "gradient descent", "log", "log"),
        ),
        "Flow keeps the conserved matrices to solver accuracy; descent loses them in proportion to its step.",
        2,
    )
