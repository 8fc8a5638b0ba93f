"""Tangent kernels at the start against those of their linear twins: Propositions 3.4 and 4.1."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.sparse.linalg import eigsh
from scipy.stats import binom

from ... import models
from ...measure import kernels as measured_kernels
from ...theory import kernels, twin
from ...theory.dual_activations import dual
from .. import figure as fig
from ..evidence import Evidence, at_least, at_most, within
from ..instances import generator, slope
from ..registry import Scale, claim

ALPHA = 0.2
"""n = m = 2d^{1+α} in Proposition 3.4."""

CASES = {
    "erf": ("erf", False),
    "tanh": ("tanh", False),
    "softplus": ("softplus", False),
    "sigmoid": ("sigmoid", False),
    "relu": ("relu", False),
    "gelu, two levels": ("gelu", True),
}
"""Activation, and whether half of the directions have variance 3/2 and half ½, instead of 1."""

DIMENSIONS = {"quick": (16, 32, 64, 128), "full": (32, 64, 128, 256, 512, 1024)}
DRAWS = {"quick": 512, "full": 2048}
"""Draws times d: more of them where the matrices are small."""

CUBES = {"quick": (12, 16, 20, 24), "full": (12, 16, 20, 24, 32, 40)}
FILTERED = {"quick": (16, 24, 32, 48, 64, 96, 128), "full": (16, 24, 32, 48, 64, 96, 128, 192, 256, 384)}
ALPHAS = (0.1, 0.2)
"""In Proposition 4.1, n = d^{1+α}."""

FIXED = 3
"""A filter that does not grow."""

PART = 2**14
"""Numbers at a time through φ′."""


class Norms(NamedTuple):
    """Norms of Θ1 − Θlin1: spectral and Frobenius, and spectral without the constant feature ν."""

    spectral: np.ndarray
    frobenius: np.ndarray
    without: np.ndarray


class Distances(NamedTuple):
    """‖Θ − 2ζ²XXᵀ/d‖ over d: measured and forecast in units of n/d, and measured in units of ‖XXᵀ‖/d."""

    measured: np.ndarray
    forecast: np.ndarray
    over_data: np.ndarray


@claim(
    "hu-p34",
    place="Proposition 3.4, Figure 5",
    title="The first layer's kernel is near its twin's in spectral norm, not in Frobenius norm",
    statement=r"\left\|\Theta_1(W(0))-\Theta^{lin1}\right\|\lesssim\frac{n}{d^{1+\alpha}},\qquad "
    r"\left\|\Theta_1(W(0))-\Theta^{lin1}\right\|_F\gtrsim\frac{n}{d}",
    quick="6 s",
    full="5 min on one core",
)
def first_layer_kernel(scale: Scale, key: jax.Array) -> Evidence:
    """Networks from the mirrored start on Gaussian data, n = m = 2d^1.2, against the kernel of eq. 5, over d.

    The network's kernel is evaluated from its formula with φ′ by automatic differentiation, and that is compared at a
    small size with the tangent kernel of the whole network. Over n/d the spectral norm must fall at least as d^−α. The
    Frobenius norm has three parts: the diagonal, √n Var φ′(g), which grows over n/d; second-order terms of order n/d; the
    noise of m/2 neurons, n/√(dm) ~ (n/d)d^(−α/2). It must not fall faster than the last. The lower bound n/d as printed
    is tried where it is least plausible: corners of the cube, an odd activation, infinite width and n = d^2.5.
    """
    rng = generator(key)
    d = np.array(DIMENSIONS[scale])
    n = 2 * np.round(d ** (1 + ALPHA)).astype(int)
    found = {label: _over_dimensions(rng, *case, d, n, DRAWS[scale]) for label, case in CASES.items()}
    spectral = {label: slope(d, each.spectral * d / n) for label, each in found.items()}
    frobenius = {label: slope(d, each.frobenius * d / n) for label, each in found.items()}
    floors = {label: _slope_variance(case[0]) for label, case in CASES.items()}
    least = [np.min(each.frobenius / np.sqrt(n)) / floors[label] for label, each in found.items()]
    cube = np.array(CUBES[scale])
    many = np.round(cube**2.5).astype(int)
    on_cube = np.array([_cube_gap(rng, int(size), int(count)) for size, count in zip(cube, many, strict=True)])
    least.append(np.min(on_cube / np.sqrt(many)) / floors["erf"])
    at_cube = slope(cube, on_cube * cube / many)
    relu = found["relu"]
    return Evidence(
        checks=[
            at_most("largest slope of the spectral norm over n/d, upper end", _upper(spectral), -ALPHA),
            at_least("least slope of the Frobenius norm over n/d, lower end", _lower(frobenius), -ALPHA / 2),
            at_least("Frobenius over spectral norm at the largest d, least", _least_ratio(found), 3.0),
            at_least("least Frobenius norm over √n Var φ′(g)", min(least), 0.5),
            at_least("spectral norm without ν over that with it, ReLU, largest d", relu.without[-1] / relu.spectral[-1],
                     1.5),
            at_most("gap of the formula to the differentiated network, relative", _differentiated(rng), 1e-12),
        ],
        printed=[at_least("slope of the Frobenius norm over n/d, erf on the cube, n = d^2.5", at_cube[0], -0.05)],
        correction=r"\left\|\Theta_1(W(0))-\Theta^{lin1}\right\|\lesssim\frac{n}{d^{1+\alpha}},\qquad "
        r"\left\|\Theta_1(W(0))-\Theta^{lin1}\right\|_F\gtrsim\sqrt{n}\,\mathrm{Var}\,\phi'(g)\ \left(\gtrsim\frac{n}{d}"
        r"\ \mathrm{if}\ n\lesssim d^2\right)",
        numbers={f"spectral slope, {label}": value[0] for label, value in spectral.items()}
        | {f"its standard error, {label}": value[1] for label, value in spectral.items()}
        | {f"Frobenius slope, {label}": value[0] for label, value in frobenius.items()}
        | {"standard error, erf on the cube": at_cube[1]},
        settings={"d": d.tolist(), "n = m": n.tolist(), "α": ALPHA, "cube": {"d": cube.tolist(), "n": many.tolist()}},
        figure=_norms_figure(d, n, found, floors, cube, many, on_cube),
        remarks=[
            "The Frobenius norm is at least n/d for every n ≲ d², by its diagonal alone, unless φ is linear. Beyond, it "
            "may be smaller: for odd φ on inputs of one norm, off-diagonal entries are of order d^(−3/2).",
            "Without the constant feature ν the spectral norm keeps a part ϑ1²TrΣ²/d of n/d where ϑ1 ≠ 0.",
        ],
    )  # fmt: skip


def _over_dimensions(
    rng: np.random.Generator, activation: str, levels: bool, d: np.ndarray, n: np.ndarray, work: int
) -> Norms:
    """Mean norms over draws of data and weights, more of them in small dimensions."""
    rows = []
    for size, count in zip(map(int, d), map(int, n), strict=True):
        draws = [_gap(rng, activation, levels, size, count) for _ in range(max(2, work // size))]
        rows.append(np.mean(draws, axis=0))
    return Norms(*np.array(rows).T)


def _gap(rng: np.random.Generator, activation: str, levels: bool, d: int, n: int) -> tuple[float, float, float]:
    variance = np.where(np.arange(d) < d // 2, 1.5, 0.5) if levels else np.ones(d)
    X = rng.standard_normal((n, d)) * np.sqrt(variance)
    W = rng.standard_normal((n // 2, d))  # a mirrored network of width m has m/2 different neurons
    features = twin.feature_map(activation, spread=float(np.mean(variance**2)), first=1, second=0)
    gap = _first_layer_kernel(X, W, activation) - features.kernel(X)
    norms = _spectral_norm(gap), float(np.linalg.norm(gap))
    return *norms, _spectral_norm(gap + features.constant**2 / d)


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


def _spectral_norm(symmetric: np.ndarray) -> float:
    """The largest absolute eigenvalue, by Lanczos's method from a fixed random vector."""
    start = np.random.default_rng(0).standard_normal(len(symmetric))
    return float(abs(eigsh(symmetric, k=1, which="LM", v0=start, tol=1e-6, return_eigenvectors=False)[0]))  # type: ignore[arg-type]


