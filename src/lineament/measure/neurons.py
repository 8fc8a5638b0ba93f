"""Where the neurons of a layer point: the rows w_j of W, each as a direction ŵ_j = w_j/‖w_j‖.

A common measure of feature learning (Chizat et al. 2019; Varre et al. 2023): lazy training leaves neurons spread over
many directions, rich training gathers them along a few. Lengths drop out unless given as weights; a neuron of length
zero points nowhere and counts for nothing.
"""

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from ..core import checks
from .spectra import exp_entropy
from .units import in_units


def directions(W: Float[Array, "hidden in"]) -> Float[Array, "hidden in"]:
    """The neurons' unit vectors; zero for a neuron that is zero."""
    return _directions("W", W)


def _directions(name: str, W: Float[Array, "hidden in"]) -> Float[Array, "hidden in"]:
    W = checks.matrix(name, W)
    # Scaled first: the square of a neuron of 1e-200 is zero.
    scaled = in_units(W, jnp.max(jnp.abs(W), axis=1, keepdims=True))
    length = jnp.sqrt(jnp.sum(scaled**2, axis=1, keepdims=True))
    return scaled / jnp.where(length == 0, 1, length)


def cosines(
    W: Float[Array, "hidden in"], others: Float[Array, "other in"] | None = None
) -> Float[Array, "hidden other"]:
    """Cosines between each neuron and each row of `others`: by default, between all pairs of neurons."""
    unit = directions(W)
    if others is None:
        return unit @ unit.T
    rows = _directions("others", others)
    if rows.shape[1] != unit.shape[1]:
        raise ValueError(f"others must be of as many columns as W, {unit.shape[1]}; got shape {rows.shape}")
    return unit @ rows.T


def spread(W: Float[Array, "hidden in"], weights: Float[Array, " hidden"] | None = None) -> Float[Array, " mode"]:
    """Eigenvalues of `Σ_j c_j ŵ_jŵ_jᵀ`, c_j ∝ weights, in falling order: the share of neurons along each direction.

    They sum to 1, whichever way each neuron points along its line. Weights such as |a_j|‖w_j‖ let every neuron count
    by what it does; without weights all count alike.
    """
    unit = directions(W)
    counted = jnp.sum(unit**2, axis=1)
    if weights is not None:
        counted = _weights(weights, len(unit)) * counted
    total = jnp.sum(counted)
    shares = counted / jnp.where(total == 0, 1, total)
    return jnp.linalg.svd(jnp.sqrt(shares)[:, None] * unit, compute_uv=False) ** 2


def concentration(W: Float[Array, "hidden in"], weights: Float[Array, " hidden"] | None = None) -> Float[Array, ""]:
    """The largest share of :func:`spread`: 1 if all neurons lie on one line, 1/inputs if they lie evenly."""
    return spread(W, weights)[0]


def effective_directions(
    W: Float[Array, "hidden in"], weights: Float[Array, " hidden"] | None = None
) -> Float[Array, ""]:
    """How many directions the neurons take: the exponential of the entropy of :func:`spread`; zero if all are zero."""
    return exp_entropy(spread(W, weights))


def _weights(weights: Float[Array, " hidden"], neurons: int) -> Float[Array, " hidden"]:
    """Weights divided by the largest of them, one for each neuron; none negative, where that can be seen."""
    c = checks.floating("weights", weights)
    if c.shape != (neurons,):
        raise ValueError(f"weights must be a vector of {neurons} number(s), one for each neuron; got shape {c.shape}")
    if not isinstance(c, Tracer) and not (np.isfinite(c) & (np.asarray(c) >= 0)).all():
        raise ValueError(f"weights must be finite numbers of at least 0; got {np.asarray(c)}")
    return in_units(c, jnp.max(c))
