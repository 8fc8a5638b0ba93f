"""Figure 11: labels that few principal components decide are learnt faster."""

from typing import NamedTuple

import jax
import numpy as np

from ... import data
from ...data import tasks
from ...data.tasks import Task
from ...evidence import Evidence
from ...evidence import figure as fig
from ...train import epochs as by_epochs
from ..instances import generator
from ..sizes import sizes
from ..stand_in import judged
from . import readings
from .networks import Architecture, convolutional, start

LEAST = 0.005  # of a difference of mean accuracies


class Settings(NamedTuple):
    """What is run."""

    data: str
    components: tuple[int, ...]
    architecture: Architecture
    dropout: bool
    networks: int
    epochs: int
    step_size: float
    batch: int
    precision: by_epochs.Precision = "tf32"


@sizes(
    quick=Settings("photographs", (2, 8, 32), "small", False, 5, 30, 0.05, 80),
    full=Settings("cats-dogs", (10, 50, 500), "st-VGG", True, 10, 20, 0.05, 100),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Convolutional networks on two classes whose labels a linear separator in P components reproduces.

    Labels that the least-squares separator in P components gets wrong are switched; started from the real labels, and
    from shuffled ones. The accuracy on the training set, averaged over the run, must be higher for each P than for the
    next larger by two standard errors over networks, which have the same starts, for real and for shuffled labels. The
    share of the larger class, which P changes a little, is taken off by averaging the accuracy over the two classes. The
    paper gives this figure once to two classes and ten networks, once to small mammals and a hundred; here two classes.
    """
    task = _task(settings.data, key)
    components = data.fit(task.X)
    kinds = {"real": task.labels, "shuffled": generator(key).permutation(task.labels)}
    labels = {
        (kind, P): data.separable_labels(components, task.X, truth, P)[0]
        for kind, truth in kinds.items()
        for P in settings.components
    }
    epochs, curves = _curves(settings, task, labels, key)
    means = {name: curve.mean(axis=1) for name, curve in curves.items()}  # by network
    pairs = [
        (kind, a, b) for kind in kinds for a, b in zip(settings.components, settings.components[1:], strict=False)
    ]
    return Evidence(
        checks=judged(
            [
                readings.shown(
                    f"{kind} labels: mean accuracy with P = {a} less that with P = {b}",
                    means[kind, a] - means[kind, b],
                    LEAST,
                )
                for kind, a, b in pairs
            ],
            settings.data,
        ),
        numbers={f"{kind}, P = {P}: mean accuracy over the run": float(m.mean()) for (kind, P), m in means.items()}
        | {
            "share of switched labels, real, smallest P": float(
                np.mean(labels["real", settings.components[0]] != task.labels)
            ),
            "largest share of one class": max(float(np.bincount(y).max() / y.size) for y in labels.values()),
        },
        settings=task.sizes,
        protocol=_protocol(settings, task),
        figure=_figure(settings, epochs, curves),
    )


def _task(name: str, key: jax.Array) -> Task:
    if name != "photographs":
        return tasks.real(name)
    return tasks.patches(int(generator(key).integers(2**31)), 320, 8, 8, ("astronaut", "coffee"))


Curves = dict[tuple[str, int], np.ndarray]


def _curves(
    settings: Settings, task: Task, labels: dict[tuple[str, int], np.ndarray], key: jax.Array
) -> tuple[np.ndarray, Curves]:
    """Epochs, and for each labelling the accuracy by network and epoch, averaged over the classes."""
    net = convolutional(task, settings.architecture, dropout=settings.dropout)
    history = by_epochs.learn(
        net,
        [task.X] * len(labels),
        list(labels.values()),
        members=settings.networks,
        epochs=settings.epochs,
        step_size=settings.step_size,
        start=start(net, "Glorot"),
        key=key,
        batch=settings.batch,
        on_divergence="keep",
        precision=settings.precision,
    )
    slices = by_epochs.cell_slices(len(labels), settings.networks)
    whole = ~np.any([history.diverged[cell] for cell in slices], axis=0)
    curves = {}
    for (name, truth), cell in zip(labels.items(), slices, strict=True):
        right = history.predictions[cell][whole] == truth
        curves[name] = np.mean([right[..., truth == k].mean(axis=2) for k in np.unique(truth)], axis=0)
    return history.epochs, curves


def _protocol(settings: Settings, task: Task) -> dict[str, str]:
    return {
        "data": task.name,
        "network": settings.architecture + (" with its dropout" if settings.dropout else ", no dropout"),
        "loss": "cross-entropy",
        "optimiser": f"SGD, batches of {settings.batch}",
        "step size": f"{settings.step_size:g}",
        "epochs": str(settings.epochs),
        "repeats": f"{settings.networks} networks",
        "components P": ", ".join(map(str, settings.components)),
        "measure": "training accuracy over the run, averaged over the classes",
    }


def _figure(settings: Settings, epochs: np.ndarray, curves: Curves) -> fig.Figure:
    panels = []
    for kind in ("real", "shuffled"):
        marks = []
        for i, P in enumerate(settings.components):
            middle, error = curves[kind, P].mean(axis=0), readings.standard_error(curves[kind, P])
            marks.append(fig.measured(epochs, middle, f"P = {P}", i))
            marks.append(fig.band(epochs, middle - error, middle + error, "", i))
        panels.append(fig.Panel(tuple(marks), "epoch", "training accuracy", f"from {kind} labels"))
    ends = settings.components[0], settings.components[-1]
    mean = [curves["real", P].mean() for P in ends]
    caption = (
        f"Labels that fewer components decide are learnt faster: over the run {mean[0]:.2f} are right with P = "
        f"{ends[0]} and "
        f"{mean[1]:.2f} with P = {ends[1]} (from real labels); bands are standard errors over networks."
    )
    return fig.Figure(tuple(panels), caption, 2)
