"""Figures 13, 15 and 16: the boundary between two classes takes up one frequency after another."""

from typing import NamedTuple

import jax
import numpy as np

from ... import data
from ...evidence import Evidence, at_least
from ...evidence import figure as fig
from ..sizes import sizes
from . import readings
from .frequency import ST_VGG, Sample, Training, normalised, protocol, sample, train


class Settings(NamedTuple):
    """What is run, which epochs are shown, and how many points each way the grid has."""

    training: Training
    shown: tuple[int, ...]
    across: int


@sizes(
    quick=Settings(Training(1500, (64, 64, 64), "relu", 5, 1000, 0.3, 100), (1, 10, 100, 1000), 60),
    full=Settings(Training(10_000, ST_VGG, "elu", 5, 3000, 0.05, 100), (1, 100, 1000, 3000), 80),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """The predictions of several networks on a fine grid at four epochs, a decade apart as in the paper.

    They are compared with what the first j waves alone would say. The number of waves that agrees best, averaged over
    networks, must not fall from one epoch to the next by two standard errors, and must rise over the run by two standard
    errors. The regions of critical frequency 0 and 1 are drawn with the data. The paper's last epoch is 10,000; at full
    size the run ends at 3000, for it is bound by its million steps.
    """
    points, plane = sample(settings.training.points, key), grid(settings.across)
    history = train(settings.training, points, key, settings.shown, normalised(plane.points, points.points))
    predictions = history.predictions[~history.diverged]  # (network, epoch, point)
    partial = data.partial_labels(plane.points)
    agreement = np.stack([np.mean(predictions == waves, axis=2) for waves in partial], axis=2)  # (network, epoch, j)
    best = agreement.argmax(axis=2).astype(float)
    rises = np.diff(best, axis=1)
    return Evidence(
        checks=[
            at_least(
                "least rise of the best number of waves from one epoch to the next, in standard errors",
                min(readings.in_errors(rise) if np.ptp(rise) else float(rise[0]) for rise in rises.T),
                -readings.ERRORS,
                "does not fall by two standard errors over networks",
            ),
            readings.shown("rise of the best number of waves over the run", best[:, -1] - best[:, 0], 1.0),
        ],
        numbers=_numbers(settings.shown, agreement, best),
        settings={"networks that did not diverge": len(predictions)},
        protocol=protocol(settings.training) | {"measure": "agreement with the first j waves on a grid"},
        figure=_figure(settings, points, plane, predictions[0], agreement, best),
    )


class Grid(NamedTuple):
    """A picture of the plane: positions along both axes, and the points."""

    x: np.ndarray
    y: np.ndarray
    points: np.ndarray


def grid(across: int) -> Grid:
    """The square on which the points lie."""
    x, y = np.linspace(-1, 1, across), np.linspace(2 * np.pi, -2 * np.pi, across)
    return Grid(x, y, np.stack([part.ravel() for part in np.meshgrid(x, y)], axis=1))


def _numbers(shown: tuple[int, ...], agreement: np.ndarray, best: np.ndarray) -> dict[str, float]:
    numbers = {}
    for i, epoch in enumerate(shown):
        numbers |= {
            f"epoch {epoch}: agreement with λ": float(agreement[:, i, -1].mean()),
            f"epoch {epoch}: best j, mean over networks": float(best[:, i].mean()),
            f"epoch {epoch}: its standard error": float(readings.standard_error(best)[i]),
        }
    return numbers


def _figure(
    settings: Settings, points: Sample, plane: Grid, predictions: np.ndarray, agreement: np.ndarray, best: np.ndarray
) -> fig.Figure:
    truth = data.partial_labels(plane.points)[-1].reshape(plane.y.size, -1)
    pictures = [
        fig.Panel((fig.image(_picture(predicted.reshape(truth.shape), truth), f"epoch {epoch}: j = {j:.0f}"),))
        for epoch, predicted, j in zip(settings.shown, predictions, best[0], strict=True)
    ]
    above = points.labels == 1
    classes = tuple(_scatter(points.points[chosen], group) for group, chosen in ((0, above), (1, ~above)))
    first = [fig.Panel(classes, "z", "second coordinate", "data")]
    for j in (0, 1):
        marks = (_scatter(points.points[points.critical == j], 2),)
        first.append(fig.Panel(marks, "z", title=f"critical frequency {j}", y_limits=(-7.0, 7.0)))
    curves = tuple(
        fig.measured(np.arange(10), agreement[:, i].mean(axis=0), f"epoch {epoch}", i)
        for i, epoch in enumerate(settings.shown)
    )
    first.append(fig.Panel(curves, "highest frequency j", "agreement"))
    caption = (
        f"The boundary begins as a line and takes up one wave after another: the best number of waves goes from "
        f"{best[:, 0].mean():.1f} to {best[:, -1].mean():.1f} on average."
    )
    return fig.Figure((*first, *pictures), caption, 4)


def _picture(predictions: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The predicted classes as light and dark, the true boundary as a black line."""
    edge = np.zeros(truth.shape, bool)
    edge[:-1] |= truth[:-1] != truth[1:]
    edge[:, :-1] |= truth[:, :-1] != truth[:, 1:]
    return np.where(edge, 0.0, np.where(predictions == 1, 0.55, 0.95))


def _scatter(points: np.ndarray, group: int) -> fig.Mark:
    return fig.points(points[:, 0], points[:, 1], "", group)
