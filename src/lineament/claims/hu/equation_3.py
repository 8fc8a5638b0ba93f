"""Equation 3: the mirrored start, which computes nothing and has the tangent kernel of half the width."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, starts
from ...evidence import Evidence, at_most, within
from ...evidence import figure as fig
from ...measure import kernels as measured_kernels
from ...models import Affine
from ...theory import kernels
from ...theory.activations import resolve
from ...theory.dual_activations import dual, quadrature_dual
from ..instances import generator
from ..sizes import sizes

Kernels = dict[str, tuple[np.ndarray, np.ndarray]]
FORMULAS = ("erf", "relu", "leaky_relu")
SLOPES = {"relu": (0.0, 1.0), "leaky_relu": (0.01, 1.0)}  # of the two sides of 0
ARCCOS = "rounding of the arc cosine of nearly parallel inputs: 1e-16 over an angle of 1e-4, × 100"


class Settings(NamedTuple):
    """What is run at each size.

    Attributes:
        examples: On which kernels are compared.
        inputs: d.
        width: m.
        widths: Those over which the spread of the kernel is measured.
        draws: Networks of each of them.
    """

    examples: int
    inputs: int
    width: int
    widths: tuple[int, ...]
    draws: int


@sizes(
    quick=Settings(examples=20, inputs=12, width=32, widths=(16, 64, 256, 1024), draws=32),
    full=Settings(examples=200, inputs=50, width=512, widths=(16, 64, 256, 1024, 4096), draws=100),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Outputs and tangent kernels of mirrored networks against those of one copy: equal to rounding.

    The start as printed, pairs (w, v) and (w, −v) in one network of width m, is differentiated, and compared with the
    formula of the kernel of width m/2 evaluated in NumPy. The form as two subtracted copies, which carries the idea to
    any depth and to convolutions, is compared with the plain network. The limit from which kernels stray is evaluated a
    second time, from the arc-cosine and arc-sine formulas as Cho & Saul (2009) and Williams (1997) print them, layer by
    layer, on inputs of all lengths and at all angles; the library's quadrature must give the same.
    """
    rng = generator(key)
    X = jnp.asarray(rng.normal(size=(settings.examples, settings.inputs)))
    outputs, pairs = _pairs_in_one_network(rng, X, settings)
    copies, subtracted = _subtracted_copies(key, X, settings)
    pairs |= subtracted
    gaps = {label: float(np.abs(b - a).max() / np.abs(a).max()) for label, (a, b) in pairs.items()}
    widths = np.array(settings.widths)
    plain, doubled = _spread_over_width(rng, widths, settings.draws)
    ratio = float(np.exp(np.mean(np.log(doubled / plain))))
    return Evidence(
        checks=[
            at_most("largest output of two subtracted copies", max(copies), 0.0, "exact: a number less itself"),
            at_most("largest output of pairs in one network, relative to one half's", max(outputs), 1e-14,
                    "rounding of sums over the neurons in another order, float64"),
            at_most("worst relative gap of the mirrored kernel to that of half the width", max(gaps.values()), 1e-13,
                    "rounding of differentiated float64 sums: 1e-15 × 100"),
            within("spread of the mirrored kernel over that of a plain one of width m", ratio, 1.3, 1.55,
                   "theory: √2 ± 10 %"),
            at_most("worst relative gap of infinitely wide kernels to the formulas as printed", _limit_gap(rng), 1e-10,
                    ARCCOS),
            at_most("worst relative gap of quadrature to the same formulas", _quadrature_gap(rng), 1e-9,
                    "quadrature's accuracy: 1e-10, × 10"),
        ],
        numbers={f"kernel gap, {label}": gap for label, gap in gaps.items()},
        settings={"networks": list(pairs)},
        protocol={
            "network": f"two layers of width {settings.width}, erf and ReLU; three layers with biases, and a "
            f"convolution",
            "start": "equation 3 in one network, and as two copies that are subtracted",
            "second layer": "±1",
        },
        figure=_mirrored_figure(pairs, widths, plain, doubled),
        remarks=[
            "The start leaves the expected kernel as it is, not the kernel's law: with m/2 independent neurons it "
            "strays from its limit √2 times as far as that of a plain network of width m."
        ],
    )  # fmt: skip