def _differentiated(rng: np.random.Generator) -> float:
    """The formula against the tangent kernel of all of eq. 1 from the mirrored start, with only W as parameter."""
    n, d, half = 24, 10, 16
    X, W, v = rng.standard_normal((n, d)), rng.standard_normal((half, d)), rng.choice([-1.0, 1.0], half)
    both, signs = jnp.asarray(np.concatenate([W, W])), jnp.asarray(np.concatenate([v, -v]))

    def network(W: jax.Array, x: jax.Array) -> jax.Array:
        return models.activation("softplus")(x @ W.T / np.sqrt(d)) @ signs / np.sqrt(2 * half)

    formula = _first_layer_kernel(X, W, "softplus")
    return float(np.abs(measured_kernels.empirical(network, both, X) - formula).max() / formula.max())


def _slope_variance(activation: str) -> float:
    """Var φ′(g), which remains on the diagonal."""
    one = np.array(1.0)
    return float(dual(activation, one, one, one).slope) - twin.constants(activation).zeta ** 2


def _cube_gap(rng: np.random.Generator, d: int, n: int) -> float:
    """‖Θ1 − Θlin1‖ in Frobenius norm for erf at infinite width, on random corners of the cube."""
    X = rng.choice([-1.0, 1.0], (n, d))
    whole = kernels.infinite(X, activation="erf", hidden_layers=1)
    features = twin.feature_map("erf", spread=1.0, first=1, second=0)
    return float(np.linalg.norm(whole.ntk - whole.nngp - features.kernel(X)))


