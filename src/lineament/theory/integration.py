"""What the flows of end-to-end matrices share: their weights, their frames, and the integrator."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from ..core import arguments
from ..core.arguments import Array

FINEST = 3e-14  # SciPy's integrators go no finer

Method = Literal["DOP853", "LSODA"]  # the second for flows that are followed long after they have all but converged


def weights(left: Array, right: Array, n: int) -> Array:
    """`Σ_{k<n} left_r^{n−1−k} right_r'^k` for all pairs (r, r'), without subtraction; zero for n = 0."""
    total = np.zeros((*left.shape, right.shape[-1]))
    power = np.ones_like(right)
    for _ in range(n):
        total = left[..., :, None] * total + power[..., None, :]
        power = power * right
    return total


def outside(frame: Array, columns: Array) -> Array:
    """The part of the columns that lies outside the span of a frame.

    The frame is not taken to be exactly orthonormal: `columns − frame frameᵀ columns` would let the rounding in its
    Gram matrix grow exponentially along a flow, whereas frames that move by this keep their Gram matrix.
    """
    if frame.shape[0] == frame.shape[1]:
        return np.zeros_like(columns)
    return columns - frame @ np.linalg.solve(frame.T @ frame, frame.T @ columns)


def integrate(
    times: ArrayLike,
    start: Sequence[Array],
    velocity: Callable[..., Sequence[Array]],
    method: Method,
    rtol: float,
    atol: float,
) -> list[Array]:
    """Integrate a tuple of matrices from time 0; one array of leading length T for each."""
    t = arguments.rising("times", times, strictly=False, least=0)
    arguments.one_of("method", method, get_args(Method))
    rtol, atol = arguments.number("rtol", rtol, least=FINEST, below=1), arguments.number("atol", atol, least=1e-100)
    ends = list(accumulate(x.size for x in start))
    places = [(slice(end - x.size, end), x.shape) for end, x in zip(ends, start, strict=True)]

    def parts(y: Array) -> list[Array]:
        return [y[..., place].reshape(*y.shape[:-1], *shape) for place, shape in places]

    def slope(_: float, y: Array) -> Array:
        return np.concatenate([v.ravel() for v in velocity(*parts(y))])

    y0 = np.concatenate([x.ravel() for x in start])
    if t[-1] == 0:
        return parts(np.tile(y0, (t.size, 1)))
    unique, back = np.unique(t, return_inverse=True)
    solution = solve_ivp(slope, (0.0, t[-1]), y0, method=method, t_eval=unique, rtol=rtol, atol=atol)
    if not solution.success:
        raise RuntimeError(f"the flow could not be followed to t = {t[-1]:.6g}: {solution.message}")
    return parts(solution.y.T[back])
