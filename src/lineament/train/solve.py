"""The compiled solve of gradient flow, by diffrax."""

from collections.abc import Callable
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..core.model import AbstractModel
from ..problems.base import AbstractProblem
from .members import Members, axis_of, over_members
from .objective import loss, value_and_gradient
from .records import Record, evaluate


class Outcome(eqx.Module):
    """What one solve returns: records at the asked times and at the end, and how it ended."""

    saved: tuple[Array, ...]
    last: tuple[Array, ...]
    final: Any
    time: Array
    stopped: Array
    failed: Array
    loss: Array
    solver_steps: Array


class Goal(eqx.Module):
    """When a flow is over: the loss within `near` of the floor, or an event. An unknown floor is never reached."""

    floor: Array
    near: Array
    event: Callable[[Any], Array] | None


class Numbers(eqx.Module):
    """The numbers that the solver needs, as arrays: every new value of a Python number would be compiled again."""

    times: Array
    rtol: Array
    atol: Array


def solver(stiff: bool) -> diffrax.AbstractSolver[Any]:
    """The method of integration: explicit of order 8, or implicit of order 5 for stiff flows."""
    return diffrax.Kvaerno5() if stiff else diffrax.Dopri8()


@eqx.filter_jit
def solve(
    model: AbstractModel,
    who: Members,
    goal: Goal,
    numbers: Numbers,
    records: tuple[Record, ...],
    stiff: bool,
    max_steps: int,
) -> Outcome:
    """Follow the flow of every member from the first time to the last, or until its goal."""

    def follow_member(problem: AbstractProblem, start: Any, floor: Array, near: Array) -> Outcome:
        def field(t: Any, y: Any, args: Any) -> Any:
            return jax.tree.map(jnp.negative, value_and_gradient(model, problem, y)[1])

        def look(t: Any, y: Any, args: Any) -> tuple[Array, ...]:
            return evaluate(records, model, problem, y)

        def finished(t: Any, y: Any, args: Any, **_: Any) -> Array:
            converged = loss(model, problem, y) - floor <= near
            return converged if goal.event is None else converged | goal.event(y)

        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            solver(stiff),
            t0=numbers.times[0],
            t1=numbers.times[-1],
            dt0=None,
            y0=start,
            saveat=diffrax.SaveAt(subs=[diffrax.SubSaveAt(ts=numbers.times, fn=look), diffrax.SubSaveAt(t1=True)]),
            stepsize_controller=diffrax.PIDController(rtol=numbers.rtol, atol=numbers.atol),
            event=diffrax.Event(finished),
            adjoint=diffrax.ForwardMode(),
            max_steps=max_steps,
            throw=False,
        )
        assert solution.ys is not None
        assert solution.ts is not None
        final = jax.tree.map(lambda leaf: leaf[-1], solution.ys[1])
        return Outcome(
            solution.ys[0],
            look(None, final, None),
            final,
            solution.ts[1][-1],
            solution.result == diffrax.RESULTS.event_occurred,
            ~diffrax.is_okay(solution.result),
            loss(model, problem, final),
            solution.stats["num_steps"],
        )

    follow_all = over_members(follow_member, who, 0, axis_of(goal.floor), axis_of(goal.near))
    return follow_all(who.problem, who.start, goal.floor, goal.near)
