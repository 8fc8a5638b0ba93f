r"""Training of a tangent, step by step, in one number for each training output.

A network linearised anywhere, f ≈ f_s + J(θ − θ_s), is trained with step size η, momentum μ, a pull κ towards the start
θ₀ and weight decay λ by

.. math:: v ← μv + J^\top ℓ'(f)/n + κ\,(θ − θ_0) + λ θ_0, \qquad θ ← θ − ηv.

The parameters stay in the span of Jᵀ and of the few vectors that training begins with: θ_s − θ₀, the velocity, and θ₀
itself. So θ − θ₀ = Jᵀc + Σ_b w_b vector_b, and likewise the velocity. All that happens follows from the kernel JJᵀ and
from the images J vector_b: no step knows how many parameters there are. With λ > 0, κ counts it too.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .losses import Loss
from .response import Optimiser
from .tangents import Array


class Trail(NamedTuple):
    """Where training of a tangent has come to at the recorded steps.

    Attributes:
        coefficients: c, (record, n, k).
        weights: of the vectors in the parameters and in the velocity, (record, vector, 2).
        velocity: the coefficients of the velocity after the last step, (n, k).
    """

    coefficients: Array
    weights: Array
    velocity: Array


def advance(
    kernel: np.ndarray, y: Array, start: Array, images: Array, weights: Array, forcing: Array, optimiser: Optimiser,
    loss: Loss, at: np.ndarray,
) -> Trail:  # fmt: skip
    """Train a tangent for `at[-1]` steps.

    Args:
        kernel: (n, n), or (nk, nk) where outputs have kernels of their own; float32 kernels are used as they are.
        y: targets, (n, k).
        start: outputs to begin with, (n, k).
        images: J times each vector, (vector, n, k).
        weights: of each vector in the parameters and in the velocity to begin with, (vector, 2).
        forcing: what each step adds to each vector's weight in the velocity, (vector,).
        optimiser: η, μ and κ.
        loss: which loss is trained.
        at: steps to record, rising.
    """
    import jax

    with jax.enable_x64(True):
        gaps = np.diff(at.astype(np.int64), prepend=0)
        parts = [np.asarray(part, kernel.dtype) for part in (y, start, images, weights, forcing)]
        found = _program()(kernel, *parts, np.asarray(optimiser, kernel.dtype), gaps, loss == "square")
        return Trail(*(np.array(part, np.float64) for part in found))


@cache  # made at the first call: JAX is loaded no earlier, and compiled programs are kept
def _program() -> Any:
    import jax
    import jax.numpy as jnp

    def run(
        K: Any, y: Any, f0: Any, images: Any, begin: Any, forcing: Any, numbers: Any, gaps: Any, square: bool
    ) -> Any:
        eta, mu, kappa = numbers[0], numbers[1], numbers[2]
        n = jnp.asarray(y.shape[0], y.dtype)

        def step(_: Any, state: Any) -> Any:
            c, d, w, u = state
            moved = (K @ c.reshape(-1, 1)).reshape(y.shape) if K.shape[0] != y.shape[0] else K @ c
            f = f0 + moved + jnp.tensordot(w - begin[:, 0], images, axes=1)
            slope = (f if square else jax.nn.softmax(f, axis=1)) - y
            d = mu * d + slope / n + kappa * c
            u = mu * u + kappa * w + forcing
            return c - eta * d, d, w - eta * u, u

        def record(state: Any, gap: Any) -> Any:
            state = jax.lax.fori_loop(0, gap, step, state)
            return state, (state[0], jnp.stack([state[2], state[3]], axis=1))

        nothing = jnp.zeros_like(y)
        state, (c, w) = jax.lax.scan(record, (nothing, nothing, begin[:, 0], begin[:, 1]), gaps)
        return c, w, state[1]

    return jax.jit(run, static_argnums=8)
