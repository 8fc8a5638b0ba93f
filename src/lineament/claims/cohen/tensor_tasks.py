"""Completion of tensors by factorisations that could fit any: what the two claims of Section 5 share."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems, starts, train
from ...core import ensembles
from ...evidence import Check, at_least, at_most, within
from ...evidence import figure as fig

MISFIT = 1e-6  # half the summed squared misfit at which training ends; every truth has norm 1


class Settings(NamedTuple):
    """What is run at each size.

    Attributes:
        shape: The sizes of the tensor's axes.
        width: How many components: 0 for as many as any tensor of this shape may need.
        ranks: The ranks of the truths.
        repeats: How many truths of each rank.
        observed: How many entries are seen.
        steps: At most how many.
        early: Up to which step records lie densely: a component rises within some hundred steps.
        start_scales: The standard deviation of a start's entries: a small one, and a large one for contrast.
        step_size: The length of a step of normalised descent.
    """

    shape: tuple[int, ...]
    width: int
    ranks: tuple[int, ...]
    repeats: int
    observed: tuple[int, ...]
    steps: int
    early: int
    start_scales: tuple[float, float]
    step_size: float = 5e-3

    @property
    def recorded(self) -> np.ndarray:
        """The steps that are recorded: evenly up to `early`, then 100 more at growing distances.

        Up to `early` they are at most ten steps apart, or fifty where that would be too many to keep.
        """
        apart = 10 if self.early <= 100_000 else 50
        early = np.linspace(0, self.early, max(400, -(-self.early // apart)) + 1)
        late = np.geomspace(self.early, self.steps, 101) if self.steps > self.early else []
        return np.unique(np.r_[early, late].astype(int))


class Tasks(NamedTuple):
    """Tensors of norm 1 to be completed: the rank of each, how many entries are seen, and the size of the start."""

    truths: np.ndarray  # (task, entries)
    ranks: np.ndarray
    counts: np.ndarray
    small: np.ndarray
    problems: ensembles.Ensemble

    @property
    def judged(self) -> np.ndarray:
        """Which tasks show most entries, from a small start."""
        return self.small & (self.counts == self.counts.max())

    @property
    def contrast(self) -> np.ndarray:
        """Which tasks begin at a large start; they show fewest entries."""
        return ~self.small


class Completions(NamedTuple):
    """What was recorded: the component norms (task, step, component), and errors relative to the truths."""

    steps: np.ndarray
    norms: np.ndarray
    last: np.ndarray
    error: np.ndarray
    misfit: np.ndarray


def tensor_tasks(truths: list[tuple[int, np.ndarray]], counts: tuple[int, ...], rng: np.random.Generator) -> Tasks:
    """Every truth with each number of entries from a small start, and with fewest entries from a large one too.

    The contrast is drawn where the data leave the rank open. Where they fix it, a large start comes to it as well: it
    only takes longer, and what rank it has when training ends says how long that was.
    """
    rows, tasks = [], []
    for rank, truth in truths:
        truth = truth / np.linalg.norm(truth)
        order = rng.permutation(truth.size)
        for count, small in [(count, True) for count in counts] + [(min(counts), False)]:
            indices = np.stack(np.unravel_index(order[:count], truth.shape), axis=1)
            rows.append((truth.ravel(), rank, count, small))
            tasks.append(problems.tensor_completion(indices, truth[tuple(indices.T)], truth.shape, reduction="sum"))
    tensors, ranks, seen, small = (np.array(column) for column in zip(*rows, strict=True))
    return Tasks(tensors, ranks, seen, small, ensembles.stack(tasks))


def complete(
    model: models.CP | models.TreeTensor, tasks: Tasks, key: jax.Array, settings: Settings, norms: train.Record
) -> Completions:
    """Train all tasks by normalised descent, as one program. A small start means tiny gradients, so eps is small."""
    scale = jnp.where(tasks.small, *settings.start_scales)
    start = ensembles.ensemble(
        lambda key, scale: starts.gaussian(model, key, deviation=scale), jax.random.split(key, len(scale)), scale
    )
    run = train.descend(
        model, tasks.problems, start, step_size=settings.step_size, steps=settings.steps, at=settings.recorded,
        record=("loss", norms), optimiser=partial(train.normalised, eps=1e-8), tolerance=MISFIT,
    )  # fmt: skip
    last = jax.jit(jax.vmap(model.end_to_end))(run.final.stacked)
    last = np.reshape(last, tasks.truths.shape)
    error = np.linalg.norm(last - tasks.truths, axis=1)
    return Completions(run.step.values, run.norms.values, last, error, run.loss.values[:, -1])


def overlap(norms: np.ndarray, rank: int) -> tuple[float, float]:
    """How far the next component has come when one passes half of its last norm; and how coarse the records are.

    The first number is the mean over components of the next one's norm as a share of its own last. The second is the
    largest rise of a component between the record before it passes half and the one after: where that is large, the
    records step over the rise and the overlap says nothing.
    """
    share = norms[:, :rank] / norms[-1, :rank]
    passed = [int(np.argmax(share[:, r] >= 0.5)) for r in range(rank)]
    coming = [share[passed[r], r + 1] for r in range(rank - 1)]
    jumps = [share[k, r] - share[max(k - 1, 0), r] for r, k in enumerate(passed)]
    return float(np.mean(coming)), float(np.max(jumps))


class Overlaps(NamedTuple):
    """Over tasks whose truth has more than one component: the mean overlap, its standard error, the median jump."""

    mean: float
    error: float
    jump: float


def _overlaps(run: Completions, tasks: Tasks, chosen: np.ndarray) -> Overlaps:
    pairs = [overlap(run.norms[i], tasks.ranks[i]) for i in np.flatnonzero(chosen & (tasks.ranks > 1))]
    coming, jumps = np.transpose(pairs)
    return Overlaps(
        float(np.mean(coming)), float(np.std(coming, ddof=1) / np.sqrt(len(coming))), float(np.median(jumps))
    )


def checks(run: Completions, tasks: Tasks, ranks: np.ndarray, rank: str) -> list[Check]:
    """One by one, to the truth, at its rank; from a large start at a higher one."""
    small, large = tasks.judged, tasks.contrast
    mean, error, jump = _overlaps(run, tasks, small)
    coarse = f"the records are too coarse: a component rises by {jump:.2f} of its last norm between two of them"
    unfitted = np.median(run.misfit[small]) > 10 * MISFIT
    void = "training ended before the observed entries were fitted" if unfitted else ""
    return [
        at_most("overlap of neighbouring components, small start, plus two standard errors", mean + 2 * error, 0.5,
                "side by side the next component would be half grown when one is; two standard errors over tasks below",
                void=coarse if jump > 0.2 else ""),
        at_most("median relative error, most entries seen, small start", np.median(run.error[small]), 0.05,
                "recovery to 5 %; the misfit at which training ends, 1e-6, allows for 0.2 %", void=void),
        within(f"median of {rank} found minus the truth's, small start", np.median((ranks - tasks.ranks)[small]), 0,
               0, "the statement: the truth's own rank"),
        at_least("the same, large start, fewest entries seen", np.median((ranks - tasks.ranks)[large]), 1,
                 "the contrast: at least one more than the truth"),
    ]  # fmt: skip


def numbers(run: Completions, tasks: Tasks, ranks: np.ndarray, rank: str) -> dict[str, float]:
    """Ranks for each rank of the truth, and what the large start gave."""
    small, large = tasks.judged, tasks.contrast
    few = tasks.small & (tasks.counts == tasks.counts.min())
    medians = {
        f"median {rank} found, truth {r}": float(np.median(ranks[small & (tasks.ranks == r)]))
        for r in np.unique(tasks.ranks)
    }
    return medians | {
        "overlap, small start": _overlaps(run, tasks, small).mean,
        "its standard error": _overlaps(run, tasks, small).error,
        "overlap, large start": _overlaps(run, tasks, large).mean,
        "largest rise of a component between records, median": _overlaps(run, tasks, small).jump,
        f"median of {rank} found minus the truth's, small start, fewest entries seen": float(
            np.median((ranks - tasks.ranks)[few])
        ),
        "median relative error, large start, fewest entries seen": float(np.median(run.error[large])),
        "worst misfit, small start, most entries seen": float(run.misfit[small].max()),
    }


def figure(run: Completions, tasks: Tasks, starts: tuple[float, float], label: str, caption: str) -> fig.Figure:
    """Component norms from a small and a large start, and the error against the number of entries."""
    highest = tasks.ranks == tasks.ranks.max()
    panels = [
        _norms_panel(
            run, int(np.flatnonzero(highest & chosen)[0]), label, f"rank {tasks.ranks.max()}, start {start:g}"
        )
        for chosen, start in zip((tasks.judged, tasks.contrast), starts, strict=True)
    ]
    return fig.Figure((*panels, _recovery_panel(run, tasks)), caption, 3)


def _norms_panel(run: Completions, task: int, label: str, title: str) -> fig.Panel:
    norms = run.norms[task]
    # The axis ends a little after the last change: once a run has ended, its last values are held.
    changed = np.flatnonzero(np.abs(np.diff(norms, axis=0)).max(axis=1) > 0)
    end = min(len(norms), int(1.2 * changed.max(initial=0)) + 3)
    shown = turns(norms[:end, :6])
    marks = tuple(fig.measured(run.steps[shown], norms[shown, r], "", r) for r in range(min(6, norms.shape[1])))
    return fig.Panel(marks, "step", label, title)


def turns(curves: np.ndarray, least: float = 0.005) -> np.ndarray:
    """Which records a drawing needs: those at which a curve has moved by so much of the largest value since the last.

    With each goes the record before it, so that a long rest and a quick rise are joined where the rise begins.
    """
    kept, least = [0], least * np.abs(curves).max(initial=0)
    for k in range(1, len(curves)):
        if np.abs(curves[k] - curves[kept[-1]]).max() > least:
            kept += [k - 1, k]
    return np.unique([*kept, len(curves) - 1])


def _recovery_panel(run: Completions, tasks: Tasks) -> fig.Panel:
    marks, counts = [], np.unique(tasks.counts)
    for group, rank in enumerate(np.unique(tasks.ranks)):
        of_rank = tasks.ranks == rank
        medians = [np.median(run.error[of_rank & tasks.small & (tasks.counts == count)]) for count in counts]
        large = run.error[of_rank & ~tasks.small]
        marks += [
            fig.measured(counts, medians, f"rank {rank}", group),
            fig.points(counts[:1], [np.median(large)], "large start" if group == 0 else "", group),
        ]
    return fig.Panel(tuple(marks), "entries seen", "relative error", y_scale="log")
