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
    """What is run at each size; `step_sizes` are halved together until the coarsest does not diverge."""

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
    of the step sizes, well below those at which descent diverges. Where some network diverges at the coarsest, all are
    halved: a rate sets in at steps that are small against the curvature, which differs from draw to draw.
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
    fine = slice(len(settings.step_sizes) // 2, None)
    slopes = {name: slope(etas[fine], ends[fine])[0] for name, (etas, ends) in descents.items()}
    rate = "theory: slope 1 ± 10 %"
    return Evidence(
        checks=[
            at_most("worst relative drift along gradient flow", max(flows.values()), 1e-6,
                    "solver's relative accuracy 1e-9, times 1000 for what adds up over a run"),
            within("least slope of the drift of descent in η", min(slopes.values()), 0.9, 1.1, rate),
            within("largest slope of the drift of descent in η", max(slopes.values()), 0.9, 1.1, rate),
        ],
        numbers={f"slope, {name}": value for name, value in slopes.items()}
        | {f"drift of flow, {name}": float(value) for name, value in flows.items()}
        | {f"coarsest step size, {name}": float(of.step_sizes[0]) for name, of in descents.items()},
        protocol={
            "loss": "square, ℓ4, cross-entropy, matrix completion and sensing, on random data",
            "network": f"widths {widths}",
            "start": f"{settings.members} with unbalanced layers, every layer with a variance of its own",
            "training": f"gradient flow until t = {settings.time:g}; gradient descent beside it",
        },
        figure=_figure(marks, descents),
    )  # fmt: skip


def _drift(run: Any) -> np.ndarray:
    """How far the conserved matrices have moved from where they began, against the squared size of the layers."""
    moved = run.conserved.values - run.conserved.values[:, :1]
    return np.linalg.norm(moved, axis=-1) / run.weight.values


class Descents(NamedTuple):
    """The worst drift at the end of gradient descent, for each step size."""

    step_sizes: np.ndarray
    ends: np.ndarray


def _drift_of_descent(model: models.DeepLinear, problem: Any, start: Any, settings: Settings) -> Descents:
    """Descent at the step sizes of the settings, or at their halves, quarters, … where the coarsest diverges."""
    ends, factor = [], 1.0
    while len(ends) < len(settings.step_sizes):
        step_size = factor * settings.step_sizes[len(ends)]
        steps = round(settings.time / step_size)
        run = train.descend(model, problem, start, step_size=step_size, steps=steps, at=[0, steps],
                            record=(CONSERVED, WEIGHT), on_divergence="raise" if ends else "keep")  # fmt: skip
        end = _drift(run)[:, -1].max()
        if np.isfinite(end):
            ends.append(end)
        else:
            factor /= 2
    return Descents(factor * np.array(settings.step_sizes), np.array(ends))


def _figure(flow_marks: list[fig.Mark], descents: dict[str, Descents]) -> fig.Figure:
    points = [fig.points(*of, name, group) for group, (name, of) in enumerate(descents.items())]
    # A line of slope 1 above all points of the finest steps.
    etas = np.unique(np.concatenate([of.step_sizes for of in descents.values()]))[::-1]
    top = 2 * max(float(of.ends[-1] / of.step_sizes[-1]) for of in descents.values())
    guide = fig.reference(etas, top * etas, "slope 1")
    bar = fig.reference(flow_marks[0].x[[0, -1]], [1e-6, 1e-6], "bar")  # type: ignore[index]
    return fig.Figure(
        (
            fig.Panel((*flow_marks, bar), "time t", "relative drift", "gradient flow", y_scale="log"),
            fig.Panel((*points, guide), "step size η", "relative drift", "gradient descent", "log", "log"),
        ),
        "Flow keeps the conserved matrices to solver accuracy; descent loses them in proportion to its step.",
        2,
    )
