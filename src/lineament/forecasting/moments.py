r"""Means and covariances of a stream of examples, in one pass and bounded memory.

Two samples a and b of sizes n_a, n_b with means m and centred sums of products M combine as

.. math:: M = M_a + M_b + \frac{n_a n_b}{n_a + n_b} δδ^\top, \qquad δ = m_b - m_a

(Chan, Golub & LeVeque 1983): nothing is subtracted that is larger than what remains, so that a large mean costs no
digits. Targets that name classes are one-hot; a class met for the first time was 0 in every earlier example, so its
rows and columns of M begin as zeros.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lineament.core import arguments
from lineament.data.columns import natural
from lineament.data.labels import canonical, printable

Array = NDArray[np.float64]

KEPT = 2048
"""Examples kept, drawn evenly from the stream, for what moments cannot tell."""

MOST_CLASSES = 1000
"""More names than this are taken to be identifiers, not classes."""

FEW_VALUES = 20
"""Whole numbers with at most this many values might be meant as classes."""

SQUARED = 1e150
"""The largest number whose square fits float64 with all that is summed; the inverse is the smallest."""

CONSTANT = 64 * np.finfo(float).eps
"""A column whose standard deviation is this share of its size varies by rounding only."""

LARGE = 1e12
"""Numbers from here on may be counts, times or identifiers that differ by less than `CONSTANT` of their size."""


@dataclass(frozen=True, eq=False)
class Moments:
    """What a table is summed up by, after rows with missing values and constant columns are left out.

    Attributes:
        rows: the number of examples that count.
        missing: rows left out because a value is missing.
        features: names of the columns that vary.
        constant: names of those that do not, and are left out.
        outputs: names of the outputs: target columns, or classes.
        classes: whether the outputs are classes, one-hot.
        few_values: how many values a whole-number target has, where so few that they might be classes.
        mean: of each feature.
        scale: what each feature was divided by: its standard deviation, or 1.
        target_scale: what each output was divided by, likewise.
        sxx: covariance of the scaled features, (columns, columns), over n.
        syx: covariance of outputs and scaled features, (outputs, columns).
        syy: covariance of the outputs, (outputs, outputs).
        sample: centred and scaled features of some examples, (at most `KEPT`, columns).
        sample_targets: the centred outputs of the same examples, (at most `KEPT`, outputs).
    """

    rows: int
    missing: int
    features: tuple[str, ...]
    constant: tuple[str, ...]
    outputs: tuple[str, ...]
    classes: bool
    few_values: int | None
    mean: Array
    scale: Array
    target_scale: Array
    sxx: Array
    syx: Array
    syy: Array
    sample: Array
    sample_targets: Array


@dataclass
class _Sums:
    """The running sums; `second` is the centred sum of products of features and outputs, side by side."""

    inputs: int
    mean: Array
    second: Array
    kept: Array
    largest: float = 0.0
    n: int = 0
    missing: int = 0
    labels: dict[str, int] = field(default_factory=dict)
    values: set[float] | None = field(default_factory=set)

    @property
    def few_values(self) -> int | None:
        """How many values the target has, if they are few whole numbers and more than one."""
        return len(self.values) if self.values and len(self.values) > 1 else None

    def grow(self, outputs: int) -> None:
        more = outputs - (len(self.mean) - self.inputs)
        if more > 0:
            self.mean = np.pad(self.mean, (0, more))
            self.second = np.pad(self.second, ((0, more), (0, more)))
            self.kept = np.pad(self.kept, ((0, 0), (0, more)))

    def add(self, Z: Array, rng: np.random.Generator) -> None:
        """Combine with a block of rows."""
        m = len(Z)
        mean = Z.mean(axis=0)
        centred = Z - mean
        step = mean - self.mean
        self.second += centred.T @ centred + np.outer(step, step) * (self.n * m / (self.n + m))
        self.mean = self.mean + step * (m / (self.n + m))
        self._keep(Z, rng)
        self.n += m

    def _keep(self, Z: Array, rng: np.random.Generator) -> None:
        """Reservoir sampling: every row of the stream ends up among those kept with the same probability."""
        left = max(0, KEPT - self.n)
        self.kept = np.concatenate([self.kept, Z[:left]])
        if len(Z) > left:
            place = rng.integers(0, np.arange(self.n + left, self.n + len(Z)) + 1)
            chosen = np.flatnonzero(place < KEPT)
            self.kept[place[chosen]] = Z[left + chosen]


def gather(
    chunks: Iterable[tuple[NDArray[Any], NDArray[Any]]],
    features: Sequence[str],
    targets: Sequence[str],
    *,
    classes: bool | None = None,
    standardise: bool = True,
    scale_target: bool = False,
    seed: int = 0,
) -> Moments:
    """Sum up a stream of (features, targets).

    Args:
        chunks: pairs of (rows, columns) and (rows,) or (rows, outputs); not-a-number, None and "" are missing values.
        features: the names of the columns.
        targets: the names of the targets.
        classes: whether targets name classes; by default words and truth values do, and numbers do not.
        standardise: divide each feature by its standard deviation.
        scale_target: divide each target by its standard deviation; not for classes.
        seed: of the draw of examples that are kept.

    Raises:
        ValueError: if a value is infinite, if fewer than two rows are complete, or if no feature or no target varies.
    """
    if classes is not None:
        arguments.truth("classes", classes)
    standardise = arguments.truth("standardise", standardise)
    scale_target = arguments.truth("scale_target", scale_target)
    rng = np.random.default_rng(arguments.count("seed", seed, 0))
    features, targets = arguments.words("features", features), arguments.words("targets", targets)
    if not targets:
        raise ValueError("targets must name one at least; got none")
    p = len(features)
    sums = _Sums(p, np.zeros(p), np.zeros((p, p)), np.empty((0, p)))
    if not isinstance(chunks, Iterable) or hasattr(chunks, "shape"):
        raise ValueError(f"chunks must be pairs of features and targets; got {arguments.shown(chunks)}")
    for pair in chunks:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(x, np.ndarray) for x in pair):
            raise ValueError(f"chunks must be pairs of arrays, features and targets; got {arguments.shown(pair)}")
        X, y = pair
        if np.shape(X)[1:] != (p,):
            raise ValueError(
                f"chunks must hold rows of {p} columns, one for each of features; got shape {np.shape(X)}"
            )
        if classes is None:
            classes = y.dtype.kind not in "iuf"
        _add(sums, np.asarray(X, np.float64), y, features, targets, classes, rng)
    if sums.n < 2:
        raise ValueError(
            f"at least two complete rows are needed; there are {sums.n}, and {sums.missing} with a missing value. "
            "Fill the missing values in, or drop the columns that have them"
        )
    if classes and scale_target:
        raise ValueError(f"scale_target must be left out for classes, which are 0 or 1; got the target {targets[0]}")
    return _summary(sums, features, targets, bool(classes), standardise, scale_target)


def _add(
    sums: _Sums,
    X: Array,
    y: NDArray[Any],
    features: Sequence[str],
    targets: Sequence[str],
    classes: bool,
    rng: np.random.Generator,
) -> None:
    """One chunk: drop incomplete rows, encode the target, combine."""
    column, told = _target(y, targets, classes)
    complete = told & ~np.isnan(X).any(axis=1)
    sums.missing += int(len(X) - complete.sum())
    X, column = X[complete], column[complete]
    if len(X) == 0:
        return
    refuse_infinite(X, features)
    sums.largest = max(sums.largest, float(np.max(np.abs(X))))
    if classes:
        Y = _one_hot(sums, column, targets[0])
    else:
        Y = np.asarray(column, np.float64)
        refuse_infinite(Y, targets)
        _remember_values(sums, column)
    sums.grow(Y.shape[1])
    sums.add(np.concatenate([X, Y], axis=1), rng)


def _target(y: NDArray[Any], targets: Sequence[str], classes: bool) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Targets as a column of classes or a matrix of numbers, and which rows have them."""
    if classes:
        if y.ndim == 2 and y.shape[1] > 1:
            raise ValueError(f"the target must be one column to name classes; got {y.shape[1]} columns")
        return y.ravel(), _told(y.ravel())
    if y.dtype.kind not in "iufb":
        raise ValueError(f"the target {', '.join(targets)} must hold numbers to be learnt as such; got {y.dtype}")
    numbers = y[:, None] if y.ndim == 1 else y
    return numbers, np.asarray(~np.isnan(numbers.astype(np.float64)).any(axis=1))


