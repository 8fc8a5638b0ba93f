"""Appendix B.2 (§2.5): the first update of a paired two-layer ReLU network on symmetric data."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...evidence import Evidence, at_least, at_most, within
from ...evidence import figure as fig
from ...theory import pc_bias
from ..instances import generator, rotation, slope
from ..sizes import sizes

MU = 1.0  # the update is proportional to the step


LAWS = ("Gaussian", "mixture")


class Settings(NamedTuple):
    """What is run at each size.

    Attributes:
        inputs: d.
        width: m.
        networks: Of each law of the data.
        examples: n.
        mirrored: Examples that come with their mirror images.
        later: Steps for which training goes on.
    """

    inputs: int
    width: int
    networks: int
    examples: tuple[int, ...]
    mirrored: int = 200
    later: int = 200


class Network(NamedTuple):
    """A paired start: rows of W (m, d) and entries of a (m,) in opposite pairs."""

    W: np.ndarray
    a: np.ndarray


@sizes(
    quick=Settings(inputs=12, width=16, networks=6, examples=tuple(4**k for k in range(3, 9))),
    full=Settings(inputs=50, width=100, networks=12, examples=tuple(4**k for k in range(3, 10))),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Automatic derivatives of the ReLU network's loss, against the printed update and the corrected one.

    Symmetric data are Gaussian or a mixture of ±c, with a spectrum over two decades in random directions; labels come
    from a noisy linear rule, so that neither term of the update is small. The relative error must fall as n^{−1/2}, and
    vanish where every example comes with its mirror image. Row r of M̃ is a_r times the difference of the class sums in
    the half-space of w_r. Then training goes on: how the error grows as the pairs come apart.
    """
    rng = generator(key)
    n = np.array(settings.examples)
    errors, mirrored = _over_examples(rng, settings)
    mean = errors.mean(axis=-1)  # form (corrected, printed), law, n
    rates = [slope(n, mean[0, law])[0] for law in range(len(LAWS))]
    flat = [slope(n, mean[1, law])[0] for law in range(len(LAWS))]
    later = _onwards(rng, settings)
    bar = (-0.6, -0.4, "theory: sums over n examples, slope −½ ± 20 %")
    return Evidence(
        checks=[
            within("least slope of the corrected form's error against n", min(rates), *bar),
            within("largest slope of the corrected form's error against n", max(rates), *bar),
            at_most("error with every example mirrored", mirrored, 1e-12, "exact there: rounding in float64 × 1000"),
            at_least("error of the printed form at the largest n", mean[1, :, -1].min(), 0.1,
                     "theory: a factor of 2 on either term cannot vanish; a tenth of the update at least"),
        ],
        printed=[
            at_most(f"slope of the printed form's error against n, {law}", value, -0.4,
                    "printed: exact for large n; slope −½, + 20 %")
            for law, value in zip(LAWS, flat, strict=True)
        ],
        correction=r"W^1-W^0\approx-\mu\left[\frac14aa^\top W^0\Sigma_{XX}-\tilde M^0\right]",
        numbers={
            **{f"error at n = {n[-1]}, {law}": float(mean[0, i, -1]) for i, law in enumerate(LAWS)},
            "error of the printed form there": float(mean[1, :, -1].mean()),
            "error later, with the loss at half its start": float(np.interp(-0.5, -later.excess, later.errors)),
            "error at the end of the run": float(later.errors[-1]),
        },
        settings={"laws": LAWS},
        protocol={
            "network": f"two layers, ReLU, width {settings.width}, only the first layer trains",
            "data": f"symmetric: Gaussian, and a mixture of ±c, {settings.inputs} inputs, spectrum over two decades",
            "labels": "±1 by a noisy linear rule",
            "loss": "½Σ(f(x) − y)²",
            "start": "opposite pairs (w, −w) and (a, −a)",
            "time": f"the first update; {settings.later} steps beside it",
        },
        figure=_figure(n, mean, later),
        remarks=[
            "One half comes from Ψ = ½aᵀW and another from the half-space, which holds half of Σ_XX: the first term "
            "has ¼, and M̃ no ½. By hand: one pair w = 1, −1 and a = 1, −1, two examples x = 1, −1 with y = 1, −1. "
            "Then f(x) = x, so that nothing moves; ¼·2·2 − 1 = 0 says so, ½(2·2 − 1) = 3/2 does not.",
            "aaᵀ has rank one, so of every column of W only the part along a feels Σ_XX and converges at a rate of "
            "its singular value; the rest is moved by M̃ alone.",
        ],
    )  # fmt: skip


