r"""Exact solution of one mode of a deep linear network, at any real depth.

Training from a small, balanced, aligned start splits into scalar modes (Gissin et al. 2020, Theorem 1 and
eq. 4, Theorem 4; Saxe et al. 2014):

    σ̇ = σ^{2−2/N} (σ* − σ),    σ(0) = σ0 ≥ 0,    σ* ≥ 0,    real N ≥ 1 or N = ∞.

:func:`trajectory` is σ(t), :func:`residual` is σ* − σ(t) without cancellation, :func:`time_to` the inverse.
Time is that of the loss ‖w^N − σ*‖²/(2N²); :mod:`lineament.theory.units` converts from descent steps.

Method. Let v = |log(σ/σ*)| and q = 1 − 2/N. Below the target with a = q, and above it with a = −1 − q, the
same equation holds in the time τ = σ*^{1+q} t:

    dτ = −e^{av} / (1 − e^{−v}) dv,    a ∈ [−2, 1].

v is the right coordinate: an absolute error in v is a relative error in σ, and a relative error in v → 0 is a
relative error in the residual. The integral is a ₂F₁, but its standard form has poles in N at 2 and ∞ and
cancels near both ends. Two expansions that are regular in a cover everything:

- far, v ≥ 2: the geometric series e^{av} Σ_j e^{−jv}, term by term. Only the terms j = 0, 1 can meet a
  vanishing exponent; `exprel` carries them smoothly through N = 2 and N = ∞;
- near, v ≤ 2: depth two moves at constant speed in Z = log(|σ* − σ|/σ). With k = q below and −q above,
  dτ = −e^{kv} dZ. Taking out dZ leaves an integrand that is analytic up to v = ±2πi and vanishes at N = 2;
  eight Gauss–Legendre nodes give it to rounding.

The inverse is Newton's iteration with an exponential instead of a linear model of the speed: exact at both
ends and cubic in between, so that two to five evaluations suffice, with nothing to set up per depth.

Conditioning. The results are exact for inputs (t, σ*, σ0, N) changed by a few units in the last place. When
a deep mode leaves a long plateau, the condition number t σ̇/σ rises to about (σ*/σ0)^q/q, and σ at a float64
time is known to that many units in the last place and no better. The time of the rise stays precise.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import exprel

from ..core import arguments
from ..core.arguments import Array

_SEAM = 2.0  # v at which the far series hands over to the near quadrature
_TERMS = 20  # e^{−2·20} < 1e-17
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_NODES, _WEIGHTS = (1 + _NODES[:, None]) / 2, _WEIGHTS / 2
_CHUNK = 1 << 13  # elements held at once: bounds the memory and keeps the work in cache
_VANISHED = 1000.0  # near time after which the residual is below the smallest float
_TINY = np.exp(-40.0)  # relative size below which (1 − σ/σ*) is 1 to rounding
_CLOSE, _ROUNDS = 1e-5, 8  # a cubic iteration that moves by 1e-5 has arrived; five rounds are the most needed
_RANGE = 700.0  # e^700 ≈ 1e304


def trajectory(t: ArrayLike, target: ArrayLike, start: ArrayLike, depth: ArrayLike) -> Array:
    r"""The mode σ(t) (Gissin et al. 2020, Theorem 1, for every real depth).

    All arguments broadcast. A start at zero is the limit of starts σ0 → 0⁺: it stays at zero for depth ≥ 2
    and leaves at once for depth < 2 (for 1 < N < 2 zero solves the equation too, but no positive start tends
    to that solution).

    Args:
        t: times ≥ 0, `inf` allowed.
        target: σ* ≥ 0.
        start: σ0 ≥ 0, below or above the target.
        depth: N ≥ 1, real or `inf`.

    Returns:
        σ(t), equal to the start at t = 0 and to its limit at t = inf.
    """
    t, target, start, depth = _checked(target, start, depth, t=t)
    return _in_chunks(lambda *chunk: _move(*chunk)[0], t, target, start, depth)


def residual(t: ArrayLike, target: ArrayLike, start: ArrayLike, depth: ArrayLike) -> Array:
    """What is left to learn, σ* − σ(t), to full relative precision however late; negative above the target.

    The arguments are those of :func:`trajectory`; the loss of the mode is half the square of this.
    """
    t, target, start, depth = _checked(target, start, depth, t=t)
    return _in_chunks(lambda *chunk: _move(*chunk)[1], t, target, start, depth)


def time_to(value: ArrayLike, target: ArrayLike, start: ArrayLike, depth: ArrayLike) -> Array:
    """The time at which σ(t) = value: ∫ dσ / (σ^{2−2/N} (σ* − σ)) from start to value.

    All arguments broadcast and mean what they mean in :func:`trajectory`.

    Returns:
        0 where value is the start, `inf` where it is only approached (the target), `nan` where σ never goes.
    """
    value, target, start, depth = _checked(target, start, depth, value=value)
    return _in_chunks(_duration, value, target, start, depth)


def _checked(target: ArrayLike, start: ArrayLike, depth: ArrayLike, **first: ArrayLike) -> list[Array]:
    """Everything as float64, the keyword argument first; times and depths may be infinite."""
    arrays = {name: arguments.real(name, given, least=0, infinite=name == "t") for name, given in first.items()}
    arrays["target"] = arguments.real("target", target, least=0)
    arrays["start"] = arguments.real("start", start, least=0)
    arrays["depth"] = arguments.real("depth", depth, least=1, infinite=True)
    arguments.together(**arrays)
    return list(arrays.values())


def _in_chunks(kernel: Callable[..., Array], *arrays: Array) -> Array:
    """Apply a kernel of 1-d arrays over the broadcast arguments, a bounded number of elements at a time."""
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    flat = [np.broadcast_to(array, shape).flat for array in arrays]
    values = np.empty(int(np.prod(shape)))
    with np.errstate(all="ignore"):  # limits pass through 0/0 and inf − inf in branches not taken
        for i in range(0, values.size, _CHUNK):
            values[i : i + _CHUNK] = kernel(*(f[i : i + _CHUNK] for f in flat))
    return values.reshape(shape)[()]


# ---------------------------------------------------------------------------------------------------------
# Elapsed time


def _coordinates(target: Array, start: Array, depth: Array) -> tuple[Array, Array, Array, Array, Array]:
    """The side (1 above, −1 below the target), a, e^{v0} − 1, v0, and the rate θ/t with θ = e^{−a v0} τ."""
    q = 1 - 2 / depth
    below = start < target
    a = np.where(below, q, -1 - q)
    odds = np.abs(target - start) / np.minimum(target, start)
    v0 = np.log1p(odds)
    rate = np.where(below, target * start**q, start ** (1 + q))
    lost = ((target > 0) & (v0 * np.maximum(1, -a) > _RANGE)) | (rate == 0) | np.isinf(rate)
    lost &= start > 0
    if np.any(lost):
        i = np.flatnonzero(lost)[0]
        raise ValueError(
            "start and target must be such that start/target lies between 1e-304 and 1e152 and the initial speed does "
            f"not overflow; got start {start[i]:g} and target {target[i]:g} at depth {depth[i]:g}"
        )
    return np.where(below, -1.0, 1.0), a, odds, v0, rate


def _far(d: Array, v0: Array, a: Array) -> Array:
    """e^{−a v0} ∫ e^{au}/(1 − e^{−u}) du from v = v0 − d to v0, both at least 2; d may have either sign.

    With z = e^{−v}, term j of the geometric series gives m_j/(j − a), where m_j = z0^j expm1((j − a) d) and
    m_{j+1} = z m_j + z0^j (z − z0). For d > 0 all terms are positive: short times keep their precision.
    """
    z0, z = np.exp(-v0), np.exp(d - v0)
    difference = -z * np.expm1(-d)
    first = np.exp(-a * d) * z * d * exprel((a - 1) * d)  # m_1/(1 − a), in the order that does not overflow
    m, total = (1 - a) * first, d * exprel(-a * d) + first
    power = z0
    for j in range(2, _TERMS):
        m = z * m + power * difference
        power = power * z0
        total = total + m / (j - a)
    return total


def _near_excess(v: Array, d: Array, k: Array, side: Array) -> Array:
    """∫ (e^{ku} − 1) dZ from v to v + d ≤ 2, where dZ = du/(1 − e^{−u}) below and du/(e^u − 1) above."""
    u = v + d * _NODES
    return side * d * (_WEIGHTS @ (np.expm1(k * u) / np.expm1(side * u)))


def _near(v: Array, d: Array, k: Array, side: Array) -> Array:
    """∫ e^{ku} dZ = ∫ e^{au}/(1 − e^{−u}) du from v to v + d ≤ 2."""
    return np.log1p(-np.expm1(-side * d) / np.expm1(side * v)) + _near_excess(v, d, k, side)


def _out_of_zero(value: Array, target: Array, depth: Array) -> Array:
    """The time σ^{−q}/(−q σ*) from zero to a value ≪ σ*, where the mode is a pure power law; depth < 2."""
    q = 1 - 2 / depth
    return value**-q / (-q * target)


def _duration(value: Array, target: Array, start: Array, depth: Array) -> Array:
    """`time_to` on 1-d arrays."""
    leaves = (start == 0) & (depth < 2) & (target > 0)
    origin = np.where(leaves, _TINY * target, start)
    side, a, odds, v0, rate = _coordinates(target, origin, depth)
    d = np.log1p(np.abs(value - origin) / np.minimum(value, origin))
    v = np.log1p(np.abs(target - value) / np.minimum(target, value))
    far = _far(np.where(v > _SEAM, d, np.maximum(v0 - _SEAM, 0)), v0, a)
    near = _near(v, np.where(v0 < _SEAM, d, _SEAM - v), a + (side > 0), side) * (1 + odds) ** -a
    time = np.where(v < _SEAM, far + near, far) / rate

    delay = _out_of_zero(origin, target, depth)
    time = np.where(leaves, np.where(value < origin, _out_of_zero(value, target, depth), delay + time), time)
    moves = (start > 0) | leaves
    between = (np.minimum(start, target) < value) & (value < np.maximum(start, target))
    time = np.where(moves & between, time, np.where(moves & (value == target), np.inf, np.nan))
    return np.where(value == start, 0.0, time)


# ---------------------------------------------------------------------------------------------------------
# The inverse


def _move(t: Array, target: Array, start: Array, depth: Array) -> tuple[Array, Array]:
    """σ(t) and σ* − σ(t) on 1-d arrays: limits first, then each kind of depth on its own elements."""
    sigma, left = start.copy(), target - start
    moves = (t > 0) & (start != target) & ((start > 0) | (depth < 2))
    ends = moves & np.isinf(t)
    sigma[ends], left[ends] = target[ends], 0.0
    is_one, is_two = depth == 1, depth == 2
    for kernel, kind in ((_depth_one, is_one), (_depth_two, is_two), (_any_depth, ~(is_one | is_two))):
        here = np.flatnonzero(moves & ~ends & kind)
        if here.size:
            sigma[here], left[here] = kernel(t[here], target[here], start[here], depth[here])
    # Rounding must not carry a mode past its start or its target.
    return np.clip(sigma, np.minimum(start, target), np.maximum(start, target)), left


def _depth_one(t: Array, target: Array, start: Array, _: Array) -> tuple[Array, Array]:
    """σ* + (σ0 − σ*) e^{−t}, as a sum of positive terms."""
    decay = np.exp(-t)
    return start * decay - target * np.expm1(-t), (target - start) * decay


def _depth_two(t: Array, target: Array, start: Array, _: Array) -> tuple[Array, Array]:
    """σ0 σ* e^{σ* t} / (σ0 (e^{σ* t} − 1) + σ*), divided through by σ* e^{σ* t} so that σ* = 0 is regular."""
    t = np.minimum(t, 2 * _VANISHED / target)  # long over, and no overflow in σ* t
    unit = np.maximum(start, 1.0)  # in which no start is large, lest its product with a long time overflow
    decay = np.exp(-target * t) / unit
    scale = decay + start / unit * t * exprel(-target * t)
    return start / unit / scale, (target - start) * decay / scale


def _any_depth(t: Array, target: Array, start: Array, depth: Array) -> tuple[Array, Array]:
    """The general case: find the side of the seam, then invert the elapsed time there."""
    leaves = start == 0
    origin = np.where(leaves, _TINY * target, start)
    delay = np.where(leaves, _out_of_zero(origin, target, depth), 0.0)
    side, a, odds, v0, rate = _coordinates(target, origin, depth)
    theta = rate * np.maximum(t - delay, 0)
    seam = np.where(target > 0, _far(np.maximum(v0 - _SEAM, 0), v0, a), np.inf)  # a target of zero is all far

    sigma, left = np.empty_like(t), np.empty_like(t)
    far, near = np.flatnonzero(theta < seam), np.flatnonzero(theta >= seam)
    if far.size:
        d = _solve_far(theta[far], seam[far], v0[far], a[far])
        half = np.exp(-side[far] * d / 2)  # from a large start to a small value the whole would underflow
        sigma[far] = origin[far] * half * half
        left[far] = target[far] - sigma[far]
    if near.size:
        tau = (theta - seam)[near] * (1 + odds[near]) ** a[near]
        goal, side = target[near], side[near]
        begin = np.where(v0[near] < _SEAM, origin[near], goal * np.exp(side * _SEAM))
        v, d = _solve_near(tau, np.abs(goal - begin) / begin, a[near] + (side > 0), side)
        sigma[near] = np.where(d < v, begin * np.exp(-side * d), goal * np.exp(side * v))
        left[near] = -goal * np.expm1(side * v)

    early = np.flatnonzero(t < delay)
    q = 1 - 2 / depth[early]
    sigma[early] = (-q * target[early] * t[early]) ** (-1 / q)
    left[early] = target[early] - sigma[early]
    forgotten = np.flatnonzero((target == 0) & np.isinf(theta))  # (σ0^{−p} + p t)^{−1/p} without its start
    p = 2 - 2 / depth[forgotten]
    sigma[forgotten] = (p * t[forgotten]) ** (-1 / p)
    left[forgotten] = -sigma[forgotten]
    return sigma, left


def _solve_far(theta: Array, seam: Array, v0: Array, a: Array) -> Array:
    """Invert far(d) = θ < seam for d = v0 − v.

    A mode about to leave a plateau (a θ → 1) is found from the time it still needs to the seam, so that
    rounding enters once, in that difference, and the iteration itself stays well conditioned.
    """
    early = a * theta < 0.5
    span = v0 - _SEAM
    origin = np.where(early, v0, _SEAM)
    goal = np.where(early, theta, (theta - seam) * np.exp(a * span))
    d = goal * _log1p_ratio(-a * goal)
    for _ in range(_ROUNDS):
        z = np.exp(d - origin)
        move = _advance(goal - _far(d, origin, a), np.exp(a * d) * (1 - z), a - z / (1 - z))
        d = np.clip(d + move, np.where(early, 0, -span), np.where(early, span, 0))
        if np.all(np.abs(move) < _CLOSE):
            break
    return np.where(early, d, span + d)


def _solve_near(tau: Array, zeta: Array, k: Array, side: Array) -> tuple[Array, Array]:
    """Invert near(v, d) = τ for v and d, where ζ = e^Z at v + d, in the unknown s = the fall of Z.

    The first s is on the far side of the solution, where the exponential model is always defined: the
    integrand of the excess is positive for k > 0 and above −1 otherwise.
    """
    tau = np.minimum(tau, _VANISHED)
    s = np.where(k > 0, tau, tau - side * np.log1p(-side * zeta))
    v, d = _near_position(s, zeta, side)
    for _ in range(_ROUNDS):
        move = _advance(tau - s - _near_excess(v, d, k, side), np.exp(-k * v), k * side * np.expm1(side * v))
        s = np.maximum(s + move, 0)
        v, d = _near_position(s, zeta, side)
        if np.all(np.abs(move) < _CLOSE):
            break
    return v, d


def _near_position(s: Array, zeta: Array, side: Array) -> tuple[Array, Array]:
    """Where Z has fallen by s from log ζ: v, and the distance d covered in v, both relatively exact."""
    v = -side * np.log1p(-side * zeta * np.exp(-s))
    return v, side * np.log1p(-side * zeta * np.expm1(-s) / (1 - side * zeta))


def _advance(time: Array, speed: Array, kappa: Array) -> Array:
    """The distance covered in a time when the speed grows as e^{κ·distance}: −log(1 − κ·speed·time)/κ.

    From the starting points of the two solvers the logarithm's argument never falls below a quarter.
    """
    linear = speed * time
    return linear * _log1p_ratio(-kappa * linear)


def _log1p_ratio(x: Array) -> Array:
    """log(1 + x)/x, continued by 1 at x = 0."""
    return np.where(x == 0, 1.0, np.log1p(x) / x)
