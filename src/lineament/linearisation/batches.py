"""Linearised training by minibatches: the same equations, one batch at a time, for several orders of the examples.

A batch moves only the coefficients of its own examples, so that the outputs move by a few columns of the kernel: a step
costs batch × n, and a whole run less than a second. What differs between orders is the band around the forecast.
"""

from functools import cache
from typing import Any

import numpy as np

from .losses import Loss
from .solution import Solution
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


def spread(solution: Solution, y: Array, y_test: Array | None, at: np.ndarray, batch_size: int, seed: int) -> Array:
    """Training and test loss, (2, run, step), at the rising steps `at`; not-a-number without test targets."""
    import jax

    given = solution.given
    steps = int(at[-1])
    with jax.enable_x64(True):
        dtype = given.kernel.dtype
        m = given.others if y_test is not None else 0
        cross = given.cross if m else np.zeros((0, given.kernel.shape[1]), dtype)
        test = np.zeros((0, given.outputs)) if y_test is None else y_test
        begin = np.zeros((0, given.outputs)) if y_test is None else solution.start_test
        assert cross is not None
        arrays = [np.asarray(part, dtype) for part in (given.kernel, cross, y, test, solution.start, begin)]
        numbers = np.array([solution.step_size, solution.momentum, solution.ridge / given.n], dtype)
        gaps = np.diff(at.astype(np.int64), prepend=0)
        drawn = draw(given.n, batch_size, max(steps, 1), seed)
        found = _program()(*arrays, numbers, gaps, drawn, solution.loss)
    return np.asarray(found, np.float64).transpose(2, 1, 0)


@cache
def _program() -> Any:
    import jax
    import jax.numpy as jnp

    def losses(loss: Loss, f: Any, y: Any) -> Any:
        if loss == "square":
            return 0.5 * jnp.mean(jnp.sum((f - y) ** 2, axis=1))
        return jnp.mean(jax.nn.logsumexp(f, axis=1) - jnp.sum(f * y, axis=1))

    def run(
        K: Any, C: Any, y: Any, y_test: Any, f0: Any, t0: Any, numbers: Any, gaps: Any, drawn: Any, loss: Loss
    ) -> Any:
        eta, mu, decay = numbers[0], numbers[1], numbers[2]
        n, k = y.shape
        full = K.shape[0] != n

        def moved(kernel: Any, batch: Any, slope: Any) -> Any:
            """What the slopes of a batch do to outputs whose kernel against the training points is given."""
            places = (batch[:, None] * k + jnp.arange(k)[None, :]).reshape(-1) if full else batch
            return (kernel[:, places] @ (slope.reshape(-1, 1) if full else slope)).reshape(-1, k)

        def one(batch: Any, state: Any) -> Any:
            f, vf, t, vt = state
            some = f[batch]
            slope = ((some if loss == "square" else jax.nn.softmax(some, axis=1)) - y[batch]) / batch.shape[0]
            vf = mu * vf + moved(K, batch, slope) + decay * (f - f0)
            vt = mu * vt + moved(C, batch, slope) + decay * (t - t0)
            return f - eta * vf, vf, t - eta * vt, vt

        def record(carried: Any, gap: Any) -> Any:
            done, state = carried
            step = lambda i, state: jax.vmap(one)(drawn[done + i], state)  # noqa: E731
            state = jax.lax.fori_loop(0, gap, step, state)
            here = jax.vmap(lambda f: losses(loss, f, y))(state[0])
            there = jax.vmap(lambda t: losses(loss, t, y_test))(state[2])
            return (done + gap, state), jnp.stack([here, there], axis=1)

        runs = drawn.shape[1]
        every = lambda part: jnp.broadcast_to(part, (runs, *part.shape))  # noqa: E731
        begin = (every(f0), every(jnp.zeros_like(f0)), every(t0), every(jnp.zeros_like(t0)))
        return jax.lax.scan(record, (jnp.zeros((), gaps.dtype), begin), gaps)[1]

    return jax.jit(run, static_argnums=9)
