"""A Gaussian task whose inputs have the power spectrum of natural images, 1/f² (Field 1987; Torralba & Oliva 2003).

Its principal components are Fourier modes and their variances are known exactly, so theory can be asked about it
without estimating anything.
"""

import numpy as np
from numpy.typing import NDArray

from ..core import arguments
from .images import Images


def natural_spectrum(size: int, exponent: float = 2.0) -> NDArray[np.float64]:
    """Variance of each Fourier mode (size, size) of a random image, `1/f^exponent`, with mean pixel variance 1.

    f is the frequency in cycles per image; the mean of the image counts as one cycle.
    """
    size, exponent = arguments.count("size", size, 2, 4096), arguments.number("exponent", exponent)
    frequency = np.fft.fftfreq(size, 1 / size)
    power = np.maximum(np.hypot(frequency[:, None], frequency[None, :]), 1.0) ** -exponent
    return power / power.mean()


def natural_gaussian(
    train: int = 2000,
    test: int = 1000,
    *,
    size: int = 16,
    classes: int = 2,
    exponent: float = 2.0,
    alignment: float = 1.0,
    flips: float = 0.0,
    seed: int = 0,
) -> Images:
    """Random images with a natural spectrum, of the class that a random linear teacher chooses.

    Args:
        train: How many training images.
        test: How many test images.
        size: Side of an image in pixels.
        classes: How many classes.
        exponent: Of the power spectrum `1/f^exponent`; 0 for white images.
        alignment: The teacher weighs whitened component j with variance ∝ variance_j^alignment: at 1 the class depends
            on components as the image does, at 0 on all alike, below 0 on the small ones most.
        flips: The share of training labels replaced by random ones.
        seed: Of images, teacher and flips.
    """
    train, test = arguments.count("train", train), arguments.count("test", test)
    classes, seed = arguments.count("classes", classes, 2), arguments.count("seed", seed, 0)
    alignment, flips = arguments.number("alignment", alignment), arguments.number("flips", flips, least=0, most=1)
    power = natural_spectrum(size, exponent)
    arguments.held("train, test and classes", train + test + classes, *power.shape)
    rng = np.random.default_rng(seed)
    # White images coloured by a filter: the covariance is exactly circulant with eigenvalues `power`.
    white = rng.standard_normal((train + test, size, size))
    spectrum = np.fft.fft2(white)
    images = np.fft.ifft2(spectrum * np.sqrt(power)).real
    teacher = np.fft.fft2(rng.standard_normal((classes, size, size))) * power ** (alignment / 2)
    outputs = np.einsum("nij,cij->nc", white, np.fft.ifft2(teacher).real)
    # Teachers of unit length, so that no class is chosen for its teacher's size.
    labels = np.argmax(outputs / np.sqrt(np.sum(np.abs(teacher) ** 2, axis=(1, 2))), axis=1)
    flipped = rng.random(train) < flips
    labels[:train][flipped] = rng.integers(0, classes, int(flipped.sum()))
    pixels = images[..., None].astype(np.float32)
    names = tuple(f"class {number}" for number in range(classes))
    return Images(
        pixels[:train], labels[:train], pixels[train:], labels[train:], names, "Gaussian with a natural spectrum"
    )
