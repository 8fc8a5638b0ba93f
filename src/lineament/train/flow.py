"""Gradient flow `Ẇ_j = −∂φ/∂W_j` by an adaptive solver, so that plateaus cost nothing."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments, checks
from ..core.ensembles import Ensemble
from ..core.model import AbstractModel, map_shape
from ..core.precision import full_precision
from ..core.run import Run
from ..problems.base import AbstractProblem, UnknownOptimumError
from .diverged import Diverged
from .members import Members, dtype_of, members, over_members
from .objective import loss
from .records import Records, resolve
from .result import run_of, settings_of, with_numbers
from .solve import Goal, Numbers, Outcome, solve, solver

SAVED_BY_DEFAULT = 256
FOREVER = 1e15


@full_precision
def flow(
    model: AbstractModel,
    problem: AbstractProblem | Ensemble,
    start: Any,
    *,
    times: ArrayLike | None = None,
    until: float | None = None,
    record: Records = ("loss",),
    tolerance: float = 1e-10,
    event: Callable[[Any], jax.Array] | None = None,
    rtol: float = 1e-8,
    atol: float | None = None,
    stiff: bool = False,
    max_steps: int = 100_000,
) -> Run:
    """Follow gradient flow and record along the way.

    Args:
        model: What is trained, such as `DeepLinear`.
        problem: What is to be learnt; an `Ensemble` of problems gives each member its own.
        start: The parameters at time 0 in float64, or an `Ensemble` of them.
        times: When to record: any rising times, such as `numpy.linspace` or `numpy.geomspace` give.
        until: Instead of `times`: record at 256 equal intervals up to this time. With neither, the flow is first run
            to convergence to find out how long it takes, then again to record.
        record: Names of built-in records, instances of `Record`, or functions of the parameters.
        tolerance: The flow has converged, and is held still, once its loss is within this share of the way from the
            start to the optimum. Zero never stops.
        event: A function of the parameters; the run stops when it returns true, and later records are not-a-number.
        rtol: Relative tolerance of the solver.
        atol: Absolute tolerance of the solver (default: far below the entries of the start).
        stiff: Use an implicit solver, for flows that explicit ones must follow in tiny steps.
        max_steps: Refuse to take more solver steps than this.

    Returns:
        The run, recorded over `time` (and `member`), with `stopped_at` (the time of convergence or of the event;
        not-a-number if neither happened) and `solver_steps`.
    """
    rtol, tolerance = arguments.number("rtol", rtol, above=0), arguments.number("tolerance", tolerance, least=0)
    atol = None if atol is None else arguments.number("atol", atol, least=0)
    stiff, max_steps = arguments.truth("stiff", stiff), checks.whole("max_steps", max_steps)
    clock = None if times is None else checks.rising("times", times)
    until = None if until is None else arguments.number("until", until, above=0)
    event = None if event is None else arguments.function("event", event)
    who = members(model, problem, start)
    _need_float64(start)
    records = resolve(record, model, *who.first)
    if times is not None and until is not None:
        raise ValueError(f"only one of times and until must be given; got until = {until} and times = {times}")
    endless = times is None and until is None
    goal = _goal(model, who, tolerance, event, needed=endless and event is None)
    atol = _atol(who.start, rtol) if atol is None else atol

    def solved(times: np.ndarray) -> Outcome:
        numbers = Numbers(jnp.asarray(times), jnp.asarray(rtol), jnp.asarray(atol))
        return solve(model, who, goal, numbers, records, stiff, max_steps)

    if clock is None:
        if until is None:  # the same compiled program, with nothing to save on the way
            until = _time_to_converge(solved(np.linspace(0.0, FOREVER, SAVED_BY_DEFAULT)), tolerance)
        clock = checks.rising("times", np.linspace(0.0, until, SAVED_BY_DEFAULT))
    assert clock is not None
    outcome = solved(clock)
    _refuse_failure(outcome, max_steps)
    settings = settings_of("flow", model, who, rtol=rtol, atol=atol, solver=solver(stiff), tolerance=tolerance)
    values = [
        _fill(value, last, clock, outcome, event) for value, last in zip(outcome.saved, outcome.last, strict=True)
    ]
    run = run_of(records, values, who, ("time", clock), outcome.final, settings)
    stopped = np.where(outcome.stopped, outcome.time, np.nan)
    return with_numbers(run, stopped_at=stopped, solver_steps=outcome.solver_steps)


def _need_float64(start: Any) -> None:
    dtype_of(start)
    if any(leaf.dtype != jnp.float64 for leaf in jax.tree.leaves(start)):
        raise ValueError(
            "start must be float64 for gradient flow, as singular values span many orders of magnitude. Call "
            'jax.config.update("jax_enable_x64", True) before anything is computed, and make the start anew'
        )


def _goal(
    model: AbstractModel, who: Members, tolerance: float, event: Callable[[Any], jax.Array] | None, needed: bool
) -> Goal:
    """The least loss, and how near to it counts as converged; refused if it is needed and not known.

    A problem knows its optimum over matrices, which says nothing of a model whose map is something else.
    """
    remedy = "give `times` or `until` to say how long to follow the flow"
    unreachable = Goal(jnp.asarray(-jnp.inf), jnp.asarray(0.0), event)
    if tolerance == 0 or map_shape(model, who.first[1]) is None:
        if needed:
            why = "tolerance is 0" if tolerance == 0 else f"the optimum over functions such as {model} is not known"
            raise ValueError(f"times must be given, for {why}; {remedy}")
        return unreachable
    try:
        floor = _optimal_loss(model, who)
    except UnknownOptimumError as unknown:
        if needed:
            raise ValueError(f"times must be given, for {unknown}; {remedy}") from unknown
        return unreachable
    if needed and not np.isfinite(floor).all():
        raise ValueError(
            f"times must be given, for the loss of {type(who.problem).__name__} has no minimum here, only an infimum "
            f"that is approached for ever (separable examples, for instance); {remedy}"
        )
    floor = np.asarray(floor)
    near = np.where(np.isfinite(floor), tolerance * (np.asarray(_first_losses(model, who)) - floor), 0.0)
    return Goal(jnp.asarray(floor), jnp.asarray(near), event)


@eqx.filter_jit
def _first_losses(model: AbstractModel, who: Members) -> jax.Array:
    """The loss of every member at its start."""
    return over_members(lambda problem, start: loss(model, problem, start), who, 0)(who.problem, who.start)


def _optimal_loss(model: AbstractModel, who: Members) -> jax.Array:
    """The least loss of each member's problem; −∞ where it is not attained."""
    count = who.count if who.problem_axis is not None else None
    problems = [who.problem] if count is None else [Ensemble(who.problem)[member] for member in range(count)]
    optima = [problem.optimum(model.rank) for problem in problems]
    losses = [optimum.loss if optimum.attained else -jnp.inf for optimum in optima]
    return jnp.asarray(losses[0] if count is None else losses)


