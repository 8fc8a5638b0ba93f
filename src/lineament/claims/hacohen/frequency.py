"""The frequency data set: points, their critical frequencies, and ensembles trained on them (Figures 8, 13, 15, 16)."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np

from ... import data, models
from ...measure import critical
from ...train import epochs as by_epochs
from ..instances import generator
from .networks import Activation, start

# On one pixel a convolution is a dense layer: this is st-VGG on points, without its pooling.
ST_VGG = (32, 32, 64, 64, 128, 128, 256, 256, 512)


class Training(NamedTuple):
    """Training points, hidden widths and activation, networks, epochs, step size and batch."""

    points: int
    hidden: tuple[int, ...]
    activation: Activation
    networks: int
    epochs: int
    step_size: float
    batch: int


class Sample(NamedTuple):
    """Points, their classes and critical frequencies; `X` are the points normalised per channel."""

    points: np.ndarray
    X: np.ndarray
    labels: np.ndarray
    critical: np.ndarray


def sample(points: int, key: jax.Array) -> Sample:
    """Points with their critical frequencies: the least j for which the first j waves classify them rightly."""
    drawn = data.frequency_points(points, 1, seed=int(generator(key).integers(2**31)))
    first = critical.critical_frequency(data.partial_labels(drawn.points), drawn.labels)
    return Sample(drawn.points, normalised(drawn.points, drawn.points), drawn.labels, first)


def normalised(points: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Points with mean 0 and deviation 1 of the training points in both channels."""
    return ((points - train.mean(axis=0)) / train.std(axis=0)).astype(np.float32)


def train(
    training: Training, points: Sample, key: jax.Array, at: Sequence[int], watched: np.ndarray | None = None
) -> by_epochs.History:
    """Train an ensemble on the points, and keep what it predicts at some epochs; of watched points alone if there are."""
    net = models.MLP((2, *training.hidden, 2), training.activation, "standard", bias=True)
    return by_epochs.learn(
        net,
        points.X,
        points.labels,
        watched,
        members=training.networks,
        epochs=training.epochs,
        at=at,
        step_size=training.step_size,
        start=start(net, "He" if training.activation == "relu" else "Glorot"),
        key=key,
        batch=training.batch,
        watch_training=watched is None,
        on_divergence="keep",
        precision="float32",
    )


def protocol(training: Training) -> dict[str, str]:
    """What was done, by the names of the paper's settings."""
    return {
        "data": f"frequency data set, {training.points} points",
        "network": f"dense layers {training.hidden}, {training.activation}, no dropout",
        "loss": "cross-entropy",
        "optimiser": f"SGD, batches of {training.batch}",
        "step size": f"{training.step_size:g}",
        "epochs": str(training.epochs),
        "repeats": f"{training.networks} networks",
    }
