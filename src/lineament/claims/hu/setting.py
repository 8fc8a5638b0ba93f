"""The setting of Section 3: a two-layer network from the mirrored start, trained beside its twin on the same examples.

The networks run in float32, the twin in float64: what separates them is far above 1e-6.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float
from numpy.typing import ArrayLike
from scipy import special

from ... import models, problems, train
from ...core import ensembles
from ...core.precision import products
from ...models import Affine, Pair
from ...theory import twin
from ..padding import pad

Inputs = Literal["gaussian", "skewed", "cube"]
Labels = Literal["teacher", "shifted", "random"]
TEACHER_WIDTH = 5


class Task(NamedTuple):
    """Training examples and fresh ones of the same law, and TrΣ²/d of that law."""

    X: np.ndarray
    y: np.ndarray
    fresh: np.ndarray
    fresh_y: np.ndarray
    spread: float


class Comparison(NamedTuple):
    """One network and its twin along a run: outputs (time, example) on the training and on the fresh examples.

    Attributes:
        task: What was learnt.
        width: m.
        steps: When it was looked at.
        twin: The linear model.
        network: The network's outputs on the training examples.
        network_fresh: The same on the fresh ones.
    """

    task: Task
    width: int
    steps: np.ndarray
    twin: twin.Twin
    network: np.ndarray
    network_fresh: np.ndarray

    @property
    def inside(self) -> np.ndarray:
        """Which of the steps the theorem speaks of, t ≤ T."""
        return self.steps <= self.twin.horizon()

    def gaps(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean square of network − twin on training, and of its truncation at 1 on fresh examples (eqs. 7 and 8)."""
        on_train = np.mean((self.network - self.twin.predict(self.steps)) ** 2, axis=1)
        on_fresh = (self.network_fresh - self.twin.predict(self.steps, self.task.fresh)) ** 2
        return on_train, np.mean(np.minimum(on_fresh, 1), axis=1)

    def worst(self) -> tuple[float, float]:
        """The largest of either gap for t ≤ T, over E[y²]."""
        early, scale = self.inside, np.mean(self.task.y**2)
        until = self._replace(
            steps=self.steps[early], network=self.network[early], network_fresh=self.network_fresh[early]
        )
        on_train, on_fresh = (float(np.max(gap) / scale) for gap in until.gaps())
        return on_train, on_fresh

    def losses(self) -> tuple[np.ndarray, np.ndarray]:
        """The network's training and test loss along the run."""
        on_train, on_fresh = self.network - self.task.y, self.network_fresh - self.task.fresh_y
        return np.mean(on_train**2, axis=1) / 2, np.mean(on_fresh**2, axis=1) / 2

    def twin_losses(self) -> tuple[np.ndarray, np.ndarray]:
        """The twin's training and test loss along the run."""
        return self.twin.loss(self.steps), self.twin.loss(self.steps, self.task.fresh, self.task.fresh_y)


class Observed(problems.LpRegression):
    """Square loss with further examples, on which outputs are recorded but which are not trained on."""

    fresh: Float[Array, "k in"]


OUTPUTS = train.Record(
    "outputs",
    lambda model, problem, params: model.apply(params, jnp.concatenate([problem.inputs, problem.fresh]))[:, 0],
    ("example",),
)


def task(
    rng: np.random.Generator, d: int, n: int, fresh: int, inputs: Inputs = "gaussian", labels: Labels = "teacher"
) -> Task:
    """Examples that satisfy Assumption 3.1, with labels ±1.

    Inputs are N(0, I); or N(0, Σ) with eigenvalues from 0.5 to 1.5 in random directions; or uniform on {±1}^d. Labels
    are the sign of an erf network of width 5, as for Fig. 1; the same with its output shifted by half its deviation,
    so that E[y] ≠ 0; or pure chance, since the theorems ask nothing of them.
    """
    total = n + fresh
    if inputs == "cube":
        X, values = rng.choice([-1.0, 1.0], size=(total, d)), np.ones(d)
    else:
        values = np.linspace(0.5, 1.5, d) if inputs == "skewed" else np.ones(d)
        X = rng.normal(size=(total, d)) * np.sqrt(values)
        if inputs == "skewed":
            X = X @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    W, v = rng.normal(size=(TEACHER_WIDTH, d)), rng.normal(size=TEACHER_WIDTH)
    output = special.erf(X @ W.T / np.sqrt(d)) @ v
    y = np.where(output + (labels == "shifted") * output.std() / 2 > 0, 1.0, -1.0)
    y = rng.choice([-1.0, 1.0], size=total) if labels == "random" else y
    return Task(X[:n], y[:n], X[n:], y[n:], float(np.mean(values**2)))


