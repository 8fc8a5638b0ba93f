"""Figure 8: critical frequency, the order of learning, and neighbours."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...evidence import Check, Evidence, at_most
from ...evidence import figure as fig
from ...measure import order
from ..sizes import sizes
from .frequency import ST_VGG, Sample, Training, protocol, sample, train
from .neighbours import discriminability

PRINTED = {"accessibility": -0.93, "discriminability": -0.8}


class Settings(NamedTuple):
    """What is run. Accessibility is the mean over every so many epochs."""

    training: Training
    every: int
    neighbours: int


@sizes(
    quick=Settings(Training(1500, (64, 64, 64), "relu", 3, 600, 0.3, 100), 10, 10),
    full=Settings(Training(10_000, ST_VGG, "elu", 100, 500, 0.05, 100), 10, 10),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Networks trained on the frequency data; both scores against the least number of waves that is right.

    The printed p < 0.01 at r = −0.93 and −0.8 fits ten bins, one for each critical frequency, not ten thousand points:
    correlations of the bins' means must reach the weak end of the interval that the printed value has over ten points;
    those over all points stand beside them. Nearly nine points in ten have critical frequency 0. The labels follow the
    graph of λ, so the second coordinate counts. The paper does not state how many neighbours it takes; ten here.
    """
    points = sample(settings.training.points, key)
    epochs = range(settings.every, settings.training.epochs + 1, settings.every)
    history = train(settings.training, points, key, epochs)
    right = history.right(points.labels)[~history.diverged]
    scores = {
        "accessibility": order.accessibility(right),
        "discriminability": discriminability(jnp.asarray(points.X), points.labels, settings.neighbours),
    }
    bins = {name: order.group_means(score, points.critical) for name, score in scores.items()}
    accuracy = right.mean(axis=(0, 2))
    counts = np.bincount(points.critical.astype(int), minlength=10)
    return Evidence(
        checks=[_check(name, groups) for name, groups in bins.items()],
        numbers=_numbers(scores, points)
        | {"final training accuracy": float(accuracy[-1]), "fewest points in a bin": float(counts.min())},
        settings={"points of critical frequency 0": int(counts[0])},
        protocol=protocol(settings.training)
        | {"measure": f"means over critical frequencies; {settings.neighbours} neighbours"},
        figure=_figure(bins, history.epochs, accuracy),
        remarks=[f"{counts[0] / counts.sum():.0%} of the points have critical frequency 0."],
    )


def binned(groups: order.Groups) -> float:
    """The correlation of the bins' means with their values."""
    return float(np.corrcoef(groups.values, groups.means)[0, 1])


def _check(name: str, groups: order.Groups) -> Check:
    printed = PRINTED[name]
    weak = float(np.tanh(np.arctanh(printed) + 1.96 / np.sqrt(len(groups.values) - 3)))
    origin = (
        f"the weak end of the 95 % interval (Fisher) that the printed {printed} has over {len(groups.values)} bins"
    )
    return at_most(f"correlation of {name} and critical frequency, bin means", binned(groups), weak, origin)


def _numbers(scores: dict[str, np.ndarray], points: Sample) -> dict[str, float]:
    numbers = {}
    for name, score in scores.items():
        over_points = order.constancy(points.critical, score)
        numbers |= {
            f"{name}: over all points": over_points.pearson,
            f"{name}: low": over_points.pearson_interval[0],
            f"{name}: high": over_points.pearson_interval[1],
            f"{name}: Spearman": over_points.spearman,
        }
    return numbers


def _figure(bins: dict[str, order.Groups], epochs: np.ndarray, accuracy: np.ndarray) -> fig.Figure:
    panels = []
    for group, (name, groups) in enumerate(bins.items()):
        error = np.nan_to_num(groups.errors)
        marks = (
            fig.band(groups.values, groups.means - error, groups.means + error, "", group),
            fig.measured(groups.values, groups.means, "", group),
        )
        panels.append(fig.Panel(marks, "critical frequency", name, f"bins: r = {binned(groups):.2f}"))
    panels.append(fig.Panel((fig.measured(epochs, accuracy, "", 2),), "epoch", "training accuracy"))
    r = [binned(groups) for groups in bins.values()]
    caption = (
        f"The more waves a point needs, the later it is learnt (r = {r[0]:.2f} over bins) and the fewer neighbours agree "
        f"(r = {r[1]:.2f}); bands are standard errors."
    )
    return fig.Figure(tuple(panels), caption, 3)
