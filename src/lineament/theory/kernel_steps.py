"""Steps on cross-entropy with a kernel, compiled by JAX in the kernel's own float64 or float32, whatever the flag."""

from functools import cache
from typing import Any

import numpy as np

from ..core.arguments import Array

RTOL, ATOL = 1e-7, 1e-9
"""Accuracy of the flow's coefficients, which are of order one."""
MOST_SOLVER_STEPS = 10**5


def cross_entropy(
    kernel: np.ndarray, y: Array, start: Array, step_size: float, momentum: float, ridge: float, at: np.ndarray
) -> Array:
    """Coefficients (step, n, k) after the steps `at`, which rise, of descent on mean cross-entropy from outputs `start`.

    The kernel is (n, n), or (nk, nk) where outputs have kernels of their own.
    """
    import jax

    with jax.enable_x64(True):
        gaps = np.diff(at.astype(np.int64), prepend=0)
        arrays = (kernel, y.astype(kernel.dtype), start.astype(kernel.dtype))
        return np.asarray(_descent()(*arrays, len(y), step_size, momentum, ridge, gaps), np.float64)


def cross_entropy_flow(kernel: np.ndarray, y: Array, start: Array, ridge: float, at: Array) -> tuple[Array, bool]:
    """The same at rising times of the flow, and whether the solver arrived."""
    import jax

    with jax.enable_x64(True):
        arrays = (kernel, y.astype(kernel.dtype), start.astype(kernel.dtype))
        c, arrived = _flow()(*arrays, len(y), ridge, at)
        return np.asarray(c, np.float64), bool(arrived)


def _slope(K: Any, y: Any, f0: Any, n: Any, rho: Any, c: Any) -> Any:
    """The gradient over c: (softmax f − y + ρc)/n."""
    import jax

    moved = (K @ c.reshape(-1, 1)).reshape(y.shape) if K.shape[0] != y.shape[0] else K @ c
    return (_excess(jax.nn.softmax(f0 + moved, axis=1), y) + rho * c) / n


def _excess(p: Any, y: Any) -> Any:
    """The difference p − y of shares that sum to 1, exact where p_j = 1 to rounding: from the shares of all others."""
    import jax.numpy as jnp

    others = 1 - jnp.eye(p.shape[1], dtype=p.dtype)
    return p * (y.sum(axis=1, keepdims=True) - y) - y * (p @ others)


@cache  # made at the first call: JAX is loaded no earlier, and compiled programs are kept
def _descent() -> Any:
    import jax
    import jax.numpy as jnp

    def run(K: Any, y: Any, f0: Any, n: Any, eta: Any, mu: Any, rho: Any, gaps: Any) -> Any:
        n, eta, mu, rho = (jnp.asarray(value, y.dtype) for value in (n, eta, mu, rho))

        def step(_: Any, state: Any) -> Any:
            c, v = state
            v = mu * v + _slope(K, y, f0, n, rho, c)
            return c - eta * v, v

        def record(state: Any, gap: Any) -> Any:
            state = jax.lax.fori_loop(0, gap, step, state)
            return state, state[0]

        return jax.lax.scan(record, (jnp.zeros_like(y), jnp.zeros_like(y)), jnp.asarray(gaps))[1]

    return jax.jit(run)


@cache
def _flow() -> Any:
    import diffrax
    import jax
    import jax.numpy as jnp

    def run(K: Any, y: Any, f0: Any, n: Any, rho: Any, at: Any) -> Any:
        n, rho, at = (jnp.asarray(value, y.dtype) for value in (n, rho, at))
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, c, args: -_slope(K, y, f0, n, rho, c)),
            diffrax.Tsit5(),
            t0=jnp.zeros((), y.dtype),
            t1=at[-1] + jnp.asarray(np.finfo(np.float32).tiny, y.dtype),  # a solver needs some way to go
            dt0=None,
            y0=jnp.zeros_like(y),
            saveat=diffrax.SaveAt(ts=at),
            stepsize_controller=diffrax.PIDController(rtol=RTOL, atol=ATOL),
            max_steps=MOST_SOLVER_STEPS,
            throw=False,
        )
        assert solution.ys is not None
        return solution.ys, (solution.result == diffrax.RESULTS.successful) & jnp.isfinite(solution.ys).all()

    return jax.jit(run)
