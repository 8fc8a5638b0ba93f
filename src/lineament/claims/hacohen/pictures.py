"""What the figures that show images share (Figures 1 and 14)."""

import jax
import numpy as np

from ...data import tasks
from ...data.tasks import Task
from ..instances import generator

ACROSS = 3


def images(name: str, key: jax.Array) -> Task:
    """Images to look at: patches of photographs, or a data set of real images."""
    if name != "photographs":
        return tasks.real(name)
    return tasks.patches(int(generator(key).integers(2**31)), 2000, 400, 32)


def drawn_rows(task: Task, name: str, key: jax.Array) -> np.ndarray:
    """The rows that the figures draw: test images, or patches in place of images that are not ours to print."""
    if name == "photographs":
        return task.tests
    grey = tasks.patches(int(generator(key).integers(2**31)), 400, 80, task.image[0]).tests
    in_colour = np.repeat(grey, task.image[2], axis=1)
    return in_colour[np.argsort(-np.std(grey, axis=1))]  # those of high contrast first, for there is more to see


def strip(rows: np.ndarray, task: Task) -> np.ndarray:
    """Two rows of images, each about its own mean, with values in [0, 1]: black and white are 2.5 deviations off."""
    pictures = rows[: 2 * ACROSS].reshape(-1, *task.image)
    pictures = pictures - pictures.mean(axis=(1, 2, 3), keepdims=True)
    pictures = pictures / np.maximum(np.std(pictures, axis=(1, 2, 3), keepdims=True), 1e-3)
    framed = np.pad(pictures, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=2.5)
    lines = [np.concatenate(list(framed[first : first + ACROSS]), axis=1) for first in (0, ACROSS)]
    picture = np.clip(np.concatenate(lines) / 5 + 0.5, 0, 1).round(3)  # finer than the eight bits of a screen
    return picture[..., 0] if task.image[2] == 1 else picture


def correlations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The correlation of the pixels of each image in one list with those of the same image in the other."""
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    return np.sum(a * b, axis=1) / np.sqrt(np.sum(a**2, axis=1) * np.sum(b**2, axis=1))
