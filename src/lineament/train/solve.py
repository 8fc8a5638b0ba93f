"""The compiled solve of gradient flow."""

from collections.abc import Callable
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from ..core.model import AbstractModel
from ..problems.base import AbstractProblem
from . import dormand_prince
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


def solver(stiff: bool) -> str:
    """The name of the method: explicit of order 8, or implicit of order 5 for stiff flows."""
    return "Kvaerno5" if stiff else "Dopri8"


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
    return (_implicitly if stiff else _explicitly)(model, who, goal, numbers, records, max_steps)


def _explicitly(
    model: AbstractModel,
    who: Members,
    goal: Goal,
    numbers: Numbers,
    records: tuple[Record, ...],
    max_steps: int,
) -> Outcome:
    """By Dormand and Prince's method, on vectors with a member axis."""
    single = who.count is None
    start = jax.tree.map(lambda leaf: leaf[None], who.start) if single else who.start
    vectors = jax.vmap(lambda one: ravel_pytree(one)[0])(start)
    _, parameters = ravel_pytree(jax.tree.map(lambda leaf: leaf[0], start))
    axes = (eqx.if_array(who.problem_axis) if who.problem_axis is not None else None, 0)

    def of_members(function: Callable[..., Any]) -> Callable[[Array], Any]:
        """A function of problem and parameters, as one of all members' vectors."""
        batched = eqx.filter_vmap(lambda problem, y: function(problem, parameters(y)), in_axes=axes)
        return lambda y: batched(who.problem, y)

    field = of_members(lambda problem, y: -ravel_pytree(value_and_gradient(model, problem, y)[1])[0])
    look = of_members(lambda problem, y: evaluate(records, model, problem, y))
    losses = of_members(lambda problem, y: loss(model, problem, y))
    happened = goal.event
    event = None if happened is None else of_members(lambda problem, y: happened(y))

    def finished(y: Array) -> Array:
        converged = losses(y) - goal.floor <= goal.near
        return converged if event is None else converged | event(y)

    end = dormand_prince.follow(field, look, finished, vectors, numbers.times, numbers.rtol, numbers.atol, max_steps)
    outcome = Outcome(
        end.saved,
        look(end.state),
        jax.vmap(parameters)(end.state),
        end.time,
        end.stopped,
        ~end.stopped & (end.time < numbers.times[-1]),
        losses(end.state),
        end.steps,
    )
    return jax.tree.map(lambda leaf: leaf[0], outcome) if single else outcome


def _implicitly(
    model: AbstractModel,
    who: Members,
    goal: Goal,
    numbers: Numbers,
    records: tuple[Record, ...],
    max_steps: int,
) -> Outcome:
    """By diffrax, whose implicit methods find their own Jacobian and step."""

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
            diffrax.Kvaerno5(),
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
