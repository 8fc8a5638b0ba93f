"""The explicit solver of gradient flow: Dormand and Prince's method of order 8 with its dense output.

The coefficients are diffrax's; the loop is our own. A flow of small matrices takes milliseconds to run and seconds to
compile, and this loop compiles in a fraction of the time that a general solver needs: members are one axis of every
array, the parameters one vector, and the field is compiled in two places, once for the first step and once for stages.
"""

from collections.abc import Callable
from typing import NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

TABLEAU = diffrax.Dopri8.tableau
STAGES = TABLEAU.num_stages
LOWER = np.stack([np.zeros(STAGES), *(np.pad(row, (0, STAGES - len(row))) for row in TABLEAU.a_lower)])
DENSE = np.asarray(diffrax.Dopri8.interpolation_cls.eval_coeffs)  # type: ignore[attr-defined]
ORDER = 8
SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0  # of a step: what is aimed for, and how much it may change at once

Vectors = Float[Array, "members n"]
Records = tuple[Float[Array, "members times ..."], ...]


class Followed(NamedTuple):
    """Where all members are: time, state and slope there, the step to try, what is saved, and how they ended."""

    time: Float[Array, " members"]
    state: Vectors
    slope: Vectors
    step: Float[Array, " members"]
    saved: tuple[Array, ...]
    looked: Int[Array, " members"]
    stopped: Bool[Array, " members"]
    steps: Int[Array, " members"]


def follow(
    field: Callable[[Vectors], Vectors],
    look: Callable[[Vectors], tuple[Array, ...]],
    finished: Callable[[Vectors], Bool[Array, " members"]],
    start: Vectors,
    times: Float[Array, " times"],
    rtol: Float[Array, ""],
    atol: Float[Array, ""],
    max_steps: int,
) -> Followed:
    """Solve `dy/dt = field(y)` for every member, look at the given times, and stop a member once it is finished.

    A step is kept if the root mean square of its error over `atol + rtol·|y|` is below 1. Steps that are not kept count
    in `steps`, and a member that needs more than `max_steps` is left where it is.
    """
    end = times[-1]

    def active(now: Followed) -> Array:
        return ~now.stopped & (now.time < end) & (now.steps < max_steps)

    def advance(now: Followed) -> Followed:
        last = now.time + now.step >= end
        step = jnp.where(last, end - now.time, now.step)[:, None]
        slopes, candidate = _stages(field, now.state, now.slope, step)
        size = atol + rtol * jnp.maximum(jnp.abs(now.state), jnp.abs(candidate))
        error = _rms(step * jnp.einsum("s,msn->mn", TABLEAU.b_error, slopes) / size)
        error = jnp.where(jnp.isfinite(error), error, jnp.inf)
        running = active(now)
        kept = running & (error < 1)
        factor = jnp.clip(SAFETY * error ** (-1 / ORDER), jnp.where(kept, 1, SHRINK), jnp.where(kept, GROW, SAFETY))
        time = jnp.where(kept, jnp.where(last, end, now.time + step[:, 0]), now.time)
        saved, count = _save(look, now, kept, time, step, slopes, times)
        state, slope = (jnp.where(kept[:, None], new, old) for new, old in (
            (candidate, now.state), (slopes[:, -1], now.slope)))  # fmt: skip
        return Followed(
            time, state, slope, jnp.where(running, step[:, 0] * factor, now.step), saved, count,
            now.stopped | (kept & finished(state)), now.steps + running.astype(int),
        )  # fmt: skip

    slope = field(start)
    members = len(start)
    saved = tuple(_room(value, len(times)).at[:, 0].set(value) for value in look(start))
    none = jnp.zeros(members, int)
    begin = Followed(
        jnp.broadcast_to(times[0], members), start, slope, _first_step(field, start, slope, rtol, atol), saved,
        none + 1, none > 0, none,
    )  # fmt: skip
    return jax.lax.while_loop(lambda now: jnp.any(active(now)), advance, begin)


def _room(value: Array, times: int) -> Array:
    """Room for a record at all times; not-a-number where it is never taken, if its type has that."""
    missing = jnp.nan if jnp.issubdtype(value.dtype, jnp.floating) else 0
    return jnp.full((value.shape[0], times, *value.shape[1:]), missing, value.dtype)


def _rms(vectors: Vectors) -> Array:
    return jnp.sqrt(jnp.mean(vectors**2, axis=1))


def _stages(field: Callable[[Vectors], Vectors], state: Vectors, slope: Vectors, step: Array) -> tuple[Array, Vectors]:
    """Slopes at all stages (members, stage, n), and the state at the last one, which is the next state."""
    slopes = jnp.zeros((len(state), STAGES, state.shape[1]), state.dtype).at[:, 0].set(slope)

    def stage(i: Array, carry: tuple[Array, Vectors]) -> tuple[Array, Vectors]:
        slopes, _ = carry
        point = state + step * jnp.einsum("s,msn->mn", jnp.asarray(LOWER, state.dtype)[i], slopes)
        return slopes.at[:, i].set(field(point)), point

    return jax.lax.fori_loop(1, STAGES, stage, (slopes, state))


def _save(
    look: Callable[[Vectors], tuple[Array, ...]],
    now: Followed,
    kept: Array,
    until: Array,
    step: Array,
    slopes: Array,
    times: Array,
) -> tuple[tuple[Array, ...], Array]:
    """Look at every time that the steps just taken have passed; members may have different numbers of them."""
    who = jnp.arange(len(until))

    def pending(count: Array) -> Array:
        return kept & (count < len(times)) & (times[count] <= until)

    def one(carry: tuple[tuple[Array, ...], Array]) -> tuple[tuple[Array, ...], Array]:
        saved, count = carry
        share = (times[count] - now.time) / step[:, 0]
        weights = share[:, None] * jax.vmap(jnp.polyval, (None, 0))(jnp.asarray(DENSE.T, share.dtype), share)
        values = look(now.state + step * jnp.einsum("ms,msn->mn", weights, slopes))
        due = pending(count)
        at = jnp.where(due, count, len(times))  # past the end nothing is written
        written = tuple(
            buffer.at[who, at].set(value, mode="drop") for buffer, value in zip(saved, values, strict=True)
        )
        return written, count + due.astype(int)

    return jax.lax.while_loop(lambda carry: jnp.any(pending(carry[1])), one, (now.saved, now.looked))


def _first_step(
    field: Callable[[Vectors], Vectors], start: Vectors, slope: Vectors, rtol: Array, atol: Array
) -> Array:
    """A step to begin with, from the sizes of the state, its slope and their change (Hairer et al. 1993, II.4)."""
    size = atol + rtol * jnp.abs(start)
    d0, d1 = _rms(start / size), _rms(slope / size)
    tiny = (d0 < 1e-5) | (d1 < 1e-5)
    h0 = jnp.where(tiny, 1e-6, 0.01 * d0 / jnp.where(tiny, 1, d1))
    d2 = _rms((field(start + h0[:, None] * slope) - slope) / size) / h0
    steepest = jnp.maximum(d1, d2)
    h1 = jnp.where(steepest <= 1e-15, jnp.maximum(1e-6, 1e-3 * h0), (0.01 / steepest) ** (1 / ORDER))
    return jnp.minimum(100 * h0, h1)
