r"""What a stationary point of φ(W_1, …, W_n) = ℓ(W_n ⋯ W_1) is, with a certificate (Cohen & Razin, Proposition 3).

Here a saddle is a stationary point that is no local minimum, strict if the Hessian has a negative eigenvalue
(footnote 4 of the notes). At the origin both derivatives of φ vanish for n ≥ 3, so it is a non-strict saddle
wherever ℓ has no local minimum at 0 (Proposition 3). For n = 2 the Hessian there is (D_1, D_2) ↦ 2⟨∇ℓ(0), D_2D_1⟩:
its eigenvalues are ±σ_r(∇ℓ(0)), so the origin is a strict saddle exactly if ∇ℓ(0) ≠ 0, and for convex ℓ it then is
one whenever it is a saddle. Where ∇ℓ(0) = 0 without a local minimum of ℓ, the origin is a non-strict saddle for n =
2 too.

Away from the origin second derivatives do not decide either: maps that hold the leading singular modes of the
target of whitened regression, and no others, are non-strict saddles for n ≥ 3 from balanced layers, any other
choice of modes is a strict one. Layers can be changed without changing their product, though, and nearby layers
with the same product need not be stationary: descent from such a neighbour certifies a non-strict saddle. If no
hidden layer is narrower than min(inputs, outputs), there is one within any distance whenever ∇ℓ(W) ≠ 0 (Laurent &
Brecht 2018), so local minima of φ have ∇ℓ(W) = 0.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array, Layers
from .circulation import HessianProduct
from .end_to_end import Gradient
from .landscape import Loss, flatten, hessian, objective_gradient, products, unflatten
from .layers import product

Kind = Literal["minimum", "strict saddle", "non-strict saddle", "undecided"]


class CriticalPoint(NamedTuple):
    """What a stationary point of φ is, and why.

    Attributes:
        kind: `minimum` (a global one), `strict saddle`, `non-strict saddle`, or `undecided`.
        gradient: norm of φ's gradient.
        least_eigenvalue: of φ's Hessian.
        direction: the unit eigenvector of that eigenvalue, as layers.
        lower: layers within the radius at which φ is lower; None for a minimum or where none was found.
        drop: by how much φ is lower there; zero where there is none.
    """

    kind: Kind
    gradient: float
    least_eigenvalue: float
    direction: Layers
    lower: Layers | None
    drop: float


def classify_critical_point(
    layers: Sequence[ArrayLike],
    loss: Loss,
    gradient: Gradient,
    hvp: HessianProduct,
    *,
    convex: bool,
    radius: float = 0.3,
    tolerance: float = 1e-8,
    seed: int = 0,
) -> CriticalPoint:
    """Say whether a stationary point of φ is a minimum, a strict or a non-strict saddle, with a certificate.

    Args:
        layers: the point.
        loss: ℓ.
        gradient: ∇ℓ.
        hvp: (W, D) ↦ ∇²ℓ(W)[D].
        convex: whether ℓ is convex; if so, a point with ∇ℓ(W) = 0 is a global minimum.
        radius: how far from the point lower values are looked for.
        tolerance: what counts as zero, relative to the terms that make up gradient and Hessian.
        seed: of the changes that keep the product where ∇ℓ(W) = 0; elsewhere they are not random.

    Raises:
        ValueError: if φ's gradient does not vanish at the layers.
    """
    layers = arguments.layers(layers)
    W, n = product(layers), len(layers)
    loss, gradient, hvp = (
        arguments.function(*pair) for pair in (("loss", loss), ("gradient", gradient), ("hvp", hvp))
    )
    convex, seed = arguments.truth("convex", convex), arguments.count("seed", seed, 0)
    radius = arguments.number("radius", radius, above=0)
    tolerance = arguments.number("tolerance", tolerance, least=0, below=1)
    G = arguments.matrix("gradient(W)", gradient(W), W.shape)
    arguments.number("loss(W)", loss(W))
    # ∇ℓ(W) is ∇ℓ(0) plus what curvature adds on the way to W; rounding is relative to these, not to their sum.
    scale = float(np.linalg.norm(gradient(np.zeros_like(W))) + np.linalg.norm(hvp(W, W)))
    flat = bool(np.linalg.norm(G) <= tolerance * scale)
    norms = [float(np.linalg.norm(X, 2)) for X in layers]
    without = [[np.prod(np.delete(norms, skip)) for skip in combinations(range(n), k)] for k in (1, 2)]
    slope = float(np.linalg.norm(flatten(objective_gradient(layers, gradient))))
    if slope > tolerance * scale * max(without[0]):
        raise ValueError(f"layers must be a stationary point of the objective; got a gradient of norm {slope:.3g}")
    values, vectors = np.linalg.eigh(hessian(layers, gradient, hvp))
    noise = tolerance * (scale * max(without[1], default=0.0) + float(np.max(np.abs(values))))
    report = (slope, float(values[0]), unflatten(vectors[:, 0], layers))
    if values[0] < -noise:
        return CriticalPoint("strict saddle", *report, *_descend(layers, layers, report[2], loss, gradient, radius))
    if convex and flat:
        return CriticalPoint("minimum", *report, None, 0.0)
    if flat:  # only curvature can lead down
        near = _same_product(layers, radius / 2, np.random.default_rng(seed))
        heading = unflatten(np.linalg.eigh(hessian(near, gradient, hvp))[1][:, 0], layers)
    else:
        near = _opened(layers, G, radius / 2)
        heading = objective_gradient(near, gradient)
    lower, drop = _descend(layers, near, heading, loss, gradient, radius)
    return CriticalPoint("undecided" if lower is None else "non-strict saddle", *report, lower, drop)


def _opened(layers: Layers, G: Array, distance: float) -> Layers:
    """Layers near the given, stationary ones, with the same product, at which φ's gradient does not vanish.

    Let (u, v) be the leading singular pair of ∇ℓ(W). The input v dies on its way up, W_{n−1:1}v = 0, or the last layer
    would not be stationary. It is helped along by D_j = δ a bᵀ, with b what has arrived at layer j and a in the
    kernel of all that is above, so that the product stays; until it arrives where u can be reached.
    """
    if G.shape[0] > G.shape[1]:  # widths are at least the smaller side: there the kernels are never trivial
        turned = _opened(tuple(W.T for W in layers[::-1]), G.T, distance)
        return tuple(W.T for W in turned[::-1])
    U, _, Vt = np.linalg.svd(G)
    near, arrived, above = list(layers), Vt[0], products(layers)[1]
    for j, (W, A) in enumerate(zip(layers, above, strict=True)):
        kernel = np.linalg.svd(A)[2][-1]
        if np.linalg.norm(A.T @ U[:, 0]) > 1e-8 * np.linalg.norm(A) or np.linalg.norm(
            A @ kernel
        ) > 1e-8 * np.linalg.norm(A):
            break
        on = W @ arrived
        a = (
            on / np.linalg.norm(on)
            if np.linalg.norm(on) > 1e-8 * np.linalg.norm(W) * np.linalg.norm(arrived)
            else kernel
        )
        near[j] = W + distance / len(layers) ** 0.5 * np.outer(a, arrived / np.linalg.norm(arrived))
        arrived = near[j] @ arrived
    return tuple(near)


def _same_product(layers: Layers, distance: float, rng: np.random.Generator) -> Layers:
    """Change one layer after the other, at random, by D_j with W_{n:j+1} D_j W_{j−1:1} = 0: the product stays."""
    near = list(layers)
    for j in range(len(layers)):
        below, above = (side[j] for side in products(tuple(near)))
        D = rng.normal(size=near[j].shape)
        D -= np.linalg.pinv(above, rcond=1e-12) @ above @ D @ below @ np.linalg.pinv(below, rcond=1e-12)
        if (length := float(np.linalg.norm(D))) > 1e-8:  # else no change of this layer keeps the product
            near[j] = near[j] + distance / len(layers) ** 0.5 * D / length
    return tuple(near)


def _descend(
    centre: Layers, start: Layers, heading: Layers, loss: Loss, gradient: Gradient, radius: float, rounds: int = 20
) -> tuple[Layers | None, float]:
    """Go down from `start`, first along ± `heading`, then along the gradient, within the radius of the centre.

    Returns:
        Where that leads and by how much φ is lower there than at the centre; nothing if that is no more than rounding.
    """
    base, best = float(loss(product(centre))), start
    value = float(loss(product(start)))
    origin = flatten(centre)
    for _ in range(rounds):
        direction = flatten(heading) / (float(np.linalg.norm(flatten(heading))) or 1.0)
        moves = [flatten(best) - origin + sign * radius / 2**k * direction for k in range(20) for sign in (1, -1)]
        within = [move * min(1.0, radius / (float(np.linalg.norm(move)) or 1.0)) for move in moves]
        candidates = [unflatten(origin + move, centre) for move in within]
        losses = [float(loss(product(candidate))) for candidate in candidates]
        k = int(np.argmin(losses))
        if not losses[k] < value:
            break
        best, value = candidates[k], losses[k]
        heading = objective_gradient(best, gradient)
    if not base - value > 1e3 * np.finfo(float).eps * max(abs(base), np.finfo(float).tiny):
        return None, 0.0
    return best, base - value
