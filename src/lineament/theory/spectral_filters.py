r"""How far training has come along one direction of a kernel: the filters of linearised training.

Along an eigenvector of the kernel with eigenvalue λ the loss ½ mean(f − y)² with penalty ρ is a parabola of curvature
h = (λ + ρ)/n. The coefficient c of that eigenvector begins at 0 and satisfies

.. math:: \dot c = \tfrac1n r - h c, \qquad c(t) = r\,φ(λ),

with r the residual at the start. Each filter φ below is c for r = 1: after a time of gradient flow, after steps of
gradient descent, after steps with momentum. Where h = 0 nothing holds c back, and c grows as t/n.
"""

import numpy as np

from ..core.arguments import Array


def flow(t: Array, curvature: Array, n: int) -> Array:
    """`(1 − e^{−ht})/(nh)` for every time and curvature h, of shape (*t, *curvature)."""
    time = t.reshape(*t.shape, *[1] * curvature.ndim)
    with np.errstate(over="ignore", invalid="ignore"):
        learnt = -np.expm1(-curvature * time)
    return _over_curvature(learnt, np.where(np.isinf(time), 0.0, time), curvature, n)


def descent(steps: Array, curvature: Array, n: int, step_size: float, momentum: float) -> Array:
    """The same after whole numbers of steps: `v ← μv + ∇, θ ← θ − ηv`, as optax and PyTorch define momentum μ."""
    count = steps.reshape(*steps.shape, *[1] * curvature.ndim)
    x = step_size * curvature
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        learnt = _plain(count, x) if momentum == 0 else _heavy_ball(count, x, momentum)
        idle = _idle(np.where(np.isinf(count), 0.0, count), momentum) * step_size
    return _over_curvature(learnt, idle, curvature, n)


def largest_step(curvature: float, momentum: float = 0.0) -> float:
    """The step size beyond which descent on a parabola does not settle: 2(1 + μ)/h."""
    return np.inf if curvature == 0 else 2 * (1 + momentum) / curvature


def _over_curvature(learnt: Array, idle: Array, curvature: Array, n: int) -> Array:
    flat = np.broadcast_to(curvature <= 0, learnt.shape)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return np.where(flat, idle, learnt / np.where(curvature <= 0, 1.0, curvature)) / n


def _plain(count: Array, x: Array) -> Array:
    """`1 − (1 − x)^s`, with all its digits where x is small."""
    size = np.where(x < 0.5, np.log1p(-np.minimum(x, 0.5)), np.log(np.abs(1 - x)))
    # (1 − x)^∞ is 0 where |1 − x| < 1; a product of infinity and zero would not be a number.
    growth = np.where((size == 0) | (count == 0), 0.0, size * np.where(size == 0, 0.0, count))
    odd = (x > 1) & (np.mod(np.where(np.isinf(count), 0.0, count), 2) == 1)
    return np.where(odd, 1 + np.exp(growth), -np.expm1(growth))


def _heavy_ball(count: Array, x: Array, momentum: float) -> Array:
    """`1 − e_s` for `e_{s+1} = (1 + μ − x) e_s − μ e_{s−1}`, e_0 = 1, e_1 = 1 − x."""
    ended = np.isinf(count)
    s = np.where(ended, 1.0, count)
    e = (1 - x) * _sums(s, x, momentum) - momentum * np.where(s > 0, _sums(s - 1, x, momentum), -1 / momentum)
    # 1 − e cancels where little has been learnt, the difference of sums where the roots are nearly equal.
    learnt, apart = _little(s, x, momentum)
    return np.where(ended, 1.0, np.where(1 - e < apart, learnt, 1 - e))


def _little(s: Array, x: Array, momentum: float) -> tuple[Array, Array]:
    """`1 − e_s = x Σ_{k≤s} (z₁^k − z₂^k)/(z₁ − z₂)` for positive roots, and how far apart they are: −∞ for others.

    Both geometric sums keep their digits, since (1 − z₁)(1 − z₂) = x.
    """
    half = (1 + momentum - x) / 2
    gap = np.maximum(half**2 - momentum, 0.0)
    positive = (gap > 0) & (half > 0)
    larger = np.where(positive, half + np.sqrt(gap), 1.0)
    smaller = momentum / larger
    below = np.where(positive, x / (1 - smaller), 1.0)  # 1 − z₁
    first = np.where(below == 0, s, -np.expm1(s * np.log1p(-below)) / np.where(below == 0, 1.0, below))
    second = (1 - smaller**s) / (1 - smaller)
    sums = (larger * first - smaller * second) / np.where(positive, larger - smaller, 1.0)
    return x * sums, np.where(positive, 1 - smaller / larger, -np.inf)


def _sums(s: Array, x: Array, momentum: float) -> Array:
    """`Σ_{k<s} z₁^{s−1−k} z₂^k` of the roots of z² − (1 + μ − x)z + μ: what a unit push has become after s steps."""
    half = (1 + momentum - x) / 2
    gap = half**2 - momentum
    # Real roots: the larger, to the power s − 1, times a geometric sum of their ratio, which lies in (0, 1].
    larger = half + np.sign(half) * np.sqrt(np.maximum(gap, 0.0))
    ratio = np.log(np.where(gap > 0, momentum / np.where(larger == 0, 1.0, larger) ** 2, 1.0))
    terms = np.where(ratio == 0, s, np.expm1(s * ratio) / np.where(ratio == 0, 1.0, np.expm1(ratio)))
    sign = np.where((larger < 0) & (np.mod(s - 1, 2) == 1), -1.0, 1.0)
    real = sign * np.exp((s - 1) * np.log(np.abs(np.where(larger == 0, 1.0, larger)))) * terms
    # A conjugate pair √μ e^{±iθ}: the sum is a ratio of sines.
    angle = np.arctan2(np.sqrt(np.maximum(-gap, 0.0)), half)
    sine = np.sin(angle)
    turned = momentum ** ((s - 1) / 2) * np.sin(s * angle) / np.where(sine == 0, 1.0, sine)
    return np.where(s <= 0, 0.0, np.where(gap >= 0, real, turned))


def _idle(count: Array, momentum: float) -> Array:
    """How many plain steps a constant gradient has been followed for, after so many steps with momentum."""
    return (count - momentum * (1 - momentum**count) / (1 - momentum)) / (1 - momentum)
