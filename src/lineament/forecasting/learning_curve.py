"""Would more rows help? The test error of regression against the number of rows, before there are more.

Two forecasts are made from the rows at hand: by the theory of learning curves (:mod:`.curve_estimate`) and by a power law
fitted to cross-validated subsamples, the largest of which leaves out one row at a time. Each is tried first on rows held
out: from a quarter of the rows it must tell the error on half and on most of them. The forecast is their weighted
geometric mean, each weighed by the inverse of its mean squared miss there. The band is that of theory's forecasts from
random halves of the rows, which scatter about the forecast as much as samples of all the rows do about the truth, widened
by half of what the two forecasts differ by.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from lineament.core import arguments
from lineament.data import tables

from . import curve_estimate, power_law
from .curve_estimate import estimate
from .curve_result import LearningCurve, Step, Trial, miss
from .moments import Moments, gather
from .regression import Learner, decompose, learner_of, test_error

Array = NDArray[np.float64]

MOST_ROWS = {"linear": 2048, "gaussian": 1000, "relu": 1000}
"""Rows that are looked at; a kernel takes time that grows as their cube."""

LEAST_ROWS = 40
"""With fewer a quarter of them tells nothing."""

SHARES = np.array([0.125, 0.18, 0.25, 0.35, 0.5, 0.7, 0.85])
"""Subsamples to which the power law is fitted, as shares of the rows."""

ALL_ROWS = 4.0
"""How many subsamples the error of rows left out one by one counts for; no other weight was tried."""

TRIALS, HALVES, REPEATS = 8, 20, 6
"""Trials on held-out sizes; random halves for the band; draws of every subsample."""

TRIED = 0.8
"""The largest training set of a trial, as a share of the rows: the rest is what it is tested on."""

AHEAD, POINTS, ENDLESS = 8, 60, 1000
"""The curve is drawn up to so many times the rows, at so many points; so many times the rows are as good as all."""


def learning_curve(
    X: ArrayLike,
    y: ArrayLike,
    *,
    kernel: str = "linear",
    ridge: str = "tuned",
    level: float = 0.8,
    classes: bool | None = None,
    seed: int = 0,
) -> LearningCurve:
    """Forecast the test error of regression on more rows than there are.

    Args:
        X: features, (n, columns), or a data frame, as for :func:`lineament.forecast`.
        y: targets, (n,) or (n, outputs); words name classes, which are learnt one-hot.
        kernel: "linear" for linear regression on standardised features, "gaussian", or "relu", the tangent kernel of an
            infinitely wide network of two hidden layers.
        ridge: "tuned" for a penalty that is chosen on every number of rows, by leaving one row out; "none" for least
            squares, with the linear kernel alone.
        level: the rate at which the band is to hold the truth.
        classes: take numbers as classes, or refuse to take words as such; by default words are classes and numbers not.
        seed: of the draws of rows.
    """
    table = tables.joined(X, y)
    taken = table.classes if classes is None else classes
    moments = gather(
        table.chunks(), table.features, table.targets, classes=taken, seed=arguments.count("seed", seed, 0)
    )
    return from_moments(moments, table.name, kernel=kernel, ridge=ridge, level=level, seed=seed)


def from_moments(
    moments: Moments, name: str, *, kernel: str = "linear", ridge: str = "tuned", level: float = 0.8, seed: int = 0
) -> LearningCurve:
    """The learning curve of a table that has been summed up, from the rows that were kept of it."""
    learner = learner_of(kernel, ridge)
    arguments.number("level", level, above=0, below=1)
    rng = np.random.default_rng(arguments.count("seed", seed, 0))
    # The rows that were kept lie in the order of the table, which may be sorted.
    drawn = rng.permutation(len(moments.sample))[: MOST_ROWS[kernel]]
    X, Y = moments.sample[drawn], moments.sample_targets[drawn] / np.sqrt(np.trace(moments.syy))
    n, rows = len(X), moments.rows
    least = _least(X, learner)
    trials = _trials(X, Y, learner, least, rng)
    weight = 1 / (1 + (miss(trials, "theory") / miss(trials, "power_law")) ** 2)
    told = rows * np.array([1, 2, 4, ENDLESS])
    at = np.concatenate([np.geomspace(max(n / 8, least), AHEAD * rows, POINTS), told])
    both = _forecasts(X, Y, learner, least, at, rng)
    error = both.theory**weight * both.law ** (1 - weight)
    spread = np.hypot(_spread(X, Y, learner, at, rng), np.abs(np.log(both.theory / both.law)) / 2)
    width = np.exp(float(special.ndtri((1 + level) / 2)) * spread)
    low, high = error / width, error * width
    curve, steps = slice(0, POINTS), range(POINTS, POINTS + 3)
    return LearningCurve(
        name=name,
        kernel=kernel,
        ridge=ridge,
        rows=rows,
        used=n,
        level=level,
        weight=weight,
        at=at[curve],
        error=error[curve],
        low=low[curve],
        high=high[curve],
        theory=both.theory[curve],
        power_law=both.law[curve],
        subsamples=both.subsamples,
        measured=both.measured,
        steps=(
            _step(at, error, low, high, both, steps[0]),
            _step(at, error, low, high, both, steps[1]),
            _step(at, error, low, high, both, steps[2]),
        ),
        limit=float(error[-1]),
        trials=trials,
    )


class _Both(NamedTuple):
    """Two forecasts from the same rows, and what they were made of."""

    theory: Array
    law: Array
    subsamples: Array
    measured: Array


def _least(X: Array, learner: Learner) -> int:
    """The least number of rows to fit; without a penalty the error is infinite where rows only just suffice."""
    n = len(X)
    if n < LEAST_ROWS:
        raise ValueError(f"X must have at least {LEAST_ROWS} complete rows for a learning curve; got {n}")
    if learner.tuned:
        return 3
    directions = len(decompose(X, None).power)
    if n < 3 * directions:
        raise ValueError(
            f"X must have at least 3 complete rows for each column for the learning curve of least squares; got {n} rows "
            f"and {directions} columns. Tune a penalty instead (ridge='tuned')"
        )
    return max(3, 3 * directions // 2)


def _step(at: Array, error: Array, low: Array, high: Array, both: _Both, i: int) -> Step:
    return Step(round(at[i]), *(float(part[i]) for part in (error, low, high, both.theory, both.law)))


def _forecasts(X: Array, Y: Array, learner: Learner, least: int, at: Array, rng: np.random.Generator) -> _Both:
    """What theory and a power law say of other numbers of rows."""
    n = len(X)
    found = estimate(X, Y, learner)
    theory = curve_estimate.errors(found, at)
    sizes, measured = _subsamples(X, Y, learner, least, rng)
    left_out = curve_estimate.errors(found, np.array([float(n)]))
    law = power_law.fit(np.append(sizes, n), np.append(measured, left_out), np.append(np.ones(len(sizes)), ALL_ROWS))
    return _Both(theory, law(at), sizes, measured)


def _subsamples(X: Array, Y: Array, learner: Learner, least: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Test errors of fits to random subsamples, on the rows that are not in them."""
    sizes = np.unique(np.maximum(np.rint(len(X) * SHARES).astype(int), least))
    sizes = sizes[sizes < len(X)]
    errors = [
        np.mean([_held_out(X, Y, learner, int(size), rng.permutation(len(X))) for _ in range(REPEATS)])
        for size in sizes
    ]
    return sizes.astype(np.float64), np.array(errors, np.float64)


