"""Appendix A: images at their full size, MNIST and CIFAR-10 without pooling, are first learnt as by a linear model."""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import jax

from ... import data
from ...evidence import Check, Evidence, at_least, at_most
from ...evidence import figure as fig
from ..sizes import sizes
from ..stand_in import judged
from .figure_3 import BARS
from .images import PREPARED, Name, OnImages, Training, follow

LINEAR = "these digits are told apart linearly: they leave a network nothing to learn beyond its twin"


class Images(NamedTuple):
    """Two classes of a data set, and whether the training images are split to serve for testing as well."""

    name: str
    classes: tuple[str, str]
    split: bool = False


class Settings(NamedTuple):
    """What is run at each size.

    Attributes:
        images: What is learnt.
        training: How.
        networks: Which kinds.
        growth: Whether the images are such that networks can be seen to leave the twin.
    """

    images: tuple[Images, ...]
    training: Training
    networks: tuple[Name, ...]
    growth: bool


@sizes(
    quick=Settings(
        images=(Images("digits", ("3", "8"), split=True),),
        training=Training(train=120, test=170, width=512, channels=0, steps=120, rate=0.25),
        networks=("fully connected",), growth=False,
    ),
    full=Settings(
        images=(Images("mnist", ("3", "8")), Images("cifar-10", ("cat", "horse"))),
        training=Training(train=10_000, test=1900, width=1024, channels=48, steps=500, rate=0.4, part=1000),
        networks=("fully connected", "convolutional"), growth=True,
    ),
)  # fmt: skip
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Networks of four hidden layers against their twin on whole images, each scaled to ‖x‖² = d.

    The linear phase is that of Figure 3: while the twin makes the first half of its progress on V_lin, the span of the
    inputs. The text leaves the appendix's classes and widths open: here cats and horses, as in Figure 3, and threes and
    eights. At quick size one fully connected network learns the small digits that come with scikit-learn. Whether it
    leaves the twin later cannot be told of them, since they are told apart linearly; so that half of the statement is
    void there, and with it the run undecided. Small digits stand in for the appendix's images: a miss on them says
    nothing either.
    """
    images = [_load(data_set, settings.training) for data_set in settings.images]
    runs = [follow(data_set, "per image", settings.training, key, settings.networks) for data_set in images]
    pairs = [(data_set.name, run) for data_set, run in zip(images, runs, strict=True)]
    worst = {name: max(run.early_gap(name) for run in runs) for name in settings.networks}
    training = settings.training
    return Evidence(
        checks=_checks(pairs, settings),
        numbers={
            f"{label}, {name}, {where}": value
            for where, run in pairs
            for name in settings.networks
            for label, value in _numbers(run, name).items()
        },
        settings={"data": [data_set.name for data_set in images], "image": [data_set.shape for data_set in images]},
        protocol={
            "data": "; ".join(f"{data_set.name}, {' × '.join(map(str, data_set.shape))}" for data_set in images)
            + f"; {PREPARED['per image']}",
            "examples": f"{training.train} to train, {training.test} to test",
            "network": f"four hidden layers, erf: fully connected of width {training.width}"
            + (f", and convolutional with {training.channels} channels" if len(settings.networks) > 1 else " only"),
            "loss": "square loss",
            "optimiser": "full-batch gradient descent",
            "step size": f"the top component learns at a rate of {training.rate:g} a step; {training.steps} steps",
            "measure": "relative mean square on test images",
            "repeats": "one network of each kind and data set in each seed",
        },
        figure=fig.Figure(
            tuple(panel for where, run in pairs for panel in _panels(where, run)),
            "In the linear phase networks on whole images are within "
            + " and ".join(f"{100 * gap:.1f} % ({name})" for name, gap in worst.items())
            + " of their linear twin in mean square.",
            2,
        ),
    )


def _load(images: Images, training: Training) -> data.Images:
    """The two classes; of a small data set the training images that are left over serve as tests as well."""
    two_classes = data.load(images.name, download=False).subset(images.classes)
    if images.split:  # its few test images V_lin would hold altogether
        left_over = slice(training.train, None)
        two_classes = two_classes._replace(
            test_images=two_classes.images[left_over], test_labels=two_classes.labels[left_over]
        )
    return two_classes.first(training.train, training.test)


def _numbers(run: OnImages, name: Name) -> dict[str, float]:
    numbers = {
        "last relative MSE": float(run.apart(name)[-1]),
        "gap of the early losses on V_lin": run.loss_gap(name),
        "steps in the linear phase": float(run.steps[run.early][-1]),
    }
    inputs, tests = run.inputs.shape[1], len(run.labels)
    if inputs < tests:  # else V_lin holds every vector of test outputs, and nothing is off it
        numbers["best progress off V_lin"] = run.progress(name)[1]
    return numbers


def _checks(pairs: Sequence[tuple[str, OnImages]], settings: Settings) -> list[Check]:
    """Both halves of the statement, on each data set for each kind of network."""
    checks = []
    for (where, run), name in product(pairs, settings.networks):
        checks.append(at_most(f"early relative MSE, {name}, {where}", run.early_gap(name), BARS[name],
                              f"as in Figure 3: \"small\" is {100 * BARS[name]:.0f} %"))  # fmt: skip
        checks.append(at_least(f"last over early, {name}, {where}", run.growth(name), 3.0,
                               "as in Figure 3: \"grows afterwards\", three times at least",
                               void="" if settings.growth else LINEAR))  # fmt: skip
    return judged(checks, *(images.name for images in settings.images))


def _panels(where: str, run: OnImages) -> tuple[fig.Panel, fig.Panel]:
    t = run.steps[1:]
    losses = [
        fig.measured(t, run.parts(outputs).linear[1:], name, group)
        for group, (name, outputs) in enumerate(run.networks.items())
    ]
    gaps = [fig.measured(t, run.apart(name)[1:], name, group) for group, name in enumerate(run.networks)]
    twin = fig.theory(t, run.parts(run.twin).linear[1:], "twin")
    return (
        fig.Panel((*losses, twin), "step", "test loss on V_lin", where, "log"),
        fig.Panel(tuple(gaps), "step", "relative MSE", "distance from the twin", "log", "log"),
    )
