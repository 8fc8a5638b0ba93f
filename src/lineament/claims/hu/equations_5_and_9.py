"""Equations 5 and 9: the Gaussian constants of an activation, of which its linear twin is made."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtr

from ... import models
from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ...theory import assumptions, twin
from ...theory.activations import resolve
from ..instances import generator
from ..sizes import sizes

NAMES = ("erf", "relu", "leaky_relu", "tanh", "sigmoid", "softplus", "gelu", "elu", "linear")
SYMBOLS = ("ζ", "ϑ0", "ϑ1", "ϑ2")
ROOT_2PI = np.sqrt(2 * np.pi)
BAR = 1e-10
ORIGIN = "quadrature's accuracy: about 1e-12, × 100"
SUMS = "rounding of sums over the examples and steps, 1e-16 × 10⁴"
STEPS = 40
EXAMPLES, DIMENSION = 30, 12
LAYERS = ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.3, 1.0))
"""Weights of the first and of the second layer's kernel: equations 5, 9 and 11, and unequal steps."""


class Settings(NamedTuple):
    """How many random functions are tried at each size."""

    callables: int


@sizes(quick=Settings(callables=24), full=Settings(callables=400))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """The library's constants, by quadrature of φ alone, against three other routes.

    Closed forms: erf, piecewise linear, GELU and ELU by the Taylor coefficients of E φ(sg) at s = 1; tanh, sigmoid and
    softplus by Parseval's theorem, from the Fourier transform of sech². Then the expectations as printed, with φ′ by
    automatic differentiation of the networks' own activations and Gauss's rule on panels. Then random functions with
    kinks, waves and slopes of any sign, whose constants are known, handed over as plain callables. What is made of the
    constants is written out beside the library's: the kernels of the features, the spread of the inputs from their pairs
    one by one, and descent on the features step by step. What the report on Assumption 3.1 says of moments, norms and
    overlaps is written out for many examples and for fewer than dimensions.
    """
    rng = generator(key)
    exact = _closed_forms()
    closed = np.array([np.abs(np.subtract(twin.quadrature(name), exact[name])) for name in NAMES])
    table = np.array([np.abs(np.subtract(twin.constants(name), exact[name])) for name in NAMES])
    printed = np.array([np.abs(np.subtract(twin.constants(name), _as_printed(name))) for name in NAMES])
    functions = [_random_function(rng) for _ in range(settings.callables)]
    known = np.array([constants for _, constants in functions])
    callables = np.abs(np.array([twin.constants(phi) for phi, _ in functions]) - known)
    X = _inputs(rng)
    spread = _spread_by_pairs(X)
    kernels = max(_kernel_gap(X, name, spread, *weights) for name in NAMES for weights in LAYERS)
    return Evidence(
        checks=[
            at_most("worst gap of quadrature to closed forms, named activations", closed.max(), BAR, ORIGIN),
            at_most("worst gap of the constants in use to closed forms", table.max(), BAR, ORIGIN),
            at_most("worst gap to the expectations as printed, φ′ by differentiation", printed.max(), BAR, ORIGIN),
            at_most("worst gap to closed forms, random callables", callables.max(), BAR, ORIGIN),
            at_most("worst relative gap of the features' kernels to those printed", kernels, BAR, ORIGIN),
            at_most(
                "relative gap of TrΣ²/d to its mean over pairs",
                abs(twin.covariance_spread(X) / spread - 1),
                1e-12,
                SUMS,
            ),
            at_most(
                "worst relative gap of the report on Assumption 3.1 to what it compares, written out",
                max(_report_gap(X), _report_gap(X[:4])),
                1e-12,
                SUMS,
            ),
            at_most(
                "worst gap of the twin to descent on the features, over the labels", _descent_gap(rng, X), 1e-12, SUMS
            ),
        ],
        numbers={
            f"{symbol}, {name}": float(value)
            for name in ("erf", "relu", "tanh", "sigmoid", "softplus", "gelu")
            for symbol, value in zip(SYMBOLS, twin.constants(name), strict=True)
        },
        settings={"named": NAMES},
        protocol={
            "activations": "erf, ReLU, leaky ReLU, tanh, sigmoid, softplus, GELU, ELU and the identity, and "
            f"{settings.callables} random functions with up to four kinks in [−3, 3]",
            "law of g": "standard normal",
            "inputs": f"for what is made of the constants {EXAMPLES} of dimension {DIMENSION}, variances from 1/4 to 4",
        },
        figure=_constants_figure(known, callables),
        remarks=[
            "ϑ0, ϑ1 and ϑ2 are the Taylor coefficients of E φ(sg) at s = 1: the mean output of a neuron as a function "
            "of its input's norm."
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


def _inputs(rng: np.random.Generator) -> np.ndarray:
    """Inputs whose covariance is far from a multiple of the identity, and whose norms differ."""
    return rng.standard_normal((EXAMPLES, DIMENSION)) * 4.0 ** np.linspace(-0.5, 0.5, DIMENSION)


def _spread_by_pairs(X: np.ndarray) -> float:
    """TrΣ²/d as the mean of ⟨x, x′⟩²/d over different examples."""
    pairs = [(x @ y) ** 2 for i, x in enumerate(X) for j, y in enumerate(X) if i != j]
    return float(np.mean(pairs)) / X.shape[1]


def _report_gap(X: np.ndarray) -> float:
    """How far the report on Assumption 3.1 is from moments, norms and overlaps as its documentation states them."""
    report, (n, d) = assumptions.check(X), X.shape
    mean, covariance = X.mean(axis=0), np.atleast_2d(np.cov(X.T))
    total, second = np.trace(covariance), np.sum(covariance**2)
    trace, spread = total / d, max(second - total**2 / n, total**2 / d) / d
    largest, gram = np.linalg.norm(covariance, 2), np.linalg.norm(X, 2) ** 2 / n
    norms = np.array([x @ x for x in X]) / d
    overlaps = np.array([x @ y for i, x in enumerate(X) for y in X[:i]]) / d
    widest, strongest = np.abs(norms - 1).max(), np.abs(overlaps).max()
    deviation, unit = np.sqrt(spread / d), np.sqrt(np.log(n) / d)
    extremes = np.sqrt(2 * np.log(2 * n)), np.sqrt(2 * np.log(2 * overlaps.size))
    expected = [
        (mean @ mean / trace, d / n, 2 * d / n + 0.1),
        (trace, 1.0, 1.1),
        (largest / trace, 1.0, 10.0),
        (np.sqrt(np.mean((norms - norms.mean()) ** 2)), np.sqrt(2) * deviation),
        (widest, np.sqrt(2) * deviation * extremes[0]),
        (np.sqrt(np.mean(overlaps**2)), deviation),
        (strongest, deviation * extremes[1]),
    ]
    stated = [number for row in expected for number in (row if len(row) == 3 else (*row, 2 * row[1]))]
    found = [number for line in report.lines for number in (line.value, line.reference, line.allowed)]
    stated += [trace, spread, largest, gram, widest / unit, strongest / unit]
    found += [report.trace, report.spread, report.largest, report.gram, report.norm_constant, report.overlap_constant]
    return float(np.abs(np.divide(found, stated) - 1).max())


def _kernel_gap(X: np.ndarray, name: str, spread: float, first: float, second: float) -> float:
    """How far the kernel of the features is from that of equations 5 and 9, added up with their weights."""
    d, (zeta, *theta) = X.shape[1], _closed_forms()[name]
    linear, constant = zeta**2 * X @ X.T / d, theta[1] ** 2 * spread / d
    rho = np.linalg.norm(X, axis=1) / d**0.5 - 1
    last = theta[0] + theta[1] * rho + theta[2] * rho**2
    printed = first * (linear + constant) + second * (linear + constant / 2 + np.outer(last, last))
    kernel = twin.feature_map(name, spread=spread, first=first, second=second).kernel(X)
    return float(np.abs(kernel - printed).max() / np.abs(printed).max())


def _descent_gap(rng: np.random.Generator, X: np.ndarray) -> float:
    """How far the twin's outputs and loss after some steps are from those of descent, one step after the other."""
    y, fresh, answers = rng.uniform(-1, 1, EXAMPLES), _inputs(rng), rng.uniform(-1, 1, EXAMPLES)
    features = twin.feature_map("softplus", spread=_spread_by_pairs(X), first=0.4, second=1.0)
    larger = float(1.6 * EXAMPLES / np.linalg.norm(features(X), 2) ** 2)  # so that one mode swings about its limit
    steps = (0.4 * larger, larger)
    model = twin.two_layer(X, y, activation="softplus", first_step_size=steps[0], second_step_size=steps[1])
    psi, others, weights, gaps = features(X), features(fresh), np.zeros(DIMENSION + 2), []
    for step in range(1, STEPS + 1):
        weights = weights - steps[1] * psi.T @ (psi @ weights - y) / EXAMPLES
        loss = np.sum((others @ weights - answers) ** 2) / (2 * EXAMPLES)
        gaps += [
            np.abs(model.coefficients(step) - weights).max(),
            np.abs(model.predict(step, fresh) - others @ weights).max(),
            abs(float(model.loss(step)) - np.sum((psi @ weights - y) ** 2) / (2 * EXAMPLES)),
            abs(float(model.loss(step, fresh, answers)) - loss),
        ]
    return float(max(gaps))


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
        "The constants are right to rounding for any callable; three of them are the mean output to second order in "
        "the norm.",
        2,
    )  # fmt: skip
