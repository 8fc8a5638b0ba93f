"""Gradient descent as one compiled program: nothing per step happens in Python."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import ArrayLike

from ..core import arguments, checks
from ..core.ensembles import Ensemble
from ..core.keys import AnyKey
from ..core.model import AbstractModel, require_model
from ..core.precision import Precision, products
from ..core.run import Run
from ..problems.base import AbstractProblem
from .diverged import Diverged
from .loop import Descent, Optimiser, State, descend_all
from .members import Members, dtype_of, member_keys, members
from .records import Records, resolve
from .result import named, run_of, settings_of, with_numbers, with_time
from .steps import recorded_steps


def descend(
    model: AbstractModel,
    problem: AbstractProblem | Ensemble,
    start: Any,
    *,
    step_size: float | ArrayLike,
    steps: int,
    record: Records = ("loss",),
    every: int | None = None,
    at: ArrayLike | None = None,
    momentum: float | None = None,
    optimiser: Optimiser = optax.sgd,
    batch_size: int | None = None,
    key: AnyKey | Ensemble | None = None,
    tolerance: float | None = None,
    on_divergence: Literal["raise", "keep"] = "raise",
    precision: Precision = "float32",
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Train by gradient descent and record along the way.

    Args:
        model: What is trained, such as `DeepLinear`.
        problem: What is to be learnt; an `Ensemble` of problems gives each member its own.
        start: The parameters to begin with, or an `Ensemble` of them.
        step_size: How far a step goes along the gradient; a vector gives each member its own.
        steps: How many steps to take.
        record: Names of built-in records, instances of `Record`, or functions of the parameters.
        every: Record every so many steps (default: about 200 times). Memory grows with this, not with `steps`.
        at: Instead of `every`: the steps at which to record.
        momentum: Heavy-ball momentum, for the default optimiser.
        optimiser: Makes an optax optimiser from a step size: `optax.sgd`, `optax.adam`, or your own function.
        batch_size: Examples per step, drawn without replacement within an epoch; the odd rest of an epoch is left out.
        key: Needed with `batch_size`, for the order of the examples, and by a network with dropout, for what is dropped
            in each step; split so that members differ, or an `Ensemble` with the key of each. Records are taken without
            dropout.
        tolerance: Stop a member once its loss, looked at when recording, is at most this. Its last values are held.
        on_divergence: "raise" stops with a `Diverged` error that names member, step and loss; "keep" carries on and
            leaves the rest of that member's records not-a-number, with the step in `diverged_at`.
        precision: Of float32 products on a GPU: "float32"; "tf32", which is faster and keeps ten bits of each factor; or
            "bf16", which is faster still and keeps seven, in gradients too. Sums are in float32 in any case; with "bf16"
            those of convolutions are then rounded.
        progress: Called now and then with the share of the run that is done.

    Returns:
        The run, recorded over `step` (and `member`), with the time `step · step size` and `diverged_at`.
    """
    optimiser = _with_momentum(optimiser, momentum)
    recorded_at = recorded_steps(steps, every, at)
    checks.rate("step_size", step_size)
    checks.one_of("on_divergence", on_divergence, ("raise", "keep"))
    checks.one_of("precision", precision, get_args(Precision))
    arguments.number("tolerance", 0.0 if tolerance is None else tolerance)
    arguments.function("optimiser", optimiser)
    progress = None if progress is None else arguments.function("progress", progress)
    require_model(model)
    step_size = jnp.asarray(step_size, dtype=dtype_of(start))
    if precision == "bf16" and step_size.dtype == jnp.float64:
        raise ValueError('precision must be "float32" or "tf32" for parameters in float64; got \'bf16\'')
    who = members(model, problem, start, step_size=step_size)
    records = resolve(record, model, *who.first)
    batch_size = None if batch_size is None else checks.whole("batch_size", batch_size)
    _check_batches(who, batch_size, key)
    if model.drops and key is None:
        raise ValueError("key must be given for a network with dropout, to draw what each step drops; got None")
    stopping = jnp.asarray(-jnp.inf if tolerance is None else tolerance, step_size.dtype)
    descent = Descent(model, records, optimiser, batch_size, stopping)
    keys = member_keys(key, who.count)
    with products(precision):
        state, values, recorded = descend_all(descent, who, step_size, keys, jnp.asarray(recorded_at), progress)
    if on_divergence == "raise":
        _refuse_divergence(state, step_size)
    held = [_hold_last(value, int(recorded), who.count) for value in values]
    settings = settings_of(
        "descend", model, who, step_size=step_size, steps=steps, batch_size=batch_size, momentum=momentum,
        optimiser=named(optimiser), tolerance=tolerance, precision=precision,
    )  # fmt: skip
    run = with_time(
        run_of(records, held, who, ("step", recorded_at), state.parameters, settings), step_size, recorded_at
    )
    return with_numbers(run, diverged_at=state.diverged_at)


def _with_momentum(optimiser: Optimiser, momentum: float | None) -> Optimiser:
    if momentum is None:
        return optimiser
    if optimiser is not optax.sgd:
        raise ValueError("momentum must be None unless the optimiser is optax.sgd; give your own its momentum itself")
    return _sgd_with(checks.share("momentum", momentum))


@cache  # one function object per value, so that a second run finds its compiled program
def _sgd_with(momentum: float) -> Optimiser:
    return partial(optax.sgd, momentum=momentum)


def _check_batches(who: Members, batch_size: int | None, key: AnyKey | Ensemble | None) -> None:
    if batch_size is None:
        return
    if key is None:
        raise ValueError("key must be given with batch_size, to draw the order of the examples; got None")
    problem, _ = who.first
    if problem.examples is None:
        problem.take(jnp.zeros((1,), int))  # raises, saying why
    elif batch_size > problem.examples:
        raise ValueError(f"batch_size must lie in 1..{problem.examples}, the number of examples; got {batch_size}")


def _refuse_divergence(state: State, step_size: jax.Array) -> None:
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
        remedy=f"try a smaller step_size than {float(np.broadcast_to(step_size, at.shape)[member]):.3g}, "
        "or a smaller start",
    )


def _hold_last(value: jax.Array, recorded: int, count: int | None) -> np.ndarray:
    """Rows that were never reached because every member had stopped repeat the last one."""
    array = np.array(value)
    rows = array if count is None else np.moveaxis(array, 1, 0)
    rows[recorded:] = rows[recorded - 1]
    return array
