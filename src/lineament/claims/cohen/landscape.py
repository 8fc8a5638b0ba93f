"""The landscape of the overparameterised objective: Propositions 1 and 3."""

from collections.abc import Callable
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np

from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...theory import landscape, layers
from ..instances import generator, slope
from ..sizes import Size
from .losses import LINKS, Loss, random_loss

USUAL = ("square", "quartic", "logistic", "cosine")
EVEN = ("square", "quartic", "cosine", "log cosh")  # least at z = 0


def _random_widths(rng: np.random.Generator, n: int, shape: tuple[int, int]) -> tuple[int, ...]:
    return (shape[1], *rng.integers(min(shape), min(shape) + 3, n - 1).tolist(), shape[0])


def nonconvexity(scale: Size, key: jax.Array) -> Evidence:
    """For random losses, convex and not, an explicit segment whose midpoint lies above its chord, beyond rounding.

    Shapes from 1×1 to 5×5 and depths 2 to 6. First losses that are not least at 0; then those that are, the case the
    proposition leaves out. The gap over the chord is recomputed from the layers and set against rounding.
    """
    rng = generator(key)
    count = 200 if scale == "quick" else 5000
    usual, left_out = [], []
    for k in range(count):
        shape, n = (int(rng.integers(1, 6)), int(rng.integers(1, 6))), int(rng.integers(2, 7))
        widths = _random_widths(rng, n, shape)
        loss = random_loss(rng, USUAL[k % 4], shape)
        G = loss.gradient(np.zeros(shape))
        W = -0.1 * G / np.linalg.norm(G)
        while not loss.value(W) < loss.value(np.zeros(shape)):
            W /= 2
        usual.append(_certified(loss, landscape.nonconvexity_segment(loss.value, W, n, widths=widths)))
        even = random_loss(rng, EVEN[k % 4], shape, offset=0.0)
        W = rng.normal(size=shape)
        left_out.append(_certified(even, landscape.nonconvexity_segment(even.value, W, n, widths=widths)))
    excess = np.log10(np.clip(np.stack([[e for e, _ in usual], [e for e, _ in left_out]]), 1e-3, None))
    edges = np.linspace(excess.min(), excess.max(), 30)
    histograms = [
        fig.bars(edges, np.histogram(row, edges)[0], name, i + 4)
        for i, (name, row) in enumerate(zip(("ℓ not least at 0", "ℓ least at 0"), excess, strict=True))
    ]
    s = np.linspace(0, 1, 101)
    return Evidence(
        checks=[
            at_least(
                "least gap over the chord, in units of rounding: ℓ not least at 0", min(e for e, _ in usual), 1e2
            ),
            at_least("the same where ℓ is least at 0", min(e for e, _ in left_out), 1e2),
        ],
        settings={"losses": 2 * count, "depths": "2 … 6", "shapes": "1×1 … 5×5", "links": list(LINKS)[:5]},
        figure=fig.Figure(
            (
                fig.Panel(
                    _profiles(s, USUAL, usual[:4]), "place on the segment", "(φ − chord) / gap", "ℓ not least at 0"
                ),
                fig.Panel(
                    _profiles(s, EVEN, left_out[:4]), "place on the segment", "(φ − chord) / gap", "ℓ least at 0"
                ),
                fig.Panel(tuple(histograms), "log₁₀ gap / rounding", "segments", "all losses"),
            ),
            "On every segment φ rises above its chord, by far more than rounding, also where ℓ is least at 0.",
        ),
        remarks=(
            "The case the proposition leaves out is settled: for n ≥ 2 φ is convex if and only if ℓ is constant. If "
            "ℓ(W) > ℓ(0), rescaling two layers against each other gives two points with product W/c², c > 1, whose "
            "midpoint has product W; already ½‖W₂W₁‖² is not convex.",
        ),
    )


