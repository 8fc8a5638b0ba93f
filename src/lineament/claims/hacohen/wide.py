"""What the claims on training over time share: second moments, wide starts, and recorded scale matrices."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems, train
from ...core import Run, ensembles
from ..instances import rotation
from ..padding import pad
from .scales import draw


def _left(model: models.DeepLinear, problem: problems.AbstractProblem, layers: models.Layers) -> jax.Array:
    P, products = jnp.eye(model.shape[0]), []
    for W in layers[::-1]:
        products.append(P @ P.T)
        P = P @ W
    return jnp.stack(products[::-1])


def _right(model: models.DeepLinear, problem: problems.AbstractProblem, layers: models.Layers) -> jax.Array:
    Q, products = jnp.eye(model.shape[1]), []
    for W in layers:
        products.append(Q.T @ Q)
        Q = W @ Q
    return jnp.stack(products)


LEFT = train.Record("A", _left, ("layer", "output", "other_output"))
RIGHT = train.Record("B", _right, ("layer", "input", "other_input"))


class Moments(NamedTuple):
    """Second moments in principal coordinates: eigenvalues d of Σ_XX, and a map of spectral norm 1 to be scaled."""

    d: np.ndarray
    direction: np.ndarray

    def problem(self, norm: float) -> problems.Regression:
        """Square loss whose optimum has the spectral norm `norm`."""
        best = jnp.asarray(norm * self.direction)
        return problems.Regression(jnp.diag(jnp.asarray(self.d)), best, jnp.zeros(()))


def moments(rng: np.random.Generator, q: int, K: int, least: float = 0.3) -> Moments:
    """Eigenvalues from 1 down to `least`, and a random optimum."""
    direction = rng.normal(size=(K, q))
    return Moments(np.geomspace(1.0, least, q), direction / np.linalg.norm(direction, 2))


class Member(NamedTuple):
    """One network to train: its first layers, the spectral norm of the optimum, and its step size."""

    layers: list[np.ndarray]
    norm: float
    step_size: float


class Grid(NamedTuple):
    """Two-layer networks over the width: which widths, and how many networks of each."""

    widths: tuple[int, ...]
    seeds: int


def wide_start(rng: np.random.Generator, q: int, K: int, m: int, depth: int) -> list[np.ndarray]:
    """A start by Definition 3 with all hidden widths m and normal entries."""
    widths = (q, *(m,) * (depth - 1), K)
    return [W[0] for W in draw(rng, widths, np.full(depth, 1 / m), "normal", 1)]


def limit_start(rng: np.random.Generator, q: int, K: int, depth: int) -> list[np.ndarray]:
    """A start with A_l = B_l = I and W = 0 exactly, as Definition 3 has only at infinite width; q + K units suffice."""
    m = q + K
    frames = [rotation(rng, m) for _ in range(depth - 1)]
    first, inner = frames[0][:, :q], [after @ before.T for before, after in pairwise(frames)]
    return [first, *inner, frames[-1][:, q:].T]


def train_all(
    data: Moments, members: Sequence[Member], steps: int, at: np.ndarray, record: Sequence[str | train.Record]
) -> Run:
    """Descend from every start to an optimum of its norm with its step size, all as one ensemble."""
    depth = len(members[0].layers)
    layers = tuple(jnp.asarray(pad([member.layers[i] for member in members])) for i in range(depth))
    problem = ensembles.stack([data.problem(member.norm) for member in members])
    step_size = np.array([member.step_size for member in members])
    model, start = models.DeepLinear(_widths(layers)), ensembles.Ensemble(layers)
    return train.descend(model, problem, start, step_size=step_size, steps=steps, at=at, record=record)


def flow_all(
    data: Moments,
    layers: list[np.ndarray],
    norms: Sequence[float],
    times: np.ndarray,
    record: Sequence[train.Record | str],
) -> Run:
    """Follow gradient flow from one start to optima of several norms, by an adaptive solver of tolerance 1e-9."""
    problem = ensembles.stack([data.problem(norm) for norm in norms])
    start = tuple(jnp.asarray(np.broadcast_to(W, (len(norms), *W.shape))) for W in layers)
    model = models.DeepLinear(_widths(start))
    return train.flow(model, problem, ensembles.Ensemble(start), times=times, record=record, rtol=1e-9, tolerance=0.0)


def _widths(layers: Sequence[jax.Array]) -> tuple[int, ...]:
    return (layers[0].shape[2], *(W.shape[1] for W in layers))


def steady_step(norm: float, depth: int) -> float:
    """A step size well below the largest stable one: the scale matrices grow to about (1 + ‖W_opt‖²)^½."""
    return 0.25 / (depth * (1 + norm**2) ** 0.5)


def two_layers(rng: np.random.Generator, data: Moments, norms: Sequence[float], grid: Grid) -> list[Member]:
    """For each norm of the optimum, width and seed, a two-layer network from Definition 3, in this order."""
    q, K = len(data.d), len(data.direction)
    return [
        Member(wide_start(rng, q, K, m, 2), norm, steady_step(norm, 2))
        for norm in norms
        for m in grid.widths
        for _ in range(grid.seeds)
    ]
