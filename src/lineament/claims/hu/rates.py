"""Networks over a range of d: how the gap to the twin falls, with intervals and pictures."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from ... import models
from ...evidence import Check, at_most
from ...evidence import figure as fig
from .setting import Comparison, Inputs, Labels, follow, task

Law = tuple[float, float]  # (c, p) for c·d^p
Comparisons = list[list[list[Comparison]]]  # size, series, copy
AGREE = 0.05  # the largest mean square that still counts as agreement, of E[y²]
FALLS = "theory: d^(−Ω(α)), so that the 95 % interval of the slope lies below 0; one that contains 0 tells nothing"
AGREES = "the theorems print no constant; a twentieth of E[y²] counts as close"


NARROW, WIDE = (4.0, 1.25), (1.0, 2.25)  # m = d^{1+α} and d^{2+α} with α = 1/4
EXAMPLES = (2.0, 1.5)
LEAST_EXAMPLES = (4.0, 1.25)
EIGHTH = (0.125, 1.0)  # η = d/8, where only η ≪ d is asked for
LAWS = ("white, teacher", "skewed, shifted teacher", "cube, chance")


class Series(NamedTuple):
    """How a task and its network grow with d.

    Attributes:
        inputs: The law of the inputs, see `task`.
        labels: The labels, see `task`.
        width: m.
        examples: n.
        step_size: η1, or η2 where the first layer does not train.
        second: η2/η1 where both train.
    """

    inputs: Inputs
    labels: Labels
    width: Law
    examples: Law
    step_size: Law
    second: float = 1.0


def kinds(*, width: Law, examples: Law, step_size: Law) -> tuple[Series, ...]:
    """Three kinds of inputs and labels that grow alike."""
    laws: tuple[tuple[Inputs, Labels], ...] = (("gaussian", "teacher"), ("skewed", "shifted"), ("cube", "random"))
    return tuple(Series(inputs, labels, width, examples, step_size) for inputs, labels in laws)


def sweep(
    rng: np.random.Generator,
    groups: Sequence[Sequence[int]],
    series: Sequence[Series],
    *,
    activation: models.activations.Activation,
    trains: tuple[bool, bool],
    copies: int,
    fresh: int = 500,
    reach: float = 1.0,
    count: int = 8,
) -> Comparisons:
    """Networks over a range of d, up to `reach` times T, as comparisons[size][series][copy].

    Args:
        rng: For tasks and starts.
        groups: The dimensions; those of one group run as one program.
        series: What is run at each.
        activation: φ.
        trains: Which of the two layers do.
        copies: Of each series, with their own data and starts.
        fresh: Examples that are not trained on.
        reach: How far to train.
        count: How many looks up to there.
    """
    table = []
    for group in groups:
        runs = [(d, law) for d in group for law in series for _ in range(copies)]
        members = [
            (task(rng, d, grown(d, *law.examples), fresh, law.inputs, law.labels), grown(d, *law.width))
            for d, law in runs
        ]
        step_size = np.array([law.step_size[0] * d ** law.step_size[1] for d, law in runs])
        ratio = np.array([law.second for _, law in runs]) if all(trains) else 1.0
        T = np.array([d * np.log(d) for d, _ in runs]) / (step_size * np.maximum(ratio, 1))
        at = np.unique(np.concatenate([np.linspace(0, reach * end, count).astype(int) for end in set(T.tolist())]))
        eta1, eta2 = step_size * trains[0], step_size * ratio * trains[1]
        comparisons = follow(rng, members, activation=activation, first=eta1, second=eta2, at=at)
        runs_of_d = len(series) * copies
        table += [
            [comparisons[j : j + copies] for j in range(i, i + runs_of_d, copies)]
            for i in range(0, len(comparisons), runs_of_d)
        ]
    return table


def grown(d: int, factor: float, power: float) -> int:
    """`factor·d^power` as an even number: how n and m grow with d."""
    return 2 * round(factor * d**power / 2)


def flat(groups: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The dimensions of all groups."""
    return tuple(d for group in groups for d in group)


def gaps(comparisons: Comparisons) -> np.ndarray:
    """The worst gap up to T, as (training or fresh, size, series, copy)."""
    return np.moveaxis(
        np.array([[[comparison.worst() for comparison in copies] for copies in row] for row in comparisons]), -1, 0
    )


