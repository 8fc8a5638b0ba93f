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

from . import scoreboard_curves
from .compare import train
from .forecast import forecast_table
from .linear_network import Start
from .network import forecast_network_table
from .network_train import NetworkComparison, train_network

MOST_STEPS = 120_000
"""Steps that are trained for a cell; a forecast of more is left undecided."""

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


def curve(table: Table, kernel: str, ridge: str = "tuned") -> Cell:
    """Forecast the test error on twice and four times a fifth of the rows, and measure it on rows left over."""
    try:
        found = scoreboard_curves.score(table, kernel, ridge)
    except ValueError as problem:
        return Cell("undecided", None, str(problem)[:300])
    told = "; ".join(
        f"× {factor}: {miss:.1%} off, {forecast:.3g} forecast, {measured:.3g} measured"
        for factor, miss, forecast, measured in zip(
            scoreboard_curves.FACTORS, found.miss(), found.forecast.mean(axis=0), found.measured, strict=True
        )
    )
    held = f"in the band {np.count_nonzero(found.held)} of {found.held.size} times"
    alone = [" and ".join(f"{miss:.1%}" for miss in found.miss(kind)) for kind in ("theory", "power_law")]
    worst = float(np.max(found.miss()))
    return Cell(
        "holds" if worst <= scoreboard_curves.MISS else "differs",
        worst,
        f"{told}; {held}; theory alone {alone[0]} off, a power law {alone[1]}",
    )


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
    "rows, least squares": partial(curve, kernel="linear", ridge="none"),
    "rows, ridge": partial(curve, kernel="linear"),
    "rows, Gaussian kernel": partial(curve, kernel="gaussian"),
    "rows, ReLU kernel": partial(curve, kernel="relu"),
}
"""The columns of the scoreboard: from the table alone to a cell."""


def cell(column: Column, table: Table) -> Cell:
    """Run one cell; what is refused or fails is told in it."""
    try:
        return column(table)
    except (ValueError, RuntimeError, ArithmeticError, np.linalg.LinAlgError, MemoryError) as problem:
        return Cell("error", None, f"{type(problem).__name__}: {problem}"[:300])
