"""What a deep linear network will learn from a table, and when: before anything is trained.

The network computes y ≈ W_N ⋯ W_1 x on centred (and, by default, standardised) features and centred targets, and is
trained by full-batch gradient descent on ½ mean‖Wx − y‖² from a balanced start of a stated scale. Nothing else enters
than the second moments of the table.

The start. All singular values of the map are `start_scale`, in random directions of the components that vary: inside
their span, where training keeps it. With whitened inputs the directions are those of the target's own modes, which makes
the closed form exact.
"""

from dataclasses import replace
from math import ceil, inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lineament.core import arguments
from lineament.core.words import several
from lineament.data import tables

from . import components, paths, words
from .held_out import held_out
from .moments import Moments, gather
from .premises import premises
from .result import Forecast
from .stability import flattest, sharpness
from .stopping import Stopping, on_new_rows, stopping
from .task import Task, aligned, strengths, task_of

Array = NDArray[np.float64]

ENOUGH = 0.999
"""The forecast runs until this share of what can be learnt is learnt."""

CAREFUL = 0.05
"""The recommended step, as a share of 2/λmax at the optimum or at the start, whichever is less.

Small enough for descent to follow the flow closely.
"""

LONGEST = 100_000
"""Steps of the recommended size after which a forecast stops, whatever is still to be learnt."""

DEEPEST = 100
"""Layers; a deeper linear network would not leave its plateau in any training."""

MOST_STEPS = 10**12
"""Steps that a forecast may span; a step size that asks for more is a slip of the pen."""

WIDEST = 100.0
"""The largest scale of the start, in units of the target's largest singular value; what comes down from further up is no
training that anyone would do, and takes for ever to follow."""

FASTEST = 1e6
"""The largest step size, in units of the largest that is stable; descent is lost long before."""


def forecast(
    X: ArrayLike,
    y: ArrayLike,
    *,
    depth: int = 2,
    start_scale: float = 1e-3,
    step_size: float | None = None,
    steps: int | None = None,
    whiten: bool = False,
    classes: bool | None = None,
    standardise: bool = True,
    scale_target: bool = False,
    seed: int = 0,
) -> Forecast:
    """Forecast how a deep linear network learns y from X by gradient descent.

    Args:
        X: features, (n, columns), or a data frame, whose columns of words become one column for each word; rows with
            missing values (not-a-number) are left out, and constant columns.
        y: targets, (n,) or (n, outputs); words name classes, which are learnt one-hot.
        depth: the number of layers N ≥ 1.
        start_scale: all singular values of the product of the layers at the start, which is balanced.
        step_size: η; by default the recommended one, a twentieth of the largest that is stable.
        steps: how many steps to look ahead; by default until 99.9 % of what can be learnt is learnt.
        whiten: whiten the inputs, so that every mode of the target moves on its own.
        classes: take numbers as classes, or refuse to take words as such; by default words are classes and numbers not.
        standardise: divide every feature by its standard deviation.
        scale_target: divide every target by its standard deviation, so that losses of tables can be compared.
        seed: of the random start.
    """
    table = tables.joined(X, y)
    return forecast_table(
        table, depth=depth, start_scale=start_scale, step_size=step_size, steps=steps, whiten=whiten, classes=classes,
        standardise=standardise, scale_target=scale_target, seed=seed,
    )  # fmt: skip


