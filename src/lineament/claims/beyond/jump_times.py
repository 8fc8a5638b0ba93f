"""From saddle to saddle: when a diagonal network jumps, as its start vanishes."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems, train
from ...evidence import Evidence, at_most, within
from ...evidence import figure as fig
from ...measure import jumps
from ...theory import jump_times
from ..instances import generator, slope
from ..sizes import sizes

ROWS, FEATURES, RECORDS = 15, 4, 6000
ORDER = "a passage takes ∫∇L by a number of order 1, the way to it by ½ ln(1/α)"


class Settings(NamedTuple):
    """How many random problems, and the decades of the start α."""

    problems: int
    decades: tuple[int, ...]


@sizes(quick=Settings(4, (8, 16, 32, 64)), full=Settings(20, (8, 16, 32, 64, 128)))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Flow of diagonal networks β = w₊² − w₋² from w± = α on random least-squares problems.

    A jump is measured as the last time at which the map is nearer to a saddle than to the next.
    """
    rng = generator(key)
    gaps: list[np.ndarray] = []  # of every jump of every problem, (start,)
    away, shown = 0.0, None
    for _ in range(settings.problems):
        X, y = rng.standard_normal((ROWS, FEATURES)), rng.standard_normal(ROWS)
        expected = jump_times.saddles(X, y)
        runs = [_run(X, y, 10.0**-decades, 1.1 * float(expected.times[-1])) for decades in settings.decades]
        found = [jumps.jump_times(time, path, expected.points) for time, path in runs]
        gaps += list(np.abs(np.array(found) / expected.times - 1).T)
        time, path = runs[-1]
        rests = path[np.searchsorted(time, (found[-1][:-1] + found[-1][1:]) / 2)]
        size = np.linalg.norm(expected.points[-1])
        away = max(away, float(np.max(np.linalg.norm(rests - expected.points[1:-1], axis=1) / size, initial=0.0)))
        shown = shown or (time, path, expected)
    logs = np.log(10) * np.array(settings.decades)
    middle, worst = np.median(gaps, axis=0), float(np.max(gaps, axis=0)[-1])
    fall, _ = slope(logs, middle)
    assert shown is not None
    return Evidence(
        checks=[
            at_most("worst relative gap of a jump time at the smallest start", worst, 0.1, ORDER),
            within(
                "exponent of the median gap in ln(1/α)", fall, -1.25, -0.75, f"{ORDER}: the gap falls as its inverse"
            ),
        ],
        numbers={
            "problems": float(settings.problems),
            "median gap at the largest start": float(middle[0]),
            "worst distance from a saddle midway between jumps, as a share of the solution": away,
        },
        settings={"rows, features": (ROWS, FEATURES)},
        protocol={
            "network": f"diagonal, depth 2, signed, {FEATURES} features",
            "data": f"{ROWS} Gaussian rows, Gaussian labels",
            "start": f"w± = α from 1e-{settings.decades[0]} to 1e-{settings.decades[-1]}",
            "optimiser": "gradient flow",
            "measure": "last time nearer to a saddle than to the next, over ½ ln(1/α)",
        },
        figure=_figure(shown, logs, middle, worst),
    )


def _run(X: np.ndarray, y: np.ndarray, start: float, until: float) -> tuple[np.ndarray, np.ndarray]:
    """Times in units of ½ ln(1/α), and the map β at these."""
    unit = 0.5 * np.log(1 / start)
    model = models.Diagonal(FEATURES, 2, signed=True)
    times = np.linspace(0, until * unit, RECORDS)
    run = train.flow(
        model, problems.regression(X, y[:, None]), jnp.full((2, FEATURES), start), times=times, record=("end_to_end",),
        tolerance=0.0, rtol=1e-6,
    )  # fmt: skip
    return times / unit, np.asarray(run.end_to_end.values)[:, 0]


def _figure(
    shown: tuple[np.ndarray, np.ndarray, jump_times.Saddles], logs: np.ndarray, fall: np.ndarray, worst: float
) -> fig.Figure:
    time, path, expected = shown
    some = slice(None, None, max(1, len(time) // 600))
    steps = np.repeat(np.append(expected.times, time[-1]), 2)[:-1]
    held = np.repeat(expected.points, 2, axis=0)
    begins = np.concatenate([[0.0], steps])
    marks = [fig.measured(time[some], path[some, k], f"β{k + 1}", k) for k in range(FEATURES)]
    marks += [fig.theory(begins, held[: len(begins), k], "limit") for k in range(FEATURES)]
    left = fig.Panel(tuple(marks), "time / ½ ln(1/α)", "β", "From saddle to saddle")
    right = fig.Panel(
        (fig.points(logs, fall, "median gap"), fig.reference(logs, fall[-1] * logs[-1] / logs, "slope −1")),
        "ln(1/α)", "relative gap of jump times", "The gap falls as 1/ln(1/α)", "log", "log",
    )  # fmt: skip
    return fig.Figure(
        (left, right),
        f"A diagonal network jumps when the limit says: at the smallest start within {100 * worst:.1f} %.",
        2,
    )
