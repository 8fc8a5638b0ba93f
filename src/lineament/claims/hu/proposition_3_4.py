"""Proposition 3.4: the first layer's tangent kernel at the start against that of its linear twin."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models
from ...evidence import Check, Evidence, at_least, at_most
from ...evidence import figure as fig
from ...measure import kernels as measured_kernels
from ...theory import kernels, twin
from ...theory.dual_activations import dual
from ..instances import generator, slope
from ..sizes import sizes
from .spectral import spectral_norm

CASES = {
    "erf": ("erf", False),
    "tanh": ("tanh", False),
    "softplus": ("softplus", False),
    "sigmoid": ("sigmoid", False),
    "relu": ("relu", False),
    "gelu, two levels": ("gelu", True),
}
"""Activation, and whether half of the directions have variance 3/2 and half ½, instead of 1."""

PART = 2**14
"""Numbers at a time through φ′."""


class Settings(NamedTuple):
    """What is run at each size.

    Attributes:
        dimensions: d.
        draws: Draws of data and weights, times d: more of them where the matrices are small.
        cubes: d where the printed lower bound is tried on corners of the cube.
        alpha: n = m = 2d^{1+α}.
        crowd: n = d^crowd on the cube.
    """

    dimensions: tuple[int, ...]
    draws: int
    cubes: tuple[int, ...]
    alpha: float = 0.2
    crowd: float = 2.5


class Norms(NamedTuple):
    """Norms of Θ1 − Θlin1: spectral and Frobenius, and spectral without the constant feature ν."""

    spectral: np.ndarray
    frobenius: np.ndarray
    without: np.ndarray


class Cube(NamedTuple):
    """Dimensions, numbers of examples and Frobenius norms of Θ1 − Θlin1 on corners of the cube, infinite width."""

    d: np.ndarray
    n: np.ndarray
    frobenius: np.ndarray


@sizes(
    quick=Settings(dimensions=(16, 32, 64, 128), draws=512, cubes=(12, 16, 20, 24)),
    full=Settings(dimensions=(32, 64, 128, 256, 512, 1024), draws=2048, cubes=(12, 16, 20, 24, 32, 40)),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Networks from the mirrored start on Gaussian data, n = m = 2d^1.2, against the kernel of eq. 5, over d.

    The network's kernel is evaluated from its formula with φ′ by automatic differentiation, and that is compared at a
    small size with the tangent kernel of the whole network. Over n/d the spectral norm must fall at least as d^−α. The
    Frobenius norm has three parts: the diagonal, √n Var φ′(g), which grows over n/d; second-order terms of order n/d; the
    noise of m/2 neurons, n/√(dm) ~ (n/d)d^(−α/2). It must not fall faster than the last. The lower bound n/d as printed
    is tried where it is least plausible: corners of the cube, an odd activation, infinite width and n = d^2.5.
    """
    rng = generator(key)
    d = np.array(settings.dimensions)
    n = 2 * np.round(d ** (1 + settings.alpha)).astype(int)
    norms = {label: _over_dimensions(rng, *case, d, n, settings.draws) for label, case in CASES.items()}
    spectral = {label: slope(d, norm.spectral * d / n) for label, norm in norms.items()}
    frobenius = {label: slope(d, norm.frobenius * d / n) for label, norm in norms.items()}
    cube = _on_cubes(rng, settings)
    at_cube = slope(cube.d, cube.frobenius * cube.d / cube.n)
    return Evidence(
        checks=[
            at_most("largest slope of the spectral norm over n/d, upper end", _upper(spectral), -settings.alpha,
                    "theory: slope −α at most, by two standard errors"),
            at_least("least slope of the Frobenius norm over n/d", min(frobenius.values())[0], -settings.alpha / 2,
                     "theory: the noise of m/2 neurons falls as d^(−α/2), the other parts do not fall"),
            *_levels(rng, norms, cube, n),
        ],
        printed=[at_least("slope of the Frobenius norm over n/d, erf on the cube, n = d^2.5", at_cube[0], -0.05,
                          "printed: ≳ n/d, slope 0 at least; − 0.05 for the noise of the fit")],
        correction=r"\left\|\Theta_1(W(0))-\Theta^{lin1}\right\|\lesssim\frac{n}{d^{1+\alpha}},\qquad "
        r"\left\|\Theta_1(W(0))-\Theta^{lin1}\right\|_F\gtrsim\sqrt{n}\,\mathrm{Var}\,\phi'(g)\ "
        r"\left(\gtrsim\frac{n}{d}\ \mathrm{if}\ n\lesssim d^2\right)",
        numbers={f"spectral slope, {label}": value[0] for label, value in spectral.items()}
        | {f"its standard error, {label}": value[1] for label, value in spectral.items()}
        | {f"Frobenius slope, {label}": value[0] for label, value in frobenius.items()}
        | {"standard error, erf on the cube": at_cube[1]},
        settings={"n = m": n.tolist(), "n on the cube": cube.n.tolist()},
        protocol={
            "inputs": "Gaussian, with Σ = I or two levels of variance; for the lower bound also corners of the cube",
            "activation": "erf, tanh, softplus, sigmoid, ReLU, GELU",
            "examples": f"n = 2d^{1 + settings.alpha:g}; n = d^{settings.crowd:g} on the cube",
            "width": f"m = 2d^{1 + settings.alpha:g}; infinite on the cube",
            "α": f"{settings.alpha:g}",
        },
        figure=_norms_figure(d, n, norms, cube, settings.alpha),
        remarks=[
            "Counter-example to check by hand: φ = erf, infinitely wide, n = d³ random corners of {±1}^d. With ρ = "
            "⟨x, x'⟩/d the kernels are (4ρ/π)(9 − 4ρ²)^(−½) and 4ρ/(3π): apart by 0.145 on the diagonal, where ρ = 1, "
            "and by about 0.0943 ρ³ off it. As E ρ⁶ is about 15/d³, the squared Frobenius norm is about "
            "0.145² n + 0.0943² · 15 n²/d³, and the norm 0.39 d^(−½) times n/d: below any constant times n/d.",
            "The Frobenius norm is at least n/d for every n ≲ d², by its diagonal alone, unless φ is linear. Beyond, "
            "it may be smaller: for odd φ on inputs of one norm, off-diagonal entries are of order d^(−3/2).",
            "Without the constant feature ν the spectral norm keeps a part ϑ1²TrΣ²/d of n/d where ϑ1 ≠ 0.",
        ],
    )  # fmt: skip


