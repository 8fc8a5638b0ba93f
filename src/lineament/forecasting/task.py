"""What is to be learnt from a table, in principal components of its inputs, or in whitened ones."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lineament.theory.layers import ROUNDING

from .moments import Moments

Array = NDArray[np.float64]

COLLINEAR = 1e-10
"""A direction whose variance is this share of the largest varies by the rounding of the table's numbers alone.

Where columns depend on each other, numbers stored to single precision (6e-8 of their size), whose mean is up to a hundred
times their deviation, leave (6e-6)² = 4e-11 of it. What least squares reads off such a direction is noise, with weights
so large that they would decide how small the steps of a deep network must be, though no training gets to learn them.
"""


class Modes(NamedTuple):
    """The singular value decomposition of the target on whitened inputs."""

    U: Array
    s: Array
    Vt: Array


def strengths(modes: Modes) -> Array:
    """The singular values that are not rounding; the target has so many modes."""
    return modes.s[modes.s > ROUNDING * max(modes.U.shape[0], modes.Vt.shape[1]) * modes.s[0]]


class Task(NamedTuple):
    """What is to be learnt, in principal components of the inputs, or in whitened ones."""

    d: Array
    V: Array
    syx: Array
    target: Array
    floor: float
    modes: Modes | None


def task_of(moments: Moments, whiten: bool) -> Task:
    """What is to be learnt from a table."""
    return from_covariances(moments.sxx, moments.syx, moments.syy, whiten)


def from_covariances(sxx: Array, syx: Array, syy: Array, whiten: bool) -> Task:
    """What is to be learnt where inputs and outputs have these covariances."""
    d, V = spectrum(sxx)
    syx = syx @ V
    target = syx / d
    floor = max(0.5 * float(np.trace(syy) - np.sum(syx * target)), 0.0)
    if not whiten:
        return Task(d, V, syx, target, floor, None)
    root = np.sqrt(d)
    modes = Modes(*np.linalg.svd(target * root, full_matrices=False))
    return Task(np.ones_like(d), V / root, syx / root, target * root, floor, modes)


def spectrum(sxx: Array) -> tuple[Array, Array]:
    """Variances in falling order and directions, without those that the data do not reach but by rounding.

    Every direction has the sign that makes its largest entry positive, so that the same data tell the same story.
    """
    d, V = np.linalg.eigh(sxx)
    d, V = d[::-1], V[:, ::-1]
    seen = d > COLLINEAR * d[0]
    d, V = d[seen], V[:, seen]
    largest = np.take_along_axis(V, np.argmax(np.abs(V), axis=0)[None, :], axis=0)
    return d, V * np.sign(largest)


def aligned(modes: Modes) -> Array:
    """The map with the target's singular directions and all its values 1, on the modes that the target has."""
    U, s, Vt = modes
    return (U * (s > ROUNDING * max(U.shape[0], Vt.shape[1]) * s[0])) @ Vt
