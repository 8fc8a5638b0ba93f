"""Images at their full size (Appendix A): MNIST and CIFAR-10 without pooling."""

import jax
import numpy as np

from ... import data
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ..sizes import Size
from .figure_3 import Setting, follow

SETTINGS = {"quick": Setting(120, 170, 512, 1, 60, 1.0), "full": Setting(2000, 1000, 1024, 48, 2000, 0.1)}
BARS = {"fully connected": 0.05, "convolutional": 0.10}


def tasks(scale: Size) -> list[data.Images]:
    """Threes against eights of MNIST, and cats against horses; at quick scale the digits that come with scikit-learn."""
    if scale == "quick":
        digits = data.load("digits").subset(("3", "8"))  # whose few test images V_lin would hold altogether
        rest = slice(SETTINGS["quick"].train, None)
        return [digits._replace(test_images=digits.images[rest], test_labels=digits.labels[rest])]
    return [data.load("mnist", download=False).subset(("3", "8")), data.load("cats-horses", download=False)]


def check(scale: Size, key: jax.Array) -> Evidence:
    """Networks of four hidden layers against their twin on whole images, each scaled to ‖x‖² = d.

    The appendix's numbers of examples and classes are not known. At quick scale one fully connected network learns
    small digits; at full scale a convolutional one joins it, on MNIST and on CIFAR-10.
    """
    setting = SETTINGS[scale]
    names = ("fully connected",) if scale == "quick" else ("fully connected", "convolutional")
    checks, numbers, panels, used = [], {}, [], []
    for images in tasks(scale):
        run = follow(images.first(setting.train, setting.test), "per image", setting, key, names)
        marks = []
        for group, name in enumerate(names):
            apart = run.apart(name)
            early = float(np.median(apart[run.early]))
            checks.append(at_most(f"early relative MSE, {name}, {images.name}", early, BARS[name]))
            if scale == "full":
                checks.append(at_least(f"last over early, {name}, {images.name}", float(apart[-1] / early), 3.0))
            numbers[f"last relative MSE, {name}, {images.name}"] = float(apart[-1])
            marks.append(fig.measured(run.steps[1:], apart[1:], name, group))
        losses = [
            fig.measured(run.steps[1:], run.parts(run.networks[name]).linear[1:], name, group)
            for group, name in enumerate(names)
        ]
        losses.append(fig.theory(run.steps[1:], run.parts(run.twin).linear[1:], "twin"))
        panels.append(fig.Panel(tuple(losses), "step", "test loss on V_lin", images.name, "log"))
        panels.append(fig.Panel(tuple(marks), "step", "relative MSE", "distance from the twin", "log", "log"))
        used.append(images.name)
    return Evidence(
        checks=checks,
        numbers=numbers,
        settings=setting._asdict() | {"data": used},
        figure=fig.Figure(tuple(panels), "On whole images, too, networks begin as their linear twin.", 2),
    )
