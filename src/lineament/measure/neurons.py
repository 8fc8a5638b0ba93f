"""Where the neurons of a layer point: the rows w_j of W, each as a direction ŵ_j = w_j/‖w_j‖.

A common measure of feature learning (Chizat et al. 2019; Varre et al. 2023): lazy training leaves neurons spread over
many directions, rich training gathers them along a few. Lengths drop out unless given as weights; a neuron of length
zero points nowhere and counts for nothing.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float


def directions(W: Float[Array, "hidden in"]) -> Float[Array, "hidden in"]:
    """The neurons' unit vectors; zero for a neuron that is zero."""
    # Scaled first: the square of a neuron of 1e-200 is zero.
    largest = jnp.max(jnp.abs(W), axis=1, keepdims=True)
    scaled = W / jnp.where(largest > 0, largest, 1)
    length = jnp.sqrt(jnp.sum(scaled**2, axis=1, keepdims=True))
    return scaled / jnp.where(length > 0, length, 1)


def cosines(
    W: Float[Array, "hidden in"], others: Float[Array, "other in"] | None = None
) -> Float[Array, "hidden other"]:
    """Cosines between each neuron and each row of `others`: by default, between all pairs of neurons."""
    unit = directions(W)
    return unit @ (unit if others is None else directions(others)).T


def spread(W: Float[Array, "hidden in"], weights: Float[Array, " hidden"] | None = None) -> Float[Array, " mode"]:
    """Eigenvalues of `Σ_j c_j ŵ_jŵ_jᵀ`, c_j ∝ weights, in falling order: the share of neurons along each direction.

    They sum to 1, whichever way each neuron points along its line. Weights such as |a_j|‖w_j‖ let every neuron count
    by what it does; without weights all count alike.
    """
    unit = directions(W)
    counted = jnp.sum(unit**2, axis=1) if weights is None else weights * jnp.sum(unit**2, axis=1)
    total = jnp.sum(counted)
    shares = counted / jnp.where(total > 0, total, 1)
    return jnp.linalg.svd(jnp.sqrt(shares)[:, None] * unit, compute_uv=False) ** 2


def concentration(W: Float[Array, "hidden in"], weights: Float[Array, " hidden"] | None = None) -> Float[Array, ""]:
    """The largest share of :func:`spread`: 1 if all neurons lie on one line, 1/inputs if they lie evenly."""
    return spread(W, weights)[0]


def effective_directions(
    W: Float[Array, "hidden in"], weights: Float[Array, " hidden"] | None = None
) -> Float[Array, ""]:
    """How many directions the neurons take: the exponential of the entropy of :func:`spread`; zero if all are zero."""
    shares = spread(W, weights)
    entropy = -jnp.sum(jnp.where(shares > 0, shares * jnp.log(jnp.where(shares > 0, shares, 1)), 0))
    return jnp.where(jnp.sum(shares) > 0, jnp.exp(entropy), 0)
