"""Pictures of images in their principal components: projected and low-passed (Figure 1), and amplified (Figure 14)."""

import jax
import numpy as np

from ... import data
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ..sizes import Size
from .training import Task, patches, real

ACROSS = 3
COMPONENTS = 20
SHARE, FACTOR = 0.015, 10.0  # of Appendix D.1


def pictures(scale: Size, key: jax.Array) -> Task:
    """Images to look at: patches of photographs, or the small mammals."""
    return patches(key, 2000, 400, 32) if scale == "quick" else real("small-mammals")


def shown(task: Task, scale: Size, key: jax.Array) -> np.ndarray:
    """The rows that the figures draw: test images, or at full scale, whose images are not ours to print, patches."""
    if scale == "quick":
        return task.tests
    grey = patches(key, 400, 80, task.image[0]).tests
    in_colour = np.repeat(grey, task.image[2], axis=1)
    return in_colour[np.argsort(-np.std(grey, axis=1))]  # those of high contrast first, for there is more to see


def strip(rows: np.ndarray, task: Task) -> np.ndarray:
    """Two rows of images, each about its own mean, with values in [0, 1]: black and white are 2.5 deviations off."""
    images = rows[: 2 * ACROSS].reshape(-1, *task.image)
    images = images - images.mean(axis=(1, 2, 3), keepdims=True)
    images = images / np.maximum(np.std(images, axis=(1, 2, 3), keepdims=True), 1e-3)
    framed = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=2.5)
    lines = [np.concatenate(list(framed[first : first + ACROSS]), axis=1) for first in (0, ACROSS)]
    picture = np.clip(np.concatenate(lines) / 5 + 0.5, 0, 1).round(3)  # finer than the eight bits of a screen
    return picture[..., 0] if task.image[2] == 1 else picture


def cutoff(task: Task, channels: int) -> tuple[float, int]:
    """The cut-off that leaves about as many waves as there are components, over some channels, and how many it leaves."""
    height, width, _ = task.image
    squares = np.add.outer(np.fft.fftfreq(height, 1 / height) ** 2, np.fft.fftfreq(width, 1 / width) ** 2).ravel()
    radii = np.unique(squares)
    numbers = channels * np.searchsorted(np.sort(squares), radii, side="right")
    best = int(np.argmin(np.abs(numbers - COMPONENTS)))
    return float(np.sqrt(radii[best])), int(numbers[best])


