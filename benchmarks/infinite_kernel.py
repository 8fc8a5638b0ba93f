"""Kernels of infinitely wide ReLU networks, against neural-tangents' recursion as its `stax.Relu` writes it."""

import jax
import jax.numpy as jnp
import numpy as np

from lineament.theory import kernels

from .harness import Row, compare

EXAMPLES, INPUTS, HIDDEN = 1000, 50, 3


def _neural_tangents(x: jax.Array, hidden: int) -> tuple[jax.Array, jax.Array]:
    """`stax.serial(Dense, Relu, …, Dense)` with W_std = √2, b_std = 0: NNGP and NTK.

    Dense multiplies both by W_std² and adds the new NNGP to the NTK; Relu takes the covariance nngp = √(q_x q_y) cos θ to
    √(q_x q_y) (sin θ + (π − θ) cos θ)/2π and the NTK by its derivative (π − θ)/2π (Cho & Saul 2009, as in
    `elementwise.py`). The library does not import with this JAX, so that its formulas are measured.
    """
    nngp = 2 * x @ x.T / x.shape[1]
    ntk = nngp
    for _ in range(hidden):
        q = jnp.diagonal(nngp)
        product = q[:, None] * q[None, :]
        root = jnp.sqrt(jnp.maximum(product - nngp**2, 0.0))
        angle = jnp.arctan2(root, nngp)
        derivative = (jnp.pi - angle) / (2 * jnp.pi)
        nngp_next = root / (2 * jnp.pi) + derivative * nngp
        nngp, ntk = 2 * nngp_next, 2 * nngp_next + 2 * derivative * ntk
    return nngp, ntk


def rows() -> list[Row]:
    """Kernels of a thousand examples per CPU second, theirs compiled; the last layer of ours has no weight of its own."""
    X = np.random.default_rng(0).normal(size=(EXAMPLES, INPUTS))
    compiled = jax.jit(_neural_tangents, static_argnums=1)
    theirs = lambda: jax.block_until_ready(compiled(jnp.asarray(X), HIDDEN))  # noqa: E731
    ours = lambda: kernels.infinite(X, activation="relu", hidden_layers=HIDDEN)  # noqa: E731
    kernel, other = np.asarray(ours().ntk), np.asarray(theirs()[1])
    kernel, other = kernel / kernel[0, 0], other / other[0, 0]  # only the factor of a layer differs
    error = np.abs(kernel - other) / np.abs(other).max()
    apart = ~np.eye(EXAMPLES, dtype=bool)
    gap = error.max()
    if gap > 1e-6:
        raise RuntimeError(f"the two kernels differ by {gap:.1e}: nothing to compare")
    return [
        compare(
            f"infinite ReLU kernel, {EXAMPLES} examples, {HIDDEN} hidden layers",
            ("kernels.infinite", ours, 1.0),
            ("neural-tangents' recursion, compiled", theirs, 1.0),
            bar=1.0,
            unit="kernels",
            note=f"they agree to {error[apart].max():.0e} between examples, to {error[~apart].max():.0e} on the diagonal",
        )
    ]
