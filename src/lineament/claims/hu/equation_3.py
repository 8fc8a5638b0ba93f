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
from ..instances import generator
from ..sizes import sizes

Kernels = dict[str, tuple[np.ndarray, np.ndarray]]


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
    any depth and to convolutions, is compared with the plain network.
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