def forecast_table(
    table: tables.Table,
    *,
    depth: int = 2,
    start_scale: float = 1e-3,
    step_size: float | None = None,
    steps: int | None = None,
    whiten: bool = False,
    classes: bool | None = None,
    standardise: bool = True,
    scale_target: bool = False,
    seed: int = 0,
) -> Forecast:
    """The forecast for a table that is read in pieces, in one pass; arguments as in :func:`forecast`."""
    arguments.instance("table", table, tables.Table)
    asked = _settings(depth, start_scale, step_size, steps, seed)
    whiten = arguments.truth("whiten", whiten)
    if classes is None:
        classes = table.classes
    moments = gather(
        table.chunks(), table.features, table.targets, classes=classes, standardise=standardise,
        scale_target=scale_target, seed=asked.seed,
    )  # fmt: skip
    task = task_of(moments, whiten)
    _refuse_start(asked, task)
    W0 = asked.start_scale * (
        _orthonormal(task.target.shape, asked.seed) if task.modes is None else aligned(task.modes)
    )
    largest = 2 / sharpness(task.target, task.d, asked.depth)
    # A start larger than the target is sharper than the optimum, and the first steps must be small for it.
    recommended = CAREFUL * min(largest, 2 / sharpness(W0, task.d, asked.depth))
    _refuse_step_size(asked, largest, recommended)
    eta = asked.step_size or recommended
    path = _path(task, W0, asked, until=asked.steps * eta if asked.steps else None, longest=LONGEST * recommended)
    parts = components.components(moments, path, task.V, task.d, task.target, task.modes)
    prediction = Forecast(
        name=table.name,
        moments=moments,
        depth=asked.depth,
        start_scale=asked.start_scale,
        seed=asked.seed,
        whiten=whiten,
        step_size=eta,
        steps=asked.steps or max(1, ceil(path.time[-1] / eta)),
        largest_stable=largest,
        settles_below=2 / flattest(task.target, task.d, asked.depth),
        recommended=recommended,
        directions=task.V,
        variances=task.d,
        target=task.target,
        W0=W0,
        path=path,
        floor=task.floor,
        components=parts,
        phases=components.phases_of(parts, asked.depth, whiten),
        stopping=_stopping(moments, path, task, W0, asked),
        premises=premises(W0, task.target, task.d, task.syx, asked.depth, moments, task.V if whiten else None),
        notices=(),
    )
    return replace(prediction, notices=(*table.notices, *notices(prediction)))


class _Settings(NamedTuple):
    """What a caller asks for, checked; None where the forecast is to choose."""

    depth: int
    start_scale: float
    step_size: float | None
    steps: int | None
    seed: int


def _settings(depth: int, start_scale: float, step_size: float | None, steps: int | None, seed: int) -> _Settings:
    return _Settings(
        arguments.count("depth", depth, most=DEEPEST),
        arguments.number("start_scale", start_scale, above=0),
        None if step_size is None else arguments.number("step_size", step_size, above=0),
        None if steps is None else arguments.count("steps", steps, most=MOST_STEPS),
        arguments.count("seed", seed, 0),
    )


def _path(task: Task, W0: Array, asked: _Settings, *, until: float | None, longest: float) -> paths.Progress:
    limits: dict[str, Any] = {"until": until, "enough": ENOUGH, "longest": longest}
    if task.modes is not None:
        return paths.whitened(asked.start_scale, strengths(task.modes), asked.depth, **limits)
    if asked.depth == 1:
        return paths.one_layer(W0, task.target, task.d, **limits)
    return paths.deep(W0, task.target, task.d, asked.depth, **limits)


def _refuse_start(asked: _Settings, task: Task) -> None:
    most = WIDEST * float(np.linalg.norm(task.target, 2))
    if asked.start_scale > most:
        raise ValueError(f"start_scale must be at most {most:.3g} for this table; got {asked.start_scale:g}")


def _refuse_step_size(asked: _Settings, largest: float, recommended: float) -> None:
    """Refuse what float64 cannot hold, and step sizes that would take for ever or are lost at once."""
    if not (0 < recommended < inf and 0 < largest < inf):
        raise ValueError(
            f"depth must leave a step size that float64 can hold; got depth {asked.depth}, at which the largest stable "
            f"one is {largest:.3g}"
        )
    least, most = LONGEST * recommended / MOST_STEPS, FASTEST * largest
    if asked.step_size is not None and not least <= asked.step_size <= most:
        raise ValueError(
            f"step_size must be between {least:.3g} and {most:.3g} for this table; got {asked.step_size:g}. "
            f"Recommended: {recommended:.3g}"
        )


