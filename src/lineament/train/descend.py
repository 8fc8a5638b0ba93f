"""Gradient descent as one compiled program: nothing per step happens in Python."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr
from jax import lax
from jax.typing import ArrayLike

from ..core import checks
from ..core.ensembles import Ensemble
from ..problems import Problem
from .diverged import Diverged
from .objective import value_and_gradient
from .records import Record, evaluate, resolve
from .setup import Members, dataset, in_turn, members, over_members

Optimiser = Callable[[Any], optax.GradientTransformation]


class _State(NamedTuple):
    """What is carried from step to step."""

    parameters: Any
    optimiser: Any
    order: jax.Array  # the examples of this epoch in the order they are drawn
    diverged_at: jax.Array  # −1 while the loss is finite
    last_loss: jax.Array


def descend(
    model: Any,
    problem: Problem | Ensemble,
    start: Any,
    *,
    step: float | ArrayLike,
    steps: int,
    record: Sequence[str | Record | Callable[[Any], jax.Array]] = ("loss",),
    every: int | None = None,
    at: Sequence[int] | np.ndarray | None = None,
    momentum: float | None = None,
    optimiser: Optimiser = optax.sgd,
    batch_size: int | None = None,
    key: jax.Array | None = None,
    tolerance: float | None = None,
    on_divergence: Literal["raise", "keep"] = "raise",
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    """Train by gradient descent and record along the way.

    Args:
        model: What is trained, such as `DeepLinear`.
        problem: What is to be learnt; an `Ensemble` of problems gives each member its own.
        start: The parameters to begin with, or an `Ensemble` of them.
        step: The step size; a vector gives each member its own.
        steps: How many steps to take.
        record: Names of built-in records, instances of `Record`, or functions of the parameters.
        every: Record every so many steps (default: about 200 times). Memory grows with this, not with `steps`.
        at: Instead of `every`: the steps at which to record.
        momentum: Heavy-ball momentum, for the default optimiser.
        optimiser: Makes an optax optimiser from a step size: `optax.sgd`, `optax.adam`, or your own function.
        batch_size: Examples per step, drawn without replacement within an epoch; the odd rest of an epoch is left out.
        key: Needed with `batch_size`, for the order of the examples, and by a network with dropout, for what is dropped
            in each step; different in each member. Records are taken without dropout.
        tolerance: Stop a member once its loss, looked at when recording, is at most this. Its last values are held.
        on_divergence: "raise" stops with a `Diverged` error that names member, step and loss; "keep" carries on and
            leaves the rest of that member's records not-a-number, with the step in `diverged_at`.
        progress: Called now and then with the share of the run that is done.

    Returns:
        A dataset over `step` (and `member`), with the records, the time `step · step size`, and the final parameters,
        which `lineament.final` returns in the structure of the start.
    """
    optimiser = _with_momentum(optimiser, momentum)
    at = _recording_steps(steps, every, at)
    records = resolve(record)
    checks.positive("step", step)
    checks.one_of("on_divergence", on_divergence, ("raise", "keep"))
    step = jnp.asarray(step, dtype=jax.tree.leaves(start)[0].dtype)
    who = members(model, problem, start, step=step)
    _check_batches(who, batch_size, key)
    if _drops(model) and key is None:
        raise ValueError("a network with dropout needs a key, from which is drawn what each step drops")
    keys = _member_keys(key, who.count)
    stopping = jnp.asarray(-jnp.inf if tolerance is None else tolerance, step.dtype)
    state, values, recorded = _descend(
        model, who, step, keys, jnp.asarray(at), stopping, records, optimiser, batch_size, progress
    )
    if on_divergence == "raise":
        _refuse_divergence(state, step)
    filled = [_hold_last(value, int(recorded), who.count) for value in values]
    settings = {"method": "descend", "model": model, "problem": type(who.problem).__name__, "steps": steps}
    settings |= {
        "batch_size": batch_size,
        "momentum": momentum,
        "optimiser": getattr(optimiser, "__name__", "optax.sgd"),
    }
    run = dataset(records, filled, who, ("step", at), state.parameters, settings)
    lead = ("member",) if step.ndim else ()
    run = run.assign_coords(
        time=((*lead, "step"), np.asarray(step)[..., None] * at if step.ndim else float(step) * at)
    )
    return run.assign(diverged_at=((("member",) if who.count else ()), np.asarray(state.diverged_at)))


def _with_momentum(optimiser: Optimiser, momentum: float | None) -> Optimiser:
    if momentum is None:
        return optimiser
    if optimiser is not optax.sgd:
        raise ValueError("momentum goes with the default optimiser; give your own optimiser its momentum itself")
    if not 0 <= momentum < 1:
        raise ValueError(f"momentum must lie in [0, 1); got {momentum}")
    return _momentum(momentum)


_momenta: dict[float, Optimiser] = {}


def _momentum(momentum: float) -> Optimiser:
    # One function object per value, so that a second run finds its compiled program.
    return _momenta.setdefault(momentum, partial(optax.sgd, momentum=momentum))


def _recording_steps(steps: int, every: int | None, at: Sequence[int] | np.ndarray | None) -> np.ndarray:
    if int(steps) != steps or steps < 1:
        raise ValueError(f"steps must be a positive integer; got {steps}")
    if at is not None:
        if every is not None:
            raise ValueError("give either `every` or `at`, not both")
        found = np.asarray(at, dtype=int)
        if found.ndim != 1 or not found.size or found[0] < 0 or found[-1] > steps or (np.diff(found) <= 0).any():
            raise ValueError(f"at must be rising steps between 0 and steps = {steps}; got {found}")
        return found
    every = max(1, steps // 200) if every is None else every
    if int(every) != every or every < 1:
        raise ValueError(f"every must be a positive integer; got {every}")
    return np.unique(np.r_[np.arange(0, steps + 1, every), steps])


def _check_batches(who: Members, batch_size: int | None, key: jax.Array | None) -> None:
    if batch_size is None:
        return
    if key is None:
        raise ValueError("batch_size needs a key, from which the order of the examples is drawn")
    examples = who.problem.examples
    if who.problem_axis is not None and examples is not None:
        examples = jax.tree.leaves(who.problem)[0].shape[1]
    if examples is None:
        who.problem.take(jnp.zeros((1,), int))  # raises, saying why
    elif not 1 <= batch_size <= examples:
        raise ValueError(f"batch_size must lie in 1..{examples}, the number of examples; got {batch_size}")


def _drops(model: Any) -> bool:
    return getattr(model, "drops", False)


def _member_keys(key: jax.Array | None, count: int | None) -> jax.Array:
    key = jax.random.key(0) if key is None else key
    return key if count is None else jax.random.split(key, count)


def _refuse_divergence(state: _State, step: jax.Array) -> None:
    at = np.atleast_1d(state.diverged_at)
    if (at < 0).all():
        return
    member = int(np.argmax(at >= 0))
    single = np.ndim(state.diverged_at) == 0
    raise Diverged(
        member=None if single else member,
        step=int(at[member]),
        loss=float(np.atleast_1d(state.last_loss)[member]),
        others=int((at >= 0).sum()) - 1,
        remedy=f"try a smaller step than {float(np.broadcast_to(step, at.shape)[member]):.3g}, or a smaller start",
    )


def _hold_last(value: jax.Array, recorded: int, count: int | None) -> np.ndarray:
    """Rows that were never reached because every member had stopped repeat the last one."""
    array = np.array(value)
    rows = array if count is None else np.moveaxis(array, 1, 0)
    rows[recorded:] = rows[recorded - 1]
    return array


@eqx.filter_jit
def _descend(
    model: Any,
    who: Members,
    step: jax.Array,
    keys: jax.Array,
    at: jax.Array,
    stopping: jax.Array,
    records: tuple[Record, ...],
    optimiser: Optimiser,
    batch_size: int | None,
    progress: Callable[[float], None] | None,
) -> tuple[_State, tuple[jax.Array, ...], jax.Array]:
    step_axis = 0 if step.ndim else None

    def begin(problem: Problem, parameters: Any, step: jax.Array) -> _State:
        order = jnp.zeros((0 if batch_size is None else problem.examples or 0,), jnp.int32)
        loss = problem.loss(model.end_to_end(parameters))
        return _State(parameters, optimiser(step).init(parameters), order, jnp.asarray(-1), loss)

    def advance(
        problem: Problem, state: _State, step: jax.Array, key: jax.Array, s0: jax.Array, s1: jax.Array
    ) -> _State:
        return lax.fori_loop(s0, s1, lambda s, state: one_step(problem, state, step, key, s), state)

    def one_step(problem: Problem, state: _State, step: jax.Array, key: jax.Array, s: jax.Array) -> _State:
        batch, order = (problem, state.order) if batch_size is None else draw(problem, state.order, key, s)
        dropping = jax.random.fold_in(jax.random.split(key)[1], s) if _drops(model) else None
        loss, gradient = value_and_gradient(model, batch, state.parameters, dropping)
        updates, optimiser_state = optimiser(step).update(gradient, state.optimiser, state.parameters)
        finite = jnp.isfinite(loss)
        first = jnp.where((state.diverged_at < 0) & ~finite, s, state.diverged_at)
        last = jnp.where(finite, loss, state.last_loss)
        return _State(optax.apply_updates(state.parameters, updates), optimiser_state, order, first, last)

    def draw(problem: Problem, order: jax.Array, key: jax.Array, s: jax.Array) -> tuple[Problem, jax.Array]:
        assert batch_size is not None
        per_epoch = order.shape[0] // batch_size
        # `s` is shared by all members, so this stays a real branch under vmap: one shuffle per epoch.
        order = lax.cond(
            s % per_epoch == 0,
            lambda: jax.random.permutation(jax.random.fold_in(key, s // per_epoch), order.shape[0]).astype(jnp.int32),
            lambda: order,
        )
        return problem.take(lax.dynamic_slice(order, ((s % per_epoch) * batch_size,), (batch_size,))), order

    def observe(problem: Problem, state: _State, s: jax.Array) -> tuple[tuple[jax.Array, ...], _State, jax.Array]:
        loss = problem.loss(model.end_to_end(state.parameters))
        first = jnp.where((state.diverged_at < 0) & ~jnp.isfinite(loss), s, state.diverged_at)
        running = jnp.isfinite(loss) & (loss > stopping)
        return evaluate(records, model, problem, state.parameters), state._replace(diverged_at=first), running

    begin_all = over_members(begin, who, 0, step_axis)
    advance_all = over_members(advance, who, 0, step_axis, 0, None, None, in_turn=in_turn(model))
    observe_all = over_members(observe, who, 0, None, in_turn=in_turn(model))

    state = begin_all(who.problem, who.start, step)
    state = advance_all(who.problem, state, step, keys, jnp.asarray(0), at[0])
    seen, state, running = observe_all(who.problem, state, at[0])
    lead = 0 if who.count is None else 1
    buffers = tuple(jnp.zeros((*x.shape[:lead], at.shape[0], *x.shape[lead:]), x.dtype) for x in seen)
    write = lambda buffer, i, x: lax.dynamic_update_index_in_dim(buffer, x, i, lead)  # noqa: E731
    buffers = tuple(write(b, 0, x) for b, x in zip(buffers, seen, strict=True))

    def chunk(carry: tuple) -> tuple:
        i, state, running, buffers = carry
        moved = advance_all(who.problem, state, step, keys, at[i - 1], at[i])
        moved = _where(running, moved, state)
        seen, moved, still = observe_all(who.problem, moved, at[i])
        if progress is not None:
            jax.debug.callback(partial(_report, progress, at.shape[0]), i + 1)
        return i + 1, moved, running & still, tuple(write(b, i, x) for b, x in zip(buffers, seen, strict=True))

    unfinished = lambda carry: (carry[0] < at.shape[0]) & jnp.any(carry[2])  # noqa: E731
    recorded, state, _, buffers = lax.while_loop(unfinished, chunk, (jnp.asarray(1), state, running, buffers))
    return state, buffers, recorded


def _report(progress: Callable[[float], None], of: int, done: jax.Array) -> None:
    progress(int(done) / of)


def _where(keep: jax.Array, new: Any, old: Any) -> Any:
    """Members that have stopped keep what they had."""
    pick = lambda a, b: jnp.where(keep.reshape(keep.shape + (1,) * (a.ndim - keep.ndim)), a, b)  # noqa: E731
    return jax.tree.map(pick, new, old)
