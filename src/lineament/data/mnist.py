"""Handwritten digits: MNIST where its files are, and the small digits that come with scikit-learn."""

import hashlib
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .idx import read_idx

VARIABLE = "LINEAMENT_DATA"
SHA256 = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}


class Digits(NamedTuple):
    """Images (n, height, width) with values in [0, 1], labels 0..9, and the name of the data set."""

    images: np.ndarray
    labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    name: str

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Training and test images flattened to rows, with values in [−½, ½]."""
        flat = lambda images: images.reshape(len(images), -1) - np.float32(0.5)  # noqa: E731
        return flat(self.images), flat(self.test_images)


def mnist(folder: str | Path | None = None) -> Digits:
    """MNIST's 60,000 training and 10,000 test images of 28 × 28 pixels, from the four original files.

    Args:
        folder: Where they are; by default the folder `mnist` inside the folder named by the environment variable
            LINEAMENT_DATA. Each file's SHA-256 is checked.
    """
    folder = _folder() if folder is None else Path(folder)
    arrays = [read_idx(_verified(folder / name)) for name in SHA256]
    images, labels, test_images, test_labels = arrays
    return Digits(_unit(images), labels.astype(int), _unit(test_images), test_labels.astype(int), "MNIST")


def has_mnist() -> bool:
    """Whether `mnist()` would find all its files."""
    root = os.environ.get(VARIABLE)
    return root is not None and all((Path(root) / "mnist" / name).is_file() for name in SHA256)


def small_digits() -> Digits:
    """The 1797 digits of 8 × 8 pixels that scikit-learn bundles (UCI optical recognition), the last 297 for testing.

    A stand-in for MNIST that needs no files. Writers differ between the parts.
    """
    from sklearn.datasets import load_digits

    bundled: Any = load_digits()
    labels = np.asarray(bundled.target)
    images = (np.asarray(bundled.data).reshape(-1, 8, 8) / 16).astype(np.float32)
    return Digits(images[:1500], labels[:1500], images[1500:], labels[1500:], "scikit-learn's 8×8 digits")


def _folder() -> Path:
    root = os.environ.get(VARIABLE)
    if root is None:
        raise FileNotFoundError(
            f"MNIST was not found: set the environment variable {VARIABLE} to a folder with a folder 'mnist' in it "
            f"that holds {', '.join(SHA256)}; or use small_digits(), which needs no files"
        )
    return Path(root) / "mnist"


def _verified(path: Path) -> Path:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; the folder must hold MNIST's files {', '.join(SHA256)}")
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    if checksum != SHA256[path.name]:
        raise ValueError(
            f"{path} is not the original: its SHA-256 is {checksum}, not {SHA256[path.name]}. Fetch it again"
        )
    return path


def _unit(pixels: np.ndarray) -> np.ndarray:
    return pixels.astype(np.float32) / np.float32(255)
