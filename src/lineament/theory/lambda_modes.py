r"""Exact solution of one mode of a two-layer network whose layers differ by a conserved λ.

An aligned start keeps every singular direction of Y to itself (Saxe et al. 2014): a mode has the weight b in the
first layer and a in the second, the value σ = ab, and flow on ½(σ* − ab)² conserves λ = a² − b². Hence

    σ̇ = k(σ) (σ* − σ),    k(σ) = a² + b² = √(λ² + 4σ²)

(Dominé et al. 2025), k being the mode's tangent kernel. It interpolates between two laws:

- |λ| ≫ |σ|: k is constant, and in the time |λ|t the mode is one layer, σ* − σ ∝ e^{−|λ|t} (lazy);
- λ → 0: σ̇ = 2|σ|(σ* − σ), a plateau and a sigmoid (rich): depth 2 of :mod:`lineament.theory.modes`, whose
  normalised loss runs at half this speed.

Only |λ| matters to σ, and σ, σ* may have any sign. A balanced mode (λ = 0) cannot cross zero: from a start of the
opposite sign, as from zero itself, it ends at the saddle σ = 0.

Method. Let σ* ≥ 0 (else flip all signs), κ = k(σ*) and P = (a + b)² = k + 2σ, N = (a − b)² = k − 2σ. Then P is a
linear fractional function of e^{−κt}: with q = e^{−κt}, τ = (1 − q)/κ, π = P*/κ and ν = N*/κ

    α = ν + πq + P₀τ,    β = π + νq + N₀τ,    P = P₀β/α,    N = N₀α/β,    σ* − σ = 4q(σ* − σ₀)/(αβ).

No term is negative, and PN = λ² gives the smaller of P and N from the larger: nothing cancels at any time or scale.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array


class LayerValues(NamedTuple):
    """Singular values of the two layers, largest first."""

    W1: Array
    W2: Array


def trajectory(t: ArrayLike, target: ArrayLike, start: ArrayLike, balance: ArrayLike) -> Array:
    """The mode σ(t).

    All arguments broadcast. σ has full relative precision while it moves away from zero towards the target, and full
    absolute precision (of its own terms) where it changes sign.

    Args:
        t: times ≥ 0, `inf` allowed.
        target: σ*, any sign.
        start: σ₀ = a₀b₀, any sign.
        balance: λ = a₀² − b₀², any sign.
    """
    t, target, start, balance = _checked(t=t, target=target, start=start, balance=balance)
    return _solution(t, target, start, balance)[0]


def residual(t: ArrayLike, target: ArrayLike, start: ArrayLike, balance: ArrayLike) -> Array:
    """What is left to learn, σ* − σ(t), to full relative precision however late.

    The arguments are those of :func:`trajectory`; the loss of the mode is half the square of this.
    """
    t, target, start, balance = _checked(t=t, target=target, start=start, balance=balance)
    return _solution(t, target, start, balance)[1]


def time_to(value: ArrayLike, target: ArrayLike, start: ArrayLike, balance: ArrayLike) -> Array:
    """The time at which σ(t) = value: ∫ dσ / (√(λ² + 4σ²) (σ* − σ)) from start to value.

    All arguments broadcast and mean what they mean in :func:`trajectory`.

    Returns:
        0 where value is the start, `inf` where it is only approached (the target, or a saddle at zero), `nan` where
        σ(t) never goes.
    """
    value, target, start, balance = _checked(value=value, target=target, start=start, balance=balance)
    flip = np.where(target < 0, -1.0, 1.0)
    value, goal, origin, scale = flip * value, flip * target, flip * start, abs(balance)
    # Far below zero P is small and N does the same work: the equation for N is that for P with all signs flipped.
    sign = np.where(origin < 0, -1.0, 1.0)
    with np.errstate(all="ignore"):  # branches not taken divide by zero
        k, k0, kappa = (np.hypot(scale, 2 * x) for x in (value, origin, goal))
        P, P0, end = (_square(sign * x, scale) for x in (value, origin, goal))
        opposite = _square(-sign * goal, scale)
        covered, left = (value - origin) / (goal - origin), (goal - value) / (goal - origin)
        tau = 2 * covered * ((P + P0) / (k + k0)) * ((kappa + k0) / (end + P0)) / (P + opposite)
        q = left * (P / (P + opposite)) * ((P0 + opposite) / P0) * ((P0 + opposite) / (P + opposite))
        early = np.where(kappa * tau > 0, np.log1p(-kappa * tau) / (-kappa * tau), 1.0) * tau
        time = np.where(kappa * tau < 0.5, early, -np.log(q) / kappa)
    # A balanced mode cannot leave or cross zero.
    limit = np.where((scale == 0) & (origin <= 0), np.minimum(goal, 0.0), goal)
    between = (np.minimum(origin, limit) < value) & (value < np.maximum(origin, limit))
    time = np.where(between, time, np.where(value == limit, np.inf, np.nan))
    return np.where(value == origin, 0.0, time)[()]


def laziness(target: ArrayLike, start: ArrayLike, balance: ArrayLike, change: ArrayLike = 0.1) -> Array:
    """The share of the way from start to target that is learnt before the kernel changes by a factor 1 + change.

    The kernel is k = √(λ² + 4σ²), compared with its value at the start, up or down. A share of 1 is lazy: the kernel
    never moves that much, and the linearised network is right to within about ``change``. A share near 0 is rich: all
    learning is done by a kernel other than the first. For change ε and a start at zero, the kernel has grown to
    (1 + ε)|λ| at |σ| = |λ|√(ε(2 + ε))/2, so laziness is that over |σ*|: it measures |λ| against the target.

    All arguments broadcast; ``change`` is above 0. The share is 1 where there is nothing to learn.
    """
    change = arguments.real("change", change, above=0)
    target, start, balance, change = _checked(target=target, start=start, balance=balance, change=change)
    origin, distance = np.where(target < start, -start, start), np.abs(target - start)
    k0 = np.hypot(balance, 2 * start)
    up = k0 / 2 * np.sqrt(change * (2 + change))
    down = up / (1 + change)
    rise = np.hypot(start, up)  # |σ| at which the kernel is (1 + ε) k0; at `fall` it is k0/(1 + ε), if it gets there
    height = np.abs(start)
    fall = np.sqrt(np.maximum((height - down) * (height + down), 0.0))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        above = up * (up / (rise + origin))
        below = np.where(height >= down, down * (down / (height + fall)), rise + height)
        learnt = np.where(k0 == 0, 0.0, np.where(origin >= 0, above, below))
        return np.where(distance == 0, 1.0, np.minimum(learnt / distance, 1.0))[()]


def final_layer_singular_values(target_singular_values: ArrayLike, gamma: float, input_size: int) -> LayerValues:
    """Singular values of both layers after training from ``W1 = √(2γ)P, W2 = 0`` (Varre et al. 2023, Corollary).

    In the poster's convention (W1 ∈ R^{d×l}, W2 ∈ R^{l×k}, β = W1W2, PPᵀ = I) flow conserves
    W1ᵀW1 − W2W2ᵀ = 2γPᵀP for any data, and W1PᵀP = W1 at all times. Multiplying by W1 and W1ᵀ,

        (W1W1ᵀ)² − 2γ W1W1ᵀ = ββᵀ,    so    σᵢ(W1) = (√(σᵢ(β)² + γ²) + γ)^{1/2},

    which is (2γ)^{1/2} on the d − k directions that β leaves out, and σᵢ(W2) = σᵢ(β)/σᵢ(W1). It holds at every time
    with β = β(t). The poster prints σᵢ(β) without the square under the root; that form fails conservation and has
    the wrong dimension.

    Args:
        target_singular_values: those of β*, at most ``input_size`` of them; missing ones are zero.
        gamma: γ ≥ 0.
        input_size: d.

    Returns:
        d singular values of W1, and those of W2 that belong to the given values.
    """
    values = arguments.vector("target_singular_values", target_singular_values, least=0)
    gamma = arguments.number("gamma", gamma, least=0)
    input_size = arguments.count("input_size", input_size, values.size, 10**8)
    values = np.sort(np.pad(values, (0, input_size - values.size)))[::-1]
    first = np.sqrt(np.hypot(values, gamma) + gamma)
    second = np.divide(values, first, out=np.zeros_like(values), where=first > 0)
    return LayerValues(first, second[: np.size(target_singular_values)])


def _solution(t: Array, target: Array, start: Array, balance: Array) -> tuple[Array, Array]:
    """σ(t) and σ* − σ(t)."""
    flip = np.where(target < 0, -1.0, 1.0)
    goal, origin, scale = flip * target, flip * start, abs(balance)
    with np.errstate(all="ignore"):  # limits pass through 0/0 and 0·∞ in branches not taken
        k0, kappa = np.hypot(scale, 2 * origin), np.hypot(scale, 2 * goal)
        P0, N0 = _square(origin, scale), _square(-origin, scale)
        still = kappa == 0
        q = np.where(still, 1.0, np.exp(-kappa * t))
        tau = np.where(still, t, -np.expm1(-kappa * t) / kappa)
        pi = np.where(still, 1.0, _square(goal, scale) / kappa)
        nu = np.where(still, 1.0, _square(-goal, scale) / kappa)
        alpha = nu + pi * q + np.where(P0 > 0, P0 * tau, 0.0)
        beta = pi + nu * q + np.where(N0 > 0, N0 * tau, 0.0)
        P, N = np.where(P0 > 0, P0 * (beta / alpha), 0.0), np.where(N0 > 0, N0 * (alpha / beta), 0.0)
        stuck = nu + P0 == 0  # the stable manifold of the saddle at zero: P = 0 for ever, and N → 0
        left = np.where(stuck, goal + N / 4, 4 * (q / alpha) / beta * (goal - origin))
        climb = origin * (alpha / beta + beta / alpha) / 2 + k0 * tau * (goal - origin) * (1 / alpha + 1 / beta)
        # The first expression has no negative term. Of the other two, the one whose terms are smaller is better.
        climbs = (origin >= 0) & (origin <= goal) & ~stuck
        squares = stuck | (4 * (goal + np.abs(left)) > P + N)
        sigma = np.where(climbs, climb, np.where(squares, (P - N) / 4, goal - left))
    sigma = np.where((left == 0) | (origin == goal), goal, sigma)
    # Rounding must not carry a mode past its start or its target.
    sigma = np.clip(sigma, np.minimum(origin, goal), np.maximum(origin, goal))
    at_start = t == 0
    return np.where(at_start, start, flip * sigma)[()], np.where(at_start, target - start, flip * left)[()]


def _square(sigma: Array, scale: Array) -> Array:
    """(a + b)² = k + 2σ, without cancellation for negative σ."""
    large = np.hypot(scale, 2 * sigma) + 2 * np.abs(sigma)
    return np.where(sigma >= 0, large, scale * (scale / np.where(large == 0, 1.0, large)))


def _checked(**given: ArrayLike) -> list[Array]:
    """The arguments as float64 that broadcast; only times may be infinite."""
    arrays = {
        name: arguments.real(name, value, least=0, infinite=True) if name == "t" else arguments.real(name, value)
        for name, value in given.items()
    }
    arguments.together(**arrays)
    return list(arrays.values())