def _upper(slopes: dict[str, tuple[float, float]]) -> float:
    return max(value + 2 * error for value, error in slopes.values())


def _lower(slopes: dict[str, tuple[float, float]]) -> float:
    return min(value - 2 * error for value, error in slopes.values())


def _least_ratio(found: dict[str, Norms]) -> float:
    return float(min(each.frobenius[-1] / each.spectral[-1] for each in found.values()))


def _norms_figure(
    d: np.ndarray,
    n: np.ndarray,
    found: dict[str, Norms],
    floors: dict[str, float],
    cube: np.ndarray,
    many: np.ndarray,
    on_cube: np.ndarray,
) -> fig.Figure:
    panels, x, diagonal = [], np.log2(d), "Var φ′(g) on the diagonal alone"
    for label in ("erf", "softplus", "relu", "gelu, two levels", "sigmoid"):
        spectral, frobenius, without = (norm * d / n for norm in found[label])
        marks = [
            fig.points(x, frobenius, "Frobenius", 1),
            fig.points(x, spectral, "spectral", 0),
            fig.theory(x, floors[label] * d / n, diagonal),
            fig.reference(x, 1.3 * spectral[0] * (d / d[0]) ** -ALPHA, "slope −α"),
        ]
        if label not in ("erf", "sigmoid"):  # there ν = 0
            marks.insert(2, fig.points(x, without, "spectral, without ν", 2))
        panels.append(fig.Panel(tuple(marks), "log₂ d", "norm over n/d", label, y_scale="log"))
    marks = (
        fig.points(np.log2(cube), on_cube * cube / many, "Frobenius", 1),
        fig.theory(np.log2(cube), floors["erf"] * cube / np.sqrt(many), diagonal),
    )
    panels.append(fig.Panel(marks, "log₂ d", "norm over n/d", "erf, cube, n = d^2.5", y_limits=(0.0, 0.2)))
    return fig.Figure(
        tuple(panels),
        "In spectral norm the kernel nears its twin's faster than d^(−α), in Frobenius norm it does not; with n ≫ d² it "
        "can.",
        3,
    )


