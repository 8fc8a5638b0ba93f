"""What the claims on training over time share: a spectrum, wide starts, recorded scale matrices, and the wide limit."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from ... import models, problems, train
from ...core import ensembles
from ..instances import rotation
from ..padding import pad
from ..sizes import Size
from .scales import draw


def _left(model: models.DeepLinear, problem: problems.Problem, layers: models.Layers) -> jax.Array:
    P, found = jnp.eye(model.shape[0]), []
    for W in layers[::-1]:
        found.append(P @ P.T)
        P = P @ W
    return jnp.stack(found[::-1])


def _right(model: models.DeepLinear, problem: problems.Problem, layers: models.Layers) -> jax.Array:
    Q, found = jnp.eye(model.shape[1]), []
    for W in layers:
        found.append(Q.T @ Q)
        Q = W @ Q
    return jnp.stack(found)


LEFT = train.Record("A", _left, ("layer", "output", "other_output"))
RIGHT = train.Record("B", _right, ("layer", "input", "other_input"))


class Task(NamedTuple):
    """Second moments in principal coordinates: eigenvalues d of Σ_XX, and a map of spectral norm 1 to be scaled."""

    d: np.ndarray
    direction: np.ndarray

    def problem(self, size: float) -> problems.Regression:
        """Square loss whose optimum has the spectral norm `size`."""
        best = jnp.asarray(size * self.direction)
        return problems.Regression(jnp.diag(jnp.asarray(self.d)), best, jnp.zeros(()))


def task(rng: np.random.Generator, q: int, K: int, least: float = 0.3) -> Task:
    """Eigenvalues from 1 down to `least`, and a random optimum."""
    direction = rng.normal(size=(K, q))
    return Task(np.geomspace(1.0, least, q), direction / np.linalg.norm(direction, 2))


def wide_start(rng: np.random.Generator, q: int, K: int, m: int, depth: int) -> list[np.ndarray]:
    """Definition 3 with all hidden widths m, normal entries."""
    widths = (q, *(m,) * (depth - 1), K)
    return [W[0] for W in draw(rng, widths, np.full(depth, 1 / m), "normal", 1)]


def limit_start(rng: np.random.Generator, q: int, K: int, depth: int) -> list[np.ndarray]:
    """A start with A_l = B_l = I and W = 0 exactly, as Definition 3 has only at infinite width; q + K units suffice."""
    m = q + K
    frames = [rotation(rng, m) for _ in range(depth - 1)]
    first, inner = frames[0][:, :q], [after @ before.T for before, after in pairwise(frames)]
    return [first, *inner, frames[-1][:, q:].T]


def train_all(
    task: Task,
    members: Sequence[tuple[list[np.ndarray], float, float]],
    steps: int,
    at: np.ndarray,
    record: Sequence[str | train.Record],
) -> xr.Dataset:
    """Descend from every start to an optimum of its size with its step: members are (layers, size, step)."""
    depth = len(members[0][0])
    layers = tuple(jnp.asarray(pad([m[0][i] for m in members])) for i in range(depth))
    widths = (layers[0].shape[2], *(W.shape[1] for W in layers))
    problem = ensembles.stack([task.problem(size) for _, size, _ in members])
    step = np.array([m[2] for m in members])
    net, start = models.DeepLinear(widths), ensembles.Ensemble(layers)
    return train.descend(net, problem, start, step=step, steps=steps, at=at, record=record)


class Limit(NamedTuple):
    """A₁ (step, K, K), B₂ (step, q, q) and W (step, K, q) of a two-layer network of infinite width."""

    A: np.ndarray
    B: np.ndarray
    W: np.ndarray


def wide_limit(task: Task, size: float, step: float, steps: int) -> Limit:
    """Descent of a two-layer network of infinite width, where it begins with A₁ = I, B₂ = I and W = 0.

    A₁ = W₂W₂ᵀ, B₂ = W₁ᵀW₁ and W = W₂W₁ obey a recursion of their own, exactly: the layers drop out.
    """
    best = size * task.direction
    A, B, W = np.eye(len(best)), np.eye(len(task.d)), np.zeros_like(best)
    found = [(A, B, W)]
    for _ in range(steps):
        Er = (W - best) * task.d
        A, B, W = (
            A - step * (Er @ W.T + W @ Er.T) + step**2 * Er @ B @ Er.T,
            B - step * (W.T @ Er + Er.T @ W) + step**2 * Er.T @ A @ Er,
            W - step * (Er @ B + A @ Er) + step**2 * Er @ W.T @ Er,
        )
        found.append((A, B, W))
    return Limit(*(np.stack(each) for each in zip(*found, strict=True)))


def steady_step(size: float, depth: int) -> float:
    """A step well below the largest stable one: the scale matrices grow to about (1 + ‖W_opt‖²)^½."""
    return 0.25 / (depth * (1 + size**2) ** 0.5)


def two_layers(
    rng: np.random.Generator, the_task: Task, sizes: Sequence[float], scale: Size
) -> tuple[np.ndarray, int, list[tuple[list[np.ndarray], float, float]]]:
    """Widths, seeds, and for each size of the optimum, width and seed the start, size and step of a two-layer network."""
    widths = 2 ** np.arange(6, 12) if scale == "quick" else 2 ** np.arange(6, 16)
    seeds = 6 if scale == "quick" else 12
    q, K = len(the_task.d), len(the_task.direction)
    members = [
        (wide_start(rng, q, K, int(m), 2), size, steady_step(size, 2))
        for size in sizes
        for m in widths
        for _ in range(seeds)
    ]
    return widths, seeds, members
