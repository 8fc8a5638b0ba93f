"""How much of the data, or of a function, it takes to classify an example (Hacohen & Weinshall, §4.2 and §5.2).

Both scores read predictions of a row of growing approximations: of a classifier on data projected on the first P
principal components, or of the first j frequencies of a function.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    """What a linear classifier says of data projected on the first P principal components, for each P.

    One pass over the components, whatever the number of sizes; memory for one output per class and example.

    Args:
        weights: The classifier in principal coordinates, (classes, components): its compact representation.
        coordinates: Principal coordinates of the examples, (n, components).
        sizes: Rising numbers of components P.
        offset: Added to the outputs, (classes,): the bias, and the output on the centre of the data.

    Returns:
        Predicted classes (P, n); ties go to the lower class.
    """
    W, C = np.asarray(weights), np.asarray(coordinates)
    if W.ndim != 2 or C.ndim != 2 or W.shape[1] != C.shape[1]:
        raise ValueError(
            f"weights (classes, components) and coordinates (n, components) must agree; got {W.shape} and {C.shape}"
        )
    P = _rising("sizes", sizes, len(sizes)).astype(int)
    if P[0] < 0 or P[-1] > W.shape[1]:
        raise ValueError(f"sizes must lie between 0 and the number of components {W.shape[1]}; got {list(sizes)}")
    b = np.zeros(len(W)) if offset is None else np.asarray(offset, float)
    if b.shape != (len(W),):
        raise ValueError(f"offset must have one number per class, {len(W)}; got shape {b.shape}")
    outputs = np.tile(b, (len(C), 1))
    found = np.empty((len(P), len(C)), np.int64)
    done = 0
    for row, size in enumerate(P):
        outputs += C[:, done:size] @ W[:, done:size].T
        found[row], done = np.argmax(outputs, axis=1), size
    return found


def _right(
    predictions: ArrayLike, labels: ArrayLike, values: ArrayLike | None, name: str, first: int
) -> tuple[NDArray[np.bool_], Vector]:
    p, y = np.asarray(predictions), np.asarray(labels)
    if p.ndim != 2 or 0 in p.shape or y.shape != p.shape[1:]:
        raise ValueError(
            f"predictions must be (step, example) and labels (example,); got shapes {p.shape} and {y.shape}"
        )
    return p == y, _rising(name, np.arange(first, first + len(p)) if values is None else values, len(p))


def _rising(name: str, values: ArrayLike, length: int) -> Vector:
    array = np.asarray(values, float)
    if array.shape != (length,) or length == 0 or not (np.diff(array) > 0).all():
        raise ValueError(f"{name} must be {length or 'at least one'} rising number(s); got {values}")
    return array
