r"""Linearised training on cross-entropy: no closed form, but an equation of one coefficient for each training output.

With the mean negative log-likelihood of softmax(f) in the place of square loss, linearised training reads

.. math:: f = f_0 + Kc, \qquad \dot c = -\tfrac1n\,(\operatorname{softmax} f - y + ρ c)

and the same step by step. Steps are taken as they are, compiled by JAX in float64 (float32 for kernels that come in it)
whatever JAX's own flag says; the flow is followed by an adaptive solver. `lineament.theory.linearised` says the rest.
"""

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array
from .kernel_shapes import Shapes, shapes
from .linearised import Outputs

if TYPE_CHECKING:
    import jax

RTOL, ATOL = 1e-7, 1e-9
"""Accuracy of the flow's coefficients, which are of order one."""
MOST_SOLVER_STEPS = 10**5
MOST_STEPS = 10**9
"""Steps that are taken; more would take days."""


def descend(
    steps: ArrayLike,
    kernel: ArrayLike,
    y: ArrayLike,
    step_size: float,
    momentum: float = 0.0,
    start: ArrayLike | None = None,
    cross: ArrayLike | None = None,
    start_cross: ArrayLike | None = None,
    ridge: float = 0.0,
) -> Any:
    """Outputs (logits) after steps of gradient descent on cross-entropy.

    Args:
        steps: whole numbers, of any shape.
        kernel: of the training points, (n, n) for outputs that share it, or (n, n, k, k).
        y: the share of each class, (n, k): one-hot for labels.
        step_size: η > 0.
        momentum: μ of heavy-ball momentum, v ← μv + ∇, θ ← θ − ηv, in [0, 1).
        start: outputs at the start, (n, k); zero by default.
        cross: kernel of other points against the training points, (m, n) or (m, n, k, k).
        start_cross: outputs at the start there, (m, k); zero by default.
        ridge: the penalty (ρ/2n)‖θ − θ₀‖².

    Returns:
        Logits on the training points, (*steps, n, k); with `cross` the pair `Outputs(training, other)`.
    """
    count = arguments.real("steps", steps, least=0, most=MOST_STEPS)
    if not np.equal(count, np.floor(count)).all():
        raise ValueError("steps must be whole numbers; got fractions of steps")
    eta = arguments.number("step_size", step_size, above=0)
    mu = arguments.number("momentum", momentum, least=0, below=1)
    rho = arguments.number("ridge", ridge, least=0)
    given, f0, f0_other = _checked(kernel, y, start, cross, start_cross)
    at, back = np.unique(count, return_inverse=True)
    gaps = np.diff(at.astype(np.int64), prepend=0)

    import jax

    with jax.enable_x64(True):
        c = np.asarray(_steps()(*_arrays(given, f0), given.n, eta, mu, rho, gaps), np.float64)
    return _outputs(given, f0, f0_other, c[back].reshape(*count.shape, *c.shape[1:]))


def flow(
    t: ArrayLike,
    kernel: ArrayLike,
    y: ArrayLike,
    start: ArrayLike | None = None,
    cross: ArrayLike | None = None,
    start_cross: ArrayLike | None = None,
    ridge: float = 0.0,
) -> Any:
    """Outputs (logits) after a time t of gradient flow on cross-entropy; arguments as in :func:`descend`."""
    times = arguments.real("t", t, least=0)
    rho = arguments.number("ridge", ridge, least=0)
    given, f0, f0_other = _checked(kernel, y, start, cross, start_cross)
    if not times.size:
        raise ValueError("t must be at least one time; got none")
    at, back = np.unique(times, return_inverse=True)

    import jax

    with jax.enable_x64(True):
        c, done = _solved()(*_arrays(given, f0), given.n, rho, at)
        c = np.asarray(c, np.float64)
    if not bool(done):
        raise RuntimeError(f"the flow could not be followed to t = {at[-1]:.6g}: it needs too many steps")
    return _outputs(given, f0, f0_other, c[back].reshape(*times.shape, *c.shape[1:]))


def _checked(
    kernel: ArrayLike, y: ArrayLike, start: ArrayLike | None, cross: ArrayLike | None, start_cross: ArrayLike | None
) -> tuple[Shapes, Array, Array]:
    given = shapes(kernel, y, cross)
    table = given.folded(given.y, given.n)
    if given.vector or given.outputs < 2 or (table < 0).any() or np.abs(table.sum(axis=1) - 1).max() > 1e-6:
        raise ValueError(
            "y must be shares of at least two classes, (n, k), one-hot for labels, that sum to 1 in every row; got "
            f"shape {np.shape(y)}"
        )
    if cross is None and start_cross is not None:
        raise ValueError("start_cross must be left out without cross; got outputs of other points")
    f0 = _start("start", start, given, given.n)
    return given, f0, _start("start_cross", start_cross, given, given.others)


def _start(name: str, value: ArrayLike | None, given: Shapes, points: int) -> Array:
    if value is None:
        return np.zeros((points, given.outputs))
    return arguments.matrix(name, value, (points, given.outputs))


def _arrays(given: Shapes, f0: Array) -> "tuple[jax.Array, jax.Array, jax.Array]":
    import jax.numpy as jnp

    dtype = given.kernel.dtype
    return jnp.asarray(given.kernel), jnp.asarray(given.folded(given.y, given.n), dtype), jnp.asarray(f0, dtype)


def _outputs(given: Shapes, f0: Array, f0_other: Array, c: Array) -> Any:
    flat = given.flat(c)
    with np.errstate(over="ignore", invalid="ignore"):
        training = f0 + given.folded(given.kernel @ flat, given.n)
        if given.cross is None:
            return training
        return Outputs(training, f0_other + given.folded(given.cross @ flat, given.others))


def _slope() -> Any:
    """The gradient over c: (softmax f − y + ρc)/n."""
    import jax

    def slope(K: Any, y: Any, f0: Any, n: int, rho: Any, c: Any) -> Any:
        full = K.shape[0] != y.shape[0]
        moved = (K @ c.reshape(-1, 1)).reshape(y.shape) if full else K @ c
        return (jax.nn.softmax(f0 + moved, axis=1) - y + rho * c) / n

    return slope


@cache  # made at the first call: JAX is loaded no earlier, and compiled programs are kept
def _steps() -> Any:
    import jax
    import jax.numpy as jnp

    slope = _slope()

    def run(K: Any, y: Any, f0: Any, n: Any, eta: Any, mu: Any, rho: Any, gaps: Any) -> Any:
        n, eta, mu, rho = (jnp.asarray(value, y.dtype) for value in (n, eta, mu, rho))

        def step(_: Any, state: Any) -> Any:
            c, v = state
            v = mu * v + slope(K, y, f0, n, rho, c)
            return c - eta * v, v

        def record(state: Any, gap: Any) -> Any:
            state = jax.lax.fori_loop(0, gap, step, state)
            return state, state[0]

        return jax.lax.scan(record, (jnp.zeros_like(y), jnp.zeros_like(y)), jnp.asarray(gaps))[1]

    return jax.jit(run)


@cache  # made at the first call: JAX is loaded no earlier, and compiled programs are kept
def _solved() -> Any:
    import diffrax
    import jax
    import jax.numpy as jnp

    slope = _slope()

    def run(K: Any, y: Any, f0: Any, n: Any, rho: Any, at: Any) -> Any:
        n, rho, at = (jnp.asarray(value, y.dtype) for value in (n, rho, at))
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, c, args: -slope(K, y, f0, n, rho, c)),
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
