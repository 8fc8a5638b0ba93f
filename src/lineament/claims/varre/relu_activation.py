"""With ReLU neurons: a small start recovers the teacher's two directions, a large one does not."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import measure, models, problems, starts, train
from ...core import ensembles
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ..instances import generator, rotation
from ..sizes import sizes

FIRST_LAYER = train.Record("first", lambda model, problem, layers: measure.singular_values(layers[0]), ("value",))
ANGLE = "our reading of “recovering”: within 30° of u or v"
SPREAD = "our reading of “not recovered”: nearer to the mean of random directions, 0.25 in 5 dimensions, than to 1"
RANK = "our reading of rank two: a third direction of a fifth of the second, or of a half"


class Settings(NamedTuple):
    """Inputs d, examples n, neurons, the scales γ of the start, seeds, and how descent moves."""

    inputs: int
    examples: int
    neurons: int
    gammas: tuple[float, ...]
    seeds: int
    step_size: float
    steps: int


QUICK = Settings(5, 150, 20, (1e-6, 1e-4, 1e-2, 0.1, 0.5, 2.0), 4, 0.1, 10_000)


class Ends(NamedTuple):
    """Where every network ends, (γ, seed) or (γ, seed, …).

    Attributes:
        alike: The mean cosine of its neurons with the nearer of u and v.
        weighted: The same, each neuron by what it puts out.
        third: σ₃/σ₂ of W.
        left: The share of the first loss that is left.
        planes: Each neuron's cosines with u and v, (γ, seed, neuron, 2).
        path: Singular values of W along training, (γ, seed, record, value).
        steps: The steps recorded.
    """

    alike: np.ndarray
    weighted: np.ndarray
    third: np.ndarray
    left: np.ndarray
    planes: np.ndarray
    path: np.ndarray
    steps: np.ndarray


@sizes(quick=QUICK, full=QUICK._replace(inputs=10, examples=300, seeds=10, steps=40_000))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Descent of 20 ReLU neurons on a teacher of two, from `W = √(2γ)P, a = 0` with γ from 1e-6 to 2, over seeds.

    Every seed has its own data, teacher and start. Read off at the end: the cosine of each neuron with the nearer of u
    and v, as a mean over neurons all alike and as one weighted by what they put out, |a_j|‖w_j‖; and the third
    singular value of W against the second. Recovery means that *the layer* holds the two directions and nothing else.
    """
    ends, scales = _train(settings, key), settings.gammas
    open_runs = int(np.sum(ends.left > 1e-2))
    void = f"{open_runs} of {ends.left.size} networks have not fitted their data" if open_runs else ""
    return Evidence(
        checks=[
            at_least(
                "mean cosine with u or v, small start, over seeds", ends.alike[0].mean(), 0.866, ANGLE, void=void
            ),
            at_least("the same weighted by output, worst seed", ends.weighted[0].min(), 0.866, ANGLE, void=void),
            at_most("σ₃/σ₂ of W, small start, worst seed", ends.third[0].max(), 0.2, RANK, void=void),
            at_most("mean cosine with u or v, large start, over seeds", ends.alike[-1].mean(), 0.6, SPREAD, void=void),
            at_least("σ₃/σ₂ of W, large start, least seed", ends.third[-1].min(), 0.5, RANK, void=void),
        ],
        numbers={
            f"{name} at γ = {gamma:g}": float(row.mean())
            for name, table in (("mean cosine", ends.alike), ("weighted cosine", ends.weighted), ("σ₃/σ₂", ends.third))
            for gamma, row in zip(scales, table, strict=True)
        }
        | {"loss left, of the first, worst run": float(ends.left.max())},
        protocol={
            "data": f"x ~ N(0, I), d = {settings.inputs}, n = {settings.examples}",
            "teacher": "relu(u·x) + relu(v·x), u ⟂ v",
            "student": f"{settings.neurons} ReLU neurons, both layers trained",
            "loss": "mean square",
            "start": "W = √(2γ)P with orthonormal columns, a = 0, γ = " + ", ".join(f"{gamma:g}" for gamma in scales),
            "optimiser": f"gradient descent, step {settings.step_size:g}, {settings.steps} steps",
            "repeats": f"{settings.seeds} data sets, teachers and starts",
            "measure": "singular values of W along training; cosines of neurons with u and v at the end",
        },
        figure=_figure(ends, settings),
        remarks=[
            "From a large start the neurons with most output may point along u and v too, since only those fit ample "
            "data; the layer as a whole keeps the directions it began with.",
        ],
    )


