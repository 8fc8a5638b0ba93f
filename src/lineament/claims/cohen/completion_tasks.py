"""Matrix completion tasks after Arora et al. (2019b), for Figures 2 and 3."""

from typing import NamedTuple

import numpy as np

from ... import problems
from ...core import ensembles


class Tasks(NamedTuple):
    """Completion tasks in order: for each truth, one for each number of observations, nested."""

    truths: np.ndarray  # (task, dimension, dimension)
    observed: list[tuple[np.ndarray, np.ndarray]]
    problems: ensembles.Ensemble


def completion_tasks(
    rng: np.random.Generator, dimension: int, rank: int, counts: tuple[int, ...], truths: int
) -> Tasks:
    """Tasks with sums of squares for losses, not means, so that tasks of different sizes run as one program."""
    all_truths, observed, tasks = [], [], []
    for _ in range(truths):
        W, order = _truth(rng, dimension, rank), rng.permutation(dimension * dimension)
        for count in counts:
            rows, columns = np.divmod(order[:count], dimension)
            all_truths.append(W)
            observed.append((rows, columns))
            tasks.append(problems.completion(rows, columns, W[rows, columns], (dimension, dimension), reduction="sum"))
    return Tasks(np.stack(all_truths), observed, ensembles.stack(tasks))


def freedoms(dimension: int, rank: int) -> int:
    """How many numbers determine a matrix of this rank: r(2d − r)."""
    return rank * (2 * dimension - rank)


def _truth(rng: np.random.Generator, dimension: int, rank: int) -> np.ndarray:
    """A random matrix of the given rank whose entries have mean square 1, as in the authors' experiments."""
    W = rng.normal(size=(dimension, rank)) @ rng.normal(size=(rank, dimension))
    return W * dimension / np.linalg.norm(W)
