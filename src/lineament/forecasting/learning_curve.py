"""Would more rows help? The test error of regression against the number of rows, before there are more.

Two forecasts are made from the rows at hand: by the theory of learning curves (:mod:`.curve_estimate`) and by a power law
fitted to cross-validated subsamples. Each is tried first on rows held out: from a quarter of the rows it must tell the
error on half and on most of them. The one that was nearer is used. The band is that of forecasts from random halves of
the rows, which scatter about the forecast as much as samples of all the rows do about the truth, widened by what the
trials were off by on average.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from lineament.core import arguments
from lineament.data import tables

from . import curve_estimate, power_law
from .curve_result import LearningCurve, Method, Step, Trial, logs, miss
from .moments import Moments, gather
from .regression import KERNELS, Kernel, test_error

Array = NDArray[np.float64]

MOST_ROWS = {"linear": 2048, "gaussian": 1000}
"""Rows that are looked at; a kernel takes time that grows as their cube."""

LEAST_ROWS = 40
"""With fewer a quarter of them tells nothing."""

SHARES = np.array([0.125, 0.18, 0.25, 0.35, 0.5, 0.7, 0.85])
"""Subsamples to which the power law is fitted, as shares of the rows."""

TRIALS, HALVES, REPEATS = 5, 40, 3
"""Trials on held-out sizes; random halves for the band; draws of every subsample."""

TRIED = 0.8
"""The largest training set of a trial, as a share of the rows: the rest is what it is tested on."""

AHEAD, POINTS, ENDLESS = 8, 60, 1000
"""The curve is drawn up to so many times the rows, at so many points; so many times the rows are as good as all."""

METHODS: tuple[Method, Method] = ("theory", "power_law")


def learning_curve(
    X: ArrayLike,
    y: ArrayLike,
    *,
    kernel: str = "linear",
    level: float = 0.8,
    classes: bool | None = None,
    seed: int = 0,
) -> LearningCurve:
    """Forecast the test error of regression on more rows than there are.

    Args:
        X: features, (n, columns), or a data frame, as for :func:`lineament.forecast`.
        y: targets, (n,) or (n, outputs); words name classes, which are learnt one-hot.
        kernel: "linear" for ridge regression on standardised features, or "gaussian" for kernel regression. The penalty
            is tuned on every number of rows, by leaving one row out.
        level: the rate at which the band is to hold the truth.
        classes: take numbers as classes, or refuse to take words as such; by default words are classes and numbers not.
        seed: of the draws of rows.
    """
    table = tables.joined(X, y)
    taken = table.classes if classes is None else classes
    moments = gather(
        table.chunks(), table.features, table.targets, classes=taken, seed=arguments.count("seed", seed, 0)
    )
    return from_moments(moments, table.name, kernel=kernel, level=level, seed=seed)


def from_moments(
    moments: Moments, name: str, *, kernel: str = "linear", level: float = 0.8, seed: int = 0
) -> LearningCurve:
    """The learning curve of a table that has been summed up, from the rows that were kept of it."""
    chosen = KERNELS[arguments.one_of("kernel", kernel, KERNELS)]
    arguments.number("level", level, above=0, below=1)
    rng = np.random.default_rng(seed)
    # The rows that were kept lie in the order of the table, which may be sorted.
    drawn = rng.permutation(len(moments.sample))[: MOST_ROWS[kernel]]
    X, Y = moments.sample[drawn], moments.sample_targets[drawn] / np.sqrt(np.trace(moments.syy))
    n = len(X)
    if n < LEAST_ROWS:
        raise ValueError(f"X must have at least {LEAST_ROWS} complete rows for a learning curve; got {n}")
    trials, reach = _trials(X, Y, chosen, rng)
    method = min(METHODS, key=lambda name: miss(trials, name))
    rows = moments.rows
    told = rows * np.array([1, 2, 4, ENDLESS])
    at = np.concatenate([np.geomspace(n / 8, AHEAD * rows, POINTS), told])
    theory, bound = curve_estimate.errors(curve_estimate.estimate(X, Y, chosen), at, reach)
    subsamples, measured = _subsamples(X, Y, chosen, rng)
    error = theory if method == "theory" else power_law.fit(subsamples, measured)(at)
    width = np.exp(float(special.ndtri((1 + level) / 2)) * _spread(X, Y, chosen, at, reach, method, trials, rng))
    low, high = error / width, error * width
    curve, steps = slice(0, POINTS), range(POINTS, POINTS + 3)
    return LearningCurve(
        name=name,
        kernel=kernel,
        rows=rows,
        used=n,
        level=level,
        method=method,
        at=at[curve],
        error=error[curve],
        low=low[curve],
        high=high[curve],
        bound=bound[curve] if method == "theory" else np.zeros(POINTS, bool),
        subsamples=subsamples,
        measured=measured,
        steps=(
            _step(at, error, low, high, steps[0]),
            _step(at, error, low, high, steps[1]),
            _step(at, error, low, high, steps[2]),
        ),
        limit=float(error[-1]),
        trials=trials,
    )


def _step(at: Array, error: Array, low: Array, high: Array, i: int) -> Step:
    return Step(round(at[i]), float(error[i]), float(low[i]), float(high[i]))


def _subsamples(X: Array, Y: Array, kernel: Kernel | None, rng: np.random.Generator) -> tuple[Array, Array]:
    """Test errors of fits to random subsamples, on the rows that are not in them."""
    sizes = np.unique(np.maximum(np.rint(len(X) * SHARES).astype(int), 3))
    errors = [
        np.mean([_held_out(X, Y, kernel, int(size), rng.permutation(len(X))) for _ in range(REPEATS)])
        for size in sizes
    ]
    return sizes.astype(np.float64), np.array(errors, np.float64)


def _held_out(X: Array, Y: Array, kernel: Kernel | None, size: int, order: NDArray[np.int64]) -> float:
    """The error of a fit to the first rows of an order, on the others; above 0, so that it has a logarithm."""
    taken, left = order[:size], order[size:]
    return max(test_error(X[taken], Y[taken], X[left], Y[left], kernel), np.finfo(float).tiny)


def _trials(X: Array, Y: Array, kernel: Kernel | None, rng: np.random.Generator) -> tuple[tuple[Trial, ...], float]:
    """Forecast from a quarter of the rows the error on half and on most of them, measure it, and choose the reach."""
    n, found = len(X), []
    used, wanted = n // 4, np.array([n // 2, int(TRIED * n)])
    for _ in range(TRIALS):
        order = rng.permutation(n)
        quarter = order[:used]
        estimate = curve_estimate.estimate(X[quarter], Y[quarter], kernel)
        at = np.append(wanted, used).astype(np.float64)
        theory = np.array([curve_estimate.errors(estimate, at, reach)[0] for reach in curve_estimate.REACHES])
        law = power_law.fit(*_subsamples(X[quarter], Y[quarter], kernel, rng))(wanted)
        for i, rows in enumerate(wanted):
            measured = _held_out(X, Y, kernel, int(rows), order)
            found.append([Trial(used, int(rows), measured, float(t[i]), float(law[i]), float(t[-1])) for t in theory])
    by_reach = [tuple(trials) for trials in zip(*found, strict=True)]
    best = min(range(len(by_reach)), key=lambda i: miss(by_reach[i], "theory"))
    return by_reach[best], curve_estimate.REACHES[best]


def _spread(
    X: Array,
    Y: Array,
    kernel: Kernel | None,
    at: Array,
    reach: float,
    method: Method,
    trials: tuple[Trial, ...],
    rng: np.random.Generator,
) -> Array:
    """The standard deviation of the logarithm of the forecast error: of the sample, and of the method."""
    n = len(X)
    halves = [rng.permutation(n)[: n // 2] for _ in range(HALVES)]
    drawn = [curve_estimate.errors(curve_estimate.estimate(X[half], Y[half], kernel), at, reach)[0] for half in halves]
    # A half without replacement differs from the whole as the whole from the truth: σ²/(n/2) − σ²/n = σ²/n.
    sample = np.std(np.log(drawn), axis=0)
    ratios = sorted({trial.rows / trial.used for trial in trials})
    off = [abs(float(np.mean(logs(tuple(t for t in trials if t.rows / t.used == ratio), method)))) for ratio in ratios]
    return np.hypot(sample, np.interp(np.log(at / n), np.log([1.0, *ratios]), [0.0, *off]))
