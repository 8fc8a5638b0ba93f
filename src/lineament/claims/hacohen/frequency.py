"""The frequency data set: critical frequency, the order of learning and neighbours (Figures 8, 13, 15 and 16)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import data, models
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...measure import critical, order
from ..instances import generator
from ..sizes import Size
from . import training
from .neighbours import NEIGHBOURS, discriminability

# On one pixel a convolution is a dense layer: this is st-VGG on points, without its pooling.
ST_VGG = (32, 32, 64, 64, 128, 128, 256, 256, 512)


class Setting(NamedTuple):
    """Training points, hidden widths and activation, members, epochs, step, epochs between records, and the batch."""

    points: int
    hidden: tuple[int, ...]
    activation: models.activations.Activation
    members: int
    epochs: int
    step: float
    every: int
    batch: int = 100


ORDER = {
    "quick": Setting(1500, (64, 64, 64), "relu", 3, 600, 0.3, 10),
    "full": Setting(10_000, ST_VGG, "elu", 100, 500, 0.05, 10),
}


class Sample(NamedTuple):
    """Points, their classes and critical frequencies; `X` are the points normalised per channel."""

    points: np.ndarray
    X: np.ndarray
    labels: np.ndarray
    critical: np.ndarray


def sample(setting: Setting, key: jax.Array) -> Sample:
    """Points with their critical frequencies: the least j for which the first j waves classify them rightly."""
    found = data.frequency_points(setting.points, 1, seed=int(generator(key).integers(2**31)))
    first = critical.critical_frequency(data.partial_labels(found.points), found.labels)
    return Sample(found.points, normalised(found.points, found.points), found.labels, first)


def normalised(points: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Points with mean 0 and deviation 1 of the training points in both channels."""
    return ((points - train.mean(axis=0)) / train.std(axis=0)).astype(np.float32)


def train(setting: Setting, points: Sample, key: jax.Array, watched: np.ndarray | None = None) -> training.History:
    """An ensemble trained on the points."""
    net = models.MLP((2, *setting.hidden, 2), setting.activation, "standard", bias=True)
    return training.learn(
        net, points.X, points.labels, watched, members=setting.members, epochs=setting.epochs, step=setting.step,
        key=key, every=setting.every, batch=setting.batch, law="he" if setting.activation == "relu" else "glorot",
    )  # fmt: skip


def describe(setting: Setting) -> dict[str, object]:
    """For the settings of a claim."""
    return {"data": "frequency data, graph rule", **setting._asdict()}


def frequency_and_order(scale: Size, key: jax.Array) -> Evidence:
    """Networks trained on the frequency data; both scores against the least number of waves that is right.

    The printed p < 0.01 at r = −0.93 and −0.8 fits ten bins, one for each critical frequency, not ten thousand points:
    correlations of the bins' means must be at most −0.8, and those over all points stand beside them, with intervals.
    Nearly nine points in ten have critical frequency 0. Training must go on until high frequencies are being learnt:
    cut short, it leaves all of them at the bottom alike, and the correlation of the bins suffers (−0.79 on one seed of
    three after half the epochs, with a third of the step). The labels follow
    the graph of λ, so the second coordinate counts. The paper does not state how many neighbours it takes; ten here.
    """
    setting = ORDER[scale]
    points = sample(setting, key)
    history = train(setting, points, key)
    scores = {
        "accessibility": order.accessibility(history.right(points.labels)),
        "discriminability": discriminability(jnp.asarray(points.X), points.labels),
    }
    checks, numbers, panels = [], {}, []
    for group, (name, score) in enumerate(scores.items()):
        bins = order.group_means(score, points.critical)
        binned = float(np.corrcoef(bins.values, bins.means)[0, 1])
        each = order.constancy(points.critical, score)
        checks.append(at_most(f"correlation of {name} and critical frequency, bin means", binned, -0.8))
        numbers |= {
            f"{name}: over all points": each.pearson,
            f"{name}: low": each.pearson_interval[0],
            f"{name}: high": each.pearson_interval[1],
            f"{name}: Spearman": each.spearman,
        }
        low, high = bins.means - np.nan_to_num(bins.errors), bins.means + np.nan_to_num(bins.errors)
        marks = (fig.band(bins.values, low, high, "", group), fig.measured(bins.values, bins.means, "", group))
        panels.append(fig.Panel(marks, "critical frequency", name, f"bins {binned:.2f}, points {each.pearson:.2f}"))
    accuracy = history.accuracy(points.labels).mean(axis=0)
    panels.append(fig.Panel((fig.measured(history.epochs, accuracy, "", 2),), "epoch", "training accuracy"))
    counts = np.bincount(points.critical.astype(int), minlength=10)
    return Evidence(
        checks=checks,
        numbers=numbers
        | {"final training accuracy": float(accuracy[-1]), "fewest points in a bin": float(counts.min())},
        settings=describe(setting) | {"neighbours": NEIGHBOURS},
        figure=fig.Figure(
            tuple(panels), "The more waves a point needs, the later it is learnt and the fewer neighbours agree.", 3
        ),
        remarks=[f"{counts[0] / counts.sum():.0%} of the points have critical frequency 0."],
    )


