"""What the twins are made of: the Gaussian constants of an activation, and the mirrored start."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtr

from ... import models
from ...evidence import Evidence, at_most, within
from ...evidence import figure as fig
from ...measure import kernels as measured_kernels
from ...models.layered import Affine
from ...theory import kernels, twin
from ...theory.activations import resolve
from ..instances import generator
from ..sizes import Size

NAMES = ("erf", "relu", "leaky_relu", "tanh", "sigmoid", "softplus", "gelu", "elu", "linear")
SYMBOLS = ("ζ", "ϑ0", "ϑ1", "ϑ2")
ROOT_2PI = np.sqrt(2 * np.pi)
WIDTHS = {"quick": (16, 64, 256, 1024), "full": (16, 64, 256, 1024, 4096)}


def gaussian_constants(scale: Size, key: jax.Array) -> Evidence:
    """The library's constants, by quadrature of φ alone, against three other routes.

    Closed forms: erf, piecewise linear, GELU and ELU by the Taylor coefficients of E φ(sg) at s = 1; tanh, sigmoid and
    softplus by Parseval's theorem, from the Fourier transform of sech². Then the expectations as printed, with φ′ by
    automatic differentiation of the networks' own activations and Gauss's rule on panels. Then random functions with
    kinks, waves and slopes of any sign, whose constants are known, handed over as plain callables.
    """
    rng = generator(key)
    count = 24 if scale == "quick" else 400
    exact = _closed_forms()
    closed = np.array([np.abs(np.subtract(twin.quadrature(name), exact[name])) for name in NAMES])
    table = np.array([np.abs(np.subtract(twin.constants(name), exact[name])) for name in NAMES])
    printed = np.array([np.abs(np.subtract(twin.constants(name), _as_printed(name))) for name in NAMES])
    functions = [_random_function(rng) for _ in range(count)]
    known = np.array([constants for _, constants in functions])
    callables = np.abs(np.array([twin.constants(phi) for phi, _ in functions]) - known)
    return Evidence(
        checks=[
            at_most("worst gap of quadrature to closed forms, named activations", closed.max(), 1e-10),
            at_most("worst gap of the constants in use to closed forms", table.max(), 1e-10),
            at_most("worst gap to the expectations as printed, φ′ by differentiation", printed.max(), 1e-10),
            at_most("worst gap to closed forms, random callables", callables.max(), 1e-10),
        ],
        numbers={
            f"{symbol}, {name}": float(value)
            for name in ("erf", "relu", "tanh", "sigmoid", "softplus", "gelu")
            for symbol, value in zip(SYMBOLS, twin.constants(name), strict=True)
        },
        settings={"named": NAMES, "random callables": count, "kinks of each": "up to 4, in [−3, 3]"},
        figure=_constants_figure(known, callables),
        remarks=[
            "ϑ0, ϑ1 and ϑ2 are the Taylor coefficients of E φ(sg) at s = 1: the mean output of a neuron as a function of "
            "its input's norm."
        ],
    )


def _closed_forms() -> dict[str, np.ndarray]:
    """ζ, ϑ0, ϑ1, ϑ2 by integrals done by hand."""
    zero = np.zeros(3)
    relu, linear = np.array([0.5, *np.array([1, 1, 0]) / ROOT_2PI]), np.array([1.0, *zero])
    # E[sg Φ(sg)] = s²(1 + s²)^{−1/2}/√(2π), and its derivatives at 1.
    gelu = np.array([0.5, *np.array([1, 1.5, 0.125]) / np.sqrt(2) / ROOT_2PI])
    # E[e^{sg} − 1; g < 0] = e^{s²/2}Φ(−s) − ½, beside ReLU's s/√(2π).
    tail, density = np.exp(0.5) * ndtr(-1.0), 1 / ROOT_2PI
    elu = np.array([0.5 + tail, density + tail - 0.5, tail, (2 * tail - density) / 2])
    # ∫ sech²(x) e^{−iωx} dx = πω/sinh(πω/2), and σ′(x) = ¼ sech²(x/2).
    mean_slope = _parseval(lambda w: (np.pi * w / 2) / np.sinh(np.pi * w / 2) * 2)
    logistic = lambda w: np.pi * w / np.sinh(np.pi * w)  # noqa: E731
    sigmoid = _parseval(logistic)
    softplus = [
        0.5,
        # d/ds E softplus(sg) = s E σ′(sg), from log 2 at s = 0.
        np.log(2) + _parseval(lambda w: logistic(w) * np.expm1(w**2 / 2) / w**2),
        sigmoid,
        _parseval(lambda w: logistic(w) * (1 - w**2)) / 2,
    ]
    return {
        "erf": np.array([2 / np.sqrt(3 * np.pi), *zero]),
        "relu": relu,
        "leaky_relu": 0.01 * linear + 0.99 * relu,
        "tanh": np.array([mean_slope, *zero]),
        "sigmoid": np.array([sigmoid, 0.5, 0.0, 0.0]),
        "softplus": np.array(softplus),
        "gelu": gelu,
        "elu": elu,
        "linear": linear,
    }


def _parseval(transform: Callable[[np.ndarray], np.ndarray]) -> float:
    """(1/2π) ∫ F(ω)e^{−ω²/2} dω by the trapezoidal rule, which is exact to rounding for these analytic integrands."""
    h = 1 / 32
    w = (np.arange(-400, 400) + 0.5) * h  # half steps off 0, where the quotients would be 0/0
    return float(np.sum(transform(w) * np.exp(-(w**2) / 2)) * h / (2 * np.pi))


def _as_printed(name: str) -> np.ndarray:
    """The four expectations of eqs. 5 and 9, on Gauss–Legendre panels that do not cross 0."""
    node, weight = np.polynomial.legendre.leggauss(40)
    edges = np.linspace(-12, 12, 49)
    z = (edges[:-1, None] + (node + 1) / 4).ravel()
    density = np.tile(weight / 4, 48) * np.exp(-(z**2) / 2) / ROOT_2PI
    at = jnp.asarray(z)
    value, slope = (np.asarray(part) for part in jax.jvp(models.activation(name), (at,), (jnp.ones_like(at),)))
    return np.array([slope, value, z * slope, (z**3 / 2 - z) * slope]) @ density


def _random_function(rng: np.random.Generator) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
    """A slope, a few hinges c·relu(z − b) and a wave A sin(ωz + p), with its constants."""
    slope, A, w, p = rng.normal(), rng.normal(), rng.uniform(0.2, 2.5), rng.uniform(0, 2 * np.pi)
    # Hinges are a quarter apart or more, the lattice shifted so that it does not always hold 0.
    b = rng.choice(np.arange(-12, 13), rng.integers(0, 5), replace=False) / 4 + rng.uniform(-0.06, 0.06)
    c = rng.choice([-1, 1], b.size) * rng.uniform(0.2, 2, b.size)
    density, above, damped = np.exp(-(b**2) / 2) / ROOT_2PI, ndtr(-b), A * np.exp(-(w**2) / 2)

    def phi(z: np.ndarray) -> np.ndarray:
        return slope * z + np.maximum(z[..., None] - b, 0) @ c + A * np.sin(w * z + p)

    wave = damped * np.array([w * np.cos(p), np.sin(p), -(w**2) * np.sin(p), -(w**2) * (1 - w**2) * np.sin(p) / 2])
    hinges = np.array([c @ above, c @ (density - b * above), c @ density, c @ (b**2 * density) / 2])
    return phi, wave + hinges + [slope, 0, 0, 0]


def _constants_figure(known: np.ndarray, gaps: np.ndarray) -> fig.Figure:
    s = np.linspace(0.4, 1.6, 61)
    g, weight = np.polynomial.hermite_e.hermegauss(150)
    means, quadratics = [], []
    for group, name in enumerate(("softplus", "gelu", "relu", "elu")):
        mean = resolve(name).function(s[:, None] * g) @ weight / ROOT_2PI
        means.append(fig.measured(s, mean, name, group))
        quadratics.append(fig.theory(s, np.polynomial.polynomial.polyval(s - 1, twin.constants(name)[1:]),
                                     "ϑ0 + ϑ1ρ + ϑ2ρ²" if group == 0 else ""))  # fmt: skip
    errors = [
        fig.points(np.abs(known[:, i]), np.maximum(gaps[:, i], 1e-17), symbol, i) for i, symbol in enumerate(SYMBOLS)
    ]
    return fig.Figure(
        (
            fig.Panel((*means, *quadratics), "norm s = ‖x‖/√d", "mean output E φ(sg)", "what ϑ0, ϑ1, ϑ2 mean",
                      y_limits=(0.0, 1.75)),
            fig.Panel((*errors, fig.reference([1e-4, 10], [1e-10, 1e-10], "bar")), "size of the constant",
                      "error", "random callables", "log", "log", (3e-18, 1e-9)),
        ),
        "The constants are right to rounding for any callable; three of them are the mean output to second order in the "
        "norm.",
        2,
    )  # fmt: skip


def mirrored_start(scale: Size, key: jax.Array) -> Evidence:
    """Outputs and tangent kernels of mirrored networks against those of one copy: equal to rounding.

    The start as printed, pairs (w, v) and (w, −v) in one network of width m, is differentiated, and compared with the
    formula of the kernel of width m/2 evaluated in NumPy. The form as two subtracted copies, which carries the idea to
    any depth and to convolutions, is compared with the plain network.
    """
    rng = generator(key)
    n, d, m = (20, 12, 32) if scale == "quick" else (200, 50, 512)
    X = jnp.asarray(rng.normal(size=(n, d)))
    outputs, pairs = {}, {}
    for name in ("erf", "relu"):
        W = rng.normal(size=(m // 2, d))
        v = rng.choice([-1.0, 1.0], m // 2)
        wide, start = _as_in_equation_3(W, v, name)
        outputs[f"two layers, {name}"] = _worst_output(wide, start, X)
        pairs[f"two layers, {name}"] = (_two_layer_kernel(X, W, v, name), measured_kernels.empirical(wide, start, X))
    deep = models.MLP((d, m // 2, m // 2, 2), "tanh", bias=True)
    conv = models.ConvNet((d, 1, 1), (m // 4,), (1,), ((5, 1),), padding="circular")
    copies = []
    for index, (label, net) in enumerate({"three layers, biases": deep, "convolution": conv}.items()):
        params = net.start(jax.random.fold_in(key, index), jnp.dtype("float64"))
        mirrored = models.Mirrored(net)
        pair = mirrored.mirror(params)
        copies.append(float(jnp.max(jnp.abs(mirrored.apply(pair, X)))))
        found = [measured_kernels.empirical(*each, X) for each in ((net, params), (mirrored, pair))]
        pairs[label] = (found[0], found[1])
    gaps = {label: float(np.abs(b - a).max() / np.abs(a).max()) for label, (a, b) in pairs.items()}
    widths = np.array(WIDTHS[scale])
    plain, doubled = _spread_over_width(rng, widths, 32 if scale == "quick" else 100)
    ratio = float(np.exp(np.mean(np.log(doubled / plain))))
    return Evidence(
        checks=[
            at_most("largest output of two subtracted copies", max(copies), 0.0),
            at_most("largest output of pairs in one network, relative to one half's", max(outputs.values()), 1e-14),
            at_most("worst relative gap of the mirrored kernel to that of half the width", max(gaps.values()), 1e-13),
            within("spread of the mirrored kernel over that of a plain one of width m", ratio, 1.3, 1.55),
        ],
        numbers={f"kernel gap, {label}": gap for label, gap in gaps.items()},
        settings={"examples": n, "inputs": d, "width": m, "widths of the spread": widths.tolist()},
        figure=_mirrored_figure(pairs, widths, plain, doubled),
        remarks=[
            "The start leaves the expected kernel as it is, not the kernel's law: with m/2 independent neurons it strays "
            "from its limit √2 times as far as that of a plain network of width m."
        ],
    )  # fmt: skip


def _as_in_equation_3(W: np.ndarray, v: np.ndarray, name: str) -> tuple[models.MLP, Affine]:
    """One network of width m whose neurons come in pairs."""
    half, d = W.shape
    layers = (jnp.asarray(np.concatenate([W, W])), jnp.asarray(np.concatenate([v, -v])[None]))
    return models.MLP((d, 2 * half, 1), name), Affine(layers)  # type: ignore[arg-type]


def _worst_output(net: models.MLP, params: Affine, X: jax.Array) -> float:
    """The largest output against that of the first half of the neurons alone."""
    W, v = params.layers
    first = v.at[:, v.shape[1] // 2 :].set(0.0)
    alone = net.apply(Affine((W, first)), X)
    return float(jnp.max(jnp.abs(net.apply(params, X))) / jnp.max(jnp.abs(alone)))


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
