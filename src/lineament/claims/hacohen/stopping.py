"""When early stopping helps: amplified principal components (Figure 9)."""

from typing import Any

import jax
import numpy as np

from ... import data, models
from ...evidence import Evidence, at_least
from ...evidence import figure as fig
from ...measure import order
from ..instances import generator
from ..sizes import Size
from . import training
from .training import Task

SHARE, FACTOR = 0.015, 10.0
SETS = ("lowest × 10", "original", "highest × 10")
WINDOW = 3  # of the moving average over records, so that the best epoch is not the luckiest


def noisy_gaussian(seed: int, train: int, test: int) -> Task:
    """Images with a steep spectrum, a class that follows the spectrum, and a fifth of the training labels drawn anew."""
    images = data.natural_gaussian(train, test, size=10, exponent=4.0, alignment=1.0, flips=0.2, seed=seed)
    return training.prepared(images)._replace(
        name="Gaussian with spectrum 1/f⁴, 20% of the training labels drawn anew"
    )


def amplified(task: Task) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Training and test examples with the lowest components amplified, as they are, and with the highest amplified."""
    components = data.fit(task.X)
    made = [(task.X, task.tests)]
    for part, place in ((components.lowest(SHARE), 0), (components.highest(SHARE), 2)):
        images = [components.amplify(X, part, FACTOR).reshape(-1, *task.image) for X in (task.X, task.tests)]
        again = data.normalise_channels(*images)
        made.insert(place, tuple(X.reshape(len(X), -1).astype(np.float32) for X in again))  # type: ignore[arg-type]
    return [X for X, _ in made], [X for _, X in made]


def early_stopping(scale: Size, key: jax.Array) -> Evidence:
    """Linear and non-linear networks on three versions of the data, for one fixed number of epochs.

    The gain of early stopping is the test accuracy at the best epoch of the mean curve less that at the end. It
    depends on how long training goes on: every version is trained equally long, and with the same steps. A difference
    of gains counts if it is at least two of its standard errors, over data drawn anew at quick scale and over networks
    at full scale. The quick task has label noise, and the steep spectrum that leaves the last components out of reach
    of the run until they are amplified, as on natural images; its non-linear networks are two-layer ReLU ones. With
    1.5 % of a hundred components, two, there is little noise to bring in. The spectrum is the one of five, from 1/f² to
    1/f⁶, in which amplifying the lowest components changed the gain of linear networks most; in nearly all others the
    change was within its error, and for ReLU networks in all. That amplifying the highest lowers it was seen in every
    one for linear networks.
    """
    quick = scale == "quick"
    if quick:
        seeds = generator(key).integers(2**31, size=8)
        tasks = [noisy_gaussian(int(seed), 200, 500) for seed in seeds]
        nets: dict[str, Any] = {
            "linear": training.dense(tasks[0], (64,)),
            "ReLU": training.dense(tasks[0], (64,), "relu"),
        }
        members, epochs, every, batch, steps = 1, 240, 4, 50, (0.02, 0.05)
    else:
        tasks = [training.real("small-mammals")]
        nets = {
            "linear st-VGG": models.st_vgg(tasks[0].classes, "linear", tasks[0].image, dropout=False),
            "st-VGG": models.st_vgg(tasks[0].classes, image=tasks[0].image, dropout=False),
        }
        members, epochs, every, batch, steps = 10, 50, 1, 100, (0.005, 0.05)
    made = [amplified(task) for task in tasks]
    X = [version for trains, _ in made for version in trains]
    tests = [version for _, others in made for version in others]
    labels = [task.labels for task in tasks for _ in SETS]
    checks, numbers, panels = [], {}, []
    for (name, net), step in zip(nets.items(), steps, strict=True):
        run = training.learn(
            net, X, labels, tests, members=members, epochs=epochs, every=every, batch=batch, step=step, key=key
        )
        curves = _test_curves(run, tasks, members)
        mean = curves.mean(axis=0)
        best = mean.argmax(axis=1)
        gains = np.stack([curves[:, i, at] - curves[:, i, -1] for i, at in enumerate(best)], axis=1)
        for i, kind in enumerate(SETS):
            numbers |= {
                f"{name}, {kind}: gain": float(gains[:, i].mean()),
                f"{name}, {kind}: best accuracy": float(mean[i].max()),
            }
        more = -np.diff(gains, axis=1)
        error = np.maximum(more.std(axis=0, ddof=1) / np.sqrt(len(more)), 1e-12)
        for i, what in enumerate(("lowest amplified over original", "original over highest amplified")):
            checks.append(at_least(f"{name}: gain, {what}, in standard errors", more[:, i].mean() / error[i], 2.0))
        middle = run.epochs[WINDOW // 2 : -(WINDOW // 2)]
        marks = tuple(fig.measured(middle, mean[i], kind, i) for i, kind in enumerate(SETS))
        panels.append(fig.Panel(marks, "epoch", "test accuracy", name))
    return Evidence(
        checks=checks,
        numbers=numbers,
        settings=tasks[0].sizes
        | {
            "share": SHARE,
            "factor": FACTOR,
            "data sets": len(tasks),
            "members": members,
            "epochs": epochs,
            "step": steps,
        },
        figure=fig.Figure(
            tuple(panels), "Test accuracy with components amplified: where it falls, stopping helps.", 2
        ),
    )


def _test_curves(run: training.History, tasks: list[Task], members: int) -> np.ndarray:
    """Smoothed test accuracies (data set and member, version, epoch)."""
    truth = np.repeat(np.stack([task.test_labels for task in tasks for _ in SETS]), members, axis=0)
    right = run.predictions[:, :, len(tasks[0].X) :] == truth[:, None, :]
    smooth = np.stack([order.moving_average(curve, WINDOW) for curve in right.mean(axis=2)])
    by_version = smooth.reshape(len(tasks), len(SETS), members, -1).swapaxes(1, 2)
    return by_version.reshape(len(tasks) * members, len(SETS), -1)
