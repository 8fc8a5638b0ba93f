"""A table as rows in memory, split into training and test: what a network that is no linear one needs of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lineament.core import arguments
from lineament.core.words import several
from lineament.data.columns import natural
from lineament.data.labels import canonical, printable
from lineament.data.tables import Table

from . import words
from .moments import CONSTANT, MOST_CLASSES, refuse_infinite, unresolved

Array = NDArray[np.float64]

MOST_ROWS = 10_000
"""Rows that are used; of a longer table, so many are drawn evenly."""

FEW_TESTED = 20
"""Test rows below which what they tell of new rows is little: one of twenty is five points of accuracy."""


HEAVY = 0.5
"""A row that holds this share of the target's variance decides every loss."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Standardised features and targets of training and test rows.

    Attributes:
        X: training features, (n, columns), centred and divided by their deviation over the training rows.
        y: training targets, (n, k): centred numbers, or classes one-hot.
        X_test: of the test rows, with the training rows' centre and scale.
        y_test: their targets.
        train: which examples of the table are trained on, counted from 1.
        test: which are tested on.
        features: names of the columns that vary.
        outputs: names of the targets, or of the classes.
        classes: whether the target names classes.
        notices: what was left out.
    """

    X: Array
    y: Array
    X_test: Array
    y_test: Array
    train: NDArray[np.int64]
    test: NDArray[np.int64]
    features: tuple[str, ...]
    outputs: tuple[str, ...]
    classes: bool
    notices: tuple[str, ...]


def read_rows(
    table: Table, *, classes: bool | None, scale_target: bool, test_share: float, seed: int, most: int = MOST_ROWS
) -> Rows:
    """Hold a table, without incomplete rows and constant columns, and part it at random; at most so many rows of it.

    Raises:
        ValueError: if fewer than four rows are complete, or nothing varies.
    """
    arguments.instance("table", table, Table)
    if classes is not None:
        arguments.truth("classes", classes)
    arguments.truth("scale_target", scale_target)
    parts = [(np.asarray(X, np.float64), y) for X, y in table.chunks()]
    X = np.concatenate([part for part, _ in parts])
    y = np.concatenate([part if part.dtype.kind in "iufb" else part.astype(object) for _, part in parts])
    known = table.classes if classes is None else classes
    is_class = bool(y.dtype.kind not in "iuf") if known is None else known
    told, values, names = _targets(y, is_class, table.targets)
    number = np.arange(1, len(X) + 1)
    complete = told & ~np.isnan(X).any(axis=1)
    X, values, number = X[complete], values[complete], number[complete]
    refuse_infinite(X, table.features)
    if not is_class:
        refuse_infinite(values, table.targets)
    if len(X) < 4:
        raise ValueError(f"at least four complete rows are needed, to train and to test; there are {len(X)}")
    said = list(table.notices)
    if (~complete).any():
        said.append(words.left_out(int((~complete).sum()), len(complete)))
    if not is_class:
        said += _heavy(values, number)
    order = np.random.default_rng(seed).permutation(len(X))
    if len(order) > most:
        said.append(f"{most} of {len(order)} rows were drawn: more would take long.")
        order = order[:most]
    held = min(max(1, round(test_share * len(order))), len(order) - 2)
    if held < FEW_TESTED:
        left = f"{several(held, 'row')} {'is' if held == 1 else 'are'} left to test on"
        said.append(f"Only {left}: no more is known of new rows.")
    test, train = np.sort(order[:held]), np.sort(order[held:])
    return _scaled(X, values, number, train, test, table.features, names, is_class, scale_target, tuple(said))


def _targets(
    y: NDArray[Any], classes: bool, targets: tuple[str, ...]
) -> tuple[NDArray[np.bool_], Array, tuple[str, ...]]:
    """Which rows have a target, targets as numbers (n, k), and the names of the outputs."""
    if not classes:
        table = np.asarray(y if y.ndim == 2 else y[:, None], np.float64)
        return np.asarray(~np.isnan(table).any(axis=1)), table, targets
    column = y.reshape(len(y), -1)
    if column.shape[1] > 1:
        raise ValueError(f"the target must be one column to name classes; got {column.shape[1]} columns")
    told = np.array([label is not None and label == label and label != "" for label in column[:, 0]], dtype=bool)
    labels = np.array([canonical(label) if there else "" for label, there in zip(column[:, 0], told, strict=True)])
    names = sorted(set(labels[told].tolist()), key=natural)
    if not 2 <= len(names) <= MOST_CLASSES:
        raise ValueError(f"the target must name between 2 and {MOST_CLASSES} classes; got {len(names)}")
    return told, np.equal.outer(labels, np.array(names)).astype(np.float64), tuple(map(printable, names))


def _heavy(y: Array, number: NDArray[np.int64]) -> list[str]:
    """Name a row that alone makes up most of the target's variance."""
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.sum((y - y.mean(axis=0)) ** 2, axis=1)
        share = off / off.sum()
    worst = int(np.argmax(share))
    if not share[worst] > HEAVY:
        return []
    return [
        f"Row {number[worst]} alone holds {100 * share[worst]:.0f} % of the target's variance: whether it is trained or "
        "tested on decides every loss."
    ]


def _scaled(
    X: Array, y: Array, number: NDArray[np.int64], train: Any, test: Any, features: tuple[str, ...],
    outputs: tuple[str, ...], classes: bool, scale_target: bool, said: tuple[str, ...],
) -> Rows:  # fmt: skip
    mean, deviation = X[train].mean(axis=0), X[train].std(axis=0)
    varies = deviation > CONSTANT * np.maximum(np.abs(mean), np.finfo(float).tiny)
    if not varies.any():
        alike = unresolved(float(np.max(np.abs(mean))))
        raise ValueError(f"at least one feature must vary; all {len(varies)} columns are constant{alike}")
    if not varies.all():
        left = [name for name, kept in zip(features, varies, strict=True) if not kept]
        said = (*said, words.constant(left))
    Z = (X[:, varies] - mean[varies]) / deviation[varies]
    if not classes:
        centre, spread = y[train].mean(axis=0), y[train].std(axis=0)
        if not (spread > CONSTANT * np.abs(centre)).any():
            alike = unresolved(float(np.max(np.abs(centre))))
            raise ValueError(f"the target {', '.join(outputs)} must vary; all training rows have the same{alike}")
        y = (y - centre) / (np.where(spread > 0, spread, 1.0) if scale_target else 1.0)
    elif scale_target:
        raise ValueError("scale_target must be left out for classes, which are 0 or 1")
    names = tuple(name for name, kept in zip(features, varies, strict=True) if kept)
    return Rows(Z[train], y[train], Z[test], y[test], number[train], number[test], names, outputs, classes, said)
