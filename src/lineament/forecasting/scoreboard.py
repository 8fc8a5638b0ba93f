"""Forecasts against what happened, table by table: one small function for each column of the scoreboard.

A column takes a table and returns a `Cell`: the verdict, one number, and a few words. It may raise a ValueError; the cell
then says why. A new kind of forecast is a new function in `COLUMNS`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from lineament.data.tables import Table
from lineament.linearisation import Renewed

from .compare import train
from .forecast import forecast_table
from .learning_curve import learning_curve
from .linear_network import Start
from .moments import gather
from .network import forecast_network_table
from .network_train import NetworkComparison, train_network
from .regression import test_error

MOST_STEPS = 60_000
"""Steps that are trained for a cell; a forecast of more is left undecided."""

MISS = 0.15
"""How far a learning curve may miss the measured test error."""

SPLITS, LEFT_OVER = 5, 0.2
"""Splits of the rows over which learning curves are measured, and the share that is tested on."""

LEAST_ROWS = 200
"""With fewer rows a quarter of them is too few to forecast from."""


NETWORK_ROWS = 400
"""Rows that networks are trained and tested on, so that a cell takes seconds, not minutes."""

NETWORK_SEED = 20261118
"""Of the split, the start and the draw of rows; nothing was looked at with it before."""

TEST_BAR, TRAINING_BAR = 0.05, {256: 0.1, 1024: 0.05}
"""How far losses may be from their forecasts after the last step, safe or not, at each width."""

ACCURACY_BAR, LABELS_BAR = 0.02, 0.95
"""For classes, at the last safe step: how far the test accuracy may be off, and the least share of labels as forecast."""


class Cell(NamedTuple):
    """One table under one column.

    Attributes:
        verdict: "holds", "differs", "undecided", or "error" where it could not be run.
        value: the number that decided, where there is one.
        told: in a few words.
    """

    verdict: Literal["holds", "differs", "undecided", "error"]
    value: float | None
    told: str


Column = Callable[[Table], Cell]


def linear(table: Table, depth: int) -> Cell:
    """Train the linear network of a forecast, and compare."""
    made = forecast_table(table, depth=depth)
    if made.steps > MOST_STEPS:
        return Cell("undecided", None, f"{made.steps} steps are forecast; at most {MOST_STEPS} are trained")
    run = train(made)
    late = [abs(half.measured / half.forecast - 1) for half in run.halfway if half.forecast > 0]
    told = f"loss within {100 * run.gap:.1f} % of its first value over {made.steps} steps"
    return Cell(str(run.verdict), max(late, default=run.gap), told)  # type: ignore[arg-type]


def curve(table: Table, step: Literal[1, 2]) -> Cell:
    """Forecast the test error on twice (1) or four times (2) a quarter of the rows, and measure it on rows left over."""
    moments = gather(table.chunks(), table.features, table.targets, classes=table.classes)
    X, Y = moments.sample, moments.sample_targets
    if len(X) < LEAST_ROWS:
        return Cell("undecided", None, f"{len(X)} rows; at least {LEAST_ROWS} are needed")
    quarter = int((1 - LEFT_OVER) * len(X)) // 4
    rows = quarter * 2**step
    forecasts, bands, measured = [], [], []
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(len(X))
        used, taken, left = order[:quarter], order[:rows], order[4 * quarter :]
        unit = float(np.sum(np.var(Y[used], axis=0)))
        made = learning_curve(X[used], Y[used], seed=seed).steps[step]
        forecasts.append(made.error * unit)
        bands.append((made.low * unit, made.high * unit))
        measured.append(test_error(X[taken], Y[taken], X[left], Y[left], None))
    truth = float(np.mean(measured))
    miss = float(np.mean(np.abs(np.array(forecasts) / truth - 1)))
    held = sum(low <= truth <= high for low, high in bands)
    unit = float(np.trace(moments.syy))
    told = (
        f"{np.mean(forecasts) / unit:.3g} forecast, {truth / unit:.3g} measured; in the band {held} of {SPLITS} times"
    )
    return Cell("holds" if miss <= MISS else "differs", miss, told)


def any_start(table: Table, depth: int, start: Start) -> Cell:
    """Train a linear network of width 64 from an ordinary start, and compare every loss on the way."""
    made = forecast_network_table(
        table, network="linear", depth=depth, width=64, start=start, seed=NETWORK_SEED, most_rows=NETWORK_ROWS
    )
    run = train_network(made)
    curves = made.linearised.curves
    gap = max(_largest_gap(run.run[name], getattr(curves, name)) for name in ("loss", "test_loss"))
    return Cell(str(run.verdict), gap, f"losses within {100 * gap:.2g} % at all steps")  # type: ignore[arg-type]


def ordinary(table: Table, width: int, **settings: Any) -> Cell:
    """Train a multilayer perceptron of two hidden layers for 1500 steps, and compare."""
    scaled = not table.classes  # numbers of deviation 1, as networks are given them
    made = forecast_network_table(
        table, width=width, scale_target=scaled, seed=NETWORK_SEED, most_rows=NETWORK_ROWS, **settings
    )
    run = train_network(made)
    return _classes(run) if made.rows.classes else _numbers(run, TRAINING_BAR[width])


def _numbers(run: NetworkComparison, training_bar: float) -> Cell:
    lin = run.forecast.linearised
    test = abs(run.run["test_loss"][-1] / lin.curves.test_loss[-1] - 1)
    training = abs(run.run["loss"][-1] / lin.curves.loss[-1] - 1)
    told = (
        f"after {lin.steps} steps test loss {100 * test:.1f} % off, training loss {100 * training:.1f} %; safe until "
        f"{lin.safe_step:.0f}, departed at {run.departed:.0f}; in the error bar {100 * run.covered:.0f} % of the steps"
        f"{_alone(run)}"
    )
    return Cell("holds" if test <= TEST_BAR and training <= training_bar else "differs", float(test), told)


def _alone(run: NetworkComparison) -> str:
    """What the tangent of the start alone would have said, and how many tangents were used instead."""
    lin = run.forecast.linearised
    if not isinstance(lin, Renewed):
        return ""
    one = lin.tangent.curves
    test, training = (abs(run.run[name][-1] / getattr(one, name)[-1] - 1) for name in ("test_loss", "loss"))
    return (
        f"; {lin.path.kernels} tangents, with that of the start alone {100 * test:.1f} % and {100 * training:.1f} % off, "
        f"and a tenth off at step {lin.linear_until:.0f}"
    )


def _classes(run: NetworkComparison) -> Cell:
    lin = run.forecast.linearised
    last = int(np.flatnonzero(lin.at <= lin.safe_step)[-1])
    off = abs(float(run.run["test_accuracy"][last] - lin.curves.test_accuracy[last]))
    told = (
        f"at step {lin.at[last]}, the last safe one, accuracy {100 * off:.1f} points off, {100 * run.agreement:.0f} % of "
        f"labels as forecast; in the error bar {100 * run.covered:.0f} % of the steps{_alone(run)}"
    )
    return Cell("holds" if off <= ACCURACY_BAR and run.agreement >= LABELS_BAR else "differs", off, told)


def _largest_gap(measured: np.ndarray, forecast: np.ndarray) -> float:
    return float(np.max(np.abs(measured / forecast - 1)))


COLUMNS: dict[str, Column] = {
    "linear, 1 layer": partial(linear, depth=1),
    "linear, 2 layers": partial(linear, depth=2),
    "linear, 3 layers": partial(linear, depth=3),
    "Glorot, 2 layers": partial(any_start, depth=2, start="glorot"),
    "Glorot, 3 layers": partial(any_start, depth=3, start="glorot"),
    "MLP, width 256": partial(ordinary, width=256),
    "MLP, width 1024": partial(ordinary, width=1024),
    "MLP, as in PyTorch": partial(ordinary, width=256, start="torch", optimiser="momentum", batch_size=32),
    "rows × 2": partial(curve, step=1),
    "rows × 4": partial(curve, step=2),
}
"""The columns of the scoreboard: from the table alone to a cell."""


def cell(column: Column, table: Table) -> Cell:
    """Run one cell; what is refused or fails is told in it."""
    try:
        return column(table)
    except (ValueError, RuntimeError, ArithmeticError, np.linalg.LinAlgError) as problem:
        return Cell("error", None, f"{type(problem).__name__}: {problem}"[:300])
