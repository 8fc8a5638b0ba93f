"""Learning curves against what more rows brought: forecasts from a fifth of a table, errors measured on the rest.

For each of five splits the curve is forecast from a fifth of the (at most 2048) rows that are kept of a table. Then other
rows are added until there are twice and four times as many, drawn four times, and the error is measured on a fifth of the
rows that was not added. The mean over splits and draws is taken for the truth: what no forecast has seen in any split.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lineament.data.tables import Table

from .learning_curve import learning_curve
from .moments import gather
from .regression import Learner, learner_of, test_error

Array = NDArray[np.float64]
Kind = Literal["forecast", "theory", "power_law"]

MISS = 0.15
"""How far a learning curve may miss the measured test error."""

SPLITS, DRAWS = 5, 4
"""Splits of the rows, and draws of the rows that are added, over which errors are averaged."""

FACTORS = (2, 4)
"""How many times the rows that were used errors are measured on."""

LEAST_ROWS = 200
"""With fewer rows a fifth of them is too few to forecast from."""


class CurveScore(NamedTuple):
    """How forecasts from a fifth of a table did, at each of `FACTORS`.

    Attributes:
        used: the rows that each forecast was made from.
        measured: the mean test error, as a share of the target's variance, (factor,).
        forecast: forecasts of it, (split, factor).
        theory: those by theory alone, likewise.
        power_law: those by a power law alone, likewise.
        held: whether the band holds it, likewise.
    """

    used: int
    measured: Array
    forecast: Array
    theory: Array
    power_law: Array
    held: NDArray[np.bool_]

    def miss(self, kind: Kind = "forecast") -> Array:
        """The mean of |forecast/measured − 1| over splits, (factor,)."""
        return np.mean(np.abs(getattr(self, kind) / self.measured - 1), axis=0)


def score(table: Table, kernel: str, ridge: str = "tuned") -> CurveScore:
    """Forecast, measure, and compare.

    Args:
        table: of at least `LEAST_ROWS` complete rows.
        kernel: as for :func:`.learning_curve`.
        ridge: likewise.
    """
    moments = gather(table.chunks(), table.features, table.targets, classes=table.classes)
    unit = float(np.trace(moments.syy))
    X, Y = moments.sample, moments.sample_targets / np.sqrt(unit)
    if len(X) < LEAST_ROWS:
        raise ValueError(f"the table must have at least {LEAST_ROWS} complete rows; got {len(X)}")
    fifth, learner = len(X) // 5, learner_of(kernel, ridge)
    made, units, measured = [], [], []
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(len(X))
        used = order[:fifth]
        units.append(float(np.sum(np.var(Y[used], axis=0))))
        made.append(learning_curve(X[used], Y[used], kernel=kernel, ridge=ridge, seed=seed).steps[1:])
        measured.append(_measured(X, Y, order, fifth, learner, np.random.default_rng([seed, 1])))
    truth = np.mean(measured, axis=0)
    _, error, low, high, theory, law = np.moveaxis(np.array(made, np.float64), -1, 0) * np.array(units)[:, None]
    return CurveScore(fifth, truth, error, theory, law, (low <= truth) & (truth <= high))


def _measured(
    X: Array, Y: Array, order: NDArray[np.int64], used: int, learner: Learner, rng: np.random.Generator
) -> list[float]:
    """Test errors on more rows than were used, at each of `FACTORS`."""
    found = []
    for factor in FACTORS:
        errors = []
        for _ in range(DRAWS):
            others = rng.permutation(order[used:])
            taken, left = np.append(order[:used], others[: (factor - 1) * used]), others[3 * used :]
            errors.append(test_error(X[taken], Y[taken], X[left], Y[left], learner))
        found.append(float(np.mean(errors)))
    return found
