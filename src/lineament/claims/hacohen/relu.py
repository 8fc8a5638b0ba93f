"""The early update of a two-layer ReLU network on symmetric data: Appendix B.2."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...evidence import Evidence, at_least, at_most, within
from ...evidence import figure as fig
from ...theory import pc_bias
from ..instances import generator, rotation, slope
from ..sizes import Size

MU = 1.0  # the update is proportional to the step


class Network(NamedTuple):
    """A paired start: rows of W (m, d) and entries of a (m,) in opposite pairs."""

    W: np.ndarray
    a: np.ndarray


def first_update(scale: Size, key: jax.Array) -> Evidence:
    """Automatic derivatives of the ReLU network's loss, against the printed update and the corrected one.

    Symmetric data are Gaussian or a mixture of ±c, with a spectrum over two decades in random directions; labels come
    from a noisy linear rule, so that neither term of the update is small. The relative error must fall as n^{−1/2}, and
    vanish where every example comes with its mirror image. Row r of M̃ is a_r times the difference of the class sums in
    the half-space of w_r. Then training goes on: how the error grows as the pairs come apart.
    """
    rng = generator(key)
    d, m, seeds = (12, 16, 6) if scale == "quick" else (50, 100, 12)
    sizes = 4 ** np.arange(3, 9) if scale == "quick" else 4 ** np.arange(3, 10)
    errors = np.zeros((2, 2, len(sizes), seeds))  # form (corrected, printed), law, n, seed
    mirrored = 0.0
    for law in range(2):
        for seed in range(seeds):
            net = _paired(rng, m, d)
            X, y = _data(rng, int(sizes[-1]), d, law)
            for i, n in enumerate(map(int, sizes)):
                errors[:, law, i, seed] = _errors(net, X[:n], y[:n])
            both = np.concatenate([X[:200], -X[:200]])
            mirrored = max(mirrored, _errors(net, both, rng.choice([-1.0, 1.0], 400))[0])
    mean = errors.mean(axis=-1)
    rates = [slope(sizes, mean[0, law])[0] for law in range(2)]
    flat = [slope(sizes, mean[1, law])[0] for law in range(2)]
    steps, grown, shrunk = _onwards(rng, m, d)
    return Evidence(
        checks=[
            within("least slope of the corrected form's error against n", min(rates), -0.6, -0.4),
            within("largest slope of the corrected form's error against n", max(rates), -0.6, -0.4),
            at_most("error with every example mirrored", mirrored, 1e-12),
            at_least("error of the printed form at the largest n", mean[1, :, -1].min(), 0.1),
        ],
        printed=[
            at_most(f"slope of the printed form's error against n, {law}", value, -0.4)
            for law, value in zip(("Gaussian", "mixture"), flat, strict=True)
        ],
        correction=r"W^1-W^0\approx-\mu\left[\frac14aa^\top W^0\Sigma_{XX}-\tilde M^0\right]",
        numbers={
            f"error at n = {sizes[-1]}, Gaussian": float(mean[0, 0, -1]),
            f"error at n = {sizes[-1]}, mixture": float(mean[0, 1, -1]),
            "error of the printed form there": float(mean[1, :, -1].mean()),
            "error later, with the loss at half its start": float(np.interp(-0.5, -shrunk, grown)),
            "error at the end of the run": float(grown[-1]),
        },
        settings={"d, m": (d, m), "n": [int(n) for n in sizes], "networks each": seeds},
        figure=_figure(sizes, mean, steps, grown, shrunk),
        remarks=[
            "One half comes from Ψ = ½aᵀW and another from the half-space, which holds half of Σ_XX: the first term has "
            "¼, and M̃ no ½.",
            "aaᵀ has rank one, so of every column of W only the part along a feels Σ_XX and converges at a rate of its "
            "singular value; the rest is moved by M̃ alone.",
        ],
    )


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


def _errors(net: Network, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Relative errors of the corrected update (the library's) and the printed one."""
    update = -MU * _gradient(net.W, net.a, X, y)
    corrected = pc_bias.paired_relu_update(net.W, net.a, X, y, MU)
    printed = _forms(net.W, net.a, X, y)[1]
    size = np.linalg.norm(update)
    return float(np.linalg.norm(corrected - update) / size), float(np.linalg.norm(printed - update) / size)


def _onwards(rng: np.random.Generator, m: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps, the corrected form's relative error, and the excess loss, while training goes on."""
    net, (X, y) = _paired(rng, m, d), _data(rng, 4096, d, 0)
    W, errors, losses = net.W, [], []
    step = 0.5 / (np.linalg.norm(X, 2) ** 2 * np.sum(net.a**2))
    for _ in range(200):
        gradient = _gradient(W, net.a, X, y)
        form = _forms(W, net.a, X, y)[0]
        errors.append(np.linalg.norm(form + MU * gradient) / np.linalg.norm(gradient))
        losses.append(0.5 * np.mean((np.maximum(X @ W.T, 0) @ net.a - y) ** 2))
        W = W - step * gradient
    excess = np.array(losses) - min(losses)
    return np.arange(200), np.array(errors), excess / excess[0]


def _figure(
    sizes: np.ndarray, mean: np.ndarray, steps: np.ndarray, grown: np.ndarray, shrunk: np.ndarray
) -> fig.Figure:
    marks = [
        fig.points(sizes, mean[0, 0], "corrected, Gaussian", 0),
        fig.points(sizes, mean[0, 1], "corrected, mixture", 2),
    ]
    marks += [
        fig.points(sizes, mean[1, 0], "printed, Gaussian", 1),
        fig.points(sizes, mean[1, 1], "printed, mixture", 3),
    ]
    marks.append(fig.reference(sizes, mean[0, 0, 0] * (sizes / sizes[0]) ** -0.5, "slope −1/2"))
    later = (fig.measured(steps, grown, "error of the update", 0), fig.measured(steps, shrunk, "excess loss", 4))
    return fig.Figure(
        (
            fig.Panel(tuple(marks), "examples n", "relative error", "first update", "log", "log", (1e-3, 2e3)),
            fig.Panel(later, "step s", "relative", "corrected form, onwards"),
        ),
        "The corrected update becomes exact with many examples, the printed one does not; later the pairs come apart.",
        2,
    )  # fmt: skip