def _levels(rng: np.random.Generator, norms: dict[str, Norms], cube: Cube, n: np.ndarray) -> list[Check]:
    """How far the norms are apart, what the diagonal gives, what ν is for, and that the formula is the network's."""
    least = [np.min(norm.frobenius / np.sqrt(n)) / _slope_variance(CASES[label][0]) for label, norm in norms.items()]
    least.append(np.min(cube.frobenius / np.sqrt(cube.n)) / _slope_variance("erf"))
    relu = norms["relu"]
    return [
        at_least("Frobenius over spectral norm at the largest d, least", _least_ratio(norms), 3.0,
                 "\"not useful\" in the text: several times as large"),
        at_least("least Frobenius norm over √n Var φ′(g)", min(least), 0.5,
                 "theory: the diagonal alone gives 1; half of it for what is drawn at small d"),
        at_least("spectral norm without ν over that with it, ReLU, largest d", relu.without[-1] / relu.spectral[-1],
                 1.5, "theory: the part ϑ1²TrΣ²/d of n/d is then left over; half as much again at least"),
        at_most("gap of the formula to the differentiated network, relative", _differentiated(rng), 1e-12,
                "rounding in float64 × 1000"),
    ]  # fmt: skip


def _on_cubes(rng: np.random.Generator, settings: Settings) -> Cube:
    d = np.array(settings.cubes)
    n = np.round(d**settings.crowd).astype(int)
    return Cube(
        d, n, np.array([_cube_gap(rng, int(dimension), int(count)) for dimension, count in zip(d, n, strict=True)])
    )