def levelled(table: np.ndarray) -> np.ndarray:
    """Logarithms of (size, series, …) about the mean of their series."""
    logs = np.log(table)
    return logs - logs.mean(axis=(0, *range(2, table.ndim)), keepdims=True)


def rate(sizes: Sequence[float], table: np.ndarray) -> tuple[float, float, float]:
    """The common slope of log values against log size, and its 95 % interval.

    Args:
        sizes: d.
        table: (size, series, …): each series has its own level.
    """
    log_size, y = np.log(np.asarray(sizes, float)), levelled(table)
    x = np.broadcast_to((log_size - log_size.mean()).reshape(-1, *(1,) * (table.ndim - 1)), table.shape)
    slope = float(np.sum(x * y) / np.sum(x**2))
    freedom = table.size - table.shape[1] - 1
    error = np.sqrt(np.sum((y - slope * x) ** 2) / freedom / np.sum(x**2))
    half = float(error * special.stdtrit(freedom, 0.975))
    return slope, slope - half, slope + half


def falls(name: str, interval: tuple[float, float, float]) -> Check:
    """A slope below 0, given with its 95 % interval. One that contains 0 refutes nothing: then it cannot be told."""
    slope, low, high = interval
    untold = f"{slope:.2f} with an interval from {low:.2f} to {high:.2f} is not told from 0"
    return at_most(name, high, 0.0, FALLS, void=untold if low <= 0 < high else "")


def falling(name: str, sizes: Sequence[int], table: np.ndarray) -> tuple[list[Check], dict[str, float]]:
    """The slopes in d of both gaps, (training or fresh, size, series, copy), and their level at the largest d."""
    checks, numbers = [], {}
    for where, gap in zip(("training", "fresh"), table, strict=True):
        slope, low, _ = interval = rate(sizes, gap)
        checks.append(falls(f"{name}: upper end of the slope in d, {where} examples", interval))
        numbers |= {f"{name}, {where}: slope": slope, f"{name}, {where}: slope, lower end": low}
    level = float(np.mean(table[:, -1], axis=-1).max())
    checks.append(at_most(f"{name}: mean MSE at d = {sizes[-1]}, worst law, over E[y²]", level, AGREE, AGREES))
    return checks, numbers


def along(comparisons: Comparisons, sizes: Sequence[int], title: str) -> fig.Panel:
    """The gap on fresh examples along the run, mean over the copies of the first series."""
    marks = []
    for group, (d, row) in enumerate(zip(sizes, comparisons, strict=True)):
        first = row[0][0]
        curve = np.mean([comparison.gaps()[1][first.inside] for comparison in row[0]], axis=0)
        marks.append(fig.measured(first.steps[first.inside] / first.twin.horizon(), curve, f"d = {d}", group))
    top = max(float(mark.y.max()) for mark in marks if mark.y is not None)
    return fig.Panel(tuple(marks), "t/T", "MSE, fresh examples", title, y_limits=(0.0, 1.15 * top))


def against(sizes: Sequence[int], tables: Mapping[str, np.ndarray], title: str) -> fig.Panel:
    """The worst gaps, (size, series, copy), against d with their fits; what tells the series apart is taken out."""
    log_size = np.log2(np.asarray(sizes, float))
    marks, low, high = [], np.inf, 0.0
    for group, (name, table) in enumerate(tables.items()):
        level, slope = np.exp(np.log(table).mean()), rate(sizes, table)[0]
        values = level * np.exp(levelled(table)).reshape(len(sizes), -1)
        low, high = min(low, float(values.min())), max(high, float(values.max()))
        fitted = level * 2 ** (slope * (log_size - log_size.mean()))
        x = np.repeat(log_size, values.shape[1]) + 0.06 * (group - (len(tables) - 1) / 2)
        marks += [
            fig.points(x, values.ravel(), f"{name}, slope {slope:.2f}", group),
            fig.theory(log_size, fitted, "fit" if group == 0 else "", group),
        ]
    limits = (0.5 * low, 12 * high)  # room for the legend
    return fig.Panel(tuple(marks), "log₂ d", "largest MSE up to T", title, "linear", "log", limits)
