r"""Kernels of networks of infinite width: NNGP and NTK, fully connected of any depth, and the circular CNN of Hu et al.

NTK parameterisation, unit weight variance, no biases: the layers are h¹ = W¹x/√d and h^{l+1} = W^{l+1}φ(h^l)/√m, the
output is h^{L+1} for L hidden layers. With K⁰ = Θ⁰ = ⟨x, y⟩/d (Jacot et al. 2018; Lee et al. 2019)

.. math:: K^l = E[φ(u)φ(v)], \quad \dot K^l = E[φ'(u)φ'(v)], \quad Θ^l = K^l + \dot K^l Θ^{l-1},

where u and v have the covariances K^{l−1}(x, x), K^{l−1}(x, y), K^{l−1}(y, y). Each step is in
:mod:`lineament.theory.dual_activations`, for all pairs at once in :mod:`lineament.theory.dual_grid`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array
from .activations import Activation, resolve
from .dual_activations import dual
from .dual_grid import grid_dual

AnyActivation = str | Activation | Callable[[Array], Array]


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
    hidden_layers = arguments.count("hidden_layers", hidden_layers, 0)
    c = X @ Y.T / X.shape[1]
    # On the diagonal of a symmetric kernel c must equal its variance to the last bit: the angle is then 0.
    p, q = (_mean_square(X), _mean_square(Y)) if y is not None else (np.diag(c).copy(),) * 2
    ntk, phi = c, resolve(activation)
    for _ in range(hidden_layers):
        nngp, slope = grid_dual(phi, p, q, c)
        ntk = nngp + slope * ntk
        p = _variances(phi, p)
        q = p if y is None else _variances(phi, q)
        if y is None:
            np.fill_diagonal(nngp, p)
        c = nngp
    return Kernels(c, ntk)


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
        P, Q = X[:, window], Y[:, window]
        c = P @ Q.T / filter_size
        p, q = (_mean_square(P), _mean_square(Q)) if y is not None else (np.diag(c),) * 2
        value, slope = grid_dual(phi, p, q, c)
        nngp += value / d
        ntk += (value + slope * c) / d
    return Kernels(nngp, ntk)


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
    hidden_layers = arguments.count("hidden_layers", hidden_layers, 0)
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


def _variances(phi: Activation, p: Array) -> Array:
    return dual(phi, p, p, p).value


def _mean_square(X: Array) -> Array:
    return np.einsum("ij,ij->i", X, X) / X.shape[1]


def _pair(x: ArrayLike, y: ArrayLike | None) -> tuple[Array, Array]:
    X = arguments.matrix("x", x)
    Y = X if y is None else arguments.matrix("y", y)
    if X.shape[1] != Y.shape[1]:
        raise ValueError(f"y must be of as many columns as x, {X.shape[1]}; got shape {Y.shape}")
    return X, Y
