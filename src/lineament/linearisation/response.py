r"""How far training departs from linearised training when the network's gradient departs from the linearised one.

Let γ be what the network's gradient is beyond the linearised one, and d how far its parameters have departed from the
linearised ones. To first order the loss itself holds them back,

.. math:: d_{s+1} = d_s - η\,(γ_s + J^\top S_s u_s / n), \qquad u = J d,

with S the curvature of the loss over outputs, and likewise with momentum. So d = −R − Jᵀe, where R is γ summed up as the
optimiser sums gradients up and e has one number for each training output: all that is stiff happens there, and is solved
step by step with the kernel alone. γ changes slowly, is looked at now and then, and is taken as linear in between.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..theory.kernel_shapes import Shapes
from .losses import Loss
from .tangents import Array


class Optimiser(NamedTuple):
    """Descent with its real numbers: η, μ and the penalty ρ/n on the distance from the start."""

    step_size: float
    momentum: float
    decay: float

    def summed(self, steps: int) -> Array:
        """What becomes of a drive that is linear over so many steps: (2, 4).

        Velocity and sum at the end (rows) follow from those at the beginning and the drive at both ends (columns).
        """
        v, R = np.array([1.0, 0, 0, 0]), np.array([0, 1.0, 0, 0])
        for i in range(steps):
            v = self.momentum * v + np.array([0, 0, 1 - i / steps, i / steps]) - self.decay * R
            R = R + self.step_size * v
        return np.stack([v, R])


class Stiff(NamedTuple):
    """The stiff part of a departure, each (n, k): JR and e with their velocities, as arrays of JAX."""

    velocity: Any
    drive: Any
    e_velocity: Any
    e: Any


class Response:
    """Carries the stiff part of a departure from one look to the next."""

    def __init__(self, given: Shapes, loss: Loss, optimiser: Optimiser) -> None:
        import jax
        import jax.numpy as jnp

        self.loss, self.optimiser, self.n = loss, optimiser, given.n
        with jax.enable_x64(True):
            self.kernel = jnp.asarray(given.kernel)  # once, and not at every look
            nothing = jnp.zeros((given.n, given.outputs), self.kernel.dtype)
        self.begin = Stiff(nothing, nothing, nothing, nothing)

    def times_kernel(self, coefficients: Array) -> Array:
        """`K c`, (n, k)."""
        import jax

        with jax.enable_x64(True):
            return np.asarray(_times_kernel(self.kernel, coefficients.astype(self.kernel.dtype)), np.float64)

    def carry(self, state: Stiff, steps: int, first: Array, last: Array, outputs: Array) -> tuple[Stiff, Array, Array]:
        """The state after so many steps, with e and u there, while Jγ goes from `first` to `last`.

        The curvature is that at `outputs`.
        """
        import jax

        dtype = self.kernel.dtype
        with jax.enable_x64(True):
            arrays = (first.astype(dtype), last.astype(dtype), outputs.astype(dtype))
            state, u = _carry()(self.kernel, state, steps, *arrays, self.n, self.optimiser, self.loss == "square")
            return state, np.asarray(state.e, np.float64), np.asarray(u, np.float64)


def _times_kernel(K: Any, c: Any) -> Any:
    return (K @ c.reshape(-1, 1)).reshape(c.shape) if K.shape[0] != c.shape[0] else K @ c


@cache  # made at the first call, and kept with its compiled programs
def _carry() -> Any:
    import jax
    import jax.numpy as jnp

    def run(
        K: Any, state: Stiff, steps: Any, first: Any, last: Any, f: Any, n: Any, optimiser: Optimiser, square: bool
    ) -> Any:
        dtype = first.dtype
        eta, mu, decay = (jnp.asarray(value, dtype) for value in optimiser)
        n, length = jnp.asarray(n, dtype), jnp.asarray(steps, dtype)
        p = jax.nn.softmax(f, axis=1)

        def step(i: Any, state: Stiff) -> Stiff:
            vg, G, ve, e = state
            share = jnp.asarray(i, dtype) / length
            u = -G - _times_kernel(K, e)
            held = u if square else p * (u - jnp.sum(p * u, axis=1, keepdims=True))
            vg = mu * vg + (1 - share) * first + share * last - decay * G
            ve = mu * ve + held / n - decay * e
            return Stiff(vg, G + eta * vg, ve, e + eta * ve)

        state = jax.lax.fori_loop(0, jnp.asarray(steps), step, state)
        return state, -state.drive - _times_kernel(K, state.e)

    return jax.jit(run, static_argnums=8)