def _told(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Which labels are there: not None, not-a-number or empty."""
    if labels.dtype.kind == "f":
        return ~np.isnan(labels)
    if labels.dtype.kind == "O":
        return np.array([label is not None and label == label and label != "" for label in labels], dtype=bool)
    return np.asarray(labels.astype(str) != "")


def _one_hot(sums: _Sums, labels: NDArray[Any], target: str) -> Array:
    spelt, place = np.unique(labels.astype(str), return_inverse=True)
    names = [canonical(label) for label in spelt]
    for name in names:
        sums.labels.setdefault(name, len(sums.labels))
    if len(sums.labels) > MOST_CLASSES:
        raise ValueError(
            f"the target {target!r} has more than {MOST_CLASSES} different names, such as {names[0]!r}: "
            "they seem to be identifiers; name another target"
        )
    columns = np.array([sums.labels[name] for name in names])[place]
    Y = np.zeros((len(labels), len(sums.labels)))
    Y[np.arange(len(labels)), columns] = 1.0
    return Y


def _remember_values(sums: _Sums, column: NDArray[Any]) -> None:
    """The values of a whole-number target, as long as there are few."""
    if sums.values is None:
        return
    if column.size == len(column) and bool(np.all(column == np.round(column))):
        sums.values |= {float(value) for value in np.unique(column)}
        if len(sums.values) <= FEW_VALUES:
            return
    sums.values = None


def refuse_infinite(values: Array, names: Sequence[str]) -> None:
    """Refuse rows with a number that is infinite, or too large to be squared; its column is named."""
    infinite = np.isinf(values).any(axis=0)
    if infinite.any():
        raise ValueError(
            f"column {names[int(np.argmax(infinite))]!r} holds an infinite value; replace it, or drop the column"
        )
    too_large = (np.abs(values) > SQUARED).any(axis=0)
    if too_large.any():
        name = names[int(np.argmax(too_large))]
        raise ValueError(f"column {name!r} must hold numbers whose squares fit float64; rescale the column")


def _summary(
    sums: _Sums, features: Sequence[str], targets: Sequence[str], classes: bool, standardise: bool, scale_target: bool
) -> Moments:
    p = sums.inputs
    covariance = sums.second / sums.n
    deviation = np.sqrt(np.diagonal(covariance))
    varies = _varies(sums, deviation, [*features, *targets])
    # Classes in the order of their names, not in that in which the stream brought them.
    names = sorted(sums.labels, key=natural) if classes else list(targets)
    order = p + (np.array([sums.labels[name] for name in names]) if classes else np.arange(len(names)))
    if not varies[order].any():
        alike = unresolved(float(np.max(np.abs(sums.mean[order]))))
        raise ValueError(f"the target {', '.join(targets)} must vary; all {sums.n} rows have the same{alike}")
    keep, dropped = np.flatnonzero(varies[:p]).tolist(), np.flatnonzero(~varies[:p]).tolist()
    scale = deviation[keep] if standardise else np.ones(len(keep))
    target_scale = np.where(varies[order], deviation[order], 1.0) if scale_target else np.ones(len(order))
    sxx = covariance[np.ix_(np.asarray(keep), np.asarray(keep))] / np.outer(scale, scale)
    return Moments(
        rows=sums.n,
        missing=sums.missing,
        features=tuple(features[j] for j in keep),
        constant=tuple(features[j] for j in dropped),
        outputs=tuple(map(printable, names)) if classes else tuple(names),
        classes=classes,
        few_values=None if classes else sums.few_values,
        mean=sums.mean[keep],
        scale=scale,
        target_scale=target_scale,
        sxx=(sxx + sxx.T) / 2,
        syx=covariance[np.ix_(order, np.asarray(keep))] / np.outer(target_scale, scale),
        syy=covariance[np.ix_(order, order)] / np.outer(target_scale, target_scale),
        sample=(sums.kept[:, keep] - sums.mean[keep]) / scale,
        sample_targets=(sums.kept[:, order] - sums.mean[order]) / target_scale,
    )


def _varies(sums: _Sums, deviation: Array, names: Sequence[str]) -> NDArray[np.bool_]:
    """Which features and outputs vary; refused if no feature does, or all are too small to be squared."""
    p = sums.inputs
    varies = deviation > CONSTANT * np.abs(sums.mean)
    if not varies[:p].any():
        if 0 < sums.largest < 1 / SQUARED:
            raise ValueError(
                f"columns must hold numbers whose squares fit float64; rescale them, such as {names[0]!r}"
            )
        alike = unresolved(float(np.max(np.abs(sums.mean[:p]))))
        raise ValueError(f"at least one feature must vary; all {p} columns are constant over {sums.n} rows{alike}")
    return varies


def unresolved(size: float) -> str:
    """What is said of numbers of a size that may differ by less than float64 tells apart; empty if they are small."""
    if size < LARGE:
        return ""
    return (
        f", or differ by less than {CONSTANT * size:.1g}, which numbers near {size:.1g} need to be told apart in "
        "float64: subtract a constant from them first"
    )
