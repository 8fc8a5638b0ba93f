"""Linear networks on real images: Figure 2 (spread by component), Figure 3 (scale matrices over epochs)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import rankdata

from ... import data, models, problems, starts, train
from ...core import ensembles
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...theory import pc_bias
from ..sizes import Size
from .training import Task, prepared, real


def images(scale: Size, name: str) -> Task:
    """Handwritten digits at quick scale, the paper's own images at full scale."""
    return prepared(data.load("digits")) if scale == "quick" else real(name)


def one_hot(task: Task) -> np.ndarray:
    """The labels y ∈ {0, 1}^K of §2.1."""
    return np.eye(task.classes, dtype=np.float32)[task.labels]


def single(tree: Any) -> Any:
    """Everything in single precision, as the paper trains."""
    return jax.tree.map(lambda leaf: leaf.astype(jnp.float32), tree)


def spread_by_component(scale: Size, key: jax.Array) -> Evidence:
    """The spread of w_j over ten networks as they train: one linear layer by descent, and two layers with ReLU.

    The linear ones, of square loss, have the closed form eq. 10; the ReLU networks are trained with minibatches of 100
    and read off without their activation (§3.3). Both must be ordered by component: the share of the first spread that
    is left must rise with the index j, by rank correlation over all components, while training goes on.
    """
    task = images(scale, "cats-dogs")
    components = data.fit(task.X, centre=False)
    members, hidden, epochs = (10, 64, 30) if scale == "quick" else (10, 1024, 200)
    shown = [j for j in (1, 2, 5, 10, 20, 40, 100, 400, 1000, 3000) if j <= components.count][
        : 6 if scale == "quick" else 8
    ]
    at = np.unique(np.geomspace(1, 1000, 25).astype(int) - 1)
    keys = jax.random.split(key, members)
    linear, forecast = _linear_spread(task, components, at, keys)
    steps = len(task.X) // 100 * epochs
    relu = _relu_spread(task, components, hidden, steps, keys)
    shares = {"linear": linear[-1] / linear[0], "ReLU": relu[-1] / relu[0]}
    index = np.arange(components.count)
    orders = {name: float(np.corrcoef(index, rankdata(share))[0, 1]) for name, share in shares.items()}
    gap = np.max(np.abs(linear - forecast) / linear[0])
    epoch = np.linspace(0, epochs, len(relu))
    rows = [(linear, at + 1, "step s + 1", "one linear layer"), (relu, epoch + 1, "epoch + 1", "two layers, ReLU")]
    panels, spread = [], "std wⱼ over its start"
    for values, x, label, title in rows:
        marks = [fig.measured(x, values[:, j - 1] / values[0, j - 1], f"j = {j}", i) for i, j in enumerate(shown)]
        if values is linear:
            marks += [fig.theory(x, forecast[:, j - 1] / linear[0, j - 1], "eq. 10") for j in shown]
            panels.append(fig.Panel(tuple(marks), label, spread, title, "log", "log", (1e-3, 2.0)))
        else:
            panels.append(fig.Panel(tuple(marks), label, spread, title, "log", "linear", (0.0, 1.2)))
    return Evidence(
        checks=[
            at_least("rank correlation of j with the spread left, linear", orders["linear"], 0.9),
            at_least("rank correlation of j with the spread left, ReLU", orders["ReLU"], 0.5),
            at_most("gap of the linear spread to eq. 10, over the first spread", gap, 1e-9),
        ],
        numbers={
            f"spread left, {name}, j = {j}": float(share[j - 1])
            for name, share in shares.items()
            for j in (shown[0], shown[3], shown[-1])
        },
        settings={**task.sizes, "networks": members, "hidden units": hidden, "epochs of the ReLU networks": epochs},
        figure=fig.Figure(
            tuple(panels), "The spread over ten networks falls first along the largest principal components.", 2
        ),
        remarks=[
            "The spread of linear networks dies out; that of ReLU networks, read off without their activation, levels "
            "off: they do not come to one map."
        ],
    )


