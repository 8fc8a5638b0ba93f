"""Two-layer linear networks of infinite width from Definition 3 (Hacohen & Weinshall): what A, B and W do there.

Such a network begins with A₁ = W₂W₂ᵀ = I, B₂ = W₁ᵀW₁ = I and W = W₂W₁ = 0. Along gradient flow on any loss,

    A₁ = √(I + WWᵀ),   B₂ = √(I + WᵀW).

For with C = W₂ᵀW₂ − W₁W₁ᵀ, which flow conserves, A₁² = WWᵀ + W₂CW₂ᵀ and B₂² = WᵀW − W₁ᵀCW₁. At the start W₂CW₂ᵀ = I and
W₁ᵀCW₁ = −I, and both stay: their derivatives hold the factor AW − WB, which is 0 while the two roots are as stated.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array

MOST_STEPS = 10**5
"""Of descent, all of which are kept."""


class Limit(NamedTuple):
    """A₁ (step, K, K), B₂ (step, q, q) and W (step, K, q)."""

    A: Array
    B: Array
    W: Array


def scales(W: ArrayLike) -> tuple[Array, Array]:
    """`√(I + WWᵀ)` and `√(I + WᵀW)`, where gradient flow has brought the scale matrices when the map is W.

    Args:
        W: The map (outputs, inputs), or a stack of maps (…, outputs, inputs).
    """
    W = arguments.matrices("W", W, most=arguments.SQUARED)
    return _root(W @ W.swapaxes(-1, -2)), _root(W.swapaxes(-1, -2) @ W)


def descent(d: ArrayLike, target: ArrayLike, step_size: float, steps: int) -> Limit:
    """Follow gradient descent on `½ tr (W − W_opt) D (W − W_opt)ᵀ`: A₁, B₂ and W have an exact recursion of their own.

    Args:
        d: The eigenvalues of Σ_XX, (inputs,): principal coordinates.
        target: W_opt, (outputs, inputs).
        step_size: μ.
        steps: How many; the start is recorded too.
    """
    best = arguments.matrix("target", target)
    d = arguments.vector("d", d, best.shape[1], least=0)
    step_size = arguments.number("step_size", step_size, above=0)
    steps = arguments.count("steps", steps, 0, MOST_STEPS)
    A, B, W = np.eye(len(best)), np.eye(len(d)), np.zeros_like(best)
    path = [(A, B, W)]
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps):
            Er = (W - best) * d
            A, B, W = (
                A - step_size * (Er @ W.T + W @ Er.T) + step_size * step_size * Er @ B @ Er.T,
                B - step_size * (W.T @ Er + Er.T @ W) + step_size * step_size * Er.T @ A @ Er,
                W - step_size * (Er @ B + A @ Er) + step_size * step_size * Er @ W.T @ Er,
            )
            path.append((A, B, W))
    if not np.isfinite(W).all():
        raise ValueError(f"step_size must be so small that descent stays finite; got {step_size:g}")
    return Limit(*(np.stack(part) for part in zip(*path, strict=True)))


def _root(square: Array) -> Array:
    """`√(I + S)` of a symmetric S that is not negative."""
    values, vectors = np.linalg.eigh(square)
    roots = np.sqrt(1 + np.maximum(values, 0.0))
    return (vectors * roots[..., None, :]) @ vectors.swapaxes(-1, -2)
