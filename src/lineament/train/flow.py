"""Gradient flow `Ẇ_j = −∂φ/∂W_j` by an adaptive solver, so that plateaus cost nothing."""

from collections.abc import Callable, Sequence
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax.typing import ArrayLike

from ..core import checks
from ..core.ensembles import Ensemble
from ..problems import Problem
from .diverged import Diverged
from .objective import value_and_gradient
from .records import Record, evaluate, resolve
from .setup import Members, dataset, members, over_members

SAVED_BY_DEFAULT = 256
FOREVER = 1e15


def flow(
    model: Any,
    problem: Problem | Ensemble,
    start: Any,
    *,
    times: ArrayLike | None = None,
    until: float | None = None,
    record: Sequence[str | Record | Callable[[Any], jax.Array]] = ("loss",),
    tolerance: float = 1e-10,
    event: Callable[[Any], jax.Array] | None = None,
    rtol: float = 1e-8,
    atol: float | None = None,
    stiff: bool = False,
    max_steps: int = 100_000,
) -> xr.Dataset:
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
        A dataset over `time` (and `member`), with the records, the final parameters, `stopped_at` (the time of
        convergence or of the event; not-a-number if neither happened) and `solver_steps`.
    """
    _need_float64(start)
    records = resolve(record)
    checks.positive("rtol", rtol)
    who = members(model, problem, start)
    floor, scale = _floor(model, who, tolerance)
    atol = _atol(who.start, rtol) if atol is None else atol

    def solve(times: np.ndarray) -> _Outcome:
        # Numbers travel as arrays: as Python floats they would be compiled in, each value anew.
        numbers = (jnp.asarray(times), floor, scale, jnp.asarray(rtol), jnp.asarray(atol))
        return _solve(model, who, *numbers, records, event, stiff, max_steps)

    if times is not None and until is not None:
        raise ValueError("give either `times` or `until`, not both")
    if times is None:
        if until is None:  # the same compiled program, with nothing to save on the way
            until = _time_to_converge(solve(np.linspace(0.0, FOREVER, SAVED_BY_DEFAULT)), tolerance)
        checks.positive("until", until)
        times = np.linspace(0.0, until, SAVED_BY_DEFAULT)
    times = _rising(times)
    outcome = solve(times)
    _refuse_failure(outcome, max_steps)
    settings = {"method": "flow", "model": model, "problem": type(who.problem).__name__, "rtol": rtol, "atol": atol}
    settings |= {"solver": type(_solver(stiff)).__name__, "tolerance": tolerance}
    values = [
        _fill(value, last, times, outcome, event) for value, last in zip(outcome.saved, outcome.last, strict=True)
    ]
    run = dataset(records, values, who, ("time", times), outcome.final, settings)
    lead = ("member",) if who.count is not None else ()
    stopped = np.where(outcome.stopped, outcome.time, np.nan)
    return run.assign(stopped_at=(lead, stopped), solver_steps=(lead, np.asarray(outcome.solver_steps)))


class _Outcome(eqx.Module):
    """What one solve brings back."""

    saved: tuple[jax.Array, ...]
    last: tuple[jax.Array, ...]
    final: Any
    time: jax.Array
    stopped: jax.Array
    failed: jax.Array
    loss: jax.Array
    solver_steps: jax.Array


def _solver(stiff: bool) -> diffrax.AbstractSolver:
    return diffrax.Kvaerno5() if stiff else diffrax.Dopri8()


@eqx.filter_jit
def _solve(
    model: Any,
    who: Members,
    times: jax.Array,
    floor: jax.Array,
    scale: jax.Array,
    rtol: jax.Array,
    atol: jax.Array,
    records: tuple[Record, ...],
    event: Callable[[Any], jax.Array] | None,
    stiff: bool,
    max_steps: int,
) -> _Outcome:
    def one(problem: Problem, start: Any, floor: jax.Array, scale: jax.Array) -> _Outcome:
        field = lambda t, y, _: jax.tree.map(jnp.negative, value_and_gradient(model, problem, y)[1])  # noqa: E731
        look = lambda t, y, _: evaluate(records, model, problem, y)  # noqa: E731

        def finished(t: Any, y: Any, args: Any, **_: Any) -> jax.Array:
            converged = problem.loss(model.end_to_end(y)) - floor <= scale
            return converged if event is None else converged | event(y)

        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(field),  # type: ignore[arg-type]
            _solver(stiff),
            t0=times[0],
            t1=times[-1],
            dt0=None,
            y0=start,
            saveat=diffrax.SaveAt(
                subs=[diffrax.SubSaveAt(ts=times, fn=look), diffrax.SubSaveAt(t1=True)]  # type: ignore[arg-type]
            ),
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol),
            event=diffrax.Event(finished),
            adjoint=diffrax.ForwardMode(),
            max_steps=max_steps,
            throw=False,
        )
        assert solution.ys is not None
        assert solution.ts is not None
        final = jax.tree.map(lambda leaf: leaf[-1], solution.ys[1])
        loss = problem.loss(model.end_to_end(final))
        return _Outcome(
            solution.ys[0],
            evaluate(records, model, problem, final),
            final,
            solution.ts[1][-1],
            solution.result == diffrax.RESULTS.event_occurred,
            ~diffrax.is_okay(solution.result),
            loss,
            solution.stats["num_steps"],
        )

    return over_members(one, who, 0, 0 if floor.ndim else None, 0 if scale.ndim else None)(
        who.problem, who.start, floor, scale
    )


def _need_float64(start: Any) -> None:
    if any(leaf.dtype != jnp.float64 for leaf in jax.tree.leaves(start)):
        raise ValueError(
            "gradient flow needs float64: singular values span many orders of magnitude. Call "
            'jax.config.update("jax_enable_x64", True) before anything is computed, and make the start anew'
        )


def _floor(model: Any, who: Members, tolerance: float) -> tuple[jax.Array, jax.Array]:
    """The least loss, and how near to it counts as converged. An unknown optimum is never reached.

    A problem knows its optimum over matrices, which says nothing of a model whose map is something else.
    """
    if tolerance < 0:
        raise ValueError(f"tolerance must not be negative; got {tolerance}")
    if tolerance == 0 or not isinstance(jax.eval_shape(model.end_to_end, _one(who)), jax.ShapeDtypeStruct):
        return jnp.asarray(-jnp.inf), jnp.asarray(0.0)
    try:
        floor = _optimal_loss(model, who.problem, who.count if who.problem_axis is not None else None)
    except (ValueError, NotImplementedError):
        return jnp.asarray(-jnp.inf), jnp.asarray(0.0)
    loss = over_members(lambda problem, start: problem.loss(model.end_to_end(start)), who, 0)(who.problem, who.start)
    return floor, jnp.where(jnp.isfinite(floor), tolerance * (loss - floor), 0.0)


def _one(who: Members) -> Any:
    return who.start if who.count is None else jax.tree.map(lambda leaf: leaf[0], who.start)


def _optimal_loss(model: Any, problem: Problem, count: int | None) -> jax.Array:
    rank = getattr(model, "rank", None)
    each = [problem] if count is None else [Ensemble(problem)[member] for member in range(count)]
    losses = [optimum.loss if optimum.attained else -jnp.inf for optimum in (p.optimum(rank) for p in each)]
    return jnp.asarray(losses[0] if count is None else losses)


def _atol(start: Any, rtol: float) -> float:
    """Well below the entries of the start, which may be tiny and yet decide what is learnt first."""
    size = max(float(jnp.max(jnp.abs(leaf))) for leaf in jax.tree.leaves(start))
    return min(1e-4 * rtol * size, 1e-12) if size > 0 else 1e-12


def _rising(times: ArrayLike) -> np.ndarray:
    found = np.asarray(times, dtype=float)
    if (
        found.ndim != 1
        or found.size < 2
        or found[0] < 0
        or not np.isfinite(found).all()
        or (np.diff(found) <= 0).any()
    ):
        raise ValueError(f"times must be at least two rising, finite times from 0 on; got {found}")
    return found


def _time_to_converge(outcome: _Outcome, tolerance: float) -> float:
    """The latest time at which a member stopped."""
    stopped = np.atleast_1d(outcome.stopped)
    if not stopped.all():
        member = int(np.argmin(stopped))
        time, loss = (float(np.atleast_1d(value)[member]) for value in (outcome.time, outcome.loss))
        raise ValueError(
            f"the flow (member {member}) did not come within {tolerance} of a known optimum: it was followed to time "
            f"{time:.3g}, loss {loss:.3g}. It creeps, starts at a saddle, or has no known minimum. Give `times` or "
            "`until`, or a larger `tolerance`"
        )
    return float(np.max(outcome.time))


def _refuse_failure(outcome: _Outcome, max_steps: int) -> None:
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


def _fill(value: jax.Array, last: jax.Array, times: np.ndarray, outcome: _Outcome, event: object) -> np.ndarray:
    """After convergence the flow stands still, so its last value is held; after an event nothing is known."""
    array = np.array(value)
    lead = np.ndim(outcome.time)
    late = np.asarray(outcome.stopped)[..., None] & (times > np.asarray(outcome.time)[..., None])
    held = np.expand_dims(np.asarray(last), lead) if event is None else np.nan
    late = late.reshape(late.shape + (1,) * (array.ndim - late.ndim))
    return np.where(late, held, array)
