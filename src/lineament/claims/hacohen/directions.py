"""Convergence and spread of the compact representation along principal directions (Figure 4)."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import data, models, problems, train
from ...core import ensembles
from ...evidence import Evidence, at_least, within
from ...evidence import figure as fig
from ...measure import order
from ...measure.compact import activation_free
from ..sizes import Size
from . import training
from .order import convolutional
from .training import Task


def _compact(model: Any, problem: problems.Problem, params: Any) -> jax.Array:
    """The matrix of the network without its activations, by one backward pass for each output."""
    free = activation_free(model)
    return jax.jacrev(lambda x: free.apply(params, x[None])[0])(jnp.zeros(model.shape[1], params.layers[0].dtype))


COMPACT = train.Record("compact", _compact, ("output", "input"))


class Along(NamedTuple):
    """By record and component: the distance to the optimum and the spread over networks, over those at the start."""

    steps: np.ndarray
    distance: np.ndarray
    spread: np.ndarray

    def ordering(self, values: np.ndarray, count: int | None = None) -> float:
        """The rank correlation of the values at the end with the number of the component, of all or the first few."""
        return order.constancy(np.arange(values.shape[1])[:count], values[-1, :count]).spearman

    def tilt(self, values: np.ndarray) -> float:
        """The mean over the last third of the components over that of the first third, at the end."""
        third = values.shape[1] // 3
        return float(values[-1, -third:].mean() / values[-1, :third].mean())


def along(
    net: Any,
    tasks: list[Task],
    components: data.Components,
    members: int,
    steps: int,
    step: list[float],
    key: jax.Array,
    batch: int | None = None,
) -> list[Along]:
    """Descend on the square loss from several starts, and read the compact representation along the components."""
    made = [problems.lp_regression(task.X, np.eye(task.classes, dtype=np.float32)[task.labels], 2) for task in tasks]
    keys = jnp.tile(jax.random.split(key, members), len(tasks))
    start = ensembles.ensemble(lambda k: net.start(k, law="glorot"), keys)
    at = np.unique(np.r_[0, np.geomspace(1, steps, 6).round()].astype(int))
    run = train.descend(
        net,
        ensembles.stack([problem for problem in made for _ in range(members)]),
        start,
        step=np.repeat(step, members),
        steps=steps,
        at=at,
        record=(COMPACT,),
        batch_size=batch,
        key=key,
    )
    W = run.compact.values.astype(float) @ components.directions.T
    found = []
    for task, some in zip(tasks, training.member_slices(len(tasks), members), strict=True):
        # Principal coordinates are orthogonal over the examples, so that least squares falls apart into single ones.
        coordinates = task.X.astype(float) @ components.directions.T
        best = (np.eye(task.classes)[task.labels].T @ coordinates) / np.sum(coordinates**2, axis=0)
        distance = np.mean(np.abs(W[some] - best), axis=(0, 2))
        spread = np.std(W[some], axis=0).mean(axis=1)
        found.append(Along(at, distance / distance[0], spread / spread[0]))
    return found


def along_components(scale: Size, key: jax.Array) -> Evidence:
    """Distance to the optimum and spread over networks, by component: dense, convolutional, whitened, non-linear.

    The loss is the square one, for which the optimum is least squares; under cross-entropy on separable data it is at
    infinity. Descent takes the whole batch, but for convolutional networks at full scale, and weights are told relative
    to their start, which in convolutional networks already differs between components. For the dense (a) and the
    convolutional (b) linear network the rank correlation of distance and of spread with the number of the component
    must be at least 0.5, and for the non-linear one (d), whose activations are left out of its matrix, that of the
    spread. On whitened data (c) the last third of the components must stand to the first as 1, within a quarter.

    All components count alike, though most hold next to nothing of the images: the same correlations over the first
    components that together hold 99 % of the variance stand beside. At full scale it is there that the spread of the
    linear convolutional networks is ordered (0.85 over 559 of 3072 components, 0.06 over all), and that of the
    non-linear ones a little (0.37 and −0.15); past them, noise. Their distance to the optimum is not: they hardly move
    along any but the first ten components within twenty epochs.
    """
    quick = scale == "quick"
    if quick:
        task = training.patches(key, 160, 8, 8)
        dense, members, steps = models.MLP((64, 64, 8), "linear", "standard"), 6, 200
        rates, rate, white_rate, batch = (0.01, 0.01), 0.01, 0.01, None
    else:
        task = training.real("cats-dogs")
        dense, members, steps = models.MLP((task.X.shape[1], 1024, task.classes), "linear", "standard"), 10, 2000
        rates, rate, white_rate, batch = (0.05, 0.02), 4e-4, 0.1, 100
    components = data.fit(task.X, centre=False)
    white = task._replace(X=components.whiten(task.X).astype(np.float32))
    a, c = along(dense, [task, white], components, members, steps, [rate, white_rate], key)
    b, d = (
        along(convolutional(task, scale, activation=name), [task], components, members, steps, [step], key, batch)[0]
        for name, step in zip(("linear", "elu"), rates, strict=True)
    )
    most = int(np.searchsorted(np.cumsum(components.variances) / np.sum(components.variances), 0.99)) + 1
    runs = {"(a) dense": a, "(b) convolutional": b, "(c) whitened": c, "(d) non-linear": d}
    # A non-linear network has no optimum to be distant from.
    told = [
        (name, kind, run)
        for kind in ("distance", "spread")
        for name, run in runs.items()
        if not (run is d and kind == "distance")
    ]
    ordered = [(name, kind, run) for name, kind, run in told if run is not c]
    return Evidence(
        checks=[
            *(
                at_least(f"{name}: rank correlation of {kind} and component", run.ordering(getattr(run, kind)), 0.5)
                for name, kind, run in ordered
            ),
            within("whitened: distance, last third over first", c.tilt(c.distance), 0.8, 1.25),
            within("whitened: spread, last third over first", c.tilt(c.spread), 0.8, 1.25),
        ],
        numbers={f"{name}: {kind}, last third over first": run.tilt(getattr(run, kind)) for name, kind, run in told}
        | {
            f"{name}: rank correlation of {kind}, first {most} components": run.ordering(getattr(run, kind), most)
            for name, kind, run in ordered
        },
        settings=task.sizes | {"members": members, "steps": steps, "loss": "square"},
        figure=fig.Figure(
            tuple(_panel(*each) for each in told),
            "Distance to the optimum and spread over networks along each component, over those at the start.",
            3,
        ),
    )


def _panel(name: str, kind: str, run: Along) -> fig.Panel:
    """One quantity by component, at the later records; of many components some, evenly on the logarithmic axis."""
    values = getattr(run, kind)
    count = values.shape[1]
    some = np.unique(np.geomspace(1, count, min(count, 200)).astype(int)) - 1
    marks = tuple(
        fig.measured(some + 1, values[i, some], f"step {run.steps[i]}", i - 2) for i in range(2, len(run.steps))
    )
    label = {"distance": "distance to optimum", "spread": "spread over networks"}[kind]
    return fig.Panel(marks, "component", label, name, x_scale="log")