def _over_examples(rng: np.random.Generator, settings: Settings) -> tuple[np.ndarray, float]:
    """Errors (form, law, n, network) of the corrected and the printed update; the worst where examples are mirrored."""
    errors = np.zeros((2, len(LAWS), len(settings.examples), settings.networks))
    mirrored = 0.0
    for law in range(len(LAWS)):
        for index in range(settings.networks):
            network = _paired(rng, settings.width, settings.inputs)
            X, y = _data(rng, settings.examples[-1], settings.inputs, law)
            for i, n in enumerate(settings.examples):
                errors[:, law, i, index] = _errors(network, X[:n], y[:n])
            originals = X[: settings.mirrored]
            mirror_images = np.concatenate([originals, -originals])
            mirrored = max(mirrored, _errors(network, mirror_images, rng.choice([-1.0, 1.0], len(mirror_images)))[0])
    return errors, mirrored


def _paired(rng: np.random.Generator, m: int, d: int) -> Network:
    """Assumption 2: opposite pairs; a map aᵀW of the size of 1."""
    half, signs = rng.normal(size=(m // 2, d)) / d**0.5, rng.normal(size=m // 2) / m**0.5
    return Network(np.stack([half, -half], 1).reshape(m, d), np.stack([signs, -signs], 1).ravel())


def _data(rng: np.random.Generator, n: int, d: int, law: int) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric inputs (n, d), and labels ±1 by a noisy linear rule."""
    Q, spread = rotation(rng, d), np.geomspace(1.0, 0.1, d)
    X = rng.normal(size=(n, d)) * spread
    if law == 1:
        X = 0.5 * X + rng.choice([-1.0, 1.0], n)[:, None] * spread * rng.normal(size=d)
    y = np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) >= 0, 1.0, -1.0)
    return X @ Q.T, y


def _gradient(W: np.ndarray, a: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The derivative of ½Σ(aᵀrelu(Wx) − y)², by automatic differentiation."""
    return np.asarray(_derivative(jnp.asarray(W), jnp.asarray(a), jnp.asarray(X), jnp.asarray(y)))


@jax.jit
def _derivative(W: jax.Array, a: jax.Array, X: jax.Array, y: jax.Array) -> jax.Array:
    return jax.grad(lambda W: 0.5 * jnp.sum((jax.nn.relu(X @ W.T) @ a - y) ** 2))(W)


def _forms(W: np.ndarray, a: np.ndarray, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The corrected and the printed update at any W, of pairs or not."""
    sums = ((X @ W.T >= 0) * y[:, None]).T @ X * a[:, None]
    drift = np.outer(a, a @ W @ (X.T @ X))
    return -MU * (drift / 4 - sums), -MU / 2 * (drift - sums)


def _errors(network: Network, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Relative errors of the corrected update (the library's) and the printed one."""
    update = -MU * _gradient(network.W, network.a, X, y)
    corrected = pc_bias.paired_relu_update(network.W, network.a, X, y, MU)
    printed = _forms(network.W, network.a, X, y)[1]
    norm = np.linalg.norm(update)
    return float(np.linalg.norm(corrected - update) / norm), float(np.linalg.norm(printed - update) / norm)


class Later(NamedTuple):
    """While training goes on: the corrected form's relative error, and the excess loss over its start."""

    errors: np.ndarray
    excess: np.ndarray


def _onwards(rng: np.random.Generator, settings: Settings) -> Later:
    network = _paired(rng, settings.width, settings.inputs)
    X, y = _data(rng, 4096, settings.inputs, 0)
    W, errors, losses = network.W, [], []
    step_size = 0.5 / (np.linalg.norm(X, 2) ** 2 * np.sum(network.a**2))
    for _ in range(settings.later):
        gradient = _gradient(W, network.a, X, y)
        form = _forms(W, network.a, X, y)[0]
        errors.append(np.linalg.norm(form + MU * gradient) / np.linalg.norm(gradient))
        losses.append(0.5 * np.mean((np.maximum(X @ W.T, 0) @ network.a - y) ** 2))
        W = W - step_size * gradient
    excess = np.array(losses) - min(losses)
    return Later(np.array(errors), excess / excess[0])


def _figure(n: np.ndarray, mean: np.ndarray, later: Later) -> fig.Figure:
    marks = [
        fig.points(n, mean[0, 0], "corrected, Gaussian", 0),
        fig.points(n, mean[0, 1], "corrected, mixture", 2),
    ]
    marks += [
        fig.points(n, mean[1, 0], "printed, Gaussian", 1),
        fig.points(n, mean[1, 1], "printed, mixture", 3),
    ]
    marks.append(fig.reference(n, mean[0, 0, 0] * (n / n[0]) ** -0.5, "slope −1/2"))
    steps = np.arange(len(later.errors))
    curves = (
        fig.measured(steps, later.errors, "error of the update", 0),
        fig.measured(steps, later.excess, "excess loss", 4),
    )
    return fig.Figure(
        (
            fig.Panel(tuple(marks), "examples n", "relative error", "first update", "log", "log", (1e-3, 2e3)),
            fig.Panel(curves, "step s", "relative", "corrected form, onwards"),
        ),
        f"At n = {n[-1]} the corrected update is off by {100 * mean[0, :, -1].max():.1f} %, the printed one by "
        f"{100 * mean[1, :, -1].min():.0f} %; later the pairs come apart.",
        2,
    )  # fmt: skip
