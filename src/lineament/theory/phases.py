r"""When deep linear modes are learnt one after the other (Gissin et al. 2020, Definition 1, exact).

Two modes σi* = r σj*, r > 1, start at σ0 and follow σ̇ = σ^{2−2/N}(σ* − σ). Their learning is (s, f)-incremental if
some t has σj(t) ≤ sσj* < fσi* ≤ σi(t); the modes rise, so this says t_f(σi) ≤ t_s(σj) (Appendix A).

Method. With q = 1 − 2/N and x = σ/σj* = s e^{−ℓ}, take the slower mode's path out of both times. Below x = s they
differ by 1/(1 − x) − 1/(r − x) = Σ_k c_k x^k, c_k = 1 − r^{−k−1} > 0, and the condition at σ0 = sσj* e^{−L} becomes

    S(L) := Σ_k c_k s^k ∫_0^L e^{(q−k)ℓ} dℓ  ≥  κ := s^q ∫_s^{fr} dx / (x^{1+q} (r − x)).

Both times diverge as σ0 → 0, but their difference is this sum of positive terms: nothing cancels, for r → 1 and
N → 2 too. κ is one time of a single mode, which :func:`~lineament.theory.modes.time_to` gives exactly.

The threshold. S rises strictly from S(0) = 0 < κ, so the incremental starts are an interval (0, σ0th]. For N ≥ 2
S is unbounded and σ0th > 0. In y = ∫_0^L e^{qℓ} dℓ the sum is concave with a slope from (r−1)/r to
(r−1)/((1−s)(r−s)): Newton's iteration from y = 0 climbs to the root without overshooting and needs about five
rounds. Since σ0th = sσj* (1 + qy)^{−1/q}, these two slopes are what bounds the threshold in Theorem 2.

Below depth two S is bounded: small starts stop helping, and no start at all is incremental (σ0th = 0) unless
r^{2−2/N} > B(f)/B(s), where B(α) = ∫_0^α du/(u^{2−2/N}(1 − u)). At N = 1 no pair ever is.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import exprel

from ..core.arguments import Array
from . import modes
from .phase_arguments import checked, refuse

_SMALLEST = 1e-300  # of s/r: beyond it powers of s/r leave float64
_ROUNDING = 37.0  # e^{−37} is half a unit in the last place
_CLOSE, _ROUNDS = 1e-8, 60  # a quadratic iteration whose last move was 1e-8 has arrived


class Timetable(NamedTuple):
    """When each mode passes the fraction s of its target, half of it, and the fraction f."""

    begins: NDArray
    half: NDArray
    ends: NDArray


def is_incremental(
    start: ArrayLike, target_i: ArrayLike, target_j: ArrayLike, s: ArrayLike, f: ArrayLike, depth: ArrayLike
) -> NDArray[np.bool_]:
    """Whether two modes are learnt one after the other by gradient flow (Gissin et al. 2020, Definition 1).

    All arguments broadcast.

    Args:
        start: 0 < σ0 < σj*, the same for both modes.
        target_i: σi*, above σj*.
        target_j: σj* > 0.
        s: how little of σj* may have been learnt, in (0, ½]; the definition has s < ¼.
        f: how much of σi* must have been learnt, in [½, 1); the definition has f > ¾.
        depth: N ≥ 1, real or `inf`.
    """
    start, target_i, target_j, s, f, depth = checked(
        start=start, target_i=target_i, target_j=target_j, s=s, f=f, depth=depth
    )
    refuse(target_i <= target_j, "target_i must be above target_j; got {:g} and {:g}", target_i, target_j)
    refuse(start >= target_j, "start must be below target_j; got {:g} and {:g}", start, target_j)
    refuse(s / target_i * target_j < _SMALLEST, "s must be at least 1e-300 target_i/target_j; got {:g}", s)
    ratio = target_i / target_j
    distance = np.log(s) - np.log(start / target_j)
    with np.errstate(all="ignore"):
        ahead = _head_start(np.maximum(distance, 0), ratio, s, 1 - 2 / depth)[0]
    return ((distance >= 0) & (ahead >= _lag(ratio, s, f, depth)))[()]


def threshold(
    depth: ArrayLike, ratio: ArrayLike, s: ArrayLike, f: ArrayLike, target: ArrayLike = 1.0
) -> NDArray[np.float64]:
    """The largest start σ0th from which two modes are learnt incrementally by gradient flow.

    The exact value that Gissin et al. (2020, Theorem 2) bound, to a relative 1e-12 or so wherever it is a normal
    float64. Below 1e-300 it underflows: :func:`log_threshold` goes on. All arguments broadcast.

    Args:
        depth: N ≥ 1, real or `inf`.
        ratio: r = σi*/σj* > 1.
        s: how little of σj* may have been learnt, in (0, ½].
        f: how much of σi* must have been learnt, in [½, 1).
        target: σj* > 0.

    Returns:
        σ0th, and 0 where no start is incremental, which happens at depths below 2 only.
    """
    with np.errstate(under="ignore"):
        return np.exp(log_threshold(depth, ratio, s, f, target))


def log_threshold(
    depth: ArrayLike, ratio: ArrayLike, s: ArrayLike, f: ArrayLike, target: ArrayLike = 1.0
) -> NDArray[np.float64]:
    """The natural logarithm of :func:`threshold`, to rounding however small: σ0th itself may be 10^(−10⁶).

    At depth 2 it is about (r log(s/(1−s)) − log(r f/(1−f)))/(r − 1), and exactly that plus
    (r log(1−x) − log(1−x/r))/(r − 1) at x = σ0th/σj*.
    """
    depth, ratio, s, f, target = checked(depth=depth, ratio=ratio, s=s, f=f, target=target)
    refuse(s / ratio < _SMALLEST, "s must be at least 1e-300 ratio; got {:g} at ratio {:g}", s, ratio)
    q = 1 - 2 / depth
    lag = _lag(ratio, s, f, depth)
    y = np.zeros_like(lag)
    with np.errstate(all="ignore"):  # 0/0 in branches not taken; where no root exists y runs off to nan
        for _ in range(_ROUNDS):
            ahead, slope = _head_start(_distance(y, q), ratio, s, q)
            move = (lag - ahead) / slope
            y = y + move
            if not np.any(move > _CLOSE * y):
                break
        # For q < 0 the climb passes y = −1/q, where σ0 = 0, exactly if there is no root below.
        distance = np.where(q * y > -1, _distance(y, q), np.inf)
    return (np.log(target) + np.log(s) - distance)[()]


def timetable(targets: ArrayLike, start: ArrayLike, depth: ArrayLike, s: float = 0.1, f: float = 0.9) -> Timetable:
    """The phases of a spectrum under gradient flow: when each mode passes the fractions s, ½ and f of its target.

    Mode i is learnt before mode j in the sense of Definition 1 when `ends[i] <= begins[j]`. Time is that of
    :mod:`lineament.theory.modes`. A fraction at or below the start is passed at time 0.

    Args:
        targets: σ* > 0 of every mode.
        start: σ0 > 0, below the targets; broadcasts with them.
        depth: N ≥ 1, real or `inf`; broadcasts with the targets.
        s: in (0, ½].
        f: in [½, 1).
    """
    targets, start, depth, low, high = checked(targets=targets, start=start, depth=depth, s=s, f=f)
    refuse(start >= targets, "start must be below its target; got {:g} and {:g}", start, targets)

    def when(fraction: float | Array) -> Array:
        return modes.time_to(np.maximum(fraction * targets, start), targets, start, depth)

    return Timetable(when(low), when(0.5), when(high))


def _lag(ratio: Array, s: Array, f: Array, depth: Array) -> Array:
    """κ = s^q ∫_s^{fr} dx/(x^{1+q}(r − x)), the time mode i needs from sσj* to fσi*, in units finite as s → 0."""
    u = s / ratio  # with x = ru the integral runs to f itself, so that 1 − f keeps its digits
    return u ** (1 - 2 / depth) * modes.time_to(f, 1.0, u, depth) / ratio


def _head_start(distance: Array, ratio: Array, s: Array, q: Array) -> tuple[Array, Array]:
    """S(L) and dS/dy = Σ_k c_k (s e^{−L})^k; s ≤ ½ makes the series short."""
    total, slope = np.zeros_like(distance), np.zeros_like(distance)
    log_ratio, power, x, weight = np.log(ratio), 1.0, 1.0, s * np.exp(-distance)
    for k in range(int(_ROUNDING / -np.log(np.max(s, initial=_SMALLEST))) + 2):
        c = -np.expm1(-(k + 1) * log_ratio)
        total = total + c * power * distance * exprel((q - k) * distance)
        slope = slope + c * x
        power, x = power * s, x * weight
    return total, slope


def _distance(y: Array, q: Array) -> Array:
    """L = log(1 + qy)/q, the inverse of y = ∫_0^L e^{qℓ} dℓ; L = y at depth 2."""
    x = q * y
    return y * np.where(x == 0, 1.0, np.log1p(x) / x)