class Grid(NamedTuple):
    """A picture of the plane: positions along both axes, the points, and how many there are each way."""

    x: np.ndarray
    y: np.ndarray
    points: np.ndarray


def grid(across: int) -> Grid:
    """The square on which the points lie."""
    x, y = np.linspace(-1, 1, across), np.linspace(2 * np.pi, -2 * np.pi, across)
    return Grid(x, y, np.stack([part.ravel() for part in np.meshgrid(x, y)], axis=1))


BOUNDARY = {
    "quick": (Setting(1500, (64, 64, 64), "relu", 1, 1200, 0.3, 1), (1, 12, 120, 1200)),
    "full": (Setting(10_000, ST_VGG, "elu", 1, 10_000, 0.05, 1, 500), (1, 100, 1000, 10_000)),
}


def boundary_over_epochs(scale: Size, key: jax.Array) -> Evidence:
    """The predictions of one network on a fine grid at four epochs, a decade apart as in the paper.

    They are compared with what the first j waves alone would say. The number of waves that agrees best must not fall
    from one epoch to the next, and must rise by at least one frequency over the run. The regions of critical frequency
    0 and 1 are drawn with the data.
    """
    setting, shown = BOUNDARY[scale]
    points, plane = sample(setting, key), grid(80)
    watched = normalised(plane.points, points.points)
    net = models.MLP((2, *setting.hidden, 2), setting.activation, "standard", bias=True)
    run = training.learn(
        net, points.X, points.labels, watched, members=1, epochs=setting.epochs, step=setting.step, key=key, at=shown,
        batch=setting.batch, law="he" if setting.activation == "relu" else "glorot",
    )  # fmt: skip
    said = run.predictions[0, :, len(points.X) :]
    partial = data.partial_labels(plane.points)
    agreement = np.mean(said[:, None, :] == partial[None], axis=2)
    best = agreement.argmax(axis=1)
    truth = partial[-1].reshape(plane.y.size, -1)
    pictures = [
        fig.Panel((fig.image(_picture(each.reshape(truth.shape), truth), f"epoch {epoch}: j = {j}"),))
        for epoch, each, j in zip(shown, said, best, strict=True)
    ]
    above = points.labels == 1
    first = [
        fig.Panel(
            tuple(_scatter(points.points[some], group) for group, some in ((0, above), (1, ~above))),
            "z",
            "second coordinate",
            "data",
        ),
        *(
            fig.Panel(
                (_scatter(points.points[points.critical == j], 2),),
                "z",
                title=f"critical frequency {j}",
                y_limits=(-7.0, 7.0),
            )
            for j in (0, 1)
        ),
        fig.Panel(
            tuple(
                fig.measured(np.arange(10), row, f"epoch {epoch}", i)
                for i, (epoch, row) in enumerate(zip(shown, agreement, strict=True))
            ),
            "highest frequency j",
            "agreement",
        ),
    ]
    return Evidence(
        checks=[
            at_least("least rise of the best number of waves from one epoch to the next", np.diff(best).min(), 0),
            at_least("rise of the best number of waves over the run", best[-1] - best[0], 1),
        ],
        numbers={
            f"epoch {epoch}: agreement with λ": float(row[-1]) for epoch, row in zip(shown, agreement, strict=True)
        }
        | {f"epoch {epoch}: best j": float(j) for epoch, j in zip(shown, best, strict=True)},
        settings=describe(setting) | {"epochs shown": shown, "grid": plane.x.size},
        figure=fig.Figure(
            (*first, *pictures), "The boundary begins as a line and takes up one wave after another.", 4
        ),
    )


def _picture(said: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The predicted classes as light and dark, the true boundary as a black line."""
    edge = np.zeros(truth.shape, bool)
    edge[:-1] |= truth[:-1] != truth[1:]
    edge[:, :-1] |= truth[:, :-1] != truth[:, 1:]
    return np.where(edge, 0.0, np.where(said == 1, 0.55, 0.95))


def _scatter(points: np.ndarray, group: int) -> fig.Mark:
    return fig.points(points[:, 0], points[:, 1], "", group)
