"""The landscape of the overparameterised objective: Propositions 1 and 3, and Remark 1."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...theory import circulation, end_to_end, landscape, layers
from .. import figure as fig
from ..evidence import Evidence, at_least, at_most
from ..instances import generator, slope
from ..registry import Scale, claim

Link = tuple[Callable, Callable, Callable]  # g, g', g''
LINKS: dict[str, Link] = {
    "square": (lambda z: z**2 / 2, lambda z: z, np.ones_like),
    "quartic": (lambda z: z**4 / 4, lambda z: z**3, lambda z: 3 * z**2),
    "cosine": (lambda z: -np.cos(z), np.sin, np.cos),
    "logistic": (lambda z: np.logaddexp(0, z), lambda z: 1 / (1 + np.exp(-z)), lambda z: 0.25 / np.cosh(z / 2) ** 2),
    "log cosh": (lambda z: np.log(np.cosh(z)), np.tanh, lambda z: 1 / np.cosh(z) ** 2),
    "cubic": (lambda z: z**3, lambda z: 3 * z**2, lambda z: 6 * z),
}
USUAL = ("square", "quartic", "logistic", "cosine")
EVEN = ("square", "quartic", "cosine", "log cosh")  # least at z = 0
EPS = np.finfo(float).eps


class Loss(NamedTuple):
    """ℓ(W) = Σ_k s_k g(⟨A_k, W⟩ + b_k) with its derivatives: convex or not as g and the signs s are."""

    name: str
    A: np.ndarray
    b: np.ndarray
    signs: np.ndarray

    def value(self, W: np.ndarray) -> float:
        """ℓ(W)."""
        return float(self.signs @ LINKS[self.name][0](self._inner(W) + self.b))

    def gradient(self, W: np.ndarray) -> np.ndarray:
        """∇ℓ(W)."""
        return np.tensordot(self.signs * LINKS[self.name][1](self._inner(W) + self.b), self.A, 1)

    def hvp(self, W: np.ndarray, D: np.ndarray) -> np.ndarray:
        """∇²ℓ(W)[D]."""
        return np.tensordot(self.signs * LINKS[self.name][2](self._inner(W) + self.b) * self._inner(D), self.A, 1)

    def rounding(self, W: np.ndarray) -> float:
        """What rounding can add to the value."""
        z = self._inner(W) + self.b
        return EPS * float(np.sum(np.abs(LINKS[self.name][0](z)) + np.abs(LINKS[self.name][1](z) * z)))

    def _inner(self, W: np.ndarray) -> np.ndarray:
        return np.tensordot(self.A, W, 2)


def _random_loss(rng: np.random.Generator, name: str, shape: tuple[int, int], offset: float = 1.0) -> Loss:
    m = int(rng.integers(1, 2 * shape[0] * shape[1] + 1))
    return Loss(name, rng.normal(size=(m, *shape)), offset * rng.normal(size=m), np.ones(m))


def _random_widths(rng: np.random.Generator, n: int, shape: tuple[int, int]) -> tuple[int, ...]:
    return (shape[1], *rng.integers(min(shape), min(shape) + 3, n - 1).tolist(), shape[0])


@claim(
    "cohen-p1",
    place="Proposition 1",
    title="The overparameterised objective is non-convex unless the loss is constant",
    statement=r"\ell(0)\neq\min\ell\ \Rightarrow\ \phi(W_1,\ldots,W_n)=\ell(W_n\cdots W_1)\ \mathrm{is\ not\ convex}",
    quick="2 s",
    full="30 s",
)
def nonconvexity(scale: Scale, key: jax.Array) -> Evidence:
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
        loss = _random_loss(rng, USUAL[k % 4], shape)
        G = loss.gradient(np.zeros(shape))
        W = -0.1 * G / np.linalg.norm(G)
        while not loss.value(W) < loss.value(np.zeros(shape)):
            W /= 2
        usual.append(_certified(loss, landscape.nonconvexity_segment(loss.value, W, n, widths=widths)))
        even = _random_loss(rng, EVEN[k % 4], shape, offset=0.0)
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


@claim(
    "cohen-p3",
    place="Proposition 3",
    title="The origin is a non-strict saddle from three layers on; with two it is strict exactly if ∇ℓ(0) ≠ 0",
    statement=r"n\ge3:\ \nabla\phi(0)=0,\ \nabla^2\phi(0)=0,\ \inf_{\|(W_1,\ldots,W_n)\|<r}\phi<\phi(0)\ \forall r>0",
    quick="6 s",
    full="60 s",
)
def origin_is_a_saddle(scale: Scale, key: jax.Array) -> Evidence:
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
        return _random_loss(rng, ("square", "logistic")[kind], shape), 1
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
    loss, marks = _random_loss(rng, "square", (3, 3)), []
    G = loss.gradient(np.zeros((3, 3)))
    for i, n in enumerate((2, 3)):
        widths = (3,) * (n + 1)
        H = landscape.hessian(tuple(np.zeros((3, 3)) for _ in range(n)), loss.gradient, loss.hvp)
        values = np.linalg.eigvalsh(H)
        marks.append(fig.points(np.linspace(0, 1, values.size), values, f"n = {n}", i))
        forecast = _two_layer_spectrum(G, widths) if n == 2 else np.zeros(values.size)
        marks.append(fig.theory(np.linspace(0, 1, values.size), forecast, "" if i else "±σ(∇ℓ(0)), or 0"))
    return fig.Panel(tuple(marks), "rank of the eigenvalue", "eigenvalue of ∇²φ(0)", "square loss, 3×3")


def _spectral(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Callable, Callable]:
    """∇ℓ and its derivative for ℓ(W) = ½‖W‖² + ¼ tr (WᵀW)², a function of the singular values alone."""

    def gradient(W: np.ndarray) -> np.ndarray:
        return W + W @ W.T @ W

    def hvp(W: np.ndarray, D: np.ndarray) -> np.ndarray:
        return D + D @ W.T @ W + W @ D.T @ W + W @ W.T @ D

    return gradient, hvp


def _linear_and_radial(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Callable, Callable]:
    """∇ℓ and its derivative for ℓ(w) = ⟨c, w⟩ + ½‖w‖² + ¼‖w‖⁴; whitened regression is of this kind."""
    c = rng.normal(size=shape)
    return (
        lambda w: c + (1 + np.sum(w**2)) * w,
        lambda w, d: (1 + np.sum(w**2)) * d + 2 * np.sum(w * d) * w,
    )


def _ridge(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Callable, Callable]:
    loss = _random_loss(rng, "logistic", shape)
    return loss.gradient, loss.hvp


# Losses with the shapes and depths for which the field is, or is not, a gradient field.
GRADIENT_CASES = (
    ("n = 1", _ridge, ((3, 4),), (1,)),
    ("1×1", _ridge, ((1, 1),), (2, 3, 5)),
    ("function of σ", _spectral, ((3, 3), (2, 4), (1, 3)), (2, 3, 5)),
    ("⟨c,w⟩+h(‖w‖), n = 2", _linear_and_radial, ((1, 3), (4, 1)), (2,)),
)
OTHER_CASES = (
    ("generic", _ridge, ((3, 3), (2, 4), (1, 3), (3, 1)), (2, 3, 5)),
    ("⟨c,w⟩+h(‖w‖), n ≥ 3", _linear_and_radial, ((1, 3), (4, 1)), (3, 5)),
    ("⟨C,W⟩+h(‖W‖), d ≥ 2", _linear_and_radial, ((2, 2), (3, 2)), (2, 3)),
)


@claim(
    "cohen-r1",
    place="Remark 1",
    title="The end-to-end dynamics are no gradient flow, except in four special cases",
    statement=r"\oint\left\langle\sum_{j=1}^{n}[WW^\top]^{\frac{j-1}{n}}\nabla\ell(W)[W^\top W]^{\frac{n-j}{n}},dW"
    r"\right\rangle\neq0",
    quick="4 s",
    full="60 s",
)
def no_gradient_field(scale: Scale, key: jax.Array) -> Evidence:
    """Line integrals of the field around random parallelograms, against the error of their quadrature.

    Each case takes the largest of several loops, relative to the integral of |field| along it. Where the field is said
    to be a gradient field all loops must vanish. As parallelograms shrink, the integral per area must approach the
    curl, which is computed exactly by differentiating the matrix powers.
    """
    rng = generator(key)
    loops = 3 if scale == "quick" else 40
    none = {name: [_loops(rng, make, shape, n, loops) for shape in shapes for n in depths]
            for name, make, shapes, depths in GRADIENT_CASES}  # fmt: skip
    some = {name: [_loops(rng, make, shape, n, loops) for shape in shapes for n in depths]
            for name, make, shapes, depths in OTHER_CASES}  # fmt: skip
    vanishing = max(value for rows in none.values() for value, _ in rows)
    least = min(value / max(error, EPS) for rows in some.values() for value, error in rows)
    panel, rate = _shrinking(rng)
    marks = []
    for i, rows in enumerate((some, none)):
        offset = len(some) if i else 0
        at = np.concatenate([np.full(len(row), offset + k + 1) for k, row in enumerate(rows.values())])
        values = np.concatenate([[value for value, _ in row] for row in rows.values()])
        marks.append(fig.points(at, np.maximum(values, 1e-18), ("circulates", "gradient field")[i], i))
    return Evidence(
        checks=[
            at_least("least circulation over quadrature error, where it is no gradient field", least, 1e3),
            at_most("largest relative circulation, where it is one", vanishing, 1e-12),
            at_least("least slope at which circulation per area approaches the curl", rate, 0.9),
        ],
        numbers={f"least relative circulation, {name}": min(v for v, _ in rows) for name, rows in some.items()}
        | {f"largest relative circulation, {name}": max(v for v, _ in rows) for name, rows in none.items()},
        settings={"loops in each case": loops, "depths": "1 … 5"},
        figure=fig.Figure(
            (fig.Panel(tuple(marks), "case", "relative circulation", "seven kinds of loss", y_scale="log"), panel),
            "Cases 1–3 (" + ", ".join(some) + ") circulate; cases 4–7 (" + ", ".join(none) + ") do not.",
            2,
        ),
        remarks=(
            "The field is a gradient field for n = 1; for maps 1×1; for losses that are functions of the singular "
            "values, at every depth; and for n = 2 with one output or one input if ℓ(w) = ⟨c, w⟩ + h(‖w‖), which "
            "includes the square loss on whitened inputs. With one output no other smooth loss has one.",
        ),
    )


def _loops(
    rng: np.random.Generator, make: Callable, shape: tuple[int, int], n: int, count: int
) -> tuple[float, float]:
    """The largest relative circulation among random parallelograms away from rank deficiency, and its error."""
    gradient, _ = make(rng, shape)

    def field(W: np.ndarray) -> np.ndarray:
        return end_to_end.field(W, gradient(W), n)

    found = []
    for _ in range(count):
        corner = 2 * np.eye(*shape) + 0.2 * rng.normal(size=shape)
        A, B = (0.4 * D / np.linalg.norm(D) for D in rng.normal(size=(2, *shape)))
        value, error = circulation.circulation(field, corner, A, B)
        size = 2 * np.linalg.norm(field(corner)) * (np.linalg.norm(A) + np.linalg.norm(B))
        found.append((abs(value) / size, error / size))
    return max(found)


def _shrinking(rng: np.random.Generator) -> tuple[fig.Panel, float]:
    """Circulation per area against the side of the parallelogram, with the exact curl, at three depths."""
    sides, shape, marks, rates = np.geomspace(1e-3, 1, 13), (2, 3), [], []
    gradient, hvp = _ridge(rng, shape)
    corner, (A, B) = 2 * np.eye(*shape) + 0.3 * rng.normal(size=shape), rng.normal(size=(2, *shape)) / 2
    for i, n in enumerate((2, 3, 5)):

        def field(W: np.ndarray, n: int = n) -> np.ndarray:
            return end_to_end.field(W, gradient(W), n)

        limit = circulation.curl(corner, A, B, gradient, hvp, n)
        per_area = [circulation.circulation(field, corner, side * A, side * B).value / side**2 for side in sides]
        away = np.abs(np.array(per_area) - limit)
        rates.append(slope(sides[:6], away[:6])[0])
        marks += [fig.points(sides, away / abs(limit), f"n = {n}", i)]
    marks.append(fig.reference(sides, sides, "slope 1"))
    return fig.Panel(tuple(marks), "side of the loop", "|circulation/area − curl| / |curl|", "a 2×3 map, logistic",
                     "log", "log"), min(rates)  # fmt: skip
