r"""The landscape of the overparameterised objective φ(W_1, …, W_n) = ℓ(W_n ⋯ W_1) (Cohen & Razin, Proposition 1).

Proposition 1 says that φ is not convex if ℓ is not minimised at 0, and leaves the other case open. It is settled by
two segments, for n ≥ 2 and any continuous ℓ, with no derivative. Let W_n ⋯ W_1 = W.

- If ℓ(W) < ℓ(0): the ends (W_1, W_2, …) and (−W_1, −W_2, …) have the product W, their midpoint has the product 0.
- If ℓ(W) > ℓ(0): ℓ(W/c²) < ℓ(W) for some c > 1. With layers of W/c² and c = (a + 1/a)/2, the ends (aW_1, W_2/a, …)
  and (W_1/a, aW_2, …) have the product W/c², their midpoint has the product W.

Either way φ is larger at the midpoint than at both ends. So **φ is convex if and only if ℓ is constant** (on the
maps the widths allow): even ℓ = ½‖W‖², convex and minimised at 0, gives (w₂w₁)²/2, which is not convex.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array, Layers
from .circulation import HessianProduct
from .end_to_end import Gradient
from .layers import balanced, product

Loss = Callable[[Array], float]


class Segment(NamedTuple):
    """Two points between which φ is not convex: `gap` = φ(midpoint) − (φ(start) + φ(end))/2 > 0."""

    start: Layers
    end: Layers
    gap: float

    @property
    def midpoint(self) -> Layers:
        """The layers halfway between."""
        return tuple((a + b) / 2 for a, b in zip(self.start, self.end, strict=True))


def objective_gradient(layers: Sequence[ArrayLike], gradient: Gradient) -> Layers:
    """∂φ/∂W_j = W_{n:j+1}ᵀ ∇ℓ(W) W_{j−1:1}ᵀ for every layer (proof of Lemma 1)."""
    W, layers = product(layers), arguments.layers(layers)
    below, above = products(layers)
    G = arguments.matrix("gradient(W)", arguments.function("gradient", gradient)(W), W.shape)
    return tuple(a.T @ G @ b.T for a, b in zip(above, below, strict=True))


def objective_hvp(
    layers: Sequence[ArrayLike], directions: Sequence[ArrayLike], gradient: Gradient, hvp: HessianProduct
) -> Layers:
    """The Hessian of φ applied to directions (D_1, …, D_n), by the product rule, from ∇ℓ(W) and ∇²ℓ(W)[·]."""
    layers, D = arguments.layers(layers), arguments.layers(directions, "directions")
    if [W.shape for W in layers] != [d.shape for d in D]:
        raise ValueError(f"directions must be of shapes {[W.shape for W in layers]}; got {[d.shape for d in D]}")
    gradient, hvp = arguments.function("gradient", gradient), arguments.function("hvp", hvp)
    below, above = products(layers)
    d_below = [np.zeros_like(below[0])]
    for W, d, b in zip(layers[:-1], D[:-1], below[:-1], strict=True):
        d_below.append(W @ d_below[-1] + d @ b)
    d_above = [np.zeros_like(above[-1])]
    for W, d, a in zip(layers[:0:-1], D[:0:-1], above[:0:-1], strict=True):
        d_above.insert(0, d_above[0] @ W + a @ d)
    W, change = product(layers), sum(a @ d @ b for a, d, b in zip(above, D, below, strict=True))
    G = arguments.matrix("gradient(W)", gradient(W), W.shape)
    H = arguments.matrix("hvp(W, D)", hvp(W, np.asarray(change)), W.shape)
    return tuple(
        da.T @ G @ b.T + a.T @ H @ b.T + a.T @ G @ db.T
        for a, b, da, db in zip(above, below, d_above, d_below, strict=True)
    )


def hessian(layers: Sequence[ArrayLike], gradient: Gradient, hvp: HessianProduct) -> Array:
    """The Hessian of φ as a dense symmetric matrix over all weights, first layer first, each row by row."""
    layers = arguments.layers(layers)
    weights = sum(W.size for W in layers)
    columns = [flatten(objective_hvp(layers, unflatten(e, layers), gradient, hvp)) for e in np.eye(weights)]
    return (np.stack(columns) + np.stack(columns, axis=1)) / 2


def nonconvexity_segment(
    loss: Loss, W: ArrayLike, depth: SupportsIndex, *, widths: Sequence[int] | None = None
) -> Segment:
    """A segment on which φ is not convex (Proposition 1, and the case it leaves out; see the module).

    Args:
        loss: ℓ, continuous.
        W: any map with ℓ(W) ≠ ℓ(0), `(outputs, inputs)`.
        depth: n ≥ 2.
        widths: (inputs, …, outputs); by default hidden layers of the smaller side.
    """
    W, n = arguments.matrix("W", W), arguments.depth("depth", depth, 2)
    plain = (W.shape[1], *([min(W.shape)] * (n - 1)), W.shape[0])
    widths = plain if widths is None else arguments.counts("widths", widths)
    if len(widths) != n + 1:
        raise ValueError(f"widths must be {n + 1} numbers for depth {n}; got {widths}")
    loss = arguments.function("loss", loss)
    here, origin = arguments.number("loss(W)", loss(W)), arguments.number("loss(0)", loss(np.zeros_like(W)))
    if here == origin:
        raise ValueError(
            f"W must be of another loss than the zero map, as φ is convex if ℓ is constant; got {origin:.6g} for both"
        )
    if here < origin:
        first, second, *others = balanced(W, widths)
        ends = (first, second, *others), (-first, -second, *others)
    else:
        c = _shrinkage(loss, W, here, origin)
        a = c + (c * c - 1) ** 0.5
        first, second, *others = balanced(W / c**2, widths)
        ends = (a * first, second / a, *others), (first / a, a * second, *others)
    middle = loss(product(Segment(*ends, 0.0).midpoint))
    return Segment(*ends, float(middle - (loss(product(ends[0])) + loss(product(ends[1]))) / 2))


def _shrinkage(loss: Loss, W: Array, here: float, origin: float) -> float:
    """A c > 1 at which ℓ(W/c²) lies nearer to ℓ(0) than to ℓ(W)."""
    c = 2.0**0.5
    while here - loss(W / c**2) < (here - origin) / 2:
        c *= 2.0**0.5
        if c > 1e8:
            raise ValueError("loss must be continuous at the zero map; got values of W/c² that do not approach it")
    return c


def products(layers: Layers) -> tuple[list[Array], list[Array]]:
    """Return W_{j−1:1} and W_{n:j+1} for every j, identities at the ends."""
    layers = arguments.layers(layers)
    below, above = [np.eye(layers[0].shape[1])], [np.eye(layers[-1].shape[0])]
    for W in layers[:-1]:
        below.append(W @ below[-1])
    for W in layers[:0:-1]:
        above.insert(0, above[0] @ W)
    return below, above


def flatten(layers: Sequence[Array]) -> Array:
    """All weights as one vector, first layer first, each row by row."""
    return np.concatenate([W.ravel() for W in arguments.layers(layers)])


def unflatten(vector: Array, like: Layers) -> Layers:
    """The inverse of :func:`flatten`, for layers of these shapes."""
    like = arguments.layers(like, "like")
    vector = arguments.vector("vector", vector, sum(W.size for W in like))
    parts = np.split(vector, np.cumsum([W.size for W in like])[:-1])
    return tuple(part.reshape(W.shape) for part, W in zip(parts, like, strict=True))
