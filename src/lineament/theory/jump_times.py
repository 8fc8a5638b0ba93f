r"""Saddle to saddle: what a diagonal network learns, and when, as its start vanishes (Pesme & Flammarion 2023).

arXiv 2304.00488, Algorithm 1. A network β = w₊² − w₋² with w± = α at the start follows gradient flow on
L(β) = ½ mean (y − Xβ)². In time divided by ½ ln(1/α) and as α → 0 it rests at one saddle after the other and jumps
between them. With s the integral of −∇L in these units, a coordinate can leave zero only when |s| has come to 1: from a
saddle β s moves by −∇L(β), the next jump is when a coordinate reaches ±1, and the next saddle minimises L over
coordinates that have the sign of s where |s| = 1 and are zero elsewhere.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from ..core import arguments
from ..core.arguments import Array

TIE = 1e-9
"""A coordinate whose |s| is this near to 1 is there; a gradient this small, relative to the first, is none."""


class Saddles(NamedTuple):
    """The way of a vanishing start.

    Attributes:
        times: when the jumps are, in units of ½ ln(1/α), rising, (jump,).
        points: where it rests: at zero before the first jump, then after each, (jump + 1, feature).
    """

    times: Array
    points: Array


def saddles(X: ArrayLike, y: ArrayLike) -> Saddles:
    """The jump times and saddles of a diagonal network of depth two.

    Args:
        X: Inputs, (row, feature); every set of columns must be independent.
        y: Labels, (row,).
    """
    inputs = arguments.matrix("X", X)
    labels = arguments.vector("y", y, len(inputs))
    if np.linalg.matrix_rank(inputs) < inputs.shape[1]:
        raise ValueError(
            f"X must have independent columns; got rank {np.linalg.matrix_rank(inputs)} of {inputs.shape[1]}"
        )
    n, features = inputs.shape
    beta, s = np.zeros(features), np.zeros(features)
    gradient = lambda b: inputs.T @ (inputs @ b - labels) / n  # noqa: E731
    small = TIE * float(np.abs(gradient(beta)).max())
    times, points, time = [], [beta], 0.0
    while True:
        g = gradient(beta)
        moving = np.abs(g) > small
        if small == 0 or not moving.any():
            return Saddles(np.array(times), np.array(points))
        # From s a coordinate comes to the wall that −g points to.
        wait = np.full(features, np.inf)
        wait[moving] = np.maximum(1 + np.sign(g) * s, 0.0)[moving] / np.abs(g[moving])
        step = float(wait.min())
        time, s = time + step, np.clip(s - step * g, -1, 1)
        active = np.abs(s) >= 1 - TIE
        signs = np.sign(s[active])
        beta = np.zeros(features)
        beta[active] = signs * nnls(inputs[:, active] * signs, labels)[0]
        times.append(time)
        points.append(beta)
