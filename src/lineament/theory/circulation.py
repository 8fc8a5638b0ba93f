r"""When the end-to-end dynamics are a gradient flow, and a proof when they are not (Cohen & Razin, Remark 1).

The notes say that "under mild conditions" no function of W has the end-to-end field F of Theorem 1 as its gradient.
A closed curve along which ∮⟨F, dW⟩ ≠ 0 shows it: :func:`circulation` integrates around a parallelogram, and
:func:`curl` is its exact limit per area. The conditions cannot be dropped. F *is* a gradient field

- for n = 1, F = −∇ℓ, and for maps 1 × 1, where every continuous field is one;
- for every depth and shape if ℓ(W) = Σ_r η(σ_r(W)), such as ‖W‖²_F: F = −∇ Σ_r ∫ n σ^{2−2/n} η'(σ) dσ;
- for n = 2 and one output (or one input) if ℓ(w) = ⟨c, w⟩ + h(‖w‖). With h = 0 the potential is ‖w‖⟨c, w⟩; the
  square loss on whitened inputs, ½‖w − c‖², is of this kind.

With one output and at least two inputs there are no other cases among losses that are smooth at the origin. In

.. math:: ⟨D_AF, B⟩ - ⟨D_BF, A⟩ = ‖w‖^{-2/n}\,\bigl[ ⟨w, A⟩⟨k, B⟩ - ⟨w, B⟩⟨k, A⟩ \bigr], \qquad
   k = \tfrac{(n-1)(n-2)}{n}\,∇ℓ + (n-1)\,∇^2ℓ\,w,

k must be a multiple of w everywhere, so the part of ∇ℓ that is orthogonal to w scales along each ray as
‖w‖^{2/n−1}. That is constant for n = 2, which leaves ⟨c, w⟩, and unbounded at the origin for n ≥ 3, which leaves
nothing. For n ≥ 3 a linear term already makes F circulate.

With at least two outputs and two inputs, a linear term ⟨C, W⟩ makes F circulate from n = 2 on. At W = diag(σ₁, σ₂),
C = e₁e₂ᵀ and n = 2, the curl over A = e₁e₁ᵀ, B = e₁e₂ᵀ is −σ₂/(σ₁ + σ₂).
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array
from .end_to_end import Gradient
from .integration import weights

MOST_NODES = 1000
"""Gauss–Legendre nodes come from the eigenvalues of a matrix of their number."""

HessianProduct = Callable[[Array, Array], ArrayLike]


class Circulation(NamedTuple):
    """A line integral around a closed curve, and how much it changed when the nodes were doubled."""

    value: float
    error: float


def circulation(
    field: Callable[[Array], ArrayLike], corner: ArrayLike, A: ArrayLike, B: ArrayLike, *, nodes: int = 24
) -> Circulation:
    """The line integral ∮⟨field, dW⟩ along corner → +A → +A+B → +B → corner, by Gauss–Legendre on each side.

    Args:
        field: a function of a map, such as W ↦ `end_to_end.field(W, gradient(W), depth)`.
        corner: where the parallelogram begins.
        A: its first side.
        B: its second side.
        nodes: per side; doubled for the value that is returned.
    """
    corner = arguments.matrix("corner", corner)
    A, B = arguments.matrix("A", A, corner.shape), arguments.matrix("B", B, corner.shape)
    nodes, field = arguments.count("nodes", nodes, most=MOST_NODES), arguments.function("field", field)
    arguments.matrix("field(corner)", field(corner), corner.shape)
    corners = [corner, corner + A, corner + A + B, corner + B, corner]

    def around(count: int) -> float:
        x, w = np.polynomial.legendre.leggauss(count)
        return sum(
            weight / 2 * float(np.sum(np.asarray(field(start + (1 + node) / 2 * (end - start))) * (end - start)))
            for start, end in pairwise(corners)
            for node, weight in zip(x, w, strict=True)
        )

    coarse, fine = around(nodes), around(2 * nodes)
    return Circulation(fine, abs(fine - coarse))


def derivative(W: ArrayLike, A: ArrayLike, gradient: Gradient, hvp: HessianProduct, depth: SupportsIndex) -> Array:
    """The derivative D_A F(W) of the end-to-end field along A, exactly, at a map of full rank.

    The powers in equation (3) vary by the Daleckii–Krein formula: in the eigenbasis of X, with a = λ^{1/n}, the change
    of X^{m/n} is that of X times (a_r^m − a_s^m)/(a_r^n − a_s^n), a quotient of two sums without subtraction.

    Args:
        W: a map of full rank, `(outputs, inputs)`; at others the field need not be differentiable.
        A: the direction.
        gradient: ∇ℓ.
        hvp: (W, A) ↦ ∇²ℓ(W)[A].
        depth: n ≥ 1.
    """
    W, n = arguments.matrix("W", W), arguments.depth("depth", depth)
    A = arguments.matrix("A", A, W.shape)
    gradient, hvp = arguments.function("gradient", gradient), arguments.function("hvp", hvp)
    G = arguments.matrix("gradient(W)", gradient(W), W.shape)
    H = arguments.matrix("hvp(W, A)", hvp(W, A), W.shape)
    if n == 1:
        return -H
    U, s, Vt = np.linalg.svd(W)
    if s[-1] <= np.finfo(float).eps * max(W.shape) * s[0]:
        raise ValueError(f"W must be of full rank; got singular values from {s[-1]:.3g} to {s[0]:.3g}")
    S = np.zeros(W.shape)
    np.fill_diagonal(S, s)
    a, b = (np.append(s ** (2 / n), np.zeros(d - s.size)) for d in W.shape)
    A, G, H = (U.T @ X @ Vt.T for X in (A, G, H))
    left, right = A @ S.T + S @ A.T, A.T @ S + S.T @ A  # changes of WWᵀ and WᵀW
    total = weights(a, b, n) * H
    for m in range(1, n):  # the power m of one side meets the power n − 1 − m of the other
        total += _power_change(left, a, m, n) @ (G * b ** (n - 1 - m))
        total += (a[:, None] ** (n - 1 - m) * G) @ _power_change(right, b, m, n)
    return -U @ total @ Vt


def curl(
    W: ArrayLike, A: ArrayLike, B: ArrayLike, gradient: Gradient, hvp: HessianProduct, depth: SupportsIndex
) -> float:
    """`⟨D_A F, B⟩ − ⟨D_B F, A⟩`: the circulation around a small parallelogram εA, εB at W, divided by ε², as ε → 0.

    It vanishes for all A, B and W exactly if the field is a gradient field. Arguments as in :func:`derivative`.
    """
    W = arguments.matrix("W", W)
    A, B = arguments.matrix("A", A, W.shape), arguments.matrix("B", B, W.shape)
    along_A, along_B = (derivative(W, X, gradient, hvp, depth) for X in (A, B))
    return float(np.sum(along_A * B) - np.sum(along_B * A))


def _power_change(change: Array, a: Array, m: int, n: int) -> Array:
    """The change of X^{m/n}, in the eigenbasis of X with eigenvalues aⁿ, given the change of X.

    Inputs (or outputs) beyond the rank stay null along with W, which keeps its rank: nothing changes among them.
    """
    whole = weights(a, a, n)
    return change * weights(a, a, m) / np.where(whole > 0, whole, 1.0)
