"""A task of classification as experiments on the order of learning take it: normalised images as rows."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .catalogue import load
from .images import Images
from .photos import PHOTOGRAPHS, photographs
from .pixels import normalise_channels


class Task(NamedTuple):
    """Rows of normalised images with their classes, for training and for testing, and where they come from."""

    X: np.ndarray
    labels: np.ndarray
    tests: np.ndarray
    test_labels: np.ndarray
    image: tuple[int, int, int]
    classes: int
    name: str

    @property
    def sizes(self) -> dict[str, object]:
        """What the task is, for the settings of evidence."""
        kind = "×".join(map(str, self.image))
        return {"data": self.name, "examples": len(self.X), "test examples": len(self.tests), "image": kind}

    @property
    def one_hot(self) -> np.ndarray:
        """The labels as rows y ∈ {0, 1}^K, in single precision."""
        return np.eye(self.classes, dtype=np.float32)[self.labels]


def prepared(images: Images) -> Task:
    """Images normalised to mean 0 and deviation 1 in every channel (Hacohen & Weinshall, D.3), as rows."""
    train, test = normalise_channels(images.images, images.test_images)
    X, tests = (pixels.reshape(len(pixels), -1).astype(np.float32) for pixels in (train, test))
    return Task(X, images.labels, tests, images.test_labels, images.shape, len(images.classes), images.name)


def patches(seed: int, train: int, test: int, size: int, names: Sequence[str] = PHOTOGRAPHS) -> Task:
    """The bundled task of natural images: which photograph does a patch come from?"""
    return prepared(photographs(train, test, size=size, names=names, seed=seed))


def real(name: str) -> Task:
    """A data set of real images, whole: an error names files that are missing. Nothing is downloaded."""
    return prepared(load(name, download=False))
