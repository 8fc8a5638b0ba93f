r"""Learning phases under gradient descent, exact step by step (Gissin et al. 2020, Theorem 3 and Appendix B, eq. 9).

Descent on the normalised loss ‖w^N − σ*‖²/(2N²) moves each mode by

    σ ← σ (1 + (η/N) σ^{1−2/N} (σ* − σ))^N,    η = c/σ1*^{2−2/N},    σ1* the largest target.

For c ≤ 1 this map rises from 0 to its fixed point σ* (:func:`advance`; Lemma 1), so it can be run backwards. Mode j
is at most at sσj* after t steps if and only if its start is at most b_t, the t-th backward iterate of sσj*; mode i is
at least at fσi* if and only if its start is at least a_t, the t-th backward iterate of fσi*. Hence the starts that are
(s, f)-incremental under descent are exactly the union over t of the windows

    [a_t, b_t],    t = 1, 2, …,    where a_t ≤ b_t.

Both ends fall with t. The largest incremental start is b_t of the first window that is not empty, and between the
first windows there are gaps: unlike under flow the set need not be an interval.

All is computed in u = log(σ/σ*), where backward iteration is u + N log(1 + (C/N) e^{(1−2/N)u}(1 − e^u)) = given,
C = η σ*^{2−2/N}. Below u = −37 the step of depth two is a constant shift, and the rest of the count is a division.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import exprel

from ..core import arguments
from ..core.arguments import Array
from . import modes
from .phase_arguments import BOUNDS, checked, refuse
from .phases import Timetable, log_threshold

_DESCENT = BOUNDS | {"c": {"above": 0, "most": 1}, "depth": {"least": 2, "infinite": True}}
_LONGEST = 1_000_000  # steps that are still counted one by one
_LINEAR = -37.0  # e^{−37} is half a unit in the last place
_CLOSE, _ROUNDS = 1e-8, 200  # a quadratic iteration whose last move was 1e-8 has arrived; three rounds are usual


def advance(sigma: ArrayLike, target: ArrayLike, step_size: ArrayLike, depth: ArrayLike) -> Array:
    """One step of gradient descent on the normalised loss (Gissin et al. 2020, eq. 9).

    Lemma 1: from σ ≤ σ* and with η ≤ (1/σ1*)^{2−2/N}, N ≥ 2, the result is at most σ*. In u = σ/σ* and
    C = η σ*^{2−2/N} ≤ 1 the new u is at most u e^{u^{1−2/N}(1−u)} ≤ u e^{1−u} ≤ 1. No larger step will do: the slope
    of the map at σ* is 1 − C, so that for C > 1 starts just below the target pass it.

    Args:
        sigma: σ > 0.
        target: σ* > 0.
        step_size: η > 0.
        depth: N ≥ 1, real or `inf`.
    """
    sigma, target, step_size, depth = checked(sigma=sigma, target=target, step_size=step_size, depth=depth)
    push = step_size * sigma ** (1 - 2 / depth) * (target - sigma)
    refuse(push <= -depth, "step_size must be so small that the mode stays positive; got {:g}", step_size)
    return (sigma * np.exp(_times_log1p(depth, push)))[()]


def threshold_descent(
    ratio: ArrayLike,
    s: ArrayLike,
    f: ArrayLike,
    c: ArrayLike,
    share: ArrayLike = 1.0,
    target: ArrayLike = 1.0,
    depth: ArrayLike = 2.0,
) -> Array:
    """The largest start from which descent learns two modes incrementally: the upper end of the set of such starts.

    All arguments broadcast.

    Args:
        ratio: r = σi*/σj* > 1.
        s: how little of σj* may have been learnt, in (0, ½].
        f: how much of σi* must have been learnt, in [½, 1).
        c: the step in units of Lemma 1, η = c/σ1*^{2−2/N}, in (0, 1].
        share: Ri = σi*/σ1*, in (0, 1].
        target: σj* > 0.
        depth: N ≥ 2, real or `inf`.
    """
    with np.errstate(under="ignore"):
        return np.exp(log_threshold_descent(ratio, s, f, c, share, target, depth))


def log_threshold_descent(
    ratio: ArrayLike,
    s: ArrayLike,
    f: ArrayLike,
    c: ArrayLike,
    share: ArrayLike = 1.0,
    target: ArrayLike = 1.0,
    depth: ArrayLike = 2.0,
) -> Array:
    """The natural logarithm of :func:`threshold_descent`, which goes on where that underflows."""
    named = {"ratio": ratio, "s": s, "f": f, "c": c, "share": share, "target": target, "depth": depth}
    *settings, target = _checked(named)
    shape = target.shape
    ratio, s, f, Ci, Cj, depth = flat = _flat(*settings)
    _refuse_long(_steps_needed(ratio, s, f, Cj, depth))
    largest = np.empty_like(ratio)
    left = np.arange(ratio.size)
    high, low = np.log(s), np.log(f)
    while left.size:
        ratio, s, f, Ci, Cj, depth = (array[left] for array in flat)
        low, high = _backward(low, Ci, depth), _backward(high, Cj, depth)
        reached = low + np.log(ratio) <= high
        largest[left[reached]] = high[reached]
        linear = ~reached & (depth == 2) & (low < _LINEAR) & (high < _LINEAR)
        if np.any(linear):
            fast, slow = 2 * np.log1p(Ci[linear] / 2), 2 * np.log1p(Cj[linear] / 2)
            further = np.ceil((low + np.log(ratio) - high)[linear] / (fast - slow))
            largest[left[linear]] = high[linear] - further * slow
        on = ~(reached | linear)
        left, low, high = left[on], low[on], high[on]
    return (np.log(target) + largest.reshape(shape))[()]


def windows(
    steps: int,
    ratio: ArrayLike,
    s: ArrayLike,
    f: ArrayLike,
    c: ArrayLike,
    share: ArrayLike = 1.0,
    target: ArrayLike = 1.0,
    depth: ArrayLike = 2.0,
) -> tuple[Array, Array]:
    """The ends a_t, b_t of the window of starts that are incremental at step t, for t = 0, …, steps.

    A start is incremental under descent if and only if a_t ≤ σ0 ≤ b_t for some t. The arguments after the first are
    those of :func:`threshold_descent`; t runs along a new first axis.
    """
    steps = arguments.count("steps", steps, 0, _LONGEST)
    named = {"ratio": ratio, "s": s, "f": f, "c": c, "share": share, "target": target, "depth": depth}
    ratio, s, f, Ci, Cj, depth, target = _checked(named)
    low, high = np.empty((2, steps + 1, *target.shape))
    low[0], high[0] = np.log(f), np.log(s)
    for t in range(steps):
        low[t + 1], high[t + 1] = _backward(low[t], Ci, depth), _backward(high[t], Cj, depth)
    with np.errstate(under="ignore"):
        return target * ratio * np.exp(low), target * np.exp(high)


def timetable_descent(
    targets: ArrayLike, start: ArrayLike, depth: ArrayLike, step_size: ArrayLike, s: float = 0.1, f: float = 0.9
) -> Timetable:
    """The phases of a spectrum under gradient descent: the first steps at which s, ½ and f are reached.

    Args:
        targets: σ* > 0 of every mode.
        start: σ0 > 0, below the targets; broadcasts with them.
        depth: N ≥ 2, real or `inf`; broadcasts with the targets.
        step_size: η on the normalised loss, at most (1/σ*)^{2−2/N} for every mode, as in Lemma 1.
        s: in (0, ½].
        f: in [½, 1).

    Returns:
        Numbers of steps, as integers.
    """
    targets, start, depth, step_size, low, high = checked(
        _DESCENT, targets=targets, start=start, depth=depth, step_size=step_size, s=s, f=f
    )
    refuse(start >= targets, "start must be below its target; got {:g} and {:g}", start, targets)
    C = step_size * targets ** (2 - 2 / depth)
    refuse(
        C > 1,
        "step_size must be at most (1/target)^(2 − 2/depth); got {:g} for target {:g} at depth {:g}",
        step_size,
        targets,
        depth,
    )
    with np.errstate(over="ignore"):
        _refuse_long(modes.time_to(np.maximum(high * targets, start), targets, start, depth) / step_size)
    levels = np.log(np.stack([low, np.full_like(low, 0.5), high]))
    u = np.log(start / targets)
    passed = np.where(u >= levels, 0, -1)
    t = 0
    while np.any(passed < 0):
        t, u = t + 1, u + _gain(u, C, depth)
        passed = np.where((passed < 0) & (u >= levels), t, passed)
    return Timetable(*passed)


def _checked(named: Mapping[str, ArrayLike]) -> tuple[Array, ...]:
    """Ratio, s, f, Ci, Cj, depth and target, broadcast; a ValueError names what is out of range."""
    ratio, s, f, c, share, target, depth = checked(_DESCENT, **named)
    power = 2 - 2 / depth
    return ratio, s, f, c * share**power, c * (share / ratio) ** power, depth, target


def _flat(*arrays: Array) -> tuple[Array, ...]:
    return tuple(np.ravel(array) for array in arrays)


def _steps_needed(ratio: Array, s: Array, f: Array, C: Array, depth: Array) -> Array:
    """About how many steps are counted one by one: the flow's time, which depth two cuts off where it is linear."""
    q = 1 - 2 / depth
    distance = np.minimum(np.log(s) - log_threshold(depth, ratio, s, f), np.where(depth == 2, -_LINEAR, np.inf))
    with np.errstate(over="ignore"):
        return s**-q * distance * exprel(q * distance) / C