def _orthonormal(shape: tuple[int, int], seed: int) -> Array:
    """A uniformly random map all of whose singular values are 1."""
    U, _, Vt = np.linalg.svd(np.random.default_rng(seed).standard_normal(shape), full_matrices=False)
    return U @ Vt


def _stopping(moments: Moments, path: paths.Progress, task: Task, W0: Array, asked: _Settings) -> Stopping | None:
    """When to stop, where there are examples left over to estimate the noise from."""
    fixed = _fixed_design(moments, path, task)
    if fixed is None:
        return None
    start = asked.start_scale if task.modes is not None else W0 @ task.V.T
    found = held_out(moments, start, asked.depth, path.time, asked.seed)
    if found is None:
        return fixed
    # A mode is one direction of the outputs and all of the inputs; a component, the other way round.
    learnt = np.clip(path.share, 0, 1).mean(axis=1) * len(task.d)
    return on_new_rows(path.time, fixed, found, np.append(learnt, len(task.d)), moments.rows)


def _fixed_design(moments: Moments, path: paths.Progress, task: Task) -> Stopping | None:
    """When to stop where new rows have the inputs of the table."""
    d, target = task.d, task.target
    freedom = moments.rows - 1 - len(d)
    if freedom < 1:
        return None
    residual = (moments.syy - (target * d) @ target.T) * (moments.rows / freedom)
    noise = float(np.trace(residual))
    n = moments.rows
    if task.modes is None:
        return stopping(path, np.sum(target**2, axis=0) * d, np.full(len(d), noise / n), noise, n)
    # Mode i is the row u_iᵀŴ of least squares in the outputs' own directions: one noisy number for each component.
    U, s, _ = task.modes
    kept = slice(0, path.share.shape[1])
    variance = len(d) * np.einsum("ki,kl,li->i", U, residual, U)[kept] / n
    return stopping(path, s[kept] ** 2, variance, noise, n)


def notices(made: Forecast) -> list[str]:
    """What a reader should know about the data and the settings, in sentences."""
    m, told = made.moments, []
    if m.missing:
        told.append(words.left_out(m.missing, m.rows + m.missing))
    if m.constant:
        told.append(words.constant(m.constant))
    if m.few_values is not None:
        told.append(
            f"The target holds whole numbers with only {m.few_values} values and was learnt as a number; "
            "if they name classes, say so (--classes)."
        )
    unseen = len(m.features) - len(made.variances)
    if made.stopping is None:
        told.append(
            f"There are {m.rows} rows for {len(m.features)} columns: a linear map can fit them exactly, the noise cannot "
            "be estimated, and nothing is said on when to stop."
        )
    if unseen:
        few = len(made.variances) == m.rows - 1
        reason = "there are fewer rows than columns" if few else "columns depend on each other"
        vary = "does" if unseen == 1 else "do"
        told.append(
            f"{several(unseen, 'direction')} of the inputs {vary} not vary in the data beyond rounding: {reason}. The "
            "network learns nothing there."
        )
    if made.step_size > made.largest_stable:
        told.append(
            f"The step size is {made.step_size / made.largest_stable:.3g} times the largest stable one. Recommended: "
            f"{made.recommended:.3g}."
        )
    elif made.step_size > 4 * made.recommended:
        share = f"{100 * made.step_size / made.largest_stable:.0f} %"
        told.append(
            f"The step size {made.step_size:.3g} is {share} of the largest stable one: descent departs from the flow "
            "that is forecast here by up to about that share in time."
        )
    if made.learnt < ENOUGH - 1e-6 and made.step_size <= made.largest_stable:
        told.append(
            f"After {several(made.steps, 'step')} {100 * made.learnt:.1f} % of what can be learnt is learnt; the rest "
            "takes longer than this forecast looks ahead."
        )
    return told