def mirrored_start(rng: np.random.Generator, d: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Standard normal w and v = ±1 of half the neurons (eq. 3); the others have the same w and −v."""
    return rng.normal(size=(width // 2, d)), rng.choice([-1.0, 1.0], size=(1, width // 2))


@cache
def some_layers(first: bool, second: bool) -> Callable[[Any], optax.GradientTransformation]:
    """Plain descent of the layers that train; the other is left alone."""

    def part(trains: bool, step_size: jax.Array, gradient: jax.Array) -> jax.Array:
        return -step_size * gradient if trains else jnp.zeros_like(gradient)

    def make(step_size: Any) -> optax.GradientTransformation:
        def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
            halves = (Affine((part(first, step_size, W), part(second, step_size, v))) for (W, v), _ in updates)
            return Pair(*halves), state

        return optax.GradientTransformation(lambda params: optax.EmptyState(), update)

    return make


def follow(
    rng: np.random.Generator,
    members: Sequence[tuple[Task, int]],
    *,
    activation: models.activations.Activation,
    first: ArrayLike,
    second: ArrayLike,
    at: np.ndarray,
) -> list[Comparison]:
    """Train a network on each task by full-batch descent, all as one ensemble, and set its twin beside it.

    Networks of several sizes run as one program, padded with examples, inputs and neurons that are zero and, as
    φ(0) = 0, stay so. To d, m, n padded to D, M, N belong v times √(M/m), W times a and inputs times √(D/d)/a, which
    compute the same; and one step s for both layers moves them as η1 = s(n/N)/a² and η2 = s(nm/NM) would: s and a are
    chosen for the η1 and η2 asked for.

    Args:
        rng: For the starts.
        members: Tasks, each with the width m of its network, even.
        activation: φ, with φ(0) = 0.
        first: η1, one for all or one for each member.
        second: η2, the same. A layer whose step is 0 does not train, in any member.
        at: The steps at which to look, the last being that of the run.
    """
    eta1, eta2 = (np.broadcast_to(np.asarray(eta, float), len(members)) for eta in (first, second))
    trains = bool(eta1.any()), bool(eta2.any())
    shapes = np.array([(*data.X.shape, width // 2) for data, width in members])
    N, D, M = shapes.max(axis=0)
    n, d, m = shapes.T
    step_size = (eta2 if trains[1] else eta1) * M * N / (m * n)
    scale = np.sqrt(step_size * n / N / eta1) if trains[0] else np.ones(len(members))
    drawn = [mirrored_start(rng, data.X.shape[1], width) for data, width in members]
    factors = np.stack([scale, np.sqrt(M / m)])
    half = Affine(tuple(_padded([f * layers[i] for f, layers in zip(factors[i], drawn, strict=True)]) for i in (0, 1)))
    shrink = np.sqrt(D / d) / scale
    problem = Observed(
        _padded([s * data.X for s, (data, _) in zip(shrink, members, strict=True)]),
        _padded([data.y[:, None] for data, _ in members]), 2,
        _padded([s * data.fresh for s, (data, _) in zip(shrink, members, strict=True)]),
    )  # fmt: skip
    with products("float32"):
        run = train.descend(
            models.Mirrored(models.MLP((int(D), int(M), 1), activation)), ensembles.Ensemble(problem),
            ensembles.Ensemble(Pair(half, half)), step_size=step_size, steps=int(at[-1]), at=at,
            record=("loss", OUTPUTS), optimiser=some_layers(*trains), on_divergence="keep",
        )  # fmt: skip
    outputs = run.outputs.values.astype(float)
    return [
        Comparison(data, width, at, _twin(data, activation, eta1[i], eta2[i]), f[:, : len(data.X)],
               f[:, N : N + len(data.fresh)])
        for i, ((data, width), f) in enumerate(zip(members, outputs, strict=True))
    ]  # fmt: skip


def _twin(task: Task, activation: str, first: float, second: float) -> twin.Twin:
    return twin.two_layer(
        task.X, task.y, activation=activation, first_step_size=first, second_step_size=second, spread=task.spread
    )


def _padded(matrices: Sequence[np.ndarray]) -> jax.Array:
    return jnp.asarray(pad(matrices), jnp.float32)
