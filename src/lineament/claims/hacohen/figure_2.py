"""Figure 2: the spread over networks along each principal component."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import data, models, problems, starts, train
from ...core import ensembles
from ...data import tasks
from ...data.tasks import Task
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...measure import order
from ...theory import pc_bias
from ...train import epochs as by_epochs
from ..sizes import sizes
from .networks import dense, start


class Settings(NamedTuple):
    """What is run. The step size of the linear networks is a share of the inverse of the largest eigenvalue."""

    data: str
    networks: int
    hidden: int
    relu_epochs: int
    relu_records: int
    relu_step_size: float
    batch: int
    linear_steps: int
    linear_step: float
    shown: tuple[int, ...]


@sizes(
    quick=Settings("digits", 10, 64, 30, 15, 0.01, 100, 1000, 0.5, (1, 2, 5, 10, 20, 40)),
    full=Settings("cats-dogs", 10, 1024, 100, 20, 0.001, 100, 1000, 0.5, (1, 2, 5, 10, 20, 40, 100, 400)),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """The spread of w_j over ten networks as they train: one linear layer by descent, and two layers with ReLU.

    The linear ones, of square loss by the whole batch, have the closed form eq. 10, which they and their spread must
    follow to the accuracy of double precision. The ReLU networks are trained by cross-entropy with minibatches and read
    off without their activation (§3.3). Both must be ordered by component: the share of the first spread that is left
    must rise with the index j, by rank correlation over all components that hold variance, its interval over components
    above 0.
    """
    task = tasks.prepared(data.load("digits")) if settings.data == "digits" else tasks.real(settings.data)
    components = data.fit(task.X, centre=False)
    keys = jax.random.split(key, settings.networks)
    at = np.unique(np.geomspace(1, settings.linear_steps, 25).astype(int) - 1)
    linear, forecast, off = _linear_spread(settings, task, components, at, keys)
    epochs, relu = _relu_spread(settings, task, components, key)
    shares = {"linear": linear[-1] / linear[0], "ReLU": relu[-1] / relu[0]}
    index = np.arange(components.count)
    orders = {name: order.constancy(index, share) for name, share in shares.items()}
    gap = np.max(np.abs(linear - forecast) / linear[0])
    bar = "printed order; 95 % interval over components"
    return Evidence(
        checks=[
            *(
                at_least(
                    f"rank correlation of j with the spread left, {name}, lower end",
                    constancy.spearman_interval[0],
                    0.0,
                    bar,
                )
                for name, constancy in orders.items()
            ),
            at_most(
                "gap of the linear spread to eq. 10, over the first spread",
                gap,
                1e-9,
                "double precision over 1000 steps",
            ),
            at_most(
                "gap of the linear networks' own components to eq. 10, over the largest",
                off,
                1e-9,
                "double precision over 1000 steps",
            ),
        ],
        numbers={f"rank correlation, {name}": constancy.spearman for name, constancy in orders.items()}
        | {
            f"spread left, {name}, j = {j}": float(share[j - 1])
            for name, share in shares.items()
            for j in settings.shown
        },
        settings=task.sizes | {"components": components.count},
        protocol={
            "data": task.name,
            "network": f"one linear layer; two layers, ReLU, {settings.hidden} hidden units",
            "loss": "square (linear), cross-entropy (ReLU)",
            "optimiser": f"descent on all examples (linear); SGD, batches of {settings.batch} (ReLU)",
            "step size": f"{settings.linear_step:g} over the largest eigenvalue; {settings.relu_step_size:g}",
            "epochs": f"{settings.linear_steps} steps; {settings.relu_epochs} epochs",
            "repeats": f"{settings.networks} networks",
            "measure": "std of w_j over networks, over that at the start",
        },
        figure=_figure(settings, at, linear, forecast, epochs, relu),
        remarks=[
            "The spread of linear networks dies out; that of ReLU networks, read off without their activation, levels "
            "off: they do not come to one map."
        ],
    )


def _linear_spread(
    settings: Settings, task: Task, components: data.Components, at: np.ndarray, keys: jax.Array
) -> tuple[np.ndarray, np.ndarray, float]:
    """The spread of w_j, (step, component), by descent and by eq. 10, averaged over outputs; how far w_j is off."""
    model = models.DeepLinear((task.X.shape[1], task.classes))
    begun = ensembles.ensemble(lambda key: starts.glorot(model, key), keys)
    X, Y = task.X.astype(float), task.one_hot.astype(float)
    step_size = settings.linear_step / components.variances[0]
    run = train.descend(
        model, problems.regression(X, Y), begun, step_size=step_size, steps=int(at[-1]), at=at, record=("end_to_end",)
    )
    maps = run.end_to_end.values @ components.directions.T
    moment = Y.T @ X @ components.directions.T / len(X)
    forecast = [pc_bias.convergence(at, components.variances, first, moment, step_size, 1.0) for first in maps[:, 0]]
    off = np.abs(maps - forecast).max() / np.abs(maps).max()
    return spread(maps), spread(np.array(forecast)), float(off)


def _relu_spread(
    settings: Settings, task: Task, components: data.Components, key: jax.Array
) -> tuple[np.ndarray, np.ndarray]:
    model = dense(task, (settings.hidden,), "relu", bias=False)
    directions = jnp.asarray(components.directions.T, jnp.float32)
    record = train.Record("map", lambda model, problem, p: p.layers[1] @ (p.layers[0] @ directions), ("output", "j"))
    history = by_epochs.learn(
        model,
        task.X,
        task.labels,
        task.tests[:10],
        members=settings.networks,
        epochs=settings.relu_epochs,
        at=np.unique(np.linspace(0, settings.relu_epochs, settings.relu_records).round().astype(int)),
        step_size=settings.relu_step_size,
        start=start(model, "Glorot"),
        key=key,
        batch=settings.batch,
        watch_training=False,
        record=(record,),
        precision="float32",
    )
    return history.epochs, spread(history.records["map"])


def spread(maps: np.ndarray) -> np.ndarray:
    """Standard deviation over networks, root mean square over outputs: (network, time, K, j) → (time, j)."""
    return np.sqrt(np.mean(np.var(maps, axis=0, ddof=1), axis=1))


def _figure(
    settings: Settings, at: np.ndarray, linear: np.ndarray, forecast: np.ndarray, epochs: np.ndarray, relu: np.ndarray
) -> fig.Figure:
    label, panels = "std wⱼ over its start", []
    marks = [
        fig.measured(at + 1, linear[:, j - 1] / linear[0, j - 1], f"j = {j}", i) for i, j in enumerate(settings.shown)
    ]
    marks += [fig.theory(at + 1, forecast[:, j - 1] / linear[0, j - 1], "eq. 10") for j in settings.shown]
    panels.append(fig.Panel(tuple(marks), "step s + 1", label, "one linear layer", "log", "log", (1e-3, 2.0)))
    marks = [
        fig.measured(epochs + 1, relu[:, j - 1] / relu[0, j - 1], f"j = {j}", i) for i, j in enumerate(settings.shown)
    ]
    panels.append(fig.Panel(tuple(marks), "epoch + 1", label, "two layers, ReLU", "log"))
    left = linear[-1, 0] / linear[0, 0], linear[-1, settings.shown[-1] - 1] / linear[0, settings.shown[-1] - 1]
    caption = (
        f"The spread over {settings.networks} networks falls first along the largest components: at the end "
        f"{left[0]:.1g} of "
        f"it is left along the first and {left[1]:.2g} along number {settings.shown[-1]} (linear)."
    )
    return fig.Figure(tuple(panels), caption, 2)