def _linear_spread(
    task: Task, components: data.Components, at: np.ndarray, keys: jax.Array
) -> tuple[np.ndarray, np.ndarray]:
    """The spread of w_j, (step, component), by descent and by eq. 10, averaged over outputs."""
    net = models.DeepLinear((task.X.shape[1], task.classes))
    start = ensembles.ensemble(lambda key: starts.glorot(net, key), keys)
    n, largest = len(task.X), components.variances[0]
    problem = problems.regression(task.X.astype(float), one_hot(task).astype(float))
    run = train.descend(net, problem, start, step=0.5 / largest, steps=int(at[-1]), at=at, record=("end_to_end",))
    maps = run.end_to_end.values @ components.directions.T
    moment = one_hot(task).T.astype(float) @ task.X.astype(float) @ components.directions.T / n
    forecast = [
        pc_bias.convergence(at, components.variances, first, moment, 0.5 / largest, 1.0) for first in maps[:, 0]
    ]
    return _spread(maps), _spread(np.array(forecast))


def _relu_spread(task: Task, components: data.Components, hidden: int, steps: int, keys: jax.Array) -> np.ndarray:
    net = models.MLP((task.X.shape[1], hidden, task.classes), "relu", "standard")
    start = ensembles.ensemble(lambda key: net.start(key, jnp.float32, "glorot"), keys)
    directions = jnp.asarray(components.directions.T, jnp.float32)
    record = train.Record("map", lambda model, problem, params: params.layers[1] @ (params.layers[0] @ directions))
    problem = problems.lp_regression(task.X, one_hot(task), 2)
    # The largest eigenvalue of the activations is about half the inputs', and Glorot's start about halves it again.
    step = 0.5 / components.variances[0]
    run = train.descend(
        net, problem, start, step=step, steps=steps, every=max(1, steps // 40), record=(record,), batch_size=100,
        key=keys[0],
    )  # fmt: skip
    return _spread(run["map"].values)


def _spread(maps: np.ndarray) -> np.ndarray:
    """Standard deviation over members of every entry, root mean square over outputs: (member, time, K, j) → (time, j)."""
    return np.sqrt(np.mean(np.var(maps, axis=0, ddof=1), axis=1))


def scales_over_epochs(scale: Size, key: jax.Array) -> Evidence:
    """Ten five-layer linear networks from Glorot's start by descent: diagonal and off-diagonal entries of A and B.

    The paper sees both matrices stay at α_l and β_l, with B moving less than A, up to the epoch of the best test
    accuracy. Here that is put as: mean diagonal entries within a tenth, off-diagonal ones within a tenth in the mean,
    and A moving more than B between mirrored layers (A₂ and B₄, of three factors each).
    """
    task = images(scale, "small-mammals")
    width, steps = (128, 900) if scale == "quick" else (1024, 4000)
    net = models.DeepLinear((task.X.shape[1], *(width,) * 4, task.classes))
    start = ensembles.ensemble(lambda key: single(starts.glorot(net, key)), jax.random.split(key, 10))
    alpha, beta = pc_bias.scale_means(net.widths, pc_bias.glorot_variances(net.widths))
    whole = problems.regression(task.X.astype(float), one_hot(task).astype(float))
    problem = single(problems.Regression(whole.sxx, whole.optimal_map, whole.optimal_loss))
    largest = float(np.linalg.norm(np.asarray(problem.sxx), 2))
    step = 0.5 / (float(np.sum(alpha * beta)) * largest)
    at = np.unique(np.geomspace(1, steps + 1, 24).astype(int) - 1)
    run = train.descend(
        net, problem, start, step=step, steps=int(at[-1]), at=at, record=(SUMMARY, "end_to_end", "loss")
    )
    found = run.summary.values  # (member, time, side, layer, statistic)
    scores = run.end_to_end.values @ task.tests.T
    accuracy = np.mean(np.argmax(scores, axis=2) == task.test_labels, axis=(0, 2))
    best = int(np.argmax(accuracy))
    means = np.stack([alpha, beta])  # (side, layer)
    diagonal = found[..., 0] / means
    off = np.abs(found[:, : best + 1, ..., 2].mean(axis=0) / means).max()
    until = np.abs(diagonal[:, : best + 1].mean(axis=0) - 1).max(axis=0)
    ends = diagonal[:, best].mean(axis=0)
    moved = np.abs(diagonal - diagonal[:, :1]).mean(axis=0)[best]
    return Evidence(
        checks=[
            at_most("mean diagonal of A₂ off α₂, up to the best test accuracy", until[0, 1], 0.1),
            at_most("mean diagonal of A₄ off α₄, up to the best test accuracy", until[0, 3], 0.1),
            at_most("mean diagonal of B off β, any layer, up to the best test accuracy", until[1].max(), 0.1),
            at_most("mean off-diagonal entry over the diagonal, any layer", off, 0.1),
            at_least("move of A₂'s diagonal over that of B₄'s", moved[0, 1] / moved[1, 3], 1.0),
        ],
        numbers={
            **{f"A{i + 1}'s diagonal over α there": float(end) for i, end in enumerate(ends[0, :4])},
            **{f"B{i + 1}'s diagonal over β there": float(end) for i, end in enumerate(ends[1]) if i},
            "best test accuracy": float(accuracy[best]),
            "step of it": float(at[best]),
        },
        settings={**task.sizes, "width": width, "networks": 10, "depth": 5, "steps": steps},
        figure=_scales_figure(at, found, means, accuracy, best),
        remarks=[
            "What moves A first is the start's own map dying away, of order q/m; the optimum then adds its square."
        ],
    )


def _summary(model: models.DeepLinear, problem: problems.Problem, layers: models.Layers) -> jax.Array:
    """Mean and deviation of the diagonal entries and of the others, (side, layer, 4), one matrix in memory at a time."""

    def of(gram: jax.Array) -> jax.Array:
        size = gram.shape[0]
        on = jnp.diagonal(gram)
        total, squares, others = jnp.sum(gram) - jnp.sum(on), jnp.sum(gram**2) - jnp.sum(on**2), size * (size - 1)
        mean = total / others
        return jnp.stack([jnp.mean(on), jnp.std(on), mean, jnp.sqrt(jnp.maximum(squares / others - mean**2, 0))])

    P, left = jnp.eye(model.shape[0], dtype=layers[0].dtype), []
    for W in layers[::-1]:
        left.append(of(P @ P.T))
        P = P @ W
    Q, right = jnp.eye(model.shape[1], dtype=layers[0].dtype), []
    for W in layers:
        right.append(of(Q.T @ Q))
        Q = W @ Q
    return jnp.stack([jnp.stack(left[::-1]), jnp.stack(right)])


SUMMARY = train.Record("summary", _summary, ("side", "layer", "statistic"))


def _scales_figure(
    at: np.ndarray, found: np.ndarray, means: np.ndarray, accuracy: np.ndarray, best: int
) -> fig.Figure:
    """Diagonal entries less their first mean, and the others, of layers 2 and 4; the bands are one deviation."""
    panels, x = [], at + 1
    for layer in (1, 3):
        for name, centre, spread in (("diagonal − mean at start", 0, 1), ("off the diagonal", 2, 3)):
            marks = []
            for side, label in enumerate("AB"):
                shift = means[side, layer] if centre == 0 else 0.0
                middle, width = (
                    found[:, :, side, layer, centre].mean(axis=0) - shift,
                    found[:, :, side, layer, spread].mean(axis=0),
                )
                marks += [
                    fig.measured(x, middle, f"{label}{'₀₁₂₃₄'[layer + 1]}", side),
                    fig.band(x, middle - width, middle + width, "", side),
                ]
            marks.append(fig.reference([x[best]] * 2, [-0.8, 0.8], "best test accuracy"))
            panels.append(fig.Panel(tuple(marks), "step s + 1", name, f"layer {layer + 1}", "log"))
    return fig.Figure(
        tuple(panels),
        f"A moves and B hardly does by the time test accuracy is best ({accuracy[best]:.2f}); bands are one deviation.",
        2,
    )
