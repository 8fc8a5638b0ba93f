"""Proposition 3: from three layers on, the origin is a non-strict saddle."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...theory import landscape, layers
from ..instances import generator, slope
from ..sizes import sizes
from .losses import Loss, random_loss
from .networks import random_widths

RADII = np.geomspace(0.01, 0.1, 9)  # distances from the origin, for a loss that bends at a distance of order 1
NEAR = 5  # of these, the nearest are judged


class Settings(NamedTuple):
    """What is run at each size."""

    losses: int
    depths: tuple[int, ...] = (2, 3, 4, 5)
    largest: int = 3
    differentiated: int = 4


class Instance(NamedTuple):
    """What was read off one loss at the origin.

    Attributes:
        n: The depth.
        order: The order of the first term of ℓ at 0.
        flat: The gradient, and from three layers on the Hessian.
        strict: Whether the Hessian has a negative eigenvalue exactly if n = 2 and ∇ℓ(0) ≠ 0.
        spectrum: How far the eigenvalues are from ±σ(∇ℓ(0)), at two layers.
        machine: How far the Hessian is from the one differentiated by machine, where that was done.
        radii: The distances from the origin at which φ is looked at.
        drops: How much lower φ is there.
    """

    n: int
    order: int
    flat: float
    strict: bool
    spectrum: float
    machine: float
    radii: np.ndarray
    drops: np.ndarray

    @property
    def lower(self) -> bool:
        """Whether φ is lower at every near distance."""
        return bool((self.drops[:NEAR] > 0).all())

    @property
    def rate(self) -> float:
        """The order at which φ falls, over n times that of ℓ."""
        return slope(self.radii[:NEAR], self.drops[:NEAR])[0] / (self.n * self.order) if self.lower else np.nan


@sizes(quick=Settings(losses=48), full=Settings(losses=1000))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Gradient and Hessian of φ at the origin, exactly, and layers ever nearer to it at which φ is lower.

    Losses have a gradient at 0, or none there and yet no local minimum (an indefinite form, a cubic). The Hessian is
    assembled by the product rule and, on some instances, differentiated by machine, there and at random layers. At two
    layers its eigenvalues are compared with ± the singular values of ∇ℓ(0). Layers at distance r from the origin are
    balanced, with a product along which ℓ falls to order k = 1, 2 or 3; how much lower φ is there must then be of order
    r^{nk}, at distances that are small against the one at which ℓ bends: where ∇ℓ(0) is small, that is near.
    """
    rng = generator(key)
    instances = [_instance(rng, k, settings) for k in range(settings.losses)]
    rounding = "float64 rounding 2e-16, times a few thousand operations"
    exact = "an exact statement: every instance"
    return Evidence(
        checks=[
            at_most("largest gradient, and Hessian for n ≥ 3, at the origin", max(i.flat for i in instances), 0.0,
                    "an exact statement: products of zero layers are zero"),
            at_most("machine derivatives against the product rule", max(i.machine for i in instances), 1e-12,
                    rounding),
            at_most("eigenvalues against ±σ(∇ℓ(0)) at n = 2, relative", max(i.spectrum for i in instances), 1e-12,
                    rounding),
            at_least("share that is strict exactly if n = 2 and ∇ℓ(0) ≠ 0", float(np.mean([i.strict for i in instances])),
                     1.0, exact),
            at_least("share with lower values at every distance", float(np.mean([i.lower for i in instances])), 1.0,
                     exact),
            at_most("largest deviation from 1 of the order of descent, over n times that of ℓ",
                    np.max(np.abs(np.array([i.rate for i in instances]) - 1)), 0.05, "theory: order r^{nk} ± 5 %"),
        ],
        numbers={"norm of the proof's layers, over the printed √n ε^{1/n}": _printed_norm(rng)},
        protocol={
            "loss": f"{settings.losses} without a local minimum at 0: with a gradient there, an indefinite form, a "
            "cubic",
            "network": f"depths {', '.join(map(str, settings.depths))}, maps 1×1 … "
            f"{settings.largest}×{settings.largest}",
        },
        figure=_figure(rng, instances),
        remarks=(
            "At n = 2 the Hessian has the eigenvalues ±σ_r(∇ℓ(0)): the origin is a strict saddle if and only if "
            "∇ℓ(0) ≠ 0. A loss without a minimum at 0 whose gradient vanishes there makes it non-strict at n = 2 too.",
            "The proof gives its layers the norm √n ε^{1/n}; each identity block contributes d_n, not 1, so it is "
            "√(1 + (n−1)d_n) ε^{1/n}. The argument is not affected.",
        ),
    )  # fmt: skip


