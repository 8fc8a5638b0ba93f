"""The few largest outputs of each example: what is worth keeping of a network with a thousand classes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Top(NamedTuple):
    """The largest outputs at each record, and the output of the labelled class.

    With two of them, and the labelled one, margins are exact: `lineament.recording.mean_margin` needs no more.

    Attributes:
        classes: Which classes they belong to (step, example, place), the largest output first.
        values: The outputs themselves (step, example, place), falling.
        labelled: The output of the labelled class (step, example), or None without labels.
    """

    classes: NDArray
    values: NDArray
    labelled: NDArray | None = None


def largest(outputs: NDArray, number: int, labels: NDArray | None = None) -> Top:
    """The largest outputs of each example.

    Args:
        outputs: Of one or several records (step, example, class).
        number: How many to keep; all if there are fewer.
        labels: Classes (example,), if they are known.
    """
    number = min(number, outputs.shape[2])
    # Not a number counts as larger than all others, so that trouble is kept.
    ranked = np.where(np.isnan(outputs), np.inf, outputs)
    some = np.argpartition(-ranked, number - 1, axis=2)[..., :number]
    # Among equals the first class, as the class that a network chooses is found everywhere else.
    some = np.sort(some, axis=2)
    order = np.argsort(-np.take_along_axis(ranked, some, axis=2), axis=2, kind="stable")
    classes = np.take_along_axis(some, order, axis=2)
    labelled = None if labels is None else outputs[:, np.arange(len(labels)), labels]
    return Top(classes.astype(np.min_scalar_type(outputs.shape[2])), np.take_along_axis(outputs, classes, 2), labelled)