@claim(
    "hu-p41",
    place="Proposition 4.1",
    title="A convolutional network's kernel is near the data kernel if its filter grows",
    statement=r"\left\|\Theta_{CNN}-2\zeta^2XX^\top/d\right\|\lesssim\frac{n}{d^{1+\alpha}},\qquad "
    r"n\gtrsim d^{1+\alpha},\ q\gtrsim d^{1/2+2\alpha}",
    quick="6 s",
    full="7 min",
)
def circular_kernel(scale: Scale, key: jax.Array) -> Evidence:
    r"""The infinite-width kernel on random corners of the cube, n = d^{1+α}, filters q = d^{1/2+2α}, 4d^α and 3, over d.

    On the cube the kernel is a mean over positions of g(ρ), ρ the overlap of patches, and its part linear in the inputs
    is known exactly: q E[ρg(ρ)] XXᵀ/d with ρ a mean of q random signs. In high dimension what is left is nearly diagonal,
    which forecasts the distance from 2ζ²XXᵀ/d as κ(‖XXᵀ‖/d − 1) + g(1) − 2ζ², κ = q E[ρg(ρ)] − 2ζ². The kernel itself is
    compared with kernels of finite random networks, whose distance must fall as the number of channels to the −1/2.
    """
    rng = generator(key)
    d = np.array(FILTERED[scale])
    channels, gaps = _finite_networks(key, rng, 64 if scale == "quick" else 256)
    off, panels, checks, numbers = [], [], [], {}
    for alpha in ALPHAS:
        n = np.round(d ** (1 + alpha)).astype(int)
        laws = {
            "q = d^(1/2 + 2α)": np.ceil(d ** (0.5 + 2 * alpha)).astype(int),
            "q = 4 d^α": np.ceil(4 * d**alpha).astype(int),
            f"q = {FIXED}": np.full(d.shape, FIXED),
        }
        tables = {name: _distances(rng, d, n, q) for name, q in laws.items()}
        off += [np.abs(table.measured / table.forecast - 1) for table in tables.values()]
        slopes = {name: slope(d, table.measured) for name, table in tables.items()}
        asked, stuck = slopes["q = d^(1/2 + 2α)"], tables[f"q = {FIXED}"].over_data
        fixed = slope(d, stuck)
        checks += [
            at_most(f"slope at α = {alpha}, q = d^(1/2 + 2α), upper end", asked[0] + 2 * asked[1], -alpha),
            at_least(
                f"slope over ‖XXᵀ‖/d at α = {alpha}, q = {FIXED}, lower end", fixed[0] - 2 * fixed[1], -alpha / 2
            ),
            at_least(f"least distance at q = {FIXED} over κ‖XXᵀ‖/d, α = {alpha}", stuck.min() / _excess(FIXED), 0.9),
        ]
        numbers |= {f"slope, α = {alpha}, {name}": value[0] for name, value in slopes.items()}
        numbers |= {f"standard error, α = {alpha}, {name}": value[1] for name, value in slopes.items()}
        panels.append(_distance_panel(alpha, d, tables))
    late = np.array(off)[:, len(d) // 2 :]
    return Evidence(
        checks=[
            *checks,
            at_most("worst relative gap of the distance to its forecast, larger half of d", late.max(), 0.1),
            within("slope of finite networks' gap in channels", slope(channels, gaps)[0], -0.6, -0.4),
        ],
        numbers=numbers
        | {
            "worst relative gap to the forecast, all d": float(np.max(off)),
            f"gap at {channels[-1]} channels, relative": float(gaps[-1]),
        },
        settings={"d": d.tolist(), "α": ALPHAS, "n": "d^(1 + α)", "channels": channels.tolist()},
        figure=fig.Figure(
            (
                *panels,
                fig.Panel(
                    (
                        fig.points(channels, gaps, group=4),
                        fig.theory(channels, gaps[0] * np.sqrt(channels[0] / channels)),
                    ),
                    "channels", "gap to infinite width", "finite networks, channels^(−1/2)", "log", "log",
                ),
            ),
            "The distance falls faster than d^(−α) with the filter asked for, as forecast, and not at all with a fixed "
            "one.",
            3,
        ),
        remarks=[
            "The condition on the filter is more than the cube needs: the linear part misses 2ζ² by κ ≈ 32/(27πq), so "
            "that q ≳ d^α is enough."
        ],
    )  # fmt: skip


def _distances(rng: np.random.Generator, d: np.ndarray, n: np.ndarray, q: np.ndarray) -> Distances:
    """Means over draws, more of them in small dimensions."""
    rows = []
    zeta = twin.constants("erf").zeta
    for size, count, width in zip(map(int, d), map(int, n), map(int, q), strict=True):
        draws = []
        for _ in range(max(1, min(16, 128 // size))):
            X = rng.choice([-1.0, 1.0], (count, size))
            gram = X @ X.T / size
            kernel = kernels.circular_cnn(X, filter_size=width, activation="erf").ntk
            distance, scale = _spectral_norm(kernel - 2 * zeta**2 * gram), _spectral_norm(gram)
            forecast = _excess(width) * (scale - 1) + float(_profile(np.array(1.0))) - 2 * zeta**2
            draws.append([distance * size / count, forecast * size / count, distance / scale])
        rows.append(np.mean(draws, axis=0))
    return Distances(*np.array(rows).T)


def _profile(rho: np.ndarray) -> np.ndarray:
    """g(ρ) = (4/π)ρ/√(9 − 4ρ²) + (2/π) arcsin(2ρ/3): the kernel of patches with overlap ρ."""
    return 4 / np.pi * rho / np.sqrt(9 - 4 * rho**2) + 2 / np.pi * np.arcsin(2 * rho / 3)


def _excess(q: int) -> float:
    """κ = q E[ρg(ρ)] − 2ζ², ρ the mean of q random signs: what the linear part has beyond 2ζ²."""
    heads = np.arange(q + 1)
    rho = (2 * heads - q) / q
    return float(q * np.sum(binom.pmf(heads, q, 0.5) * rho * _profile(rho))) - 2 * twin.constants("erf").zeta ** 2


def _finite_networks(key: jax.Array, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Root mean square distance to infinite width over the number of channels.

    The kernel of a network is a mean over its channels, so that the mean over several networks is that of one with all
    their channels.
    """
    n, d, q, each = 16, 12, 5, 64
    X = rng.choice([-1.0, 1.0], (n, d))
    limit = kernels.circular_cnn(X, filter_size=q, activation="erf").ntk
    net = models.ConvNet((d, 1, 1), (each,), (1,), ((q, 1),), padding="circular")
    starts = [net.start(one, jnp.dtype("float64")) for one in jax.random.split(key, count)]
    found = np.array([measured_kernels.empirical(net, start, X) for start in starts])
    groups = 2 ** np.arange(int(np.log2(count)) - 1)
    gaps = [found.reshape(-1, group, n, n).mean(axis=1) - limit for group in groups]
    size = np.linalg.norm(limit)
    return each * groups, np.array([np.sqrt(np.mean(np.sum(gap**2, axis=(1, 2)))) / size for gap in gaps])


def _distance_panel(alpha: float, d: np.ndarray, tables: dict[str, Distances]) -> fig.Panel:
    x = np.log2(d)
    marks = [fig.points(x, table.measured, name, group) for group, (name, table) in enumerate(tables.items())]
    marks += [fig.theory(x, table.forecast, "forecast") for table in tables.values()]
    first = next(iter(tables.values())).measured[0]
    marks.append(fig.reference(x, 0.7 * first * (d / d[0]) ** -alpha, "slope −α"))
    return fig.Panel(tuple(marks), "log₂ d", "distance over n/d", f"α = {alpha}", y_scale="log")
