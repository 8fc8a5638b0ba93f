"""How much of the data, or of a function, it takes to classify an example (Hacohen & Weinshall, §4.2 and §5.2).

Both scores read predictions of a row of growing approximations: of a classifier on data projected on the first P
principal components, or of the first j frequencies of a function.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import arguments

Vector = NDArray[np.float64]


def critical_pc(predictions: ArrayLike, labels: ArrayLike, sizes: ArrayLike | None = None) -> Vector:
    """The critical principal component: the first P from which on an example is classified correctly (§4.2).

    Correct at P *and at every larger P*. An example that is wrong on the largest projection has none: not a number.

    Args:
        predictions: Predicted class on data projected on P components, (P, example).
        labels: True classes.
        sizes: The values of P, rising; by default 1, 2, …
    """
    right, P = _right(predictions, labels, sizes, "sizes", 1)
    # Counting backwards from the largest projection, where does it go wrong first?
    steadily = np.logical_and.accumulate(right[::-1], axis=0).sum(axis=0)
    first = len(P) - steadily
    return np.where(steadily > 0, P[np.minimum(first, len(P) - 1)], np.nan)


def critical_frequency(predictions: ArrayLike, labels: ArrayLike, frequencies: ArrayLike | None = None) -> Vector:
    """The critical frequency: the first whose partial sum classifies an example correctly (§5.2).

    Only the first counts: higher frequencies may spoil it again. An example that none classifies has none: not a
    number.

    Args:
        predictions: Predicted class by the sum of the first 1, 2, … terms, (term, example).
        labels: True classes.
        frequencies: The frequency of each term, rising; by default 0, 1, …
    """
    right, kappa = _right(predictions, labels, frequencies, "frequencies", 0)
    return np.where(right.any(axis=0), kappa[np.argmax(right, axis=0)], np.nan)


def linear_predictions(
    weights: ArrayLike, coordinates: ArrayLike, sizes: Sequence[int], offset: ArrayLike | None = None
) -> NDArray[np.int64]:
    """The classes that a linear classifier predicts from the first P principal components of the data, for each P.

    One pass over the components, whatever the number of sizes; memory for one output per class and example.

    Args:
        weights: The classifier in principal coordinates, (classes, components): its compact representation.
        coordinates: Principal coordinates of the examples, (n, components).
        sizes: Rising numbers of components P.
        offset: Added to the outputs, (classes,): the bias, and the output on the centre of the data.

    Returns:
        Predicted classes (P, n); ties go to the lower class.
    """
    W, C = (_wide(arguments.examples(*pair)) for pair in (("weights", weights), ("coordinates", coordinates)))
    for name, array in (("weights", W), ("coordinates", C)):
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite; got a value that is not")
    if W.shape[1] != C.shape[1]:
        raise ValueError(f"coordinates must be of as many components as weights, {W.shape[1]}; got shape {C.shape}")
    P = arguments.counts("sizes", sizes, 0)
    if not P or np.any(np.diff(P) <= 0) or P[-1] > W.shape[1]:
        raise ValueError(f"sizes must be rising, at most {W.shape[1]}, the number of components; got {P}")
    b = np.zeros(len(W)) if offset is None else arguments.vector("offset", offset, len(W))
    outputs = np.tile(b, (len(C), 1))
    predicted = np.empty((len(P), len(C)), np.int64)
    added = 0
    for row, components in enumerate(P):
        outputs += C[:, added:components] @ W[:, added:components].T
        predicted[row], added = np.argmax(outputs, axis=1), components
    return predicted


def _wide(array: np.ndarray) -> np.ndarray:
    """Whole numbers and halves as float64: products of theirs would overflow, the former without a word."""
    return array.astype(np.float64) if array.dtype.kind in "iu" or array.dtype.itemsize < 4 else array


def _right(
    predictions: ArrayLike, labels: ArrayLike, values: ArrayLike | None, name: str, first: int
) -> tuple[NDArray[np.bool_], Vector]:
    p, y = arguments.classes("predictions", predictions), arguments.classes("labels", labels)
    if p.ndim != 2 or 0 in p.shape:
        raise ValueError(f"predictions must be (approximation, example); got shape {p.shape}")
    if y.shape != p.shape[1:]:
        raise ValueError(f"labels must be one for each of {p.shape[1]} examples; got shape {y.shape}")
    words = {array.dtype.kind if array.dtype.kind in "US" else "numbers" for array in (p, y)}
    if len(words) > 1:
        raise ValueError(f"labels must be of the kind of predictions, {p.dtype}, to equal them; got {y.dtype}")
    return p == y, arguments.rising(name, np.arange(first, first + len(p)) if values is None else values, len(p))
