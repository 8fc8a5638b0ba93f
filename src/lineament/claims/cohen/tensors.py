"""Tensor factorisations learn their components one by one: Section 5."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems, train
from ...core import ensembles
from ...evidence import Check, Evidence, at_least, at_most, within
from ...evidence import figure as fig
from ...models.tensor import matricisation_values
from ..instances import generator, rotation
from ..sizes import Size

MISFIT = 1e-6  # half the summed squared misfit at which training ends; every truth has norm 1


class Tasks(NamedTuple):
    """Tensors of norm 1 to be completed: the rank of each, how many entries are seen, and the size of the start."""

    truths: np.ndarray  # (task, entries)
    ranks: np.ndarray
    counts: np.ndarray
    small: np.ndarray
    problems: ensembles.Ensemble

    @property
    def most(self) -> np.ndarray:
        """Which tasks show most entries."""
        return self.counts == self.counts.max()


class Runs(NamedTuple):
    """What was recorded: the component norms (task, step, component), and errors relative to the truths."""

    steps: np.ndarray
    norms: np.ndarray
    last: np.ndarray
    error: np.ndarray
    misfit: np.ndarray


def _tasks(truths: list[tuple[int, np.ndarray]], counts: tuple[int, ...], rng: np.random.Generator) -> Tasks:
    """Every truth with each number of entries from a small start, and with most entries from a large one too."""
    rows, each = [], []
    for rank, truth in truths:
        truth = truth / np.linalg.norm(truth)
        order = rng.permutation(truth.size)
        for count, small in [(count, True) for count in counts] + [(max(counts), False)]:
            indices = np.stack(np.unravel_index(order[:count], truth.shape), axis=1)
            rows.append((truth.ravel(), rank, count, small))
            each.append(problems.tensor_completion(indices, truth[tuple(indices.T)], truth.shape, reduction="sum"))
    tensors, ranks, seen, small = (np.array(column) for column in zip(*rows, strict=True))
    return Tasks(tensors, ranks, seen, small, ensembles.stack(each))


def _train(
    model: models.CP | models.TreeTensor,
    tasks: Tasks,
    key: jax.Array,
    deviations: tuple[float, float],
    steps: int,
    norms: train.Record,
) -> Runs:
    """Normalised descent of all tasks as one program. A small start means tiny gradients, hence the small eps."""
    size = jnp.where(tasks.small, *deviations)
    start = ensembles.ensemble(model.start, jax.random.split(key, len(size)), size)
    run = train.descend(
        model, tasks.problems, start, step=5e-3, steps=steps, every=steps // 200, record=("loss", norms),
        optimiser=partial(train.normalised, eps=1e-8), tolerance=MISFIT,
    )  # fmt: skip
    last = jax.jit(jax.vmap(model.end_to_end))(train.final(run, like=start).stacked)
    last = np.reshape(last, tasks.truths.shape)
    error = np.linalg.norm(last - tasks.truths, axis=1)
    return Runs(run.step.values, run.norms.values, last, error, run.loss.values[:, -1])


def _overlap(norms: np.ndarray, rank: int) -> float:
    """How far the next component has come, as a share of its last norm, when one passes half of its own; the mean."""
    share = norms[:, :rank] / norms[-1, :rank]
    return float(np.mean([share[np.argmax(share[:, r] >= 0.5), r + 1] for r in range(rank - 1)]))


def _overlaps(run: Runs, tasks: Tasks, which: np.ndarray) -> float:
    """The median overlap over those tasks whose truth has more than one component."""
    return float(
        np.median([_overlap(run.norms[i], tasks.ranks[i]) for i in np.flatnonzero(which & (tasks.ranks > 1))])
    )


def _checks(run: Runs, tasks: Tasks, found: np.ndarray, rank: str) -> list[Check]:
    """One by one, to the truth, at its rank; from a large start at a higher one."""
    small, large = tasks.most & tasks.small, tasks.most & ~tasks.small
    return [
        at_most("overlap of neighbouring components, small start", _overlaps(run, tasks, small), 0.2),
        at_most("median relative error, most entries seen, small start", np.median(run.error[small]), 0.05),
        within(
            f"median of {rank} found minus the truth's, small start", np.median((found - tasks.ranks)[small]), 0, 0
        ),
        at_least("the same, large start", np.median((found - tasks.ranks)[large]), 1),
    ]


def _numbers(run: Runs, tasks: Tasks, found: np.ndarray, rank: str) -> dict[str, float]:
    small, large = tasks.most & tasks.small, tasks.most & ~tasks.small
    medians = {
        f"median {rank} found, truth {r}": float(np.median(found[small & (tasks.ranks == r)]))
        for r in np.unique(tasks.ranks)
    }
    return medians | {
        "overlap, large start": _overlaps(run, tasks, large),
        "median relative error, large start": float(np.median(run.error[large])),
        "worst misfit, most entries seen": float(run.misfit[tasks.most].max()),
    }


def cp_components(scale: Size, key: jax.Array) -> Evidence:
    """Completion of tensors of low CP rank by a factorisation wide enough for any, from small and large starts.

    All entries of a start have standard deviation 1e-3, or 0.1 for contrast. A component counts as found when its norm
    exceeds a hundredth of the tensor's. Components rise one by one if the next has hardly begun when one passes half
    of its last norm: the overlap. All is judged where most entries are seen, by medians over truths of all ranks.
    """
    rng = generator(key)
    if scale == "quick":
        shape, ranks, repeats, counts, steps = (8, 8, 8), (1, 2, 3), 3, (60, 120, 240), 5000
    else:
        shape, ranks, repeats, counts, steps = (10, 10, 10, 10), (1, 3, 5), 3, (250, 500, 1000, 2000), 600_000
    model, starts = models.CP(shape), (1e-3, 0.1)
    tasks = _tasks([(rank, _random_cp(rng, shape, rank)) for rank in ranks * repeats], counts, rng)
    record = train.Record("norms", lambda model, problem, w: model.component_norms(w)[:10], ("component",))
    run = _train(model, tasks, key, starts, steps, record)
    found = np.sum(run.norms[:, -1] > 0.01, axis=1)
    return Evidence(
        checks=_checks(run, tasks, found, "components"),
        numbers=_numbers(run, tasks, found, "components"),
        settings={"shape": shape, "components": model.components, "ranks": ranks, "tensors each": repeats,
                  "entries seen": counts, "starts": starts, "most steps": steps},
        figure=_figure(
            run, tasks, starts, "component norms",
            "From a small start components are born one after another, and low-rank tensors are found.",
        ),
    )  # fmt: skip


def tree_components(scale: Size, key: jax.Array) -> Evidence:
    """Completion of order-4 tensors of low hierarchical rank by a wide binary tree, from small and large starts.

    Truths are trees of low rank with orthonormal parts. The tree that is trained has more weights than entries are
    seen, so that the data alone do not fix its rank. Recorded are the norms of the local components of the root, which
    joins the first two axes with the last two; the hierarchical rank found is that of the same matricisation: singular
    values above a hundredth of the tensor's norm. Entries of a start have standard deviation 0.06, or 0.4 for
    contrast; otherwise all is as for the CP factorisation.
    """
    rng = generator(key)
    if scale == "quick":
        shape, width, ranks, repeats, counts, steps = (6, 6, 6, 6), 24, (1, 2, 3), 2, (150, 300, 600), 6000
    else:
        shape, width, ranks, repeats, counts, steps = (10,) * 4, 60, (1, 2, 3, 5), 3, (500, 1000, 2000, 4000), 300_000
    model, starts = models.TreeTensor(shape, width), (0.06, 0.4)
    tasks = _tasks([(rank, _random_tree(rng, shape, rank)) for rank in ranks * repeats], counts, rng)
    record = train.Record("norms", lambda model, problem, w: model.component_norms(w)[-1][:10], ("component",))
    run = _train(model, tasks, key, starts, steps, record)
    values = jax.vmap(lambda T: matricisation_values(T.reshape(shape), (0, 1)))(jnp.asarray(run.last))
    found = np.sum(np.asarray(values) > 0.01, axis=1)
    return Evidence(
        checks=_checks(run, tasks, found, "hierarchical rank"),
        numbers=_numbers(run, tasks, found, "hierarchical rank"),
        settings={"shape": shape, "width": width, "ranks": ranks, "tensors each": repeats,
                  "entries seen": counts, "starts": starts, "most steps": steps},
        figure=_figure(
            run, tasks, starts, "norms at the root",
            "A tree's local components too are born one by one, and tensors of low hierarchical rank are found.",
        ),
    )  # fmt: skip


def _random_cp(rng: np.random.Generator, shape: tuple[int, ...], rank: int) -> np.ndarray:
    """A sum of `rank` outer products of normal vectors."""
    return np.asarray(models.CP(shape, rank).end_to_end(tuple(jnp.asarray(rng.normal(size=(d, rank))) for d in shape)))


def _random_tree(rng: np.random.Generator, shape: tuple[int, ...], rank: int) -> np.ndarray:
    """A tree with orthonormal leaves and nodes: all singular values of its matricisation at the root are equal.

    Normal weights would not do: products of them make the first singular value so large that the rest hardly matter.
    """
    leaves = [rotation(rng, size)[:, :rank] for size in shape]
    nodes = [rotation(rng, rank) for _ in range(len(shape) - 2)]
    factors = tuple(map(jnp.asarray, (*leaves, *nodes, np.ones((1, rank)))))
    return np.asarray(models.TreeTensor(shape, rank).end_to_end(factors))


def _figure(run: Runs, tasks: Tasks, starts: tuple[float, float], label: str, caption: str) -> fig.Figure:
    highest = tasks.most & (tasks.ranks == tasks.ranks.max())
    panels = [
        _norms_panel(run, int(np.flatnonzero(highest & (tasks.small == small))[0]), label,
                     f"rank {tasks.ranks.max()}, start {start:g}")
        for small, start in zip((True, False), starts, strict=True)
    ]  # fmt: skip
    return fig.Figure((*panels, _recovery_panel(run, tasks)), caption, 3)


def _norms_panel(run: Runs, task: int, label: str, title: str) -> fig.Panel:
    norms = run.norms[task]
    # The axis ends a little after the last change: once a run has ended, its last values are held.
    changed = np.flatnonzero(np.abs(np.diff(norms, axis=0)).max(axis=1) > 0)
    end = min(len(norms), int(1.2 * changed.max(initial=0)) + 3)
    marks = tuple(fig.measured(run.steps[:end], norms[:end, r], "", r) for r in range(min(6, norms.shape[1])))
    return fig.Panel(marks, "step", label, title)


def _recovery_panel(run: Runs, tasks: Tasks) -> fig.Panel:
    marks, counts = [], np.unique(tasks.counts)
    for group, rank in enumerate(np.unique(tasks.ranks)):
        of_rank = tasks.ranks == rank
        medians = [np.median(run.error[of_rank & tasks.small & (tasks.counts == count)]) for count in counts]
        large = run.error[of_rank & ~tasks.small]
        marks += [
            fig.measured(counts, medians, f"rank {rank}", group),
            fig.points(counts[-1:], [np.median(large)], "large start" if group == 0 else "", group),
        ]
    return fig.Panel(tuple(marks), "entries seen", "relative error", y_scale="log")
