r"""A matrix completion task on which every norm grows without bound (Cohen & Razin, Proposition 5 and Exercise 4).

All entries of a d × d map are observed but the corner (1, 1): ones at (1, 2), (2, 1) and (i, i) for i ≥ 3, zeros
elsewhere,

.. math:: \ell(W) = \frac{e^2}{2m}, \qquad m = d^2 - 1, \qquad
   e = ‖\text{observed entries of } W - \text{their values}‖_F .

Whatever the corner c, these values complete to a map M(c) of determinant −1. Gradient flow on two or more layers
keeps the sign of det W (Lemma 2), so after a start with det W(0) > 0 a singular map always lies between M(w₁₁) and
W(t), and e is at least the distance from M(w₁₁) to the singular maps, its least singular value σ (Eckart & Young).
That of M(c) solves σ² + |c|σ = 1, hence

.. math:: |w_{11}| ≥ 1/e - e \qquad\text{and so}\qquad |w_{11}| ≥ 1/e - 1 ,

the latter for every e, being vacuous from e = 1 on. The notes argue with the entries for d = 2; this serves every d
≥ 2 at once. Spectral, Frobenius and nuclear norm are all at least |w₁₁|, so each obeys ‖W‖ ≥ c ℓ^{−1/2} + c' with c
= (2m)^{−1/2} and c' = −1. The constants of the notes for d = 2 are weaker: their c reads ‖e₁e₁ᵀ‖/(2√6),
half of what their own proof gives, and their c' is −8 for these norms. No larger c would do, since w₂₂ = e, w₁₁
slightly above 1/e leaves the determinant positive.

For det W(0) < 0 (Exercise 4) change the sign of row 2: the observed value at (2, 1) becomes −1.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import arguments
from ..core.arguments import Array

Norm = Literal["spectral", "frobenius", "nuclear"] | Callable[[Array], float]
Sign = Literal[1, -1]

_ORDERS: dict[str, Literal[2, "fro", "nuc"]] = {"spectral": 2, "frobenius": "fro", "nuclear": "nuc"}


class Completion(NamedTuple):
    """Which entries are observed, and their values (zero where unobserved)."""

    observed: NDArray[np.bool_]
    values: Array


def completion(dimension: int, determinant: Sign = 1) -> Completion:
    """The completion task for starts whose determinant has the given sign (Proposition 5; Exercise 4 for −1)."""
    dimension, determinant = arguments.count("dimension", dimension, 2, 10_000), _sign(determinant)
    values = np.eye(dimension)
    values[:2, :2] = [[0.0, 1.0], [determinant, 0.0]]
    observed = np.ones((dimension, dimension), dtype=bool)
    observed[0, 0] = False
    return Completion(observed, values)


def loss(W: ArrayLike, determinant: Sign = 1) -> Array:
    """The loss of equations (9) and (15), `1/(2m)` times the squared residuals, of a map or a stack of maps."""
    W = arguments.square("W", W)
    if W.shape[-1] < 2:
        raise ValueError(f"W must be of at least two rows; got shape {W.shape}")
    observed, values = completion(W.shape[-1], determinant)
    return np.sum(np.where(observed, W - values, 0.0) ** 2, axis=(-1, -2)) / (2 * (observed.size - 1))


def constants(dimension: int, norm: Norm = "frobenius") -> tuple[float, float]:
    """The constants c and c' of `‖W‖ ≥ c ℓ^{−1/2} + c'`.

    Args:
        dimension: d ≥ 2.
        norm: one of the three named norms, which share their constants, or any other as a function. W without its
            corner is the observed values plus residuals, so ‖W‖ ≥ |w₁₁|‖e₁e₁ᵀ‖ − ‖values‖ − e (Σ ‖e_ie_jᵀ‖²)^{1/2}.
    """
    observed, values = completion(dimension)
    c = (2 * (observed.size - 1)) ** -0.5
    if not callable(norm):
        _order(norm)
        return c, -1.0
    dimension = len(values)
    units = np.eye(observed.size).reshape(-1, dimension, dimension)
    corner, *observed_norms = (float(norm(unit)) for unit in units)
    return c * corner, -(corner + float(norm(values)) + float(np.linalg.norm(observed_norms)))


def least_corner(loss: ArrayLike, dimension: int = 2) -> Array:
    """How large |w₁₁| must be at this loss if the determinant is positive: 1/e − e, or zero where e ≥ 1."""
    e = np.sqrt(2 * (completion(dimension).observed.size - 1) * _losses(loss))
    return np.maximum(1 / e - e, 0.0)


def norm_bound(start: ArrayLike, loss: ArrayLike, norm: Norm = "frobenius", determinant: Sign = 1) -> Array:
    """The least `c ℓ^{−1/2} + c'` that a norm of W(t) can have when the loss is ℓ, by Proposition 5.

    Holds along gradient flow of two or more layers, and for every map whose determinant has the required sign.

    Args:
        start: W(0), `(d, d)`.
        loss: ℓ(W(t)) > 0, any shape.
        norm: `spectral`, `frobenius`, `nuclear`, or a function of a map.
        determinant: the sign that the completion task was made for.

    Raises:
        ValueError: if det W(0) has not that sign, with its value.
    """
    W0 = arguments.matrix("start", arguments.square("start", start))
    if len(W0) < 2:
        raise ValueError(f"start must be of at least two rows; got shape {W0.shape}")
    sign, log = np.linalg.slogdet(W0)  # of 150 rows of size 1e-3 the determinant itself would underflow
    if not sign * _sign(determinant) > 0:
        wanted = "positive" if determinant == 1 else "negative"
        measured = f"{sign * np.exp(log):.6g}" if abs(log) < 700 or sign == 0 else f"{sign:g}·exp({log:.6g})"
        raise ValueError(f"start must be of a {wanted} determinant (Proposition 5); got {measured}")
    c, offset = constants(W0.shape[0], norm)
    return c / np.sqrt(_losses(loss)) + offset


def size(W: ArrayLike, norm: Norm) -> Array:
    """The norm of a map, or of each of a stack of maps."""
    W = arguments.matrices("W", W)
    if callable(norm):
        return np.array([norm(X) for X in W.reshape(-1, *W.shape[-2:])]).reshape(W.shape[:-2])
    return np.asarray(np.linalg.norm(W, _order(norm), axis=(-2, -1)))


def _sign(determinant: Sign) -> Sign:
    if arguments.count("determinant", determinant, -1, 1) == 0:
        raise ValueError("determinant must be 1 or −1, the sign of the start's; got 0")
    return determinant


def _order(norm: str) -> Literal[2, "fro", "nuc"]:
    return _ORDERS[arguments.one_of("norm", norm, _ORDERS, "a function")]


def _losses(loss: ArrayLike) -> Array:
    return arguments.real("loss", loss, above=0)