def correlations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The correlation of the pixels of each image in one list with those of the same image in the other."""
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    return np.sum(a * b, axis=1) / np.sqrt(np.sum(a**2, axis=1) * np.sum(b**2, axis=1))


def projection_and_filter(scale: Size, key: jax.Array) -> Evidence:
    """Components of training images, applied to test images beside a filter that leaves about as many waves.

    The paper shows pictures. Here the two pictures of a test image must correlate, pixel by pixel, at 0.8 or more in
    the mean, and the filter must keep at least 0.85 of what the components keep of the images' variance, though only
    the components were fitted to the images. Waves are counted over all channels; those of images in colour are few in
    each, while most of the first components are of light and dark, so the correlation with as many waves in each
    channel as there are components is given beside. The paper's images are of STL-10, its filter is not described. At
    full scale everything is measured on small mammals, and drawn on patches of photographs with the components of small
    mammals.
    """
    task = pictures(scale, key)
    components = data.fit(task.X)
    largest, waves = cutoff(task, task.image[2])
    in_each, waves_in_each = cutoff(task, 1)
    alike_in_each = correlations(*_both(task.tests, task, components, in_each)).mean()
    alike = correlations(*_both(task.tests, task, components, largest))
    about = task.tests - components.mean.astype(np.float32)
    kept = [float(np.sum((about - rest) ** 2) / np.sum(about**2)) for rest in _rests(about, task, components, largest)]
    drawn = shown(task, scale, key)
    projected, filtered = _both(drawn, task, components, largest)
    rows = (
        ("test images" if scale == "quick" else "photographs", drawn),
        (f"on {COMPONENTS} components", projected),
        (f"low-passed, {waves} waves", filtered),
    )
    panels = tuple(fig.Panel((fig.image(strip(pixels, task), label),)) for label, pixels in rows)
    caption = (
        f"Images as they are, projected on {COMPONENTS} components, and low-passed; the last two correlate at "
        f"{alike.mean():.2f} in the mean over the test images."
    )
    return Evidence(
        checks=[
            at_least("mean correlation of projected and low-passed images", alike.mean(), 0.8),
            at_least("variance the filter keeps, over that the components keep", kept[1] / kept[0], 0.85),
        ],
        numbers={
            "variance kept by the components": kept[0],
            "variance kept by the filter": kept[1],
            "correlation at the lowest decile": float(np.quantile(alike, 0.1)),
            f"mean correlation, filter of {waves_in_each} waves in each channel": float(alike_in_each),
        },
        settings=task.sizes | {"components": COMPONENTS, "waves": waves, "cut-off, cycles per image": largest},
        figure=fig.Figure(panels, caption, 3),
    )


def _both(rows: np.ndarray, task: Task, components: data.Components, largest: float) -> tuple[np.ndarray, np.ndarray]:
    """Images projected on the components, and images passed through the filter."""
    filtered = data.low_pass(rows.reshape(-1, *task.image), largest).reshape(rows.shape)
    return components.project(rows, COMPONENTS), filtered


def _rests(about: np.ndarray, task: Task, components: data.Components, largest: float) -> list[np.ndarray]:
    """What the components and the filter leave out of images about their mean."""
    coordinates = about @ components.directions[:COMPONENTS].T.astype(np.float32)
    projected = coordinates @ components.directions[:COMPONENTS].astype(np.float32)
    filtered = data.low_pass(about.reshape(-1, *task.image), largest).reshape(about.shape)
    return [about - projected, about - filtered]


def amplified_images(scale: Size, key: jax.Array) -> Evidence:
    """The highest or the lowest 1.5 % of the components amplified tenfold, then every channel normalised.

    The paper says that the factor is significantly smaller than the ratio of the first to the last singular value:
    the ratio must be at least a hundred times the factor. Then the last components stay small even when amplified: a
    test image must still correlate with itself at 0.9 or more, and less so when the first are amplified, which hide
    what is fine in it. At full scale everything is measured on small mammals, and drawn on patches of photographs.
    """
    task = pictures(scale, key)
    components = data.fit(task.X)
    parts = {"first": components.highest(SHARE), "last": components.lowest(SHARE)}
    alike = {
        name: correlations(task.tests, _amplified(task.tests, task, components, part)) for name, part in parts.items()
    }
    drawn = shown(task, scale, key)
    changed = {name: _amplified(drawn, task, components, part) for name, part in parts.items()}
    number = components.highest(SHARE).stop
    rows = (
        ("test images" if scale == "quick" else "photographs", drawn),
        (f"first {number} components × 10", changed["first"]),
        (f"last {number} components × 10", changed["last"]),
    )
    panels = tuple(fig.Panel((fig.image(strip(pixels, task), label),)) for label, pixels in rows)
    d = components.variances
    caption = "Amplified first components blur the images; amplified last components, tiny before, add a fine grain."
    return Evidence(
        checks=[
            at_least("d₁/d_q over the factor", d[0] / d[-1] / FACTOR, 100),
            at_least("mean correlation with the original, last amplified", alike["last"].mean(), 0.9),
            at_most("the same, first amplified, over last amplified", alike["first"].mean() / alike["last"].mean(), 1),
        ],
        numbers={
            "d₁/d_q": float(d[0] / d[-1]),
            "correlation with the original, first amplified": float(alike["first"].mean()),
        },
        settings=task.sizes | {"share of components": SHARE, "factor": FACTOR, "components": components.count},
        figure=fig.Figure(panels, caption, 3),
    )


def _amplified(rows: np.ndarray, task: Task, components: data.Components, part: slice) -> np.ndarray:
    changed = [components.amplify(X, part, FACTOR).reshape(-1, *task.image) for X in (task.X, rows)]
    return data.normalise_channels(*changed)[1].reshape(rows.shape)