def _train(settings: Settings, key: jax.Array) -> Ends:
    """Descent of every scale and seed as one program."""
    d, seeds, scales = settings.inputs, settings.seeds, settings.gammas
    rng, count = generator(key), len(scales)
    model = models.TwoLayer(d, settings.neurons)
    teachers = np.stack([rotation(rng, d)[:2] for _ in range(seeds)])
    inputs = rng.normal(size=(seeds, settings.examples, d))
    labels = np.maximum(np.einsum("sni,ski->snk", inputs, teachers), 0).sum(axis=2)
    problem = ensembles.ensemble(
        problems.regression, jnp.asarray(np.tile(inputs, (count, 1, 1))), jnp.asarray(np.tile(labels, (count, 1)))
    )
    gammas = np.repeat(scales, seeds)
    start = ensembles.ensemble(
        lambda key, gamma: starts.shaped(model, key, gamma),
        jnp.tile(jax.random.split(key, seeds), count),
        jnp.asarray(gammas),
    )
    at = np.unique(np.r_[0, np.geomspace(1, settings.steps, 120).astype(int)])
    step_size = jnp.full(len(gammas), settings.step_size)
    run = train.descend(
        model, problem, start, step_size=step_size, steps=settings.steps, at=at, record=("loss", FIRST_LAYER)
    )
    W, a = (np.asarray(layer) for layer in run.final.stacked)
    unit = W / np.linalg.norm(W, axis=2, keepdims=True)
    planes = np.einsum("mji,mki->mjk", unit, np.tile(teachers, (count, 1, 1)))
    nearer, weights = planes.max(axis=2), np.abs(a[:, 0]) * np.linalg.norm(W, axis=2)
    values, shape = np.linalg.svd(W, compute_uv=False), (count, seeds)
    return Ends(
        nearer.mean(axis=1).reshape(shape),
        (np.sum(weights * nearer, axis=1) / weights.sum(axis=1)).reshape(shape),
        (values[:, 2] / values[:, 1]).reshape(shape),
        (run.loss.values[:, -1] / run.loss.values[:, 0]).reshape(shape),
        planes.reshape(*shape, settings.neurons, 2),
        run.first.values.reshape(*shape, len(at), -1),
        at,
    )


def _figure(ends: Ends, settings: Settings) -> fig.Figure:
    """Singular values along a run from a small and a large start, where neurons end, and the cosines over γ."""
    panels, scales, times = [], settings.gammas, settings.step_size * ends.steps
    for index in (1, len(scales) - 1):
        path = ends.path[index, 0]
        labels = {0: "first two", 2: "the others"}
        marks = [fig.measured(times[1:], path[1:, i], labels.get(i, ""), int(i >= 2)) for i in range(path.shape[1])]
        title = f"γ = {scales[index]:g}, one seed"
        panels.append(fig.Panel(tuple(marks), "time t", "σ(W)", title, "log", "linear", (0.0, 1.3 * path.max())))
    turn = np.linspace(0, 2 * np.pi, 200)
    dots = [
        fig.points(
            ends.planes[index, ..., 0].ravel(), ends.planes[index, ..., 1].ravel(), f"γ = {scales[index]:g}", group
        )
        for group, index in ((3, len(scales) - 1), (2, 0))
    ]
    circle = fig.reference(np.cos(turn), np.sin(turn))
    panels.append(fig.Panel((*dots, circle), "cosine with u", "cosine with v", "neurons at the end, all seeds"))
    marks = []
    for group, (name, table) in ((4, ("all neurons alike", ends.alike)), (5, ("weighted by output", ends.weighted))):
        marks.append(fig.band(scales, table.min(axis=1), table.max(axis=1), "", group))
        marks.append(fig.measured(scales, table.mean(axis=1), name, group))
    panels.append(
        fig.Panel(tuple(marks), "γ", "cosine with u or v", "over the scale of the start", "log", "linear", (0.0, 1.05))
    )
    caption = (
        "Small starts end with all neurons on the teacher's two directions (mean cosine "
        f"{ends.alike[0].mean():.2f}); large starts keep them spread ({ends.alike[-1].mean():.2f})."
    )
    return fig.Figure(tuple(panels), caption, 2)
