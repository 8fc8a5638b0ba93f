r"""Singular values under constant alignment (Cohen & Razin, Exercise 5, and the same at other depths).

Theorem 3 moves each singular value by n (σ_r²)^{1−1/n} times its alignment ⟨−∇ℓ(W), u_r v_rᵀ⟩ with the descent
direction. If the alignment stays at c_r, the value follows a scalar equation with a closed solution,

.. math:: σ_r(t) = σ_r(0)\, e^{2c_rt} \quad (n = 2), \qquad
   σ_r(t) = σ_r(0)\,\bigl(1 - (n-2)\,c_r\,σ_r(0)^{1-2/n}\,t\bigr)^{-\frac{n}{n-2}} \quad (n \ne 2).

The alignment is constant for all time on a linear loss ℓ(W) = −⟨C, W⟩ from a start that shares the singular vectors of
C, and nearly so on any loss while W is small.

From equal starts the ratio of two values at n = 2 is exp(2(c_r − c_r')t), as the exercise says. Depth changes its
law, not merely its rate. At n = 1 values part linearly. For n ≥ 3 the values with c_r > 0 reach infinity at the finite
time σ_r(0)^{2/n−1}/((n−2)c_r), the largest first, so their ratios grow faster than any exponential; whereas among
values that all fall, c_r < 0, the ratio stops growing, at (c_r'/c_r)^{n/(n−2)}.
"""

from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array


def trajectory(times: ArrayLike, alignment: ArrayLike, start: ArrayLike, depth: SupportsIndex) -> Array:
    """The singular values at the times; arguments broadcast.

    Args:
        times: t ≥ 0, and before :func:`escape_time`.
        alignment: c = ⟨−∇ℓ(W), u vᵀ⟩, constant in time.
        start: σ(0) > 0.
        depth: n ≥ 1. With one layer the value is signed and passes through zero where c < 0.

    Raises:
        ValueError: if a value has reached infinity by then.
    """
    t, c, s0, n = _checked(times, alignment, start, depth)
    if n == 1:
        return s0 + c * t
    return s0 * np.exp(_log_growth(t, c, s0, n))


def log_ratio(times: ArrayLike, first: ArrayLike, second: ArrayLike, start: ArrayLike, depth: SupportsIndex) -> Array:
    """`log σ_r(t)/σ_r'(t)` from equal starts and alignments `first` and `second`, for n ≥ 2; 2(c_r − c_r')t at n = 2.

    Raises:
        ValueError: for one layer, whose values may have passed zero, or if a value has reached infinity.
    """
    t, c, s0, n = _checked(times, first, start, depth, "first")
    t, c_second, s0, n = _checked(t, second, s0, n, "second")
    arguments.together(first=c, second=c_second)
    if n == 1:  # values pass through zero, and the ratio has no logarithm
        raise ValueError("depth must be at least 2; got 1")
    return _log_growth(t, c, s0, n) - _log_growth(t, c_second, s0, n)


def escape_time(alignment: ArrayLike, start: ArrayLike, depth: SupportsIndex) -> Array:
    """When a value reaches infinity: `σ(0)^{2/n−1}/((n−2)c)` for n ≥ 3 and c > 0, never otherwise."""
    _, c, s0, n = _checked(0.0, alignment, start, depth)
    pace = max(n - 2, 0) * np.maximum(c, 0.0) * s0 ** (1 - 2 / n)
    with np.errstate(divide="ignore", over="ignore"):  # where there is no pace, or next to none
        return 1.0 / pace


def _log_growth(t: Array, c: Array, s0: Array, n: int) -> Array:
    """`log σ(t)/σ(0)` for n ≥ 2."""
    if n == 2:
        return 2 * c * t
    left = 1 - (n - 2) * c * s0 ** (1 - 2 / n) * t
    if np.any(left <= 0):
        first = np.min(escape_time(c, s0, n))
        raise ValueError(f"times must lie before a value escapes to infinity, at t = {first:.6g}; got {np.max(t):.6g}")
    return -n / (n - 2) * np.log1p(left - 1)


def _checked(
    times: ArrayLike, alignment: ArrayLike, start: ArrayLike, depth: SupportsIndex, name: str = "alignment"
) -> tuple[Array, Array, Array, int]:
    """The arguments as finite float64 arrays that fit together, and the depth."""
    n, c = arguments.count("depth", depth), arguments.real(name, alignment)
    t, s0 = arguments.real("times", times, least=0), arguments.real("start", start, above=0)
    arguments.together(**{"times": t, name: c, "start": s0})
    return t, c, s0, n