def _atol(start: Any, rtol: float) -> float:
    """An absolute tolerance well below the entries of the start: they may be tiny and yet decide what is learnt first."""
    largest = max(float(np.abs(np.asarray(leaf)).max()) for leaf in jax.tree.leaves(start))
    return min(1e-4 * rtol * largest, 1e-12) if largest > 0 else 1e-12


def _time_to_converge(outcome: Outcome, tolerance: float) -> float:
    """The latest time at which a member stopped."""
    stopped = np.atleast_1d(outcome.stopped)
    if not stopped.all():
        member = int(np.argmin(stopped))
        time, last = (float(np.atleast_1d(value)[member]) for value in (outcome.time, outcome.loss))
        raise ValueError(
            f"times must be given, for the flow (member {member}) did not come within {tolerance} of its optimum: it "
            f"was followed to time {time:.3g}, loss {last:.3g}. It creeps, or starts at a saddle. Give `times` or "
            "`until`, or a larger `tolerance`"
        )
    return float(np.max(outcome.time))


def _refuse_failure(outcome: Outcome, max_steps: int) -> None:
    failed = np.atleast_1d(outcome.failed)
    if not failed.any():
        return
    member = int(np.argmax(failed))
    raise Diverged(
        member=None if np.ndim(outcome.failed) == 0 else member,
        step=float(np.atleast_1d(outcome.time)[member]),
        loss=float(np.atleast_1d(outcome.loss)[member]),
        others=int(failed.sum()) - 1,
        remedy=f"the solver gave up within {max_steps} steps; try stiff=True, a shorter time, or a larger max_steps",
    )


def _fill(value: jax.Array, last: jax.Array, times: np.ndarray, outcome: Outcome, event: object) -> np.ndarray:
    """After convergence the flow stands still, so its last value is held; after an event nothing is known."""
    array = np.array(value)
    lead = np.ndim(outcome.time)
    late = np.asarray(outcome.stopped)[..., None] & (times > np.asarray(outcome.time)[..., None])
    held = np.expand_dims(np.asarray(last), lead) if event is None else np.nan
    late = late.reshape(late.shape + (1,) * (array.ndim - late.ndim))
    return np.where(late, held, array)