def _pairs_in_one_network(rng: np.random.Generator, X: jax.Array, settings: Settings) -> tuple[list[float], Kernels]:
    """The start as printed, differentiated, and the formula of half the width: largest outputs, and both kernels."""
    outputs, kernels_of = [], {}
    for name in ("erf", "relu"):
        W = rng.normal(size=(settings.width // 2, settings.inputs))
        v = rng.choice([-1.0, 1.0], settings.width // 2)
        wide, start = _as_in_equation_3(W, v, name)
        outputs.append(_worst_output(wide, start, X))
        kernels_of[f"two layers, {name}"] = (
            _two_layer_kernel(X, W, v, name),
            measured_kernels.empirical(wide, start, X),
        )
    return outputs, kernels_of


def _subtracted_copies(key: jax.Array, X: jax.Array, settings: Settings) -> tuple[list[float], Kernels]:
    """Two copies of a deep and of a convolutional network: their largest outputs, and the kernels of one and of both."""
    d, m = settings.inputs, settings.width
    deep = models.MLP((d, m // 2, m // 2, 2), "tanh", bias=True)
    conv = models.ConvNet((d, 1, 1), (m // 4,), (1,), ((5, 1),), padding="circular")
    outputs, kernels_of = [], {}
    for index, (label, model) in enumerate({"three layers, biases": deep, "convolution": conv}.items()):
        start = starts.gaussian(model, jax.random.fold_in(key, index), deviation=1.0)
        mirrored = models.Mirrored(model)
        pair = models.Pair(start, start)
        outputs.append(float(jnp.max(jnp.abs(mirrored.apply(pair, X)))))
        kernels_of[label] = (
            measured_kernels.empirical(model, start, X),
            measured_kernels.empirical(mirrored, pair, X),
        )
    return outputs, kernels_of


def _as_in_equation_3(W: np.ndarray, v: np.ndarray, name: str) -> tuple[models.MLP, Affine]:
    """One network of width m whose neurons come in pairs."""
    half, d = W.shape
    layers = (jnp.asarray(np.concatenate([W, W])), jnp.asarray(np.concatenate([v, -v])[None]))
    return models.MLP((d, 2 * half, 1), name), Affine(layers)  # type: ignore[arg-type]


def _worst_output(model: models.MLP, parameters: Affine, X: jax.Array) -> float:
    """The largest output against that of the first half of the neurons alone."""
    W, v = parameters.layers
    first = v.at[:, v.shape[1] // 2 :].set(0.0)
    alone = model.apply(Affine((W, first)), X)
    return float(jnp.max(jnp.abs(model.apply(parameters, X))) / jnp.max(jnp.abs(alone)))


def _two_layer_kernel(X: Any, W: np.ndarray, v: np.ndarray, name: str) -> np.ndarray:
    """Θ1 + Θ2 of a plain two-layer network, from their formulas."""
    x, phi, (m, d) = np.asarray(X), resolve(name), W.shape
    z = x @ W.T / np.sqrt(d)
    slope, value = phi.derivative(z) * v, phi.function(z)
    return slope @ slope.T / m * (x @ x.T / d) + value @ value.T / m


def _spread_over_width(rng: np.random.Generator, widths: np.ndarray, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Root mean square distance of the erf kernel from its limit: plain networks of width m, and mirrored ones."""
    X = rng.normal(size=(16, 12))
    limit = kernels.infinite(X, activation="erf", hidden_layers=1).ntk

    def distance(neurons: int, copies: int) -> float:
        gaps = []
        for _ in range(draws):
            W, v = rng.normal(size=(neurons, 12)), rng.choice([-1.0, 1.0], neurons)
            W, v = np.tile(W, (copies, 1)), np.concatenate([v, -v][:copies])
            gaps.append(np.linalg.norm(_two_layer_kernel(X, W, v, "erf") - limit))
        return float(np.sqrt(np.mean(np.square(gaps))) / np.linalg.norm(limit))

    plain = np.array([distance(int(m), 1) for m in widths])
    return plain, np.array([distance(int(m) // 2, 2) for m in widths])


def _as_printed(name: str, p: np.ndarray, q: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E φ(u)φ(v) and E φ′(u)φ′(v) for variances p, q and covariances c, as Williams and Cho & Saul print them."""
    if name == "erf":
        square = (1 + 2 * p) * (1 + 2 * q)
        return 2 / np.pi * np.arcsin(2 * c / np.sqrt(square)), 4 / np.pi / np.sqrt(square - 4 * c**2)
    left, right = SLOPES[name]
    theta = np.arccos(np.clip(c / np.sqrt(p * q), -1, 1))
    value = np.sqrt(p * q) * (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / (2 * np.pi)
    share = (np.pi - theta) / (2 * np.pi)
    # φ = left·z + (right − left)·relu(z), of which the mixed terms have E zφ(z′) = c/2 and E φ′ = ½.
    rise = right - left
    return left**2 * c + left * rise * c + rise**2 * value, left**2 + left * rise + rise**2 * share


def _limit_gap(rng: np.random.Generator) -> float:
    """How far NNGP and tangent kernel of infinite width are from the recursion over the formulas as printed.

    Inputs of lengths from 0.1 to 10 and some below 1e-4, then inputs that lie close together, some within 1e-4 to 1e-2.
    """
    spread = rng.normal(size=(20, 6)) * 10 ** np.r_[rng.uniform(-1, 1, 16), rng.uniform(-6, -4.5, 4)][:, None]
    near = rng.normal(size=6) + 0.04 * rng.normal(size=(80, 6))
    near[-6:] = near[0] + 10.0 ** rng.uniform(-4, -2, (6, 1)) * rng.normal(size=(6, 6))
    gaps = []
    for X in (spread, near):
        K0 = X @ X.T / X.shape[1]
        for name in FORMULAS:
            K, tangent = K0, K0
            for layers in (1, 2, 3):
                p, q = np.diag(K)[:, None], np.diag(K)[None]
                K, slope = _as_printed(name, p, q, K)
                # Of an input with itself the arc cosine would leave an angle of 1e-8.
                np.fill_diagonal(slope, np.diag(_as_printed(name, p, q, np.sqrt(p * q))[1]))
                tangent = K + slope * tangent
                found = kernels.infinite(X, activation=name, hidden_layers=layers)
                other = kernels.infinite(X[:10], X[10:], activation=name, hidden_layers=layers)
                for printed, whole, part in ((K, found.nngp, other.nngp), (tangent, found.ntk, other.ntk)):
                    scale = np.sqrt(np.outer(np.diag(printed), np.diag(printed)))
                    gaps.append(np.abs((whole - printed) / scale).max())
                    gaps.append(np.abs((part - printed[:10, 10:]) / scale[:10, 10:]).max())
    return float(max(gaps))


def _quadrature_gap(rng: np.random.Generator) -> float:
    """How far both expectations by quadrature, and by the closed forms in use, are from the formulas as printed."""
    s, t, theta = rng.uniform(0.1, 3, 12), rng.uniform(0.1, 3, 12), rng.uniform(0.05, np.pi - 0.05, 12)
    p, q, c = s**2, t**2, s * t * np.cos(theta)
    gaps = []
    for name in FORMULAS:
        value, slope = _as_printed(name, p, q, c)
        for found in (quadrature_dual(name, p, q, c), dual(name, p, q, c)):
            gaps.append(np.abs(found.value - value) / (s * t))
            gaps.append(np.abs(found.slope - slope))
    return float(np.max(gaps))


def _mirrored_figure(
    pairs: dict[str, tuple[np.ndarray, np.ndarray]], widths: np.ndarray, plain: np.ndarray, doubled: np.ndarray
) -> fig.Figure:
    scatter = []
    for group, (label, (a, b)) in enumerate(pairs.items()):
        first, second = (K.reshape(*K.shape[:2], -1)[:8, :8, 0].ravel() for K in (a, b))
        scatter.append(fig.points(first, second, label, group))
    ends = [min(mark.x.min() for mark in scatter), max(mark.x.max() for mark in scatter)]  # type: ignore[union-attr]
    guide = plain[0] * np.sqrt(widths[0] / widths)
    return fig.Figure(
        (
            fig.Panel((*scatter, fig.theory(ends, ends, "equal")), "kernel of one copy", "kernel when mirrored",
                      "entries of tangent kernels"),
            fig.Panel(
                (
                    fig.points(widths, plain, "plain, width m", 4),
                    fig.points(widths, doubled, "mirrored, width m", 5),
                    fig.theory(widths, guide, "∝ m^(−1/2)"),
                    fig.theory(widths, np.sqrt(2) * guide, "√2 times that"),
                ),
                "width m", "distance to infinite width, relative", "two layers, erf", "log", "log",
            ),
        ),
        "Mirrored kernels equal those of one copy entry by entry, and so stray from the limit as half the width does.",
        2,
    )  # fmt: skip
