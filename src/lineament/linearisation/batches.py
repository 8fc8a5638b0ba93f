"""Linearised training by minibatches: the same equations, one batch at a time, for several orders of the examples.

A batch moves only the coefficients of its own examples, so that the outputs move by a few columns of the kernel: a step
costs batch × n, and a whole run less than a second. What differs between orders is the band around the forecast.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .losses import Loss
from .tangents import Array

RUNS = 8
"""Orders of the examples; their least and largest loss bound the band."""


def draw(n: int, batch_size: int, steps: int, seed: int) -> np.ndarray:
    """Examples of every step, (step, run, batch): without replacement within an epoch, its odd rest left out."""
    rng = np.random.default_rng(seed)
    each = n // batch_size
    epochs = -(-steps // each)
    orders = rng.permuted(np.broadcast_to(np.arange(n), (RUNS, epochs, n)), axis=2)[:, :, : each * batch_size]
    return orders.reshape(RUNS, epochs * each, batch_size)[:, :steps].swapaxes(0, 1)


class Points(NamedTuple):
    """Training or test points, as the tangent sees them.

    Attributes:
        kernel: against the training points, as a matrix.
        y: targets, (points, k).
        source: what decay adds to every step, beyond `decay` times the outputs, (points, k).
    """

    kernel: np.ndarray
    y: Array
    source: Array


class Moving(NamedTuple):
    """Outputs of every run and their velocities, (run, points, k): on training points, then on test points."""

    here: Any
    here_velocity: Any
    there: Any
    there_velocity: Any


def at_rest(here: Array, there: Array, runs: int = RUNS) -> Moving:
    """Runs that begin with the same outputs, at rest."""
    every = lambda part: np.broadcast_to(part, (runs, *part.shape))  # noqa: E731
    return Moving(every(here), every(np.zeros_like(here)), every(there), every(np.zeros_like(there)))


def carry(
    state: Moving, training: Points, test: Points, numbers: tuple[float, float, float], loss: Loss, drawn: np.ndarray,
    at: np.ndarray,
) -> tuple[Moving, Array]:  # fmt: skip
    """Train all runs for `at[-1]` steps: where they are then, and their losses at the steps `at`, (2, run, record).

    Args:
        state: where they begin.
        training: the points that are trained on.
        test: others; there may be none.
        numbers: step size, momentum and decay.
        loss: which loss is trained.
        drawn: the batch of every step, (step, run, batch).
        at: steps to record, rising.
    """
    import jax

    with jax.enable_x64(True):
        dtype = training.kernel.dtype
        typed: Any = jax.tree.map(lambda part: np.asarray(part, dtype), (state, training, test, tuple(numbers)))
        gaps = np.diff(at.astype(np.int64), prepend=0)
        end, found = _program()(*typed, gaps, drawn, loss)
        return Moving(*(np.asarray(part) for part in end)), np.asarray(found, np.float64).transpose(2, 1, 0)


@cache
def _program() -> Any:
    import jax
    import jax.numpy as jnp

    def mean(loss: Loss, f: Any, y: Any) -> Any:
        if loss == "square":
            return 0.5 * jnp.mean(jnp.sum((f - y) ** 2, axis=1))
        return jnp.mean(jax.nn.logsumexp(f, axis=1) - jnp.sum(f * y, axis=1))

    def run(state: Moving, training: Points, test: Points, numbers: Any, gaps: Any, drawn: Any, loss: Loss) -> Any:
        eta, mu, decay = numbers
        n, k = training.y.shape
        full = training.kernel.shape[0] != n

        def moved(kernel: Any, batch: Any, slope: Any) -> Any:
            """What the slopes of a batch do to outputs whose kernel against the training points is given."""
            places = (batch[:, None] * k + jnp.arange(k)[None, :]).reshape(-1) if full else batch
            return (kernel[:, places] @ (slope.reshape(-1, 1) if full else slope)).reshape(-1, k)

        def one(batch: Any, state: Moving) -> Moving:
            f, vf, t, vt = state
            some = f[batch]
            slope = (some if loss == "square" else jax.nn.softmax(some, axis=1)) - training.y[batch]
            slope = slope / batch.shape[0]
            vf = mu * vf + moved(training.kernel, batch, slope) + decay * f + training.source
            vt = mu * vt + moved(test.kernel, batch, slope) + decay * t + test.source
            return Moving(f - eta * vf, vf, t - eta * vt, vt)

        def record(carried: Any, gap: Any) -> Any:
            done, state = carried
            step = lambda i, state: jax.vmap(one)(drawn[done + i], state)  # noqa: E731
            state = jax.lax.fori_loop(0, gap, step, state)
            here = jax.vmap(lambda f: mean(loss, f, training.y))(state.here)
            there = jax.vmap(lambda t: mean(loss, t, test.y))(state.there)
            return (done + gap, state), jnp.stack([here, there], axis=1)

        (_, state), found = jax.lax.scan(record, (jnp.zeros((), gaps.dtype), state), gaps)
        return state, found

    return jax.jit(run, static_argnums=6)
