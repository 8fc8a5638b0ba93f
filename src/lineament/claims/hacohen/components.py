"""What networks make of principal components in the course of training (Figures 4 and 5)."""

from typing import NamedTuple

import jax
import numpy as np

from ... import data, models
from ...evidence import Evidence, at_least
from ...evidence import figure as fig
from ...measure import order
from ..sizes import Size
from . import training
from .order import convolutional

WINDOW = 5  # of the moving average over epochs
ASKED = 2500  # examples that are projected, at most


def projected_accuracy(scale: Size, key: jax.Array) -> Evidence:
    """Convolutional networks trained on whole images and asked, after every epoch, about projected ones.

    The curve is the mean accuracy on the training set, smoothed over five epochs. A flat curve has its highest epoch
    by chance, so the peak counts as reached once the accuracy is within 0.02 of it. That must not come earlier for any
    P than for the next smaller one, and strictly later for the largest than for the smallest. So must the highest
    epoch itself from the smallest P to the largest; from one P to the next it is given only, for on one seed of five
    it came an epoch early.

    At full scale (a) is st-VGG on small mammals as in Appendix D.2, with dropout and a step of 0.05, and (b) VGG-19 on
    one batch of CIFAR-10, with dropout, from He's start at 0.01: from Glorot's it does not learn at all. Without dropout,
    at 0.01, the curve of P = 10 in (a) falls and rises again to the end. With ReLU in place of ELU, which the paper does
    not name, networks learn more slowly: after 100 epochs the accuracy is at 0.74, and all curves from P = 100 on rise.
    """
    if scale == "quick":
        task = training.patches(key, 400, 8, 8)
        cases = {"": _Case(task, convolutional(task, scale), (1, 3, 10, 30), 4, 60, 0.1)}
    else:
        small, cifar = training.real("small-mammals"), training.real("cifar-10")
        sizes = (1, 10, 100, 1000)
        cases = {
            "st-VGG": _Case(small, convolutional(small, scale, dropout=True), sizes, 10, 100, 0.05),
            "VGG-19": _Case(cifar, models.vgg19(10, image=cifar.image), sizes, 10, 30, 0.01, "he"),
        }
    checks, numbers, settings, panels = [], {}, {}, []
    for name, case in cases.items():
        epochs, curves = _curves(case, key)
        peaks = [int(epochs[np.argmax(curve)]) for curve in curves.values()]
        near = [int(epochs[np.argmax(curve >= curve.max() - 0.02)]) for curve in curves.values()]
        label = f"{name}: " if name else ""
        checks += [
            at_least(f"{label}least delay of the peak from P to the next, epochs", np.diff(near).min(), 0),
            at_least(f"{label}delay of the peak from the smallest P to the largest, epochs", near[-1] - near[0], 1),
            at_least(f"{label}the same for the highest epoch", peaks[-1] - peaks[0], 1),
        ]
        for (P, curve), peak, close in zip(curves.items(), peaks, near, strict=True):
            numbers |= {
                f"{label}P = {P}: peak": float(peak),
                f"{label}P = {P}: within 0.02 of it": float(close),
                f"{label}P = {P}: best accuracy": float(curve.max()),
                f"{label}P = {P}: last accuracy": float(curve[-1]),
            }
        described = {"members": case.members, "epochs": case.epochs, "step": case.step, "P": list(curves)}
        settings |= {f"{label}{name}": value for name, value in (case.task.sizes | described).items()}
        marks = tuple(fig.measured(epochs, curve, f"P = {P}", i) for i, (P, curve) in enumerate(curves.items()))
        summary = (
            fig.measured(list(curves), peaks, "peak", 0),
            fig.measured(list(curves), near, "within 0.02 of it", 1),
        )
        panels += [
            fig.Panel(marks, "epoch", "accuracy, projected", name),
            fig.Panel(summary, "components P", "epoch", name, x_scale="log"),
        ]
    return Evidence(
        checks=checks,
        numbers=numbers,
        settings=settings,
        figure=fig.Figure(
            tuple(panels), "Accuracy on examples projected to P components, and the epoch of its peak.", 2
        ),
    )


class _Case(NamedTuple):
    """A network and its task, the numbers of components that projected images keep, and how it is trained."""

    task: training.Task
    net: models.ConvNet
    sizes: tuple[int, ...]
    members: int
    epochs: int
    step: float
    law: training.Law = "glorot"


def _curves(case: _Case, key: jax.Array) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Epochs, and for each P the smoothed accuracy on examples projected to P components; the last P is all of them."""
    task = case.task
    components = data.fit(task.X)
    n, asked = len(task.X), min(len(task.X), ASKED)
    projected = np.concatenate([components.project(task.X[:asked], P) for P in case.sizes])
    run = training.learn(
        case.net, task.X, task.labels, projected, members=case.members, epochs=case.epochs, step=case.step, key=key,
        law=case.law,
    )  # fmt: skip
    place = {P: slice(n + i * asked, n + (i + 1) * asked) for i, P in enumerate(case.sizes)}
    curves = {
        P: order.moving_average(run.accuracy(task.labels[:asked], some).mean(axis=0), WINDOW)
        for P, some in (place | {components.count: slice(0, asked)}).items()
    }
    return run.epochs[WINDOW // 2 : -(WINDOW // 2)], curves