def _certified(loss: Loss, segment: landscape.Segment) -> tuple[float, Callable]:
    """The gap over the chord in units of rounding, and φ less the chord along the segment as a share of the gap."""

    def at(s: float) -> np.ndarray:
        W = np.eye(segment.start[0].shape[1])
        for a, b in zip(segment.start, segment.end, strict=True):
            W = ((1 - s) * a + s * b) @ W
        return W

    ends = [loss.value(at(s)) for s in (0.0, 1.0)]
    gap = loss.value(at(0.5)) - sum(ends) / 2
    rounding = sum(loss.rounding(at(s)) for s in (0.0, 0.5, 1.0))
    return gap / rounding, lambda s: (loss.value(at(s)) - (1 - s) * ends[0] - s * ends[1]) / gap


def _profiles(s: np.ndarray, names: tuple[str, ...], found: list) -> tuple[fig.Mark, ...]:
    lines = [fig.measured(s, [profile(x) for x in s], name, min(list(LINKS).index(name), 3))
             for name, (_, profile) in zip(names, found, strict=True)]  # fmt: skip
    return (*lines, fig.reference([0, 1], [0, 0], "chord"))


def origin_is_a_saddle(scale: Size, key: jax.Array) -> Evidence:
    """Gradient and Hessian of φ at the origin, exactly, and layers ever nearer to it at which φ is lower.

    Losses have a gradient at 0, or none there and yet no local minimum (an indefinite form, a cubic). The Hessian is
    assembled by the product rule and, on some instances, differentiated by machine. At two layers its eigenvalues are
    compared with ± the singular values of ∇ℓ(0). Layers at distance r from the origin are balanced, with a product
    along which ℓ falls to order k = 1, 2 or 3; how much lower φ is there must then be of order r^{nk}.
    """
    rng = generator(key)
    count = 48 if scale == "quick" else 1000
    radii = np.geomspace(0.01, 0.1, 9)
    flat, spectra, strict, lower, slopes, drops, machine = [], [], [], [], [], {}, []
    for k in range(count):
        shape, n = (int(rng.integers(1, 4)), int(rng.integers(1, 4))), 2 + k % 4
        widths = _random_widths(rng, n, shape)
        loss, order = _no_minimum(rng, shape, k // 4 % 4)
        G = loss.gradient(np.zeros(shape))
        origin = tuple(np.zeros((b, a)) for a, b in pairwise(widths))
        H = landscape.hessian(origin, loss.gradient, loss.hvp)
        gradient = np.concatenate([D.ravel() for D in landscape.objective_gradient(origin, loss.gradient)])
        values, size = np.linalg.eigvalsh(H), np.linalg.norm(G) or 1.0
        flat.append(np.linalg.norm(gradient) + (np.abs(values).max() if n > 2 else 0.0))
        strict.append((values[0] < -1e-12 * size) == (n == 2 and order == 1))
        if n == 2:
            spectra.append(np.abs(values - _two_layer_spectrum(G, widths)).max() / size)
        if k < 4:
            machine.append(np.abs(_machine_hessian(loss, origin) - H).max() / size)
        drop = _drops(loss, _downhill(rng, loss, shape, order), widths, radii)
        lower.append(bool((drop[:5] > 0).all()))
        slopes.append(slope(radii[:5], drop[:5])[0] / (n * order) if lower[-1] else np.nan)
        if order == 1:
            drops.setdefault(n, drop)
    norms = _printed_norm(rng)
    marks = [fig.points(radii, drop, f"n = {n}", i) for i, (n, drop) in enumerate(sorted(drops.items()))]
    marks += [fig.reference(radii, drop[0] * (radii / radii[0]) ** n, "" if n > 2 else "slope n")
              for n, drop in sorted(drops.items())]  # fmt: skip
    return Evidence(
        checks=[
            at_most("largest gradient, and Hessian for n ≥ 3, at the origin", max(flat), 0.0),
            at_most("machine derivatives against the product rule", max(machine), 1e-12),
            at_most("eigenvalues against ±σ(∇ℓ(0)) at n = 2, relative", max(spectra), 1e-12),
            at_least("share that is strict exactly if n = 2 and ∇ℓ(0) ≠ 0", float(np.mean(strict)), 1.0),
            at_least("share with lower values at every distance", float(np.mean(lower)), 1.0),
            at_most("largest deviation from 1 of the order of descent, over n times that of ℓ",
                    np.max(np.abs(np.array(slopes) - 1)), 0.05),
        ],
        numbers={"norm of the proof's layers, over the printed √n ε^{1/n}": norms},
        settings={"losses": count, "depths": "2 … 5", "shapes": "1×1 … 3×3", "distances": list(radii)},
        figure=fig.Figure(
            (fig.Panel(tuple(marks), "distance r from the origin", "φ(0) − φ", "layers below the origin", "log",
                       "log"), _spectrum_panel(rng)),
            "Lower values lie arbitrarily near the origin, at order rⁿ; only at n = 2 does the Hessian see them.",
            2,
        ),
        remarks=(
            "At n = 2 the Hessian has the eigenvalues ±σ_r(∇ℓ(0)): the origin is a strict saddle if and only if "
            "∇ℓ(0) ≠ 0. A loss without a minimum at 0 whose gradient vanishes there makes it non-strict at n = 2 too.",
            "The proof gives its layers the norm √n ε^{1/n}; each identity block contributes d_n, not 1, so it is "
            "√(1 + (n−1)d_n) ε^{1/n}. The argument is not affected.",
        ),
    )  # fmt: skip


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


def _drops(loss: Loss, D: np.ndarray, widths: tuple[int, ...], radii: np.ndarray) -> np.ndarray:
    """How much lower φ is at balanced layers of norm r whose product points along D."""
    base = loss.value(np.zeros_like(D))
    split = layers.balanced(D, widths)
    size = np.sqrt(sum(float(np.sum(W**2)) for W in split))
    return np.array([base - loss.value(layers.product([r / size * W for W in split])) for r in radii])


def _two_layer_spectrum(G: np.ndarray, widths: tuple[int, ...]) -> np.ndarray:
    """±σ_r(∇ℓ(0)), each once for every hidden unit, and zeros."""
    s = np.repeat(np.linalg.svd(G, compute_uv=False), widths[1])
    total = widths[1] * (widths[0] + widths[2])
    return np.sort(np.concatenate([s, -s, np.zeros(total - 2 * s.size)]))


def _machine_hessian(loss: Loss, origin: layers.Layers) -> np.ndarray:
    """The Hessian of φ by automatic differentiation."""
    links = {"square": lambda z: z**2 / 2, "logistic": jax.nn.softplus, "cubic": lambda z: z**3}
    cuts = np.cumsum([W.size for W in origin])[:-1]

    def objective(x: jax.Array) -> jax.Array:
        W = jnp.eye(origin[0].shape[1])
        for part, layer in zip(jnp.split(x, cuts), origin, strict=True):
            W = part.reshape(layer.shape) @ W
        return jnp.sum(loss.signs * links[loss.name](jnp.tensordot(loss.A, W, 2) + loss.b))

    return np.asarray(jax.jit(jax.hessian(objective))(jnp.zeros(sum(W.size for W in origin))))


def _printed_norm(rng: np.random.Generator) -> float:
    """The norm of the layers in the proof, for a 3×4 map at depth 3, over √n ‖W‖^{1/n}."""
    W, n = rng.normal(size=(3, 4)), 3
    size = np.linalg.norm(W)
    built = [size ** (1 / n - 1) * W, *[size ** (1 / n) * np.eye(3)] * (n - 1)]
    return float(np.sqrt(sum(np.sum(X**2) for X in built)) / (n**0.5 * size ** (1 / n)))


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
