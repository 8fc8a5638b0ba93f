"""A data set for classification: what every loader returns."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import arguments
from .pixels import average_pool


class Images(NamedTuple):
    """Training and test images (n, height, width, channels) in float32, with classes 0 … K−1.

    Pixels of photographs lie in [0, 1]. Points that are no images have height and width 1.
    """

    images: NDArray[np.float32]
    labels: NDArray[np.int64]
    test_images: NDArray[np.float32]
    test_labels: NDArray[np.int64]
    classes: tuple[str, ...]
    name: str

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of one image."""
        return self.images.shape[1:]  # type: ignore[return-value]

    def rows(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Training and test images flattened to rows."""
        return self.images.reshape(len(self.images), -1), self.test_images.reshape(len(self.test_images), -1)

    def subset(self, classes: Sequence[str]) -> "Images":
        """Only the images of some classes, which are numbered 0, 1, … in the order given."""
        classes = arguments.words("classes", classes)
        unknown = [name for name in classes if name not in self.classes]
        if unknown or len(set(classes)) != len(classes) or not classes:
            raise ValueError(
                f"classes must be different ones of {', '.join(self.classes)}; got {', '.join(map(str, classes))}"
            )
        number = np.full(len(self.classes), -1)
        number[[self.classes.index(name) for name in classes]] = np.arange(len(classes))
        train, test = number[self.labels], number[self.test_labels]
        return Images(
            self.images[train >= 0],
            train[train >= 0],
            self.test_images[test >= 0],
            test[test >= 0],
            tuple(classes),
            f"{self.name}: {', '.join(classes)}",
        )

    def first(self, train: int, test: int | None = None) -> "Images":
        """Only the first training and test images."""
        arguments.count("train", train, 1, len(self.labels))
        arguments.count("test", 1 if test is None else test, 1, len(self.test_labels))
        kept = (self.images[:train], self.labels[:train], self.test_images[:test], self.test_labels[:test])
        return Images(*kept, self.classes, self.name)

    def pooled(self, window: int) -> "Images":
        """Images averaged over squares of `window` × `window` pixels (Hu et al. 2020, Figure 3: 4 × 4)."""
        images, test = average_pool(self.images, window), average_pool(self.test_images, window)
        return self._replace(images=images, test_images=test)