def _over_dimensions(
    rng: np.random.Generator, activation: str, levels: bool, d: np.ndarray, n: np.ndarray, work: int
) -> Norms:
    """Mean norms over draws of data and weights, more of them in small dimensions."""
    rows = []
    for dimension, count in zip(map(int, d), map(int, n), strict=True):
        draws = [_gap(rng, activation, levels, dimension, count) for _ in range(max(2, work // dimension))]
        rows.append(np.mean(draws, axis=0))
    return Norms(*np.array(rows).T)


def _gap(rng: np.random.Generator, activation: str, levels: bool, d: int, n: int) -> tuple[float, float, float]:
    variance = np.where(np.arange(d) < d // 2, 1.5, 0.5) if levels else np.ones(d)
    X = rng.standard_normal((n, d)) * np.sqrt(variance)
    W = rng.standard_normal((n // 2, d))  # a mirrored network of width m has m/2 different neurons
    features = twin.feature_map(activation, spread=float(np.mean(variance**2)), first=1, second=0)
    gap = _first_layer_kernel(X, W, activation) - features.kernel(X)
    norms = spectral_norm(gap), float(np.linalg.norm(gap))
    return *norms, spectral_norm(gap + features.constant**2 / d)


def _first_layer_kernel(X: np.ndarray, W: np.ndarray, activation: str) -> np.ndarray:
    """Θ1(W) = (φ′(XWᵀ/√d)φ′(XWᵀ/√d)ᵀ/m) ⊙ XXᵀ/d, where the signs of the second layer square to 1."""
    m, d = W.shape
    slopes = _slopes(X @ W.T / np.sqrt(d), activation)
    return (slopes @ slopes.T / m) * (X @ X.T / d)


def _slopes(z: np.ndarray, activation: str) -> np.ndarray:
    """φ′ by automatic differentiation, in parts of one size, so that it is compiled once."""
    parts = np.resize(z, (-(-z.size // PART), PART))
    return np.concatenate([np.asarray(_slope(part, activation)) for part in parts])[: z.size].reshape(z.shape)


@partial(jax.jit, static_argnames="activation")
def _slope(z: jax.Array, activation: str) -> jax.Array:
    return jax.jvp(models.activation(activation), (z,), (jnp.ones_like(z),))[1]


def _differentiated(rng: np.random.Generator) -> float:
    """The formula against the tangent kernel of all of eq. 1 from the mirrored start, with only W as parameter."""
    n, d, half = 24, 10, 16
    X, W, v = rng.standard_normal((n, d)), rng.standard_normal((half, d)), rng.choice([-1.0, 1.0], half)
    neurons, signs = jnp.asarray(np.concatenate([W, W])), jnp.asarray(np.concatenate([v, -v]))

    def network(W: jax.Array, x: jax.Array) -> jax.Array:
        return models.activation("softplus")(x @ W.T / np.sqrt(d)) @ signs / np.sqrt(2 * half)

    formula = _first_layer_kernel(X, W, "softplus")
    return float(np.abs(measured_kernels.empirical(network, neurons, X) - formula).max() / formula.max())


def _slope_variance(activation: str) -> float:
    """Var φ′(g), which remains on the diagonal."""
    variance = np.array(1.0)
    return float(dual(activation, variance, variance, variance).slope) - twin.constants(activation).zeta ** 2


def _cube_gap(rng: np.random.Generator, d: int, n: int) -> float:
    """‖Θ1 − Θlin1‖ in Frobenius norm for erf at infinite width, on random corners of the cube."""
    X = rng.choice([-1.0, 1.0], (n, d))
    whole = kernels.infinite(X, activation="erf", hidden_layers=1)
    features = twin.feature_map("erf", spread=1.0, first=1, second=0)
    return float(np.linalg.norm(whole.ntk - whole.nngp - features.kernel(X)))


def _upper(slopes: dict[str, tuple[float, float]]) -> float:
    return max(value + 2 * error for value, error in slopes.values())


def _least_ratio(norms: dict[str, Norms]) -> float:
    return float(min(norm.frobenius[-1] / norm.spectral[-1] for norm in norms.values()))


def _norms_figure(d: np.ndarray, n: np.ndarray, norms: dict[str, Norms], cube: Cube, alpha: float) -> fig.Figure:
    panels, x, diagonal = [], np.log2(d), "Var φ′(g) on the diagonal alone"
    for label in ("erf", "softplus", "relu", "gelu, two levels", "sigmoid"):
        spectral, frobenius, without = (norm * d / n for norm in norms[label])
        marks = [
            fig.points(x, frobenius, "Frobenius", 1),
            fig.points(x, spectral, "spectral", 0),
            fig.theory(x, _slope_variance(CASES[label][0]) * d / n, diagonal),
            fig.reference(x, 1.3 * spectral[0] * (d / d[0]) ** -alpha, "slope −α"),
        ]
        if label not in ("erf", "sigmoid"):  # there ν = 0
            marks.insert(2, fig.points(x, without, "spectral, without ν", 2))
        panels.append(fig.Panel(tuple(marks), "log₂ d", "norm over n/d", label, y_scale="log"))
    marks = (
        fig.points(np.log2(cube.d), cube.frobenius * cube.d / cube.n, "Frobenius", 1),
        fig.theory(np.log2(cube.d), _slope_variance("erf") * cube.d / np.sqrt(cube.n), diagonal),
    )
    panels.append(fig.Panel(marks, "log₂ d", "norm over n/d", "erf, cube, n = d^2.5", y_limits=(0.0, 0.2)))
    return fig.Figure(
        tuple(panels),
        "In spectral norm the kernel nears its twin's faster than d^(−α), in Frobenius norm it does not; with n ≫ d² "
        "examples on the cube it does in that norm too (last panel).",
        3,
    )
