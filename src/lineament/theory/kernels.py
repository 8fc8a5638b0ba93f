r"""Kernels of networks of infinite width: NNGP and NTK, fully connected of any depth, and the circular CNN of Hu et al.

NTK parameterisation, unit weight variance, no biases: the layers are h¹ = W¹x/√d and h^{l+1} = W^{l+1}φ(h^l)/√m, the
output is h^{L+1} for L hidden layers. With K⁰ = Θ⁰ = ⟨x, y⟩/d (Jacot et al. 2018; Lee et al. 2019)

.. math:: K^l = E[φ(u)φ(v)], \quad \dot K^l = E[φ'(u)φ'(v)], \quad Θ^l = K^l + \dot K^l Θ^{l-1},

where u and v have the covariances K^{l−1}(x, x), K^{l−1}(x, y), K^{l−1}(y, y). Each layer is in
:mod:`lineament.theory.wide_layers` where a closed form is known, to 1e-13 at every scale; any other in
:mod:`lineament.theory.dual_activations`, to 1e-10 (for inputs nearer than 1e-4 to each other, deep networks and
activations with kinks 1e-8), for all pairs at once in :mod:`lineament.theory.dual_grid`.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array
from .activations import Activation, resolve
from .angles import Angles, between, from_cosine, lengths, mirror
from .dual_activations import dual, quadrature
from .dual_grid import grid_dual
from .wide_layers import Layer, closed_form

AnyActivation = str | Activation | Callable[[Array], Array]

BLOCK = 1 << 15
"""Pairs that go through all layers together: some ten arrays of them, which stay in the cache."""


class Kernels(NamedTuple):
    """Covariance of the outputs at the start and kernel of their training, each ``(n, n')``."""

    nngp: Array
    ntk: Array


class Expansion(NamedTuple):
    """``NTK = constant + linear·c + O(c²)`` in the overlap c = ⟨x, y⟩/d of inputs with ‖x‖² = ‖y‖² = d."""

    constant: float
    linear: float


def infinite(x: ArrayLike, y: ArrayLike | None = None, *, activation: AnyActivation, hidden_layers: int) -> Kernels:
    """NNGP and NTK of a fully connected network of infinite width.

    Args:
        x: inputs, ``(n, d)``.
        y: other inputs, ``(n', d)``; x again if not given.
        activation: see :func:`lineament.theory.activations.resolve`.
        hidden_layers: L ≥ 0; all L + 1 layers are trained. With none, both kernels are ⟨x, y⟩/d.
    """
    X, Y = _pair(x, y)
    L, phi = arguments.depth("hidden_layers", hidden_layers, 0), resolve(activation)
    s, t, theta = _geometry(X, None if y is None else Y)
    nngp, ntk = np.empty((2, len(s), len(t)))
    for rows, columns in _blocks(phi, len(s), len(t), y is None):
        part = Angles(theta.half_sin[rows, columns], theta.half_cos[rows, columns])
        diagonal = rows.start if y is None else None
        nngp[rows, columns], ntk[rows, columns] = _recursion(phi, L, s[rows], t[columns], part, diagonal)
    return _kernels(nngp, ntk, y is None)


def circular_cnn(x: ArrayLike, y: ArrayLike | None = None, *, filter_size: int, activation: AnyActivation) -> Kernels:
    r"""NNGP and NTK of the one-layer circular CNN without pooling, of infinitely many channels (eq. 12).

    f(x) = (md)^{−1/2} Σ_r v_rᵀφ(w_r ∗ x/√q). The readouts at different positions are independent, so that only equal
    positions meet: with c_i the mean product of the patches of x and y at i, and K, K̇ as above,

    .. math:: \text{NNGP} = \frac1d\sum_i K_i, \qquad \text{NTK} = \frac1d\sum_i \left(K_i + \dot K_i c_i\right).

    Args:
        x: inputs, ``(n, d)``.
        y: other inputs, ``(n', d)``; x again if not given.
        filter_size: q, from 1 to d.
        activation: see :func:`lineament.theory.activations.resolve`.
    """
    X, Y = _pair(x, y)
    d = X.shape[1]
    filter_size = arguments.count("filter_size", filter_size, 1, d)
    phi = resolve(activation)
    nngp, ntk = np.zeros((2, len(X), len(Y)))
    for i in range(d):
        window = np.arange(i, i + filter_size) % d
        s, t, theta = _geometry(X[:, window], None if y is None else Y[:, window])
        for rows, columns in _blocks(phi, len(s), len(t), y is None):
            part = Angles(theta.half_sin[rows, columns], theta.half_cos[rows, columns])
            diagonal = rows.start if y is None else None
            K, T = _recursion(phi, 1, s[rows], t[columns], part, diagonal)
            nngp[rows, columns] += K / d
            ntk[rows, columns] += T / d
    return _kernels(nngp, ntk, y is None)


def expansion(activation: AnyActivation, hidden_layers: int) -> Expansion:
    r"""The infinite-width NTK of inputs with ‖x‖² = d to first order in their overlap c = ⟨x, y⟩/d.

    Differentiating the recursion, with dK^l/dK^{l−1} = K̇^l and dK̇^l/dK^{l−1} = K̈^l (Price's theorem),

    .. math:: \frac{dΘ^l}{dc} = \left(\dot K^l + \ddot K^l Θ^{l-1}\right)\frac{dK^{l-1}}{dc}
              + \dot K^l\frac{dΘ^{l-1}}{dc}.

    For odd φ everything else vanishes at c = 0 and what is left is (L + 1) Π_l E[φ′(√q_{l−1} g)]², where q_l are the
    variances: the coefficient of XXᵀ/d in the kernel of the linear twin. The same number belongs to a CNN of L hidden
    circular layers without pooling, if φ is odd and every patch has unit mean square, since means over
    windows and positions commute with all of it. Two networks whose step times coefficient agree share one twin.

    Args:
        activation: see :func:`lineament.theory.activations.resolve`.
        hidden_layers: L ≥ 0.
    """
    hidden_layers = arguments.depth("hidden_layers", hidden_layers, 0)
    phi = resolve(activation)
    q, k, k_slope, ntk, ntk_slope = 1.0, 0.0, 1.0, 0.0, 1.0
    for _ in range(hidden_layers):
        value, slope = (float(part) for part in dual(phi, np.array(q), np.array(q), np.array(k)))
        ntk_slope = slope * k_slope + _curvature(phi, q, k) * k_slope * ntk + slope * ntk_slope
        ntk = value + slope * ntk
        k, k_slope = value, slope * k_slope
        q = float(_variances(phi, np.array([q]))[0])
    return Expansion(ntk, ntk_slope)


def _curvature(phi: Activation, q: float, k: float) -> float:
    """dK̇/dK at variance q and covariance k, by the five-point rule: K̇ is analytic for |k| < q."""
    h = 1e-3 * (q - abs(k))
    if h <= 0:  # only a constant φ makes unlike inputs alike, and then K̇ = 0 everywhere
        return 0.0
    at = k + h * np.array([-2.0, -1.0, 1.0, 2.0])
    slope = dual(phi, np.full(4, q), np.full(4, q), at).slope
    return float((slope[0] - 8 * slope[1] + 8 * slope[2] - slope[3]) / (12 * h))


def _geometry(X: Array, Y: Array | None) -> tuple[Array, Array, Angles]:
    """Standard deviations (n,), (n',) and angles (n, n') of the first layer's outputs."""
    s = lengths(X)
    return s, s if Y is None else lengths(Y), between(X, Y)


def _blocks(phi: Activation, n: int, m: int, itself: bool) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of parts that a cache holds; of inputs compared with themselves, those up to the diagonal.

    By quadrature everything is one part: what is tabulated serves all pairs.
    """
    size = max(1, BLOCK // m) if closed_form(phi) is not None else n
    for begin in range(0, n, size):
        end = min(n, begin + size)
        yield slice(begin, end), slice(0, end if itself else m)


def _recursion(
    phi: Activation, layers: int, s: Array, t: Array, theta: Angles, diagonal: int | None
) -> tuple[Array, Array]:
    """K and Θ after so many layers, of some rows and columns."""
    cosine = theta.cos
    T = cosine  # the tangent kernel in units of the two standard deviations
    for _ in range(layers):
        s, t, theta, cosine, gain = _layer(phi, s, t, theta, diagonal)
        T = cosine + gain * T
    return _scaled(s, t, cosine), _scaled(s, t, T)


def _layer(phi: Activation, s: Array, t: Array, theta: Angles, diagonal: int | None) -> Layer:
    """One layer, in closed form or by quadrature; rows that are the columns from `diagonal` on keep an angle of 0."""
    if (closed := closed_form(phi)) is not None:
        layer = closed(s[:, None], t[None, :], theta)
        layer = layer._replace(s=layer.s[:, 0], t=layer.t[0])
    else:
        value, slope = grid_dual(phi, s, t, theta.theta)
        out_s, out_t = (np.sqrt(quadrature(phi, x, x, np.zeros_like(x)).value) for x in (s, t))
        product = out_s[:, None] * out_t
        cosine = np.clip(np.divide(value, product, out=np.zeros_like(value), where=product > 0), -1, 1)
        gain = np.divide(slope * s[:, None] * t, product, out=np.zeros_like(value), where=product > 0)
        layer = Layer(out_s, out_t, from_cosine(cosine), cosine, gain)
    if diagonal is not None:
        alike = np.flatnonzero(layer.s > 0)
        layer.cos[alike, diagonal + alike] = layer.angles.half_cos[alike, diagonal + alike] = 1.0
        layer.angles.half_sin[alike, diagonal + alike] = 0.0
    return layer


def _scaled(s: Array, t: Array, kernel: Array) -> Array:
    with np.errstate(over="ignore"):
        scaled = s[:, None] * kernel * t
    if not np.isfinite(scaled).all():
        raise ValueError("x must be inputs whose kernel a float can hold; got one that overflows")
    return scaled


def _kernels(nngp: Array, ntk: Array, itself: bool) -> Kernels:
    """Both kernels, of which inputs compared with themselves have what is below the diagonal alone."""
    if itself:
        mirror(nngp)
        mirror(ntk)
    return Kernels(nngp, ntk)


def _variances(phi: Activation, p: Array) -> Array:
    return dual(phi, p, p, p).value


def _pair(x: ArrayLike, y: ArrayLike | None) -> tuple[Array, Array]:
    X = arguments.matrix("x", x)
    Y = X if y is None else arguments.matrix("y", y)
    if X.shape[1] != Y.shape[1]:
        raise ValueError(f"y must be of as many columns as x, {X.shape[1]}; got shape {Y.shape}")
    return X, Y
