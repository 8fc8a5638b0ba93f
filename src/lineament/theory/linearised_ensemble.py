r"""Linearised training over random starts, in the limit of infinite width: the mean and covariance of the outputs.

At infinite width the outputs at the start are Gaussian with the NNGP kernel Σ as covariance, each output on its own,
and the tangent kernel K is the same at every start. What training makes of a start is linear in its outputs,
f_* = f_{*0} + K_* φ(K)(y − f_0), so that it stays Gaussian (Lee et al. 2019, eqs. 14–16), with A = K_* φ(K)

.. math:: E f_* = A y, \qquad \operatorname{cov} f_* = Σ_{**} + A Σ A^\top - A Σ_*^\top - Σ_* A^\top.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array
from . import kernel_modes, spectral_filters
from .kernel_shapes import shapes


class Gaussian(NamedTuple):
    """The mean ``(*t, points[, outputs])`` of the outputs, and the covariance ``(*t, points, points)`` of each."""

    mean: Array
    covariance: Array


def predict(
    t: ArrayLike,
    ntk: ArrayLike,
    nngp: ArrayLike,
    y: ArrayLike,
    ntk_cross: ArrayLike | None = None,
    nngp_cross: ArrayLike | None = None,
    nngp_other: ArrayLike | None = None,
    ridge: float = 0.0,
) -> Gaussian:
    """Mean and covariance of the outputs over starts after a time t of gradient flow, on ½ mean‖f − y‖².

    Args:
        t: the time, of any shape; infinity for the end of training.
        ntk: tangent kernel of the training points, (n, n).
        nngp: covariance of the outputs there at the start, (n, n).
        y: targets, (n,) or (n, k).
        ntk_cross: tangent kernel of other points against the training points, (m, n).
        nngp_cross: the covariance at the start of other points with the training points, (m, n).
        nngp_other: that of the other points with each other, (m, m).
        ridge: as in :func:`lineament.theory.linearised.predict`.

    Returns:
        The mean and covariance on the training points; with the three kernels of other points, on those.
    """
    times = arguments.real("t", t, least=0, infinite=True)
    ridge = arguments.number("ridge", ridge, least=0)
    given = shapes(arguments.matrix("ntk", ntk), y, None)
    n = given.n
    S = arguments.matrix("nngp", nngp, (n, n))
    others = (ntk_cross, nngp_cross, nngp_other)
    if any(each is None for each in others) and any(each is not None for each in others):
        raise ValueError("ntk_cross, nngp_cross and nngp_other must be given together; got some of them")
    found = kernel_modes.modes(given.kernel, given.y)
    learnt = found.sound(spectral_filters.flow(times, (found.values + ridge) / n, n))
    if ntk_cross is None:
        seen, there, between = found.basis * found.values, S, S
    else:
        K = arguments.matrix("ntk_cross", ntk_cross)
        if K.shape[1] != n:
            raise ValueError(f"ntk_cross must be of shape (m, {n}); got shape {K.shape}")
        between = arguments.matrix("nngp_cross", nngp_cross, K.shape)
        there = arguments.matrix("nngp_other", nngp_other, (len(K), len(K)))
        seen = found.seen_from(K)
    with np.errstate(over="ignore", invalid="ignore"):
        A = (seen * learnt[..., None, :]) @ found.basis.T
        moved = A @ between.T
        covariance = there + A @ S @ A.swapaxes(-1, -2) - moved - moved.swapaxes(-1, -2)
        return Gaussian(given.folded(A @ given.y, len(seen)), covariance)
