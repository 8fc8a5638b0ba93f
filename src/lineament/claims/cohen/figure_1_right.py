"""Figure 1, right: a convolutional network whose dense layers are each replaced by two trains faster."""

from typing import NamedTuple

import jax
import numpy as np

from ... import models
from ...evidence import Check, Evidence, at_most
from ...evidence import figure as fig
from ..sizes import sizes
from ..stand_in import judged
from .expanded import Recipe, Trained, images, train_expanded

TUTORIAL = 0.01  # the step size of the tutorial


class Settings(NamedTuple):
    """What is run at each size; `without` holds recipes that are compared beside the tutorial's own."""

    data: str
    seeds: int
    epochs: float
    step_sizes: tuple[float, ...] = (TUTORIAL, 0.03, 0.1)
    recipe: Recipe = Recipe()
    without: tuple[Recipe, ...] = ()


class Compared(NamedTuple):
    """Log of expanded over plain training loss, the mean over records after the start, and its standard error.

    Attributes:
        gain: At each step size, over seeds, (2, step size): means and their standard errors.
        best: The same with each network at its own best step size.
    """

    gain: np.ndarray
    best: np.ndarray


@sizes(
    quick=Settings("digits", seeds=3, epochs=10),
    full=Settings(
        "MNIST",
        seeds=5,
        epochs=10,
        step_sizes=(0.003, TUTORIAL, 0.03, 0.1),
        without=(Recipe(dropout=0.0, decay=1.0, penalty=0.0),),
    ),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Training loss of a plain and an expanded network from the same function, on the same batches, at equal steps.

    The network and its training are those of the TensorFlow tutorial that the authors took: momentum 0.9, batches of
    64, dropout 0.5, a penalty on the dense layers, ten epochs, a step size that decays from 0.01. The inserted matrices
    are square, of the layer's output width. Losses are over the whole training set, without dropout and penalty.
    Compared is the mean of log loss over the records after the start, seed by seed, at the tutorial's step size. Other
    step sizes, each network at its own best one and, at full size, training without dropout, decay and penalty are
    given beside it. At quick size small digits stand in for MNIST: a miss on them leaves the run undecided.
    """
    data = images(settings.data)
    runs = {depth: _run(data, depth, key, settings, settings.recipe) for depth in (1, 2)}
    tutorial = _compare(runs)
    numbers = _numbers(tutorial, "", settings)
    for recipe in settings.without:
        bare = {depth: _run(data, depth, key, settings, recipe) for depth in (1, 2)}
        numbers |= _numbers(_compare(bare), ", without dropout, decay and penalty", settings)
    at = settings.step_sizes.index(TUTORIAL)
    return Evidence(
        checks=_checks(runs, tutorial.gain[:, at], settings.data),
        numbers=numbers | {"share of parameters added": _added(data.plain)},
        settings={"network": str(data.plain)},
        protocol={
            "data": data.digits.name if settings.data == "MNIST" else f"{data.digits.name}, 1500 for training",
            "network": "two convolutions with pooling, dense "
            + "–".join(map(str, data.plain.dense)) + "; expanded: each dense matrix a product of two",
            "start": "He's law, the same function for both (the dense matrices split evenly)",
            "loss": "cross-entropy",
            "optimiser": "stochastic gradient descent, momentum 0.9, batches of 64, dropout 0.5, penalty 5e-4 on "
            "dense layers",
            "step size": "0.01 × 0.95 per epoch; also " + ", ".join(f"{s:g}" for s in settings.step_sizes[1:]),
            "repeats": f"{settings.seeds} pairs of networks",
            "measure": f"training loss over {settings.epochs:g} epochs",
        },
        figure=fig.Figure(
            tuple(_loss_panel(runs, i, f"step size {step_size:g}") for i, step_size in enumerate(settings.step_sizes)),
            "Training loss of the same function, plain and with doubled dense layers, by the tutorial's recipe at its "
            f"step size {TUTORIAL:g} and others: mean log ratio {tutorial.gain[0, at]:+.2f} ± "
            f"{tutorial.gain[1, at]:.2f} there, {tutorial.best[0]:+.2f} ± {tutorial.best[1]:.2f} with each at its "
            "best.",
            3,
        ),
        remarks=(
            "The gain belongs to the tutorial's step size, which is below the best for both networks. What larger "
            "steps give, and each network at its own best, is among the numbers: there the sign may be the other.",
        ),
    )  # fmt: skip


def _run(data, depth: int, key: jax.Array, settings: Settings, recipe: Recipe) -> Trained:
    return train_expanded(data, depth, key, settings.seeds, settings.step_sizes, settings.epochs, recipe)


def _compare(runs: dict[int, Trained]) -> Compared:
    # The logarithm, as losses fall over orders of magnitude.
    means = {depth: np.mean(np.log(run.loss)[..., 1:], axis=2) for depth, run in runs.items()}
    # A run that diverged is no candidate for the best.
    best = {depth: np.nanmin(mean, axis=1) for depth, mean in means.items()}
    return Compared(_mean_and_error(means[2] - means[1]), _mean_and_error(best[2] - best[1]))


def _mean_and_error(values: np.ndarray) -> np.ndarray:
    """The mean over seeds, the first axis, and its standard error."""
    return np.stack([values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))])


def _checks(runs: dict[int, Trained], gain: np.ndarray, data: str) -> list[Check]:
    mean, error = gain
    stuck = any(np.median(run.loss[:, :, -1].min(axis=1) / run.loss[:, 0, 0]) > 0.5 for run in runs.values())
    void = "no network halves its loss: nothing is learnt" if stuck else ""
    faster = at_most(
        f"mean log of expanded over plain loss, the tutorial's step {TUTORIAL:g}, plus two standard errors",
        mean + 2 * error, 0.0, "the statement: lower loss after equally many steps, by two standard errors", void=void,
    )  # fmt: skip
    return judged([faster], data)


def _numbers(compared: Compared, how: str, settings: Settings) -> dict[str, float]:
    numbers = {}
    for i, step_size in enumerate(settings.step_sizes):
        numbers[f"mean log of the ratio, step {step_size:g}{how}"] = float(compared.gain[0, i])
        numbers[f"its standard error, step {step_size:g}{how}"] = float(compared.gain[1, i])
    return numbers | {
        f"mean log of the ratio, each at its best step{how}": float(compared.best[0]),
        f"standard error of that{how}": float(compared.best[1]),
    }


def _added(plain: models.Conv) -> float:
    """What depth 2 adds to the number of parameters."""
    own = sum(a * b for a, b in plain.kernel_shapes + plain.dense_shapes) + sum(plain.filters) + sum(plain.dense)
    return sum(width**2 for width in plain.dense) / own


def _loss_panel(runs: dict[int, Trained], index: int, title: str) -> fig.Panel:
    marks = []
    for group, (depth, run) in enumerate(runs.items()):
        log = np.log(run.loss[:, index])
        mean, spread = log.mean(axis=0), 2 * log.std(axis=0, ddof=1) / np.sqrt(len(log))
        marks += [
            fig.band(run.steps, np.exp(mean - spread), np.exp(mean + spread), "", group),
            fig.measured(run.steps, np.exp(mean), "plain" if depth == 1 else "each dense layer doubled", group),
        ]
    return fig.Panel(tuple(marks), "step", "training loss", title, y_scale="log")