def _held_out(X: Array, Y: Array, learner: Learner, size: int, order: NDArray[np.int64]) -> float:
    """The error of a fit to the first rows of an order, on the others; above 0, so that it has a logarithm."""
    taken, left = order[:size], order[size:]
    return max(test_error(X[taken], Y[taken], X[left], Y[left], learner), np.finfo(float).tiny)


def _trials(X: Array, Y: Array, learner: Learner, least: int, rng: np.random.Generator) -> tuple[Trial, ...]:
    """Forecast from a quarter of the rows the error on half and on most of them, and measure it."""
    n, trials = len(X), []
    used = min(max(n // 4, 4 * least // 3), n // 2)
    wanted = np.array([rows for rows in (n // 2, int(TRIED * n)) if rows > used])
    for _ in range(TRIALS):
        order = rng.permutation(n)
        part = order[:used]
        both = _forecasts(X[part], Y[part], learner, least, np.append(wanted, used).astype(np.float64), rng)
        for i, rows in enumerate(wanted):
            measured = _held_out(X, Y, learner, int(rows), order)
            trials.append(
                Trial(used, int(rows), measured, float(both.theory[i]), float(both.law[i]), float(both.theory[-1]))
            )
    return tuple(trials)


def _spread(X: Array, Y: Array, learner: Learner, at: Array, rng: np.random.Generator) -> Array:
    """The standard deviation of the logarithm of theory's forecast over samples of as many rows."""
    n = len(X)
    halves = [rng.permutation(n)[: n // 2] for _ in range(HALVES)]
    drawn = [curve_estimate.errors(estimate(X[half], Y[half], learner), at) for half in halves]
    # A half without replacement differs from the whole as the whole from the truth: σ²/(n/2) − σ²/n = σ²/n.
    return np.std(np.log(drawn), axis=0)
