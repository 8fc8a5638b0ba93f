r"""How the end-to-end matrix of a deep linear network moves, without its layers (Cohen & Razin, Theorem 1).

Under gradient flow from a balanced start, W = W_n ⋯ W_1 obeys an equation in W alone,

.. math:: \dot W = -\sum_{j=1}^n [WW^\top]^{\frac{j-1}{n}}\, \nabla\ell(W)\, [W^\top W]^{\frac{n-j}{n}} .
   \qquad (3)

In the singular bases, W = U diag(σ) Vᵀ, the sum multiplies entry (r, r') of Uᵀ∇ℓV by the eigenvalue Σ_j
σ_r^{2(n−j)/n} σ_r'^{2(j−1)/n} of the implicit preconditioner (Corollary 1): one singular value decomposition and no
powers of matrices. The sum is taken as printed, by Horner's rule in σ^{2/n}; its closed form, a quotient of
differences, would fail where singular values coincide.

Rank-deficient maps. For n ≥ 3 the right-hand side is only Hölder continuous, of exponent 2/n, at maps that lack
rank: rounding of size 1e-16 in a singular value that should be zero changes the field by 1e-16^{2/n}, and the
stages of an integrator do not stay on the set of maps of rank r, though for n ≥ 2 the flow itself does.
:func:`trajectory` therefore moves such a start on that set, W = U S Vᵀ with S of size r × r (Koch & Lubich 2007).
Tangency removes the inverse of S that this form usually carries:

.. math:: \dot U = -(I - UU^\top)\nabla\ell\,V R^\top, \quad \dot V = -(I - VV^\top)\nabla\ell^\top U R, \quad
   R = S(S^\top S)^{-1/n},

and S follows (3) itself with gradient Uᵀ∇ℓV. Coinciding singular values need no care.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array
from .integration import Method, integrate, outside, weights
from .layers import ROUNDING, product, unbalancedness

Gradient = Callable[[Array], ArrayLike]


class Eigensystem(NamedTuple):
    """The implicit preconditioner P(W) of Corollary 1, `P vec(u_r v_r'ᵀ) = values[r, r'] vec(u_r v_r'ᵀ)`.

    Attributes:
        values: `(…, outputs, inputs)`.
        U: all left singular vectors u_r as columns, `(…, outputs, outputs)`.
        V: all right singular vectors v_r' as columns, `(…, inputs, inputs)`.
    """

    values: Array
    U: Array
    V: Array


class Forecast(NamedTuple):
    """A trajectory of the end-to-end matrix `(T, outputs, inputs)`, and the unbalancedness it disregards."""

    W: Array
    unbalancedness: float


def eigensystem(W: ArrayLike, depth: SupportsIndex) -> Eigensystem:
    """Eigenvalues and eigenvectors of the implicit preconditioner (Corollary 1), null spaces included."""
    W, n = arguments.matrices("W", W), arguments.depth("depth", depth)
    U, s, Vt = np.linalg.svd(W)
    a = s ** (2 / n)
    left, right = (np.concatenate([a, np.zeros((*a.shape[:-1], d - a.shape[-1]))], -1) for d in W.shape[-2:])
    return Eigensystem(weights(left, right, n), U, np.swapaxes(Vt, -1, -2))


def field(W: ArrayLike, grad: ArrayLike, depth: SupportsIndex, *, rank: int | None = None) -> Array:
    """The velocity of the end-to-end matrix, the right-hand side of equation (3).

    Args:
        W: the map, or a stack of maps, `(…, outputs, inputs)`.
        grad: ∇ℓ(W), of the same shape.
        depth: n ≥ 1.
        rank: where the rank of W is known: singular values beyond it are taken to be exactly zero.
    """
    W, n = arguments.matrices("W", W), arguments.depth("depth", depth)
    G = arguments.matrices("grad", grad, W.shape)
    if rank is not None:
        rank = arguments.count("rank", rank, 0, min(W.shape[-2:]))
    if W.shape[-2] > W.shape[-1]:
        return np.swapaxes(_field(np.swapaxes(W, -1, -2), np.swapaxes(G, -1, -2), n, rank), -1, -2)
    return _field(W, G, n, rank)


def _field(W: Array, G: Array, n: int, rank: int | None) -> Array:
    """:func:`field` of maps that have no more rows than columns."""
    U, s, Vt = np.linalg.svd(W, full_matrices=False)
    if rank is not None:
        s[..., rank:] = 0.0
    a = s ** (2 / n)
    # U is square but V is thin: the term j = n of (3), a_r^{n−1}, also reaches inputs outside the span of V; the
    # others, which carry a factor a_r', do not.
    inner = np.swapaxes(U, -1, -2) @ G
    within = a[..., None, :] * weights(a, a, n - 1) * (inner @ np.swapaxes(Vt, -1, -2))
    return -U @ (a[..., :, None] ** (n - 1) * inner + within @ Vt)


def field_one_output(w: ArrayLike, grad: ArrayLike, depth: SupportsIndex) -> Array:
    """The velocity `−‖w‖^{2−2/n} (∇ + (n−1) proj_w ∇)` of a single-output map (Exercise 1).

    What of the gradient lies along w, the movement so far when the start is near zero, counts n-fold.

    Args:
        w: the map, `(…, inputs)`.
        grad: ∇ℓ(w), of the same shape.
        depth: n ≥ 1.
    """
    n, w, g = arguments.count("depth", depth), arguments.real("w", w), arguments.real("grad", grad)
    if w.ndim == 0 or w.shape[-1] == 0:
        raise ValueError(f"w must be a vector of at least one number, or a stack of them; got shape {w.shape}")
    if g.shape != w.shape:
        raise ValueError(f"grad must be of the shape {w.shape} of w; got {g.shape}")
    norm = np.linalg.norm(w, axis=-1, keepdims=True)
    unit = w / np.where(norm > 0, norm, 1.0)
    along = np.sum(unit * g, axis=-1, keepdims=True) * unit
    return -(norm ** (2 - 2 / n)) * (g + (n - 1) * along)


def field_symmetric(Ws: ArrayLike, grad: ArrayLike) -> Array:
    """The velocity of W_s = WWᵀ under gradient flow on ℓ(WWᵀ) (Exercise 2).

    Ẇ = −(∇ + ∇ᵀ)W, hence `Ẇ_s = −(∇ + ∇ᵀ)W_s − W_s(∇ + ∇ᵀ)`. It needs no balance and no square W; for symmetric
    gradients it is twice the two-layer field of Theorem 1 at W_s, for both factors move together.

    Args:
        Ws: the symmetric product, `(…, d, d)`.
        grad: ∇ℓ(W_s) over all matrices, of the same shape, symmetric or not.
    """
    Ws = arguments.square("Ws", Ws)
    G = arguments.matrices("grad", grad, Ws.shape)
    half = (G + np.swapaxes(G, -1, -2)) @ Ws
    return -half - np.swapaxes(half, -1, -2)


def trajectory(
    times: ArrayLike,
    W0: ArrayLike,
    gradient: Gradient,
    depth: SupportsIndex,
    *,
    rank: int | None = None,
    method: Method = "DOP853",
    rtol: float = 1e-10,
    atol: float = 1e-14,
) -> Array:
    """Solve equation (3) from W(0) = W0: the end-to-end matrix of a balanced network, from W alone.

    Args:
        times: rising times ≥ 0, 1-D.
        W0: the map at time 0, `(outputs, inputs)`.
        gradient: ∇ℓ as a function of a map.
        depth: n ≥ 1.
        rank: the rank of W0, by default its numerical rank; for n ≥ 2 it is kept for all times.
        method: the integrator; `LSODA` turns to an implicit method where steps are limited by stability.
        rtol: relative tolerance of the integrator.
        atol: absolute tolerance of the integrator.

    Returns:
        W at the times, `(T, outputs, inputs)`.
    """
    n, W0 = arguments.depth("depth", depth), arguments.matrix("W0", W0)
    arguments.matrix("gradient(W0)", arguments.function("gradient", gradient)(W0), W0.shape)
    U, s, Vt = np.linalg.svd(W0, full_matrices=False)
    full = s.size
    known = int(np.sum(s > ROUNDING * max(W0.shape) * s[0])) if rank is None else rank
    r = arguments.count("rank", known, 0, full)
    if n == 1 or r == full:
        return integrate(times, [W0], lambda W: [field(W, gradient(W), n)], method, rtol, atol)[0]

    def velocity(U: Array, S: Array, V: Array) -> list[Array]:
        G = np.asarray(gradient(U @ S @ V.T))
        P, s, Qt = np.linalg.svd(S)
        R = (P * s ** (1 - 2 / n)) @ Qt
        GV, GU = G @ V, G.T @ U
        core = U.T @ GV
        return [-outside(U, GV) @ R.T, field(S, core, n), -outside(V, GU) @ R]

    if r == 0:  # the origin is stationary for n ≥ 2
        return integrate(times, [W0], lambda W: [np.zeros_like(W)], method, rtol, atol)[0]
    left, core, right = integrate(times, [U[:, :r], np.diag(s[:r]), Vt[:r].T], velocity, method, rtol, atol)
    return left @ core @ np.swapaxes(right, -1, -2)


def trajectory_symmetric(
    times: ArrayLike, Ws0: ArrayLike, gradient: Gradient, *, rtol: float = 1e-10, atol: float = 1e-14
) -> Array:
    """Solve the symmetric dynamics of Exercise 2 from W_s(0) = Ws0; arguments as in :func:`trajectory`."""
    Ws0 = arguments.matrix("Ws0", arguments.square("Ws0", Ws0))
    arguments.matrix("gradient(Ws0)", arguments.function("gradient", gradient)(Ws0), Ws0.shape)
    return integrate(times, [Ws0], lambda W: [field_symmetric(W, gradient(W))], "DOP853", rtol, atol)[0]


def trajectory_from_layers(
    times: ArrayLike,
    layers: Sequence[ArrayLike],
    gradient: Gradient,
    *,
    tolerance: float = 1e-8,
    allow_unbalanced: bool = False,
    rtol: float = 1e-10,
    atol: float = 1e-14,
) -> Forecast:
    """The forecast of Theorem 1 for a network that starts at these layers, refused where they are not balanced.

    Args:
        times: rising times ≥ 0, 1-D.
        layers: (W_1, …, W_n) at time 0.
        gradient: ∇ℓ as a function of a map.
        tolerance: largest unbalancedness, relative to the largest ‖W_j‖²_F, that counts as rounding.
        allow_unbalanced: forecast all the same; the result carries the unbalancedness it disregards.
        rtol: relative tolerance of the integrator.
        atol: absolute tolerance of the integrator.

    Raises:
        ValueError: if the layers are not balanced (Assumption 1), with the measured violation.
    """
    layers = arguments.layers(layers)
    tolerance = arguments.number("tolerance", tolerance, least=0)
    allow_unbalanced = arguments.truth("allow_unbalanced", allow_unbalanced)
    measured = unbalancedness(layers)
    scale = max(float(np.sum(W**2)) for W in layers)
    if measured > tolerance * scale and not allow_unbalanced:
        raise ValueError(
            f"layers must be balanced (Assumption 1): their unbalancedness magnitude is {measured:.3g}, "
            f"{measured / scale:.3g} of the largest ‖W_j‖²_F, above the tolerance {tolerance:.3g}; start from balanced "
            "layers, or pass allow_unbalanced=True for a forecast that disregards it"
        )
    return Forecast(trajectory(times, product(layers), gradient, len(layers), rtol=rtol, atol=atol), measured)
