"""Figure 6a: the order of learning of deep linear and of convolutional networks."""

from typing import NamedTuple

import jax
import numpy as np

from ...data import tasks
from ...data.tasks import Task
from ...evidence import Check, Evidence, at_least
from ...evidence import figure as fig
from ...measure import order
from ...train import epochs as by_epochs
from ..instances import generator
from ..sizes import sizes
from .networks import Architecture, convolutional, dense, start

LARGE = "a large correlation by Cohen's convention (1988): 0.5"


class Settings(NamedTuple):
    """What is run: each linear ensemble beside each convolutional one. `printed` is the paper's correlation."""

    data: str
    hidden: tuple[int, ...]
    dropout: float
    linear_step_sizes: tuple[float, ...]
    architecture: Architecture
    convolutional_step_sizes: tuple[float, ...]
    networks: int
    epochs: int
    batch: int
    printed: float | None
    precision: by_epochs.Precision = "tf32"


class Ensemble(NamedTuple):
    """The networks of one kind at one step size: their accuracy by epoch, accessibilities, and of two halves."""

    label: str
    epochs: np.ndarray
    accuracy: np.ndarray
    score: np.ndarray
    halves: float


@sizes(
    quick=Settings("photographs", (64,), 0.5, (0.02,), "small", (0.02,), 5, 30, 100, None),
    full=Settings("small-mammals", (1024,) * 4, 0.5, (2e-4, 5e-4, 1e-3), "st-VGG", (0.001, 0.005), 40, 100, 100, 0.85),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Accessibility of the training examples in ensembles of deep linear and of convolutional networks, with dropout.

    As in the paper the convolutional networks learn slowly, so that what is compared is the order in which the first
    examples come; how slowly is not said, and the step sizes of both kinds are swept. That they learn the same examples
    first is judged at every pair of step sizes: the lower end of the interval of the correlation over examples must be
    0.5. The printed 0.85 is compared with the highest correlation of the sweep, on the paper's data. How much of it is
    possible is seen in how two halves of one ensemble agree.
    """
    task = _task(settings.data, key)
    keys = jax.random.split(key)
    hidden = dense(task, settings.hidden, dropout=settings.dropout)
    filters = convolutional(task, settings.architecture, dropout=True)
    linear = _ensembles(settings, task, hidden, "linear", settings.linear_step_sizes, keys[0])
    others = _ensembles(settings, task, filters, "convolutional", settings.convolutional_step_sizes, keys[1])
    pairs = {(a.label, b.label): order.constancy(a.score, b.score) for a in linear for b in others}
    best = max(pairs, key=lambda pair: pairs[pair].pearson)
    worst = min(pairs.values(), key=lambda found: found.pearson_interval[0])
    return Evidence(
        checks=[
            at_least(
                "correlation of the two accessibilities, lower end, any step sizes",
                worst.pearson_interval[0],
                0.5,
                LARGE,
            )
        ],
        printed=_printed(settings.printed, pairs[best].pearson_interval[1]),
        correction=r"r(a_{\mathrm{linear}},\ a_{\mathrm{conv}})\ge0.5" if settings.printed else "",
        numbers={
            **{f"correlation, {a}, {b}": found.pearson for (a, b), found in pairs.items()},
            **{f"Spearman, {a}, {b}": found.spearman for (a, b), found in pairs.items()},
            "highest correlation, upper end": pairs[best].pearson_interval[1],
            **{f"two halves, {one.label}": one.halves for one in (*linear, *others)},
            **{f"last training accuracy, {one.label}": float(one.accuracy[-1]) for one in (*linear, *others)},
        },
        settings=task.sizes | {"highest at": list(best)},
        protocol=_protocol(settings, task),
        figure=_figure(linear, others, best, pairs[best].pearson),
    )


def _task(name: str, key: jax.Array) -> Task:
    return tasks.patches(int(generator(key).integers(2**31)), 480, 8, 8) if name == "photographs" else tasks.real(name)


def _printed(printed: float | None, upper: float) -> list[Check]:
    if printed is None:
        return []
    name = f"correlation of the two accessibilities is {printed}: upper end of the highest of the sweep"
    return [at_least(name, upper, printed, "printed value")]


def _ensembles(
    settings: Settings, task: Task, net: object, name: str, step_sizes: tuple[float, ...], key: jax.Array
) -> list[Ensemble]:
    history = by_epochs.learn(
        net,
        task.X,
        task.labels,
        members=settings.networks,
        epochs=settings.epochs,
        step_size=step_sizes,
        start=start(net, "Glorot"),
        key=key,
        batch=settings.batch,
        on_divergence="keep",
        precision=settings.precision,
    )
    found, half = [], settings.networks // 2
    for step_size, some in zip(step_sizes, by_epochs.cell_slices(len(step_sizes), settings.networks), strict=True):
        right = history.right(task.labels)[some][~history.diverged[some]]
        halves = order.constancy(order.accessibility(right[:half]), order.accessibility(right[half:])).pearson
        accuracy = right.mean(axis=(0, 2))
        found.append(
            Ensemble(f"{name}, step {step_size:g}", history.epochs, accuracy, order.accessibility(right), halves)
        )
    return found


def _protocol(settings: Settings, task: Task) -> dict[str, str]:
    steps = lambda values: ", ".join(f"{s:g}" for s in values)  # noqa: E731
    return {
        "data": task.name,
        "network": f"linear with hidden layers {settings.hidden}, and {settings.architecture}",
        "dropout": f"{settings.dropout:g} before the output of linear networks; st-VGG's own",
        "loss": "cross-entropy",
        "optimiser": f"SGD, batches of {settings.batch}",
        "step size": f"linear {steps(settings.linear_step_sizes)}; "
        f"convolutional {steps(settings.convolutional_step_sizes)}",
        "epochs": str(settings.epochs),
        "repeats": f"{settings.networks} networks of each kind",
        "measure": "correlation of accessibilities over training examples",
    }


def _figure(linear: list[Ensemble], others: list[Ensemble], best: tuple[str, str], highest: float) -> fig.Figure:
    by_label = {one.label: one for one in (*linear, *others)}
    a, b = (by_label[label].score for label in best)
    curves = [fig.measured(one.epochs, one.accuracy, one.label, i) for i, one in enumerate((*linear, *others))]
    panels = (
        fig.Panel((fig.points(a, b, "", 2), fig.reference([0, 1], [0, 1])), f"accessibility, {best[0]}", best[1]),
        fig.Panel(tuple(curves), "epoch", "training accuracy"),
    )
    caption = (
        f"Examples that linear networks learn early, convolutional ones learn early too: r = {highest:.2f} at most."
    )
    return fig.Figure(panels, caption, 2)