def _instance(rng: np.random.Generator, k: int, settings: Settings) -> Instance:
    shape = (int(rng.integers(1, settings.largest + 1)), int(rng.integers(1, settings.largest + 1)))
    n = settings.depths[k % len(settings.depths)]
    widths = random_widths(rng, n, shape)
    loss, order = _no_minimum(rng, shape, k // len(settings.depths) % 4)
    G = loss.gradient(np.zeros(shape))
    origin = tuple(np.zeros((b, a)) for a, b in pairwise(widths))
    H = landscape.hessian(origin, loss.gradient, loss.hvp)
    gradient = np.concatenate([D.ravel() for D in landscape.objective_gradient(origin, loss.gradient)])
    values, scale = np.linalg.eigvalsh(H), np.linalg.norm(G) or 1.0
    D = _downhill(rng, loss, shape, order)
    radii = RADII * _bend(loss, D) ** (1 / n) if order == 1 else RADII
    return Instance(
        n,
        order,
        flat=float(np.linalg.norm(gradient) + (np.abs(values).max() if n > 2 else 0.0)),
        strict=bool((values[0] < -1e-12 * scale) == (n == 2 and order == 1)),
        spectrum=float(np.abs(values - _two_layer_spectrum(G, widths)).max() / scale) if n == 2 else 0.0,
        machine=_machine_gap(rng, loss, origin) if k < settings.differentiated else 0.0,
        radii=radii,
        drops=_drops(loss, D, widths, radii),
    )


def _no_minimum(rng: np.random.Generator, shape: tuple[int, int], kind: int) -> tuple[Loss, int]:
    """A loss without a local minimum at 0, and the order of the first term of its expansion there."""
    if kind < 2:
        return random_loss(rng, ("square", "logistic")[kind], shape), 1
    A = rng.normal(size=(3, *shape))
    if kind == 2:  # an indefinite form where the shape allows, else a concave one
        return Loss("square", A, np.zeros(3), np.array([1.0, -1.0, -1.0]) if A[0].size > 1 else -np.ones(3)), 2
    return Loss("cubic", A, np.zeros(3), np.ones(3)), 3


def _downhill(rng: np.random.Generator, loss: Loss, shape: tuple[int, int], order: int) -> np.ndarray:
    """The unit direction along which ℓ falls fastest at first: by its gradient, or the best of many random ones."""
    if order == 1:
        D = -loss.gradient(np.zeros(shape))
        return D / np.linalg.norm(D)
    directions = rng.normal(size=(200, *shape))
    directions /= np.linalg.norm(directions, axis=(1, 2), keepdims=True)
    return directions[np.argmin([loss.value(D) for D in directions])]


def _bend(loss: Loss, D: np.ndarray) -> float:
    """How far along D the curvature of ℓ makes up for its slope, at most 1: where the first order is no longer all."""
    slope_there, bent = -np.sum(loss.gradient(np.zeros_like(D)) * D), abs(np.sum(D * loss.hvp(np.zeros_like(D), D)))
    return float(min(1.0, slope_there / bent)) if bent else 1.0


def _drops(loss: Loss, D: np.ndarray, widths: tuple[int, ...], radii: np.ndarray) -> np.ndarray:
    """How much lower φ is at balanced layers of norm r whose product points along D.

    The slope of ℓ is integrated on the way from 0 to the product, exactly but for the logistic loss, and there to
    rounding: the difference of two values would lose what is lower near 0.
    """
    split = layers.balanced(D, widths)
    norm = np.sqrt(sum(float(np.sum(W**2)) for W in split))
    nodes, weights = np.polynomial.legendre.leggauss(4)
    drops = []
    for r in radii:
        W = layers.product([r / norm * layer for layer in split])
        slopes = [np.sum(loss.gradient((1 + node) / 2 * W) * W) for node in nodes]
        drops.append(-weights @ slopes / 2)
    return np.array(drops)


def _two_layer_spectrum(G: np.ndarray, widths: tuple[int, ...]) -> np.ndarray:
    """±σ_r(∇ℓ(0)), each once for every hidden unit, and zeros."""
    s = np.repeat(np.linalg.svd(G, compute_uv=False), widths[1])
    total = widths[1] * (widths[0] + widths[2])
    return np.sort(np.concatenate([s, -s, np.zeros(total - 2 * s.size)]))


def _machine_gap(rng: np.random.Generator, loss: Loss, origin: layers.Layers) -> float:
    """The Hessian by machine against the product rule, at the origin and at layers where no term of it vanishes."""
    places = (origin, tuple(rng.normal(size=W.shape) / W.shape[1] ** 0.5 for W in origin))
    ruled = np.stack([landscape.hessian(place, loss.gradient, loss.hvp) for place in places])
    return float(np.abs(_machine_hessians(loss, places) - ruled).max() / np.abs(ruled).max())


def _machine_hessians(loss: Loss, places: Sequence[layers.Layers]) -> np.ndarray:
    """The Hessian of φ at some places by automatic differentiation."""
    links = {"square": lambda z: z**2 / 2, "logistic": jax.nn.softplus, "cubic": lambda z: z**3}
    first = places[0]
    cuts = np.cumsum([W.size for W in first])[:-1]

    def objective(x: jax.Array) -> jax.Array:
        W = jnp.eye(first[0].shape[1])
        for part, layer in zip(jnp.split(x, cuts), first, strict=True):
            W = part.reshape(layer.shape) @ W
        return jnp.sum(loss.signs * links[loss.name](jnp.tensordot(loss.A, W, 2) + loss.b))

    flat = np.stack([np.concatenate([W.ravel() for W in place]) for place in places])
    return np.asarray(jax.jit(jax.vmap(jax.hessian(objective)))(flat))


def _printed_norm(rng: np.random.Generator) -> float:
    """The norm of the layers in the proof, for a 3×4 map at depth 3, over √n ‖W‖^{1/n}."""
    W, n = rng.normal(size=(3, 4)), 3
    norm = np.linalg.norm(W)
    built = [norm ** (1 / n - 1) * W, *[norm ** (1 / n) * np.eye(3)] * (n - 1)]
    return float(np.sqrt(sum(np.sum(X**2) for X in built)) / (n**0.5 * norm ** (1 / n)))


def _figure(rng: np.random.Generator, instances: list[Instance]) -> fig.Figure:
    """How much lower φ is near the origin, one loss for each depth, and Hessian eigenvalues."""
    shown = {i.n: i for i in reversed(instances) if i.order == 1}
    marks = [fig.points(shown[n].radii, shown[n].drops, f"n = {n}", i) for i, n in enumerate(sorted(shown))]
    marks += [
        fig.reference(i.radii, i.drops[0] * (i.radii / i.radii[0]) ** n, "" if n > 2 else "slope n")
        for n, i in sorted(shown.items())
    ]
    below = fig.Panel(tuple(marks), "distance r from the origin", "φ(0) − φ", "layers below the origin", "log", "log")
    caption = "Lower values lie arbitrarily near the origin, at order rⁿ; only at n = 2 does the Hessian see them."
    return fig.Figure((below, _spectrum_panel(rng)), caption, 2)


def _spectrum_panel(rng: np.random.Generator) -> fig.Panel:
    """Hessian eigenvalues at the origin of one loss, at depths 2 and 3."""
    loss, marks = random_loss(rng, "square", (3, 3)), []
    G = loss.gradient(np.zeros((3, 3)))
    for i, n in enumerate((2, 3)):
        widths = (3,) * (n + 1)
        H = landscape.hessian(tuple(np.zeros((3, 3)) for _ in range(n)), loss.gradient, loss.hvp)
        values = np.linalg.eigvalsh(H)
        marks.append(fig.points(np.linspace(0, 1, values.size), values, f"n = {n}", i))
        forecast = _two_layer_spectrum(G, widths) if n == 2 else np.zeros(values.size)
        marks.append(fig.theory(np.linspace(0, 1, values.size), forecast, "" if i else "±σ(∇ℓ(0)), or 0"))
    return fig.Panel(tuple(marks), "rank of the eigenvalue", "eigenvalue of ∇²φ(0)", "square loss, 3×3")
