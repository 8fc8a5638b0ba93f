r"""The test loss on new rows along a path, by rows of the table that are held out.

Moments of a table without some of its rows are the table's, less what these rows bring, so that no row is read again. The
network that is trained on the others starts from the same map; its path is found anew and its loss is that on the rows
left out. Both the noise of labels and that the inputs of new rows are others (a random design) are in it, and nothing
is assumed about either.

With one layer what is missing of component j falls as e^{−d_j t}, and rows are left out one by one, which is unbiased
but for the one row that is missing (the shortcut by leverages, exact for ridge regression, is not for gradient flow;
Patil, Wu & Tibshirani 2024). Deeper networks have no such form: the equation of their map is followed once for every
tenth of rows that is left out. Where rows are left out one by one, leaving out tenths is the check.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lineament.theory import modes, units

from . import paths
from .moments import Moments
from .task import Task, from_covariances, strengths

Array = NDArray[np.float64]

FOLDS = 10
"""Parts of which one is left out at a time."""

TIMES = 100
"""Times looked at, of those of the path; between them the loss is taken to be straight."""

WORK = 3e9
"""Cubes of the number of columns, over all parts, up to which rows are held out; they take seconds."""

ONE_BY_ONE = 3e8
"""The same for rows left out one by one; so many are drawn at random, but no fewer than `FEWEST`."""

FEWEST = 100

FOLLOWED = 1e8
"""Evaluations of the flow for one part, times entries of the map, times layers, after which nothing is held out."""


class HeldOut(NamedTuple):
    """What rows that were held out show, at the times of a path and, last, when everything is learnt.

    Attributes:
        loss: the test loss, (time + 1,).
        cross_validated: that on tenths that were left out, likewise; the same where rows are not left out one by one.
        error: the standard error of the latter.
        one_by_one: whether rows were left out one by one.
    """

    loss: Array
    cross_validated: Array
    error: Array
    one_by_one: bool


def held_out(moments: Moments, start: Array | float, depth: int, times: Array, seed: int) -> HeldOut | None:
    """Hold out rows; None where the table has too few of them or is too wide, or the flow takes too long to follow.

    Args:
        moments: of the table, with some of its rows.
        start: the map of features at time 0, (outputs, columns), or, where inputs are whitened, the singular values of
            the map in the directions of the target.
        depth: N.
        times: rising, from 0.
        seed: of the draw of rows.
    """
    rows, columns = len(moments.sample), len(moments.features)
    if rows < 2 * FOLDS or FOLDS * columns**3 > WORK:
        return None
    rng = np.random.default_rng(seed)
    order = rng.permutation(rows)
    at = np.unique(np.linspace(0, len(times) - 1, TIMES).astype(int))
    folds = [_losses(moments, order[k::FOLDS], start, depth, times[at]) for k in range(FOLDS)]
    if any(fold is None for fold in folds):
        return None
    each = np.concatenate([fold for fold in folds if fold is not None], axis=1)
    crossed, error = each.mean(axis=1), each.std(axis=1) / np.sqrt(rows)
    between = lambda loss: np.append(np.interp(times, times[at], loss[:-1]), loss[-1])  # noqa: E731
    if depth > 1 or not isinstance(start, np.ndarray):
        return HeldOut(between(crossed), between(crossed), between(error), False)
    some = order[: max(FEWEST, int(ONE_BY_ONE / columns**3))]
    single = np.concatenate([_one_layer(moments, some[i : i + 1], start, times[at]) for i in range(len(some))], axis=1)
    return HeldOut(between(single.mean(axis=1)), between(crossed), between(error), True)


def _losses(
    moments: Moments, block: NDArray[np.int64], start: Array | float, depth: int, times: Array
) -> Array | None:
    """½‖Wx − y‖² of rows left out at given times, and at the end, (time + 1, row); None if the flow takes too long."""
    if not isinstance(start, np.ndarray):
        return _whitened(moments, block, start, depth, times)
    if depth == 1:
        return _one_layer(moments, block, start, times)
    task, X, Y = _without(moments, block, whiten=False)
    maps = paths.deep_at(start @ task.V, task.target, task.d, depth, times, FOLLOWED)
    return None if maps is None else _squares(np.concatenate([maps, task.target[None]]), X, Y)


def _one_layer(moments: Moments, block: NDArray[np.int64], start: Array, times: Array) -> Array:
    task, X, Y = _without(moments, block, whiten=False)
    left = np.exp(-np.multiply.outer(np.append(times, np.inf), task.d))
    return _squares(task.target + (start @ task.V - task.target) * left[:, None, :], X, Y)


def _whitened(moments: Moments, block: NDArray[np.int64], start: float, depth: int, times: Array) -> Array:
    task, X, Y = _without(moments, block, whiten=True)
    assert task.modes is not None
    full = strengths(task.modes)
    clock = float(units.clock_rate(depth))
    values = modes.trajectory(clock * times[:, None], full, start, depth)
    U, Vt = task.modes.U[:, : len(full)], task.modes.Vt[: len(full)]
    maps = np.einsum("oi,ti,ij->toj", U, np.concatenate([values, full[None]]), Vt, optimize=True)
    return _squares(maps, X, Y)


def _without(moments: Moments, block: NDArray[np.int64], whiten: bool) -> tuple[Task, Array, Array]:
    """What the other rows teach, and the rows of a block in its components, centred by the others' means."""
    n, k = moments.rows, len(block)
    X, Y = moments.sample[block], moments.sample_targets[block]
    mean_x, mean_y = -X.sum(axis=0) / (n - k), -Y.sum(axis=0) / (n - k)
    covariance = lambda whole, A, a, B, b: (n * whole - A.T @ B) / (n - k) - np.outer(a, b)  # noqa: E731
    sxx = covariance(moments.sxx, X, mean_x, X, mean_x)
    syx = covariance(moments.syx, Y, mean_y, X, mean_x)
    syy = covariance(moments.syy, Y, mean_y, Y, mean_y)
    task = from_covariances(sxx, syx, syy, whiten)
    return task, (X - mean_x) @ task.V, Y - mean_y


def _squares(maps: Array, X: Array, Y: Array) -> Array:
    """½‖Wx − y‖² of every map and row."""
    return 0.5 * np.sum((np.einsum("tkj,ij->tik", maps, X, optimize=True) - Y) ** 2, axis=2)
