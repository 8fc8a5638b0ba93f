r"""The printed bounds on the largest incremental start (Gissin et al. 2020, Theorems 2 and 3), and where they break.

Everything is a natural logarithm, since at depth two the bounds are exponentially small in 1/(r − 1). With
r = σi*/σj*, q = 1 − 2/N and σj* = `target`:

Theorem 2, gradient flow. The upper bound for N ≥ 3 is not what its proof gives. Plugging σ = sσj* into all integrands
yields the necessary condition (Appendix A)

    (sσj*)^{−q} − (rfσj*)^{−q} ≤ (r − 1)/(1 − s) (σ0^{−q} − (sσj*)^{−q}),

from which the printed bound drops (rfσj*)^{−q}. In the sufficient condition that is allowed, here it makes a necessary
condition stricter, and the bound too low. Kept in both, the term gives one pair for every real N ≥ 2:

    sσj* (1 + (1 − (s/(rf))^q)/((1−f)(r−1)))^{−1/q} ≤ σ0th ≤ sσj* (1 + (1−s)(1 − (s/(rf))^q)/(r−1))^{−1/q},

whose limit N → 2 is the printed pair of depth two.

Theorem 3, gradient descent at depth two with step η = c/σ1* and Ri = σi*/σ1*. The upper bound holds. The lower one
raises a number below one to the power 1/(A − 1) and needs A > 1, which is not said; by the definition of A,

    A > 1  ⟺  c Ri < 4r(r − 1)/(4r² + 1).

- For A > 1 it holds. The proof compares real times t_f(σi) ≤ t_s(σj), while steps are whole. It is enough that they
  differ by 1, which asks 2(1 − x) Dj ≥ (1 − x/r)^{1/A} of x = σ0/σj*, Dj = 1 − cRj − c²Rj²/4. A > 1 bounds cRj by
  4(r−1)/(4r²+1) < 0.237, so Dj > 3/4; the bound itself has x < s/(2(1−s)) < 1/6; and 2 · 5/6 · 3/4 > 1.
- For A < 1 it always fails: the base is below 1/(18r) and the power below −1, so that the "lower bound" exceeds
  9rsσj*, while no start above sσj* is incremental.
"""

import numpy as np
from numpy.typing import ArrayLike

from ..core.arguments import Array
from .phase_arguments import BOUNDS, checked, refuse

LARGEST_STEP = 2 * (2**0.5 - 1)
"""Theorem 3 has c below this; there 1 − c − c²/4 = 0."""

_DESCENT = BOUNDS | {"c": {"above": 0, "below": LARGEST_STEP}}


def log_bounds(
    depth: ArrayLike, ratio: ArrayLike, s: ArrayLike, f: ArrayLike, target: ArrayLike = 1.0
) -> tuple[Array, Array]:
    """The two bounds on log σ0th under gradient flow as printed in Theorem 2.

    The upper one is false in part of the range N ≥ 3; :func:`log_bounds_corrected` holds throughout.

    Args:
        depth: N = 2 or N ≥ 3, real or `inf`.
        ratio: r = σi*/σj* > 1.
        s: in (0, ½]; the theorem has s < ¼.
        f: in [½, 1); the theorem has f > ¾.
        target: σj* > 0.
    """
    depth, ratio, s, f, target = checked(depth=depth, ratio=ratio, s=s, f=f, target=target)
    refuse((depth != 2) & (depth < 3), "depth must be 2 or at least 3, as in Theorem 2; got {:g}", depth)
    two, q = depth == 2, np.where(depth == 2, 1.0, 1 - 2 / depth)
    spread = np.log(s / (ratio * f))
    slow, fast = 1 / ((1 - f) * (ratio - 1)), (1 - s) / (ratio - 1)
    below, above = (np.where(two, x * spread, -np.log1p(x) / q) for x in (slow, fast))
    begin = np.log(s * target)
    return begin + below, begin + above


def log_bounds_corrected(
    depth: ArrayLike, ratio: ArrayLike, s: ArrayLike, f: ArrayLike, target: ArrayLike = 1.0
) -> tuple[Array, Array]:
    """Bounds on log σ0th under gradient flow that hold for every real depth N ≥ 2, continuous at N = 2.

    The arguments are those of :func:`log_bounds`. The lower bound is never below the printed one.
    """
    limits = BOUNDS | {"depth": {"least": 2, "infinite": True}}
    depth, ratio, s, f, target = checked(limits, depth=depth, ratio=ratio, s=s, f=f, target=target)
    q = 1 - 2 / depth
    spread = np.log(ratio * f) - np.log(s)
    begin = np.log(s * target)
    # (1 − e^{−q·spread})/q tends to `spread` at depth 2, and so does the outer logarithm over q.
    inner = np.where(q == 0, spread, -np.expm1(-q * spread) / np.where(q == 0, 1, q))
    slow, fast = inner / ((1 - f) * (ratio - 1)), inner * (1 - s) / (ratio - 1)
    below, above = (np.where(q == 0, x, np.log1p(q * x) / np.where(q == 0, 1, q)) for x in (slow, fast))
    return begin - below, begin - above


def descent_exponents(ratio: ArrayLike, c: ArrayLike, share: ArrayLike = 1.0) -> tuple[Array, Array]:
    """A and B of Theorem 3; both tend to r as c → 0, and A ≤ r ≤ B.

    Args:
        ratio: r = σi*/σj* > 1.
        c: η σ1*, in (0, 2(√2 − 1)).
        share: Ri = σi*/σ1*, in (0, 1].
    """
    ratio, c, share = checked(_DESCENT, ratio=ratio, c=c, share=share)
    i, j = c * share, c * share / ratio
    fast_i, slow_i = np.log1p(-i - i**2 / 4), np.log1p(-i + i**2)
    fast_j, slow_j = np.log1p(-j - j**2 / 4), np.log1p(-j + j**2)
    return slow_i / fast_j, fast_i / slow_j


def largest_step(ratio: ArrayLike) -> Array:
    """The value 4r(r − 1)/(4r² + 1) of c Ri below which A > 1, so that Theorem 3's lower bound is one."""
    (ratio,) = checked(ratio=ratio)
    return 4 * ratio * (ratio - 1) / (4 * ratio**2 + 1)


def log_bounds_descent(
    ratio: ArrayLike, s: ArrayLike, f: ArrayLike, c: ArrayLike, share: ArrayLike = 1.0, target: ArrayLike = 1.0
) -> tuple[Array, Array]:
    """The two bounds on log σ0th under gradient descent at depth two, as printed in Theorem 3.

    The lower one holds where c · share < :func:`largest_step` and nowhere else.

    Args:
        ratio: r = σi*/σj* > 1.
        s: in (0, ½]; the theorem has s < ¼.
        f: in [½, 1); the theorem has f > ¾.
        c: η σ1*, in (0, 2(√2 − 1)).
        share: Ri = σi*/σ1*, in (0, 1].
        target: σj* > 0.
    """
    ratio, s, f, c, share, target = checked(_DESCENT, ratio=ratio, s=s, f=f, c=c, share=share, target=target)
    A, B = descent_exponents(ratio, c, share)
    odds, left = np.log(s / (1 - s)), np.log((1 - f) / f)
    with np.errstate(divide="ignore"):  # A = 1 has no bound
        below = np.log(target / 2) + odds + (left + odds - np.log(2 * ratio)) / (A - 1)
    return below, np.log(target) + odds + (left + odds) / (B - 1)
