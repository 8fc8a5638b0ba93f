r"""What a layer of infinite width does to covariances: E[φ(u)φ(v)] and E[φ′(u)φ′(v)] for jointly Gaussian u, v.

Given the variances p, q of u, v and their covariance c, closed forms are known for erf (Williams 1997) and for
functions linear on either side of 0 (Cho & Saul 2009, arc-cosine kernels): :mod:`lineament.theory.wide_layers`.

Any other activation is integrated in polar coordinates of the plane of two independent normals,

.. math:: u = \sqrt p\,r\cosα, \quad v = \sqrt q\,r\cos(α - θ), \quad \cosθ = c/\sqrt{pq}, \quad
          E = \frac1{2π}\int dα \int r e^{-r^2/2} φ(u)φ(v)\,dr .

A kink of φ at 0 is then a pair of rays, and a kink at b ≠ 0 a break of the radial integral at b/(√p cos α), which meets
that of another kink only in the directions of the points (u, v) = (b, b′). With panels between all of these, Gauss's
rule sees smooth functions only, also where θ → 0 or π, where tensor rules in u and v fail.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array
from . import wide_layers
from .activations import NAMED, Activation, resolve
from .angles import Angles, from_cosine

RADIUS = 8.5
"""Where the radial integral stops: e^{−r²/2} = 2e-16."""

BLOCK = 2_000_000
"""Values of φ held at a time."""

LARGEST = 1000.0
"""Standard deviation up to which φ is integrated; the cost of a pair grows in proportion to it."""


class Dual(NamedTuple):
    """E[φ(u)φ(v)] and E[φ′(u)φ′(v)]."""

    value: Array
    slope: Array


def dual(activation: str | Activation, p: ArrayLike, q: ArrayLike, c: ArrayLike) -> Dual:
    """Both expectations, elementwise over broadcast arrays, in closed form where one is known.

    Args:
        activation: a name or an :class:`Activation`.
        p: variances of u, not negative.
        q: variances of v.
        c: covariances, |c| ≤ √(pq) up to rounding.
    """
    resolved = resolve(activation)
    if resolved is NAMED["erf"]:
        return erf_dual(p, q, c)
    if resolved.slopes is not None:
        return piecewise_linear_dual(*resolved.slopes, p, q, c)
    return quadrature_dual(resolved, p, q, c)


def erf_dual(p: ArrayLike, q: ArrayLike, c: ArrayLike) -> Dual:
    """Both expectations for erf: (2/π) arcsin(2c/√((1+2p)(1+2q))) and (4/π)/√((1+2p)(1+2q) − 4c²) (Williams 1997)."""
    s, t, angles = _geometry(p, q, c)
    layer = wide_layers.erf_layer(s, t, angles)
    with np.errstate(over="ignore"):  # an infinite N leaves a slope of 0
        N = np.hypot(np.hypot(1.0, np.sqrt(2) * s), np.hypot(np.sqrt(2) * t, 2 * s * t * angles.sin))
    return Dual(layer.s * layer.t * layer.cos, 4 / np.pi / N)


def piecewise_linear_dual(left: float, right: float, p: ArrayLike, q: ArrayLike, c: ArrayLike) -> Dual:
    """Both expectations for φ = left·z + (right − left)·relu(z), by arc-cosine kernels (Cho & Saul 2009)."""
    left, right = (
        arguments.number(*pair, least=-arguments.SQUARED, most=arguments.SQUARED)
        for pair in (("left", left), ("right", right))
    )
    s, t, angles = _geometry(p, q, c)
    layer = wide_layers.piecewise_linear_layer(left, right, s, t, angles)
    return Dual(layer.s * layer.t * layer.cos, (left**2 + right**2) / 2 * layer.gain)


def quadrature_dual(activation: str | Activation, p: ArrayLike, q: ArrayLike, c: ArrayLike) -> Dual:
    """Both expectations by the polar rule of this module.

    Measured against closed forms and finer rules, for standard deviations up to 10 and all angles: 1e-10.
    """
    s, t, angles = _geometry(p, q, c)
    return quadrature(resolve(activation), s, t, angles.theta)


def quadrature(activation: Activation, s: ArrayLike, t: ArrayLike, theta: ArrayLike) -> Dual:
    """Both expectations by the polar rule, from standard deviations and the angle."""
    resolved = resolve(activation)
    s, t = (arguments.real(*pair, least=0, most=LARGEST) for pair in (("s", s), ("t", t)))
    theta = arguments.real("theta", theta, least=0, most=4)
    shape = arguments.together(s=s, t=t, theta=theta)
    kinks = np.array([kink for kink in resolved.kinks if kink != 0])
    s, t, theta = (np.broadcast_to(array, shape).ravel() for array in (s, t, theta))
    value, slope = np.empty((2, theta.size))
    orders = _orders(float(max(np.max(s, initial=1.0), np.max(t, initial=1.0))), bool(kinks.size))
    nodes = (4 + kinks.size**2) * (2 * kinks.size + 1) * orders[0] * orders[1]  # of a pair
    rows = max(1, BLOCK // nodes)
    for begin in range(0, theta.size, rows):
        part = slice(begin, begin + rows)
        u, v, weight = _nodes(s[part], t[part], theta[part], kinks, orders)
        value[part] = np.einsum("kar,kar->k", weight, resolved.function(u) * resolved.function(v))
        slope[part] = np.einsum("kar,kar->k", weight, resolved.derivative(u) * resolved.derivative(v))
    return Dual(value.reshape(shape), slope.reshape(shape))


def _geometry(p: ArrayLike, q: ArrayLike, c: ArrayLike) -> tuple[Array, Array, Angles]:
    """Standard deviations, and θ = arccos(c/√(pq)): a right angle where a variance is 0, whatever u or v is then."""
    p, q = arguments.real("p", p, least=0), arguments.real("q", q, least=0)
    c = arguments.real("c", c)
    arguments.together(p=p, q=q, c=c)
    s, t = np.sqrt(p), np.sqrt(q)
    product = s * t
    if np.any(np.abs(c) > product * (1 + 1e-9) + 1e-300):
        raise ValueError("c must be covariances, at most √(pq) in size; got one that is larger")
    cosine = np.divide(c, product, out=np.zeros(np.shape(c + product)), where=product > 0)
    # u = ±v to the last bit: dividing by a product of roots would leave an angle of 1e-8.
    equal = (p == q) & (np.abs(c) == p) & (product > 0)
    return s, t, from_cosine(np.where(equal, np.sign(c), cosine))


def _nodes(s: Array, t: Array, theta: Array, kinks: Array, orders: tuple[int, int]) -> tuple[Array, Array, Array]:
    """u, v and weights, each (pairs, angles, radii), for standard deviations s, t of u, v."""
    quarter = np.full(s.shape, np.pi / 2)
    corners = [-quarter, theta - quarter, quarter, theta + quarter, 3 * quarter]
    with np.errstate(divide="ignore", invalid="ignore"):
        for b in kinks:
            for c in kinks:
                height = (c / t - np.cos(theta) * b / s) / np.sin(theta)
                corner = np.nan_to_num(np.arctan2(height, b / s))
                corners.append((corner + np.pi / 2) % (2 * np.pi) - np.pi / 2)
    alpha, angular = _panels(np.sort(np.stack(corners, axis=-1)), orders[0])
    cos_u, cos_v = s[:, None] * np.cos(alpha), t[:, None] * np.cos(alpha - theta[:, None])
    with np.errstate(divide="ignore"):
        # A ray meets u = b at r = b/(s cos α); one that points away, or meets it too far out, has no break.
        hits = [b / cosine for b in kinks for cosine in (cos_u, cos_v)]
    breaks = [np.zeros(alpha.shape), *(np.where(hit > 0, np.minimum(hit, RADIUS), 0) for hit in hits)]
    edges = np.sort(np.stack([*breaks, np.full(alpha.shape, RADIUS)], axis=-1))
    # A ray meets the kinks of one sign only, so that at least so many edges besides the first are 0.
    spare = 2 * min(np.count_nonzero(kinks > 0), np.count_nonzero(kinks < 0))
    r, radial = _panels(edges[..., spare:], orders[1])
    weight = angular[..., None] * radial * r * np.exp(-(r**2) / 2) / (2 * np.pi)
    return cos_u[..., None] * r, cos_v[..., None] * r, weight


def _orders(deviation: float, kinked: bool) -> tuple[int, int]:
    """Nodes on every panel, in angle and radius, for the largest standard deviation.

    φ turns within |u| ~ 1, a share 1/√p of the range, and Gauss's nodes lie quadratically dense at the ends of a panel,
    where the turn is: the square root. Away from 0 a kink makes the radial integral behave as exp(−b²/(2p cos²α)),
    flat but not analytic at cos α = 0, which takes more nodes.
    """
    root = np.sqrt(deviation)
    return int((80 if kinked else 32) * root), int(32 * root)


def _panels(edges: Array, order: int) -> tuple[Array, Array]:
    """Gauss–Legendre nodes and weights on all panels between the edges (last axis, rising)."""
    node, weight = np.polynomial.legendre.leggauss(order)
    half = np.diff(edges)[..., None] / 2
    nodes = edges[..., :-1, None] + half * (1 + node)
    return nodes.reshape(*edges.shape[:-1], -1), (half * weight).reshape(*edges.shape[:-1], -1)
