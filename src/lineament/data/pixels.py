"""What is done to the pixels of images (n, height, width, channels): normalise, filter, pool."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import arguments

Float = NDArray[np.floating]


def normalise_channels(train: ArrayLike, *others: ArrayLike) -> tuple[Float, ...]:
    """Images with mean 0 and standard deviation 1 in every channel of the training set (Hacohen & Weinshall, D.3).

    Args:
        train: Training images; mean and deviation of each channel are theirs.
        others: Further images, such as the test set, shifted and scaled alike.

    Returns:
        The training images, and each of `others`.
    """
    images = _images("train", train)
    channels = images.shape[-1]
    mean = images.mean(axis=(0, 1, 2), dtype=np.float64)
    deviation = images.std(axis=(0, 1, 2), dtype=np.float64)
    if not (deviation > 0).all():
        raise ValueError(f"train must vary in every channel; the standard deviations are {deviation}")
    arrays = (images, *(_images(f"others[{i}]", further) for i, further in enumerate(others)))
    for array in arrays:
        if array.shape[-1] != channels:
            raise ValueError(f"all images must have {channels} channels, as train has; got shape {array.shape}")
    return tuple((array - mean.astype(array.dtype)) / deviation.astype(array.dtype) for array in arrays)


def low_pass(images: ArrayLike, cutoff: float) -> Float:
    """Images without their frequencies above a cut-off (Figure 1): the orthogonal projection on those below.

    Args:
        images: Images, taken as periodic.
        cutoff: The largest frequency kept, in cycles per image along the larger side; 0 keeps the mean only.
    """
    cutoff = arguments.number("cutoff", cutoff, least=0)
    array = _images("images", images)
    height, width = array.shape[1:3]
    side = max(height, width)
    radius = np.hypot(np.fft.fftfreq(height)[:, None] * side, np.fft.rfftfreq(width)[None, :] * side)
    # A frequency on the circle is kept, whatever the rounding of its radius.
    kept = radius <= cutoff * (1 + 1e-12)
    spectrum = np.fft.rfft2(array, axes=(1, 2)) * kept[None, :, :, None]
    return np.fft.irfft2(spectrum, s=(height, width), axes=(1, 2)).astype(array.dtype)


def average_pool(images: ArrayLike, window: int) -> Float:
    """Images with each square of `window` × `window` pixels replaced by its mean (Hu et al., Figure 3: 4 × 4)."""
    array = _images("images", images)
    n, height, width, channels = array.shape
    window = arguments.count("window", window)
    if height % window or width % window:
        raise ValueError(f"window must divide the sides {height} and {width} of the images; got {window}")
    return array.reshape(n, height // window, window, width // window, window, channels).mean(axis=(2, 4))


def _images(name: str, value: ArrayLike) -> Float:
    array = arguments.numeric(name, value)
    if array.ndim != 4 or array.size == 0:
        raise ValueError(f"{name} must be images (n, height, width, channels); got shape {array.shape}")
    if not np.issubdtype(array.dtype, np.floating):
        raise ValueError(f"{name} must hold floating-point numbers, not {array.dtype}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite; {np.count_nonzero(~np.isfinite(array))} of its numbers are not")
    return array
