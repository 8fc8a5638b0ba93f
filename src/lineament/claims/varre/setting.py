"""The poster's setting: flow of a two-layer network on any data, from `W1 = √(2γ)P, W2 = 0`.

Here layers are the poster's, W1 ∈ R^{d×l} and W2 ∈ R^{l×k}, the transposes of the library's. Time is that of the summed
loss ½‖Y − XW1W2‖².
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems, starts, train
from ...core import Run, ensembles
from ..instances import generator, rotation
from ..padding import pad

TIMES = np.r_[0.0, np.geomspace(1e-4, 1e6, 301)]


class Settings(NamedTuple):
    """What is run.

    Attributes:
        shapes: n, d, l, k: more examples than inputs and fewer, l = d and l > d, k = 1, k > d. The first comes with
            white inputs.
        least_gamma: The smallest scale of the start.
        largest_gamma: The largest.
        gammas: How many scales, at equal ratios.
        repeats: How many data sets of each shape.
    """

    shapes: tuple[tuple[int, int, int, int], ...]
    least_gamma: float
    largest_gamma: float
    gammas: int
    repeats: int

    @property
    def scales(self) -> np.ndarray:
        """The scales γ of the start."""
        return np.geomspace(self.least_gamma, self.largest_gamma, self.gammas)

    @property
    def names(self) -> list[str]:
        """What the shapes are called in figures."""
        return [f"n={n} d={d} l={width} k={k}" for n, d, width, k in self.shapes]


QUICK = Settings(((10, 4, 6, 2), (3, 5, 5, 3), (4, 6, 9, 1), (12, 3, 4, 5)), 1e-4, 1e2, 7, 1)
FULL = Settings(
    ((30, 10, 15, 3), (6, 12, 12, 4), (8, 15, 25, 1), (40, 5, 7, 8), (5, 5, 9, 5), (1, 8, 8, 2), (9, 10, 40, 2)),
    1e-4, 1e2, 13, 3,
)  # fmt: skip


class Data(NamedTuple):
    """Examples without noise."""

    X: np.ndarray
    Y: np.ndarray

    @property
    def least_norm(self) -> np.ndarray:
        """The interpolator of least norm, X⁺Y."""
        return np.linalg.pinv(self.X) @ self.Y


class Instance(NamedTuple):
    """A data set, a scale, and the layers at the end of the flow (the poster's W1 and W2)."""

    data: Data
    gamma: float
    W1: np.ndarray
    W2: np.ndarray


def draw(rng: np.random.Generator, n: int, d: int, k: int, white: bool = False) -> Data:
    """Correlated inputs and labels without noise.

    The non-zero eigenvalues of XᵀX are spread over a decade and a half, the singular values of the map over one.
    """
    X = _spread(rng, n, d, 0.0 if white else 0.35)
    return Data(X, X @ _spread(rng, d, k, 0.5))


def _spread(rng: np.random.Generator, rows: int, columns: int, decades: float) -> np.ndarray:
    """A random matrix with singular values log-uniform over that many decades on either side of 1."""
    left, right = rotation(rng, rows), rotation(rng, columns)
    rank = min(rows, columns)
    return (left[:, :rank] * 10 ** rng.uniform(-decades, decades, rank)) @ right[:, :rank].T


def follow(
    sizes: tuple[int, ...], data: Sequence[Data], first: Sequence[np.ndarray], left: float = 1e-18
) -> tuple[list, Run]:
    """Follow the flow from `W1 = first, W2 = 0` until nothing is left of the loss, all members padded to the same sizes.

    Args:
        sizes: n, d, l, k, none smaller than any member's.
        data: The data of each member.
        first: The poster's W1 of each member.
        left: The share of the loss that counts as nothing.

    Returns:
        The poster's (W1, W2) of each member at the end, and the run.
    """
    n, d, width, k = sizes
    unit = np.sqrt(n)  # turns the mean over examples into the poster's sum
    X, Y = pad([member.X for member in data], (n, d)), pad([member.Y for member in data], (n, k))
    problem = ensembles.ensemble(problems.regression, jnp.asarray(unit * X), jnp.asarray(unit * Y))
    start = ensembles.Ensemble((jnp.asarray(pad([W.T for W in first], (width, d))), jnp.zeros((len(first), k, width))))
    model = models.DeepLinear((d, width, k))
    run = train.flow(model, problem, start, times=TIMES, record=("loss",), rtol=1e-10, tolerance=left)
    A, B = (np.asarray(layer) for layer in run.final.stacked)
    shapes = [(*W.shape, member.Y.shape[1]) for W, member in zip(first, data, strict=True)]
    return [(a[:h, :i].T, b[:o, :h].T) for a, b, (i, h, o) in zip(A, B, shapes, strict=True)], run


def isometry(key: jax.Array, d: int, width: int) -> np.ndarray:
    """A random P with PPᵀ = I: the start `W1 = √(2γ)P` at γ = ½."""
    return np.asarray(starts.shaped(models.DeepLinear((d, width, 1)), key, 0.5)[0]).T


def flows(settings: Settings, key: jax.Array) -> tuple[list[Instance], Run]:
    """Follow the flow of every shape at every γ; members run through the scales, then the shapes, then the repeats."""
    rng, shapes = generator(key), settings.shapes * settings.repeats
    data = [draw(rng, n, d, k, white=index == 0) for index, (n, d, _, k) in enumerate(shapes)]
    frames = [isometry(jax.random.fold_in(key, index), d, width) for index, (_, d, width, _) in enumerate(shapes)]
    sizes = tuple(np.max(shapes, axis=0).tolist())
    members = [(member, frame, gamma) for member, frame in zip(data, frames, strict=True) for gamma in settings.scales]
    ends, run = follow(sizes, [m[0] for m in members], [np.sqrt(2 * m[2]) * m[1] for m in members])
    return [Instance(m[0], float(m[2]), *end) for m, end in zip(members, ends, strict=True)], run


def by_shape(settings: Settings, values: Sequence[float]) -> np.ndarray:
    """One number for each member, as (shape, γ): the worst over repeats."""
    table = np.reshape(values, (settings.repeats, len(settings.shapes), settings.gammas))
    return table.max(axis=0)


def protocol(settings: Settings) -> dict[str, str]:
    """What was done, under the names of the poster's setting."""
    shapes = "; ".join(f"{n}, {d}, {width}, {k}" for n, d, width, k in settings.shapes)
    return {
        "data": "inputs with eigenvalues of XᵀX over a decade and a half (white in the first), labels without noise; "
        f"n, d, l, k = {shapes}",
        "network": "two linear layers, l ≥ d",
        "loss": "½‖Y − XW1W2‖²",
        "start": f"W1 = √(2γ)P, PPᵀ = I, W2 = 0; {settings.gammas} scales γ from {settings.least_gamma:g} to "
        f"{settings.largest_gamma:g}",
        "optimiser": "gradient flow, integrated until 1e-18 of the loss is left",
    }
