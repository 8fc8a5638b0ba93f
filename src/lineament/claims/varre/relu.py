"""With ReLU neurons: a small start recovers the teacher's two directions, a large one does not."""

import jax
import jax.numpy as jnp
import numpy as np

from ... import measure, models, problems, starts, train
from ...core import ensembles
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ..instances import generator, rotation
from ..sizes import Size

FIRST_LAYER = train.Record("first", lambda model, problem, layers: measure.singular_values(layers[0]), ("value",))
SCALES = (1e-6, 1e-4, 1e-2, 0.1, 0.5, 2.0)  # γ


def recovery(scale: Size, key: jax.Array) -> Evidence:
    """Descent of 20 ReLU neurons on a teacher of two, from `W = √(2γ)P, a = 0` with γ from 1e-6 to 2, over seeds.

    Every seed has its own data, teacher and start. Read off at the end: the cosine of each neuron with the nearer of u
    and v, as a mean over neurons all alike and as one weighted by what they put out, |a_j|‖w_j‖; and the third
    singular value of W against the second. Recovery means that *the layer* holds the two directions and nothing else.
    """
    d, n, seeds, steps = (5, 150, 4, 10_000) if scale == "quick" else (10, 300, 10, 40_000)
    rng = generator(key)
    net = models.TwoLayer(d, 20)
    teachers = np.stack([rotation(rng, d)[:2] for _ in range(seeds)])
    inputs = rng.normal(size=(seeds, n, d))
    labels = np.maximum(np.einsum("sni,ski->snk", inputs, teachers), 0).sum(axis=2)
    count = len(SCALES)
    problem = ensembles.ensemble(
        problems.regression, jnp.asarray(np.tile(inputs, (count, 1, 1))), jnp.asarray(np.tile(labels, (count, 1)))
    )
    gammas = np.repeat(SCALES, seeds)
    keys = jax.random.split(key, seeds)
    start = ensembles.ensemble(
        lambda key, gamma: starts.shaped(net.linear, key, gamma), jnp.tile(keys, count), jnp.asarray(gammas)
    )
    at = np.unique(np.r_[0, np.geomspace(1, steps, 120).astype(int)])
    run = train.descend(net, problem, start, step=jnp.full(len(gammas), 0.1), steps=steps, at=at,
                        record=("loss", FIRST_LAYER))  # fmt: skip
    W, a = (np.asarray(layer) for layer in train.final(run, start).stacked)
    nearer = np.max(
        [
            measure.cosines(jnp.asarray(w), jnp.asarray(u))
            for w, u in zip(W, np.tile(teachers, (count, 1, 1)), strict=True)
        ],
        axis=2,
    )
    weights = np.abs(a[:, 0]) * np.linalg.norm(W, axis=2)
    shape = (count, seeds)
    alike = nearer.mean(axis=1).reshape(shape)
    weighted = (np.sum(weights * nearer, axis=1) / weights.sum(axis=1)).reshape(shape)
    values = np.linalg.svd(W, compute_uv=False).reshape(*shape, -1)
    third = values[..., 2] / values[..., 1]
    return Evidence(
        checks=[
            at_least("mean cosine with u or v, small start, worst seed", alike[0].min(), 0.85),
            at_least("the same weighted by output, worst seed", weighted[0].min(), 0.95),
            at_most("σ₃/σ₂ of W, small start, worst seed", third[0].max(), 0.2),
            at_most("mean cosine with u or v, large start, best seed", alike[-1].max(), 0.6),
            at_least("σ₃/σ₂ of W, large start, least seed", third[-1].min(), 0.5),
            at_most("loss left, of the first, worst run", float((run.loss[:, -1] / run.loss[:, 0]).max()), 1e-2),
        ],
        numbers={f"mean cosine at γ = {g:g}": float(row.mean()) for g, row in zip(SCALES, alike, strict=True)}
        | {f"weighted cosine at γ = {g:g}": float(row.mean()) for g, row in zip(SCALES, weighted, strict=True)}
        | {f"σ₃/σ₂ at γ = {g:g}": float(row.mean()) for g, row in zip(SCALES, third, strict=True)},
        settings={"d, n": (d, n), "neurons": 20, "seeds": seeds, "steps": steps, "step": 0.1, "γ": list(SCALES)},
        figure=_figure(run.first.values.reshape(*shape, len(at), -1), 0.1 * at, nearer.reshape(*shape, -1), W, teachers,
                       (alike, weighted)),
        remarks=[
            "From a large start the neurons with most output may point along u and v too, since only those fit ample "
            "data; the layer as a whole keeps the directions it began with.",
        ],
    )  # fmt: skip


def _figure(
    values: np.ndarray,
    times: np.ndarray,
    nearer: np.ndarray,
    W: np.ndarray,
    teachers: np.ndarray,
    cosines: tuple[np.ndarray, np.ndarray],
) -> fig.Figure:
    """Singular values along a run from a small and a large start, where neurons end, and the cosines over γ."""
    panels = []
    for index in (1, len(SCALES) - 1):
        runs = values[index, 0]
        labels = {0: "first two", 2: "the others"}
        marks = [fig.measured(times[1:], runs[1:, i], labels.get(i, ""), int(i >= 2)) for i in range(runs.shape[1])]
        title = f"γ = {SCALES[index]:g}, one seed"
        panels.append(fig.Panel(tuple(marks), "time t", "σ(W)", title, "log", "linear", (0.0, 1.3 * runs.max())))
    seeds = len(teachers)
    unit = W / np.linalg.norm(W, axis=2, keepdims=True)
    planes = np.einsum("mji,mki->mjk", unit, np.tile(teachers, (len(SCALES), 1, 1))).reshape(len(SCALES), seeds, -1, 2)
    turn = np.linspace(0, 2 * np.pi, 200)
    dots = [
        fig.points(planes[index, :, :, 0].ravel(), planes[index, :, :, 1].ravel(), f"γ = {SCALES[index]:g}", group)
        for group, index in ((3, len(SCALES) - 1), (2, 0))
    ]
    circle = fig.reference(np.cos(turn), np.sin(turn))
    panels.append(fig.Panel((*dots, circle), "cosine with u", "cosine with v", "neurons at the end, all seeds"))
    marks = []
    for group, (name, table) in enumerate(
        zip(("all neurons alike", "weighted by output"), cosines, strict=True), start=4
    ):
        marks.append(fig.band(SCALES, table.min(axis=1), table.max(axis=1), "", group))
        marks.append(fig.measured(SCALES, table.mean(axis=1), name, group))
    panels.append(
        fig.Panel(tuple(marks), "γ", "cosine with u or v", "over the scale of the start", "log", "linear", (0.0, 1.05))
    )
    return fig.Figure(
        tuple(panels),
        "Small starts end with all neurons on the teacher's two directions; large starts keep them spread.",
        2,
    )
