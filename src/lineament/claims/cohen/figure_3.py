"""Figure 3: deeper networks learn singular values more sharply, one by one, and reconstruct better."""

from typing import NamedTuple

import jax
import numpy as np

from ... import models, starts, train
from ...evidence import Check, Evidence, at_most
from ...evidence import figure as fig
from ..instances import generator
from ..sizes import sizes
from .completion_tasks import Tasks, completion_tasks, freedoms

DEPTHS = (1, 2, 3)


class Settings(NamedTuple):
    """What is run at each size; `steps` are those of depths 1, 2 and 3."""

    dimension: int
    rank: int
    truths: int
    steps: tuple[int, int, int]
    start_scale: float = 1e-3


class Rises(NamedTuple):
    """What was measured at one depth, one number for each truth."""

    error: np.ndarray
    width: np.ndarray
    overlap: np.ndarray
    beyond: np.ndarray


NAMES = Rises("mean squared error", "rise time", "overlap", "share beyond the rank")  # type: ignore[arg-type]


@sizes(
    quick=Settings(30, 3, truths=4, steps=(300, 6000, 20_000)),
    full=Settings(100, 5, truths=3, steps=(300, 40_000, 60_000)),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Plain descent on completion from scaled identities at depths 1, 2 and 3, twice as many entries as freedoms.

    Sharpness is the time a learnt singular value takes from a tenth to nine tenths of its last value, over the time it
    takes to a half: 3.2 for an exponential approach, less the more suddenly it rises. That values rise one by one is
    measured by the overlap: how far the next one has come, as a share of its own last value, when one passes its half.
    Both are means over the values that the truth has, and medians over truths.
    """
    rng = generator(key)
    count = 2 * freedoms(settings.dimension, settings.rank)
    tasks = completion_tasks(rng, settings.dimension, settings.rank, (count,), settings.truths)
    learnt = {n: _learn(tasks, n, steps, settings) for n, steps in zip(DEPTHS, settings.steps, strict=True)}
    middle = {n: Rises(*(np.median(value) for value in rises)) for n, (rises, _) in learnt.items()}  # type: ignore[arg-type]
    return Evidence(
        checks=_checks(middle),
        numbers={
            f"{name}, depth {n}": float(value)
            for n, rises in middle.items()
            for name, value in zip(NAMES, rises, strict=True)
        },
        settings={"observations": count},
        protocol={
            "data": f"completion of random {settings.dimension}×{settings.dimension} matrices of rank "
            f"{settings.rank}, {count} entries observed, {settings.truths} truths",
            "network": "depths 1, 2, 3, full width",
            "start": f"identities, product {settings.start_scale:g} I",
            "optimiser": "gradient descent, full batch",
            "step size": "a twentieth of the reciprocal of the greatest curvature, at each depth",
            "measure": "singular values over steps; mean squared error over all entries at the end",
        },
        figure=fig.Figure(
            tuple(panel for _, panel in learnt.values()),
            f"A single layer raises all singular values together, and {100 * middle[1].beyond:.0f} % of their sum at the "
            f"end belongs to values that the truth does not have. At depth 3 {100 * middle[3].beyond:.1g} % does, "
            "and those of the truth (dashed) come one by one.",
            3,
        ),
    )


def _checks(middle: dict[int, Rises]) -> list[Check]:
    """Every depth against the one before it: error, rise time and overlap."""
    halved = "half of the shallower network's; the printed errors differ by factors of 8 and 60"
    sharper = "a tenth below the shallower network's, so that rounding of the records cannot decide"
    return [
        at_most(f"{name} at depth {deep} over that at depth {deep - 1}",
                getattr(middle[deep], field) / getattr(middle[deep - 1], field), bar, origin)
        for field, name, bar, origin in (
            ("error", "error", 0.5, halved), ("width", "rise time", 0.9, sharper), ("overlap", "overlap", 0.9, sharper)
        )
        for deep in (2, 3)
    ]  # fmt: skip


def _learn(tasks: Tasks, depth: int, steps: int, settings: Settings) -> tuple[Rises, fig.Panel]:
    """Train one network on each task, and read its singular values off the way."""
    model = models.DeepLinear((settings.dimension,) * (depth + 1))
    largest = np.linalg.norm(tasks.truths, 2, axis=(1, 2)).max()
    # The curvature of this loss, a sum over entries, is at most about n σ^{2−2/n}: the step is far below 2/that.
    step_size = 0.05 / (depth * largest ** (2 - 2 / depth))
    run = train.descend(
        model, tasks.problems, starts.identity(model, settings.start_scale), step_size=step_size, steps=steps,
        every=max(1, steps // 600), record=("singular_values", "end_to_end"),
    )  # fmt: skip
    values, last, rank = run.singular_values.values, run.end_to_end.values[:, -1], settings.rank
    curves = [_rises(run.time.values, value[:, :rank]) for value in values]
    rises = Rises(
        error=np.mean((last - tasks.truths) ** 2, axis=(1, 2)),
        width=np.array([width for width, _ in curves]),
        overlap=np.array([overlap for _, overlap in curves]),
        beyond=values[:, -1, rank:].sum(axis=1) / values[:, -1].sum(axis=1),
    )
    truth = np.linalg.svd(tasks.truths[0], compute_uv=False)[:rank]
    return rises, _rise_panel(run.time.values, values[0], truth, depth, rises.error[0])


def _rises(time: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """The mean rise time of the columns over their half time, and how far each is when the one before is half."""
    share = values / values[-1]
    passed = lambda level, i: time[np.argmax(share[:, i] >= level)]  # noqa: E731
    modes = range(values.shape[1])
    half = [passed(0.5, i) for i in modes]
    width = np.mean([(passed(0.9, i) - passed(0.1, i)) / half[i] for i in modes])
    overlap = np.mean([share[np.argmax(share[:, i] >= 0.5), i + 1] for i in modes[:-1]])
    return float(width), float(overlap)


def _rise_panel(time: np.ndarray, values: np.ndarray, truth: np.ndarray, depth: int, error: float) -> fig.Panel:
    """The values that the truth has, two that it has not, and where those of the truth are."""
    shown = range(min(len(truth) + 2, values.shape[1]))
    marks = [fig.measured(time, values[:, i], f"σ{chr(ord('₁') + i)}", i) for i in shown]
    marks += [fig.reference(time[[0, -1]], [value, value], "truth") for value in truth]
    return fig.Panel(tuple(marks), "time t", "singular values", f"depth {depth}, error {error:.1g}")