def _refuse_long(steps: Array) -> None:
    longest = np.max(steps, initial=0)
    if longest > _LONGEST:
        raise ValueError(
            f"c or step_size must be so large that no more than {_LONGEST:.0e} steps are counted one by one; got about "
            f"{longest:.2g} steps. Steps so small follow gradient flow: use threshold or timetable"
        )


def _times_log1p(depth: Array, x: Array) -> Array:
    """N log(1 + x/N), and its limit x at N = ∞."""
    finite = np.where(np.isinf(depth), 1.0, depth)
    return np.where(np.isinf(depth), x, finite * np.log1p(x / finite))


def _gain(u: Array, C: Array, depth: Array) -> Array:
    """How far one step carries u = log(σ/σ*)."""
    return _times_log1p(depth, -C * np.exp((1 - 2 / depth) * u) * np.expm1(u))


def _backward(given: Array, C: Array, depth: Array) -> Array:
    """The u from which one step leads to the given one, by Newton's iteration kept inside a shrinking bracket."""
    q = 1 - 2 / depth
    left, right = given - C, given  # a step gains at least 0 and at most C
    u = given - _gain(given, C, depth)
    for _ in range(_ROUNDS):
        grown = np.exp(q * u)
        push = -C * grown * np.expm1(u)
        miss = u + _times_log1p(depth, push) - given
        left, right = np.where(miss <= 0, u, left), np.where(miss >= 0, u, right)
        slope = 1 + C * grown * (q - (1 + q) * np.exp(u)) / (1 + push / depth)
        candidate = u - miss / slope
        candidate = np.where((candidate >= left) & (candidate <= right), candidate, (left + right) / 2)
        arrived = np.abs(candidate - u) <= _CLOSE * np.minimum(1, np.abs(u))
        u = candidate
        if np.all(arrived):
            break
    return u
