"""The compiled loop of gradient descent: steps, minibatches, records, and members that stop."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array

from ..core.model import AbstractModel
from ..problems.base import AbstractProblem
from .members import Members, axis_of, in_turn, over_members
from .objective import loss, value_and_gradient
from .records import Record, evaluate

Optimiser: TypeAlias = Callable[[Any], optax.GradientTransformation]
Seen: TypeAlias = tuple[Array, ...]
"""What the records gave at one step."""


class State(NamedTuple):
    """What is carried from step to step."""

    parameters: Any
    optimiser: Any
    order: Array  # the examples of this epoch in the order they are drawn
    diverged_at: Array  # −1 while the loss is finite
    last_loss: Array  # the last finite one, or the first; not-a-number before any was seen


class Descent(eqx.Module):
    """How one member descends."""

    model: AbstractModel
    records: tuple[Record, ...]
    optimiser: Optimiser
    batch_size: int | None
    stopping: Array  # a member stops once its loss is at most this

    def begin(self, problem: AbstractProblem, parameters: Any, step_size: Array) -> State:
        """The state before the first step."""
        order = jnp.zeros((0 if self.batch_size is None else problem.examples or 0,), jnp.int32)
        # The loss itself is left to the first step or record, so that the network is not compiled once more for it.
        value = jax.eval_shape(lambda: loss(self.model, problem, parameters))
        unseen = jnp.full(value.shape, jnp.nan, value.dtype)
        return State(parameters, self.optimiser(step_size).init(parameters), order, jnp.asarray(-1), unseen)

    def advance(
        self, problem: AbstractProblem, state: State, step_size: Array, key: Array, begin: Array, end: Array
    ) -> State:
        """The state after the steps begin … end − 1."""
        return lax.fori_loop(begin, end, lambda s, state: self._step(problem, state, step_size, key, s), state)

    def _step(self, problem: AbstractProblem, state: State, step_size: Array, key: Array, step: Array) -> State:
        batch, order = (problem, state.order) if self.batch_size is None else self._draw(problem, state, key, step)
        dropping = jax.random.fold_in(jax.random.split(key)[1], step) if self.model.drops else None
        value, gradient = value_and_gradient(self.model, batch, state.parameters, dropping)
        updates, optimiser = self.optimiser(step_size).update(gradient, state.optimiser, state.parameters)
        finite = jnp.isfinite(value)
        return State(
            optax.apply_updates(state.parameters, updates),
            optimiser,
            order,
            jnp.where((state.diverged_at < 0) & ~finite, step, state.diverged_at),
            _last(value, state.last_loss),
        )

    def _draw(self, problem: AbstractProblem, state: State, key: Array, step: Array) -> tuple[AbstractProblem, Array]:
        """The examples of one step, and the order of this epoch."""
        assert self.batch_size is not None
        examples = state.order.shape[0]
        per_epoch = examples // self.batch_size
        # `step` is shared by all members, so this stays a real branch under vmap: one shuffle per epoch.
        order = lax.cond(
            step % per_epoch == 0,
            lambda: jax.random.permutation(jax.random.fold_in(key, step // per_epoch), examples).astype(jnp.int32),
            lambda: state.order,
        )
        begin = (step % per_epoch) * self.batch_size
        return problem.take(lax.dynamic_slice(order, (begin,), (self.batch_size,))), order

    def observe(self, problem: AbstractProblem, state: State, step: Array) -> tuple[Seen, State, Array]:
        """The records at one step, the state with any divergence noted, and whether the member runs on."""
        value = loss(self.model, problem, state.parameters)
        first = jnp.where((state.diverged_at < 0) & ~jnp.isfinite(value), step, state.diverged_at)
        running = jnp.isfinite(value) & (value > self.stopping)
        seen = evaluate(self.records, self.model, problem, state.parameters)
        return seen, state._replace(diverged_at=first, last_loss=_last(value, state.last_loss)), running


@eqx.filter_jit
def descend_all(
    descent: Descent,
    who: Members,
    step_size: Array,
    keys: Array,
    at: Array,
    progress: Callable[[float], None] | None,
) -> tuple[State, Seen, Array]:
    """The last state of every member, the records at the steps `at`, and how many of them were reached."""
    own, turn = axis_of(step_size), in_turn(descent.model)
    begin = over_members(lambda *given: descent.begin(*given), who, 0, own)
    advance = over_members(lambda *given: descent.advance(*given), who, 0, own, 0, None, None, in_turn=turn)
    observe = over_members(lambda *given: descent.observe(*given), who, 0, None, in_turn=turn)
    write = partial(lax.dynamic_update_index_in_dim, axis=0 if who.count is None else 1)

    state = begin(who.problem, who.start, step_size)
    # Records are only taken inside the loop, so that steps and records are compiled in one place.
    seen = jax.eval_shape(lambda: observe(who.problem, state, at[0])[0])
    written = tuple(_empty(x, at.shape[0], who) for x in seen)
    running = jnp.ones(() if who.count is None else (who.count,), bool)

    def chunk(carry: tuple[Array, State, Array, Seen]) -> tuple[Array, State, Array, Seen]:
        i, state, running, written = carry
        moved = advance(who.problem, state, step_size, keys, jnp.where(i == 0, 0, at[i - 1]), at[i])
        moved = _where(running, moved, state)
        seen, moved, still = observe(who.problem, moved, at[i])
        if progress is not None:
            jax.debug.callback(partial(_report, progress, at.shape[0]), i + 1)
        return i + 1, moved, running & still, tuple(write(b, x, i) for b, x in zip(written, seen, strict=True))

    unfinished = lambda carry: (carry[0] < at.shape[0]) & jnp.any(carry[2])  # noqa: E731
    recorded, state, _, written = lax.while_loop(unfinished, chunk, (jnp.asarray(0), state, running, written))
    return state, written, recorded


def _last(value: Array, before: Array) -> Array:
    """The last loss that is finite; one that is not only where none was seen before."""
    return jnp.where(jnp.isfinite(value) | jnp.isnan(before), value, before)


def _empty(seen: jax.ShapeDtypeStruct, length: int, who: Members) -> Array:
    """An array of zeros for a record at every recorded step, after the member axis if there is one."""
    lead = 0 if who.count is None else 1
    return jnp.zeros((*seen.shape[:lead], length, *seen.shape[lead:]), seen.dtype)


def _report(progress: Callable[[float], None], of: int, done: Array) -> None:
    progress(int(done) / of)


def _where(keep: Array, new: State, old: State) -> State:
    """Members that have stopped keep what they had."""
    pick = lambda a, b: jnp.where(keep.reshape(keep.shape + (1,) * (a.ndim - keep.ndim)), a, b)  # noqa: E731
    return jax.tree.map(pick, new, old)
