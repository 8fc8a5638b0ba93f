"""Random problems with analytic losses, and balanced networks at a given map: what several claims begin with."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from ... import problems
from ...core import ensembles
from ...theory import layers
from ..instances import rotation

LOSSES = ("square", "ℓ4", "cross-entropy", "completion", "sensing")
STARTS = ("generic", "repeated values", "near-singular", "rank-deficient")
LEAST = 1e-7  # the least singular value of near-singular starts


def random_problem(rng: np.random.Generator, name: str, shape: tuple[int, int]) -> problems.AbstractProblem:
    """A problem with the named loss for maps of the shape (outputs, inputs): correlated inputs, noisy outputs."""
    outputs, inputs = shape
    X = rng.normal(size=(40, inputs)) @ rng.normal(size=(inputs, inputs)) / np.sqrt(inputs)
    Y = X @ rng.normal(size=(inputs, outputs)) + 0.3 * rng.normal(size=(40, outputs))
    if name == "square":
        return problems.regression_from_moments(X.T @ X / 40, Y.T @ X / 40, Y.T @ Y / 40)
    if name == "ℓ4":
        return problems.lp_regression(X, Y / np.std(Y), p=4)
    if name == "cross-entropy":
        return problems.cross_entropy(X, np.argmax(Y, axis=1), classes=outputs)
    if name == "completion":
        rows, columns = np.nonzero(rng.uniform(size=shape) < 0.6)
        return problems.completion(rows, columns, rng.normal(size=rows.size), shape, reduction="sum")
    return problems.sensing(rng.normal(size=(3 * inputs, *shape)), rng.normal(size=3 * inputs))


def gradient_of(problem: problems.AbstractProblem) -> Callable[[np.ndarray], np.ndarray]:
    """∇ℓ of a problem as a function of NumPy arrays."""
    compiled = jax.jit(lambda W: problem.gradient(W))
    return lambda W: np.asarray(compiled(W))


def balanced_layers(rng: np.random.Generator, W: np.ndarray, widths: Sequence[int]) -> layers.Layers:
    """Balanced layers with product W, whose hidden units are turned at random."""
    turns = [np.eye(widths[0]), *(rotation(rng, width) for width in widths[1:-1]), np.eye(widths[-1])]
    split = layers.balanced(W, widths)
    return tuple(after @ X @ before.T for X, (before, after) in zip(split, pairwise(turns), strict=True))


def balanced_ensemble(
    rng: np.random.Generator, maps: Sequence[np.ndarray], widths: Sequence[int]
) -> ensembles.Ensemble:
    """One balanced network for each map."""
    networks = [balanced_layers(rng, W, widths) for W in maps]
    return ensembles.Ensemble(tuple(jnp.stack(list(map(jnp.asarray, layer))) for layer in zip(*networks, strict=True)))


def map_with_values(rng: np.random.Generator, shape: tuple[int, int], values: ArrayLike) -> np.ndarray:
    """A map of the given singular values, the rest zero, in random directions."""
    s = np.asarray(values, dtype=float)
    k = s.size
    return (rotation(rng, shape[0])[:, :k] * s) @ rotation(rng, shape[1])[:, :k].T


def maps_of_each_kind(rng: np.random.Generator, shape: tuple[int, int]) -> list[np.ndarray]:
    """One map of each kind in `STARTS`."""
    d = min(shape)
    spread = 10 ** rng.uniform(-1, 0.3, d)
    return [
        map_with_values(rng, shape, spread),
        map_with_values(rng, shape, np.full(d, 0.5)),
        map_with_values(rng, shape, [*spread[1:], LEAST]),
        map_with_values(rng, shape, spread[: d - 1]),
    ]


def random_widths(rng: np.random.Generator, n: int, shape: tuple[int, int]) -> tuple[int, ...]:
    """Widths of n layers for maps of the shape (outputs, inputs), hidden ones admissible and little above."""
    return (shape[1], *rng.integers(min(shape), min(shape) + 3, n - 1).tolist(), shape[0])


def unit(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """A random direction of Frobenius norm 1."""
    direction = rng.normal(size=shape)
    return direction / np.linalg.norm(direction)
