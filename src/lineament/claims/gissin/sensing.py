"""Deep matrix sensing as by the authors, from few measurements: what Figures 1 and 4 share."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import measure, models, problems, starts, train
from ...core import ensembles

VALUES = np.array([12.0, 6.0, 4.0, 3.0])

TOP_FIVE = train.Record(
    "top", lambda model, problem, layers: measure.singular_values(model.end_to_end(layers))[:5], ("rank",)
)
MODES = train.Record(
    "modes", lambda model, problem, layers: jnp.diagonal(model.end_to_end(layers))[: len(VALUES)], ("mode",)
)


class Settings(NamedTuple):
    """What is trained.

    Attributes:
        depths: N.
        dimension: d of the d × d matrices.
        measurements: Sizes of the data sets, from the largest on; each divides the largest.
        start_scale: σ0.
        repeats: How many runs of each.
        steps: After how many descent gives up.
        judge_times: Whether half-rise times are judged. They scatter, and those from the paper's Gaussian layers lag, the
            less the larger the matrices are; in small ones they are only reported.
        step_size: Of the authors, on the mean of squares without a half.
        stop: The mean square at which the authors' script stops.
    """

    depths: tuple[int, ...]
    dimension: int
    measurements: tuple[int, ...]
    start_scale: float
    repeats: int
    steps: int
    judge_times: bool
    step_size: float = 1e-3
    stop: float = 1e-2


QUICK = Settings((1, 2, 4), 30, (540,), 1e-3, 2, 12_000, judge_times=False)
FULL = Settings((1, 2, 3, 4), 50, (1000, 500), 1e-4, 16, 100_000, judge_times=True)


class Sensed(NamedTuple):
    """Steps, five largest singular values, the target's four modes; at the end ‖W − W*‖²/‖W*‖², and whether it fits."""

    steps: np.ndarray
    top: np.ndarray
    modes: np.ndarray
    error: np.ndarray
    done: np.ndarray


def measurements(rng: np.random.Generator, settings: Settings, count: int) -> ensembles.Ensemble:
    """For each repeat `count` standard normal measurements of W*, in the single precision of the authors.

    A smaller set is repeated up to the size of the largest, which leaves the mean of the squares what it is: all sizes
    then run in one program.
    """
    A = rng.normal(size=(settings.repeats, count, settings.dimension, settings.dimension)).astype(np.float32)
    A = np.tile(A, (1, settings.measurements[0] // count, 1, 1))
    y = np.einsum("rmii,i->rm", A[:, :, :4, :4], VALUES).astype(np.float32)
    return ensembles.stack([problems.sensing(*data) for data in zip(A, y, strict=True)])


def descend(problem: ensembles.Ensemble, depth: int, settings: Settings, key: jax.Array | None) -> Sensed:
    """Train by descent as in the paper, from Gaussian layers, or without a key from the identity of Theorem 4."""
    model = models.DeepLinear((settings.dimension,) * (depth + 1))

    def layers(key_: jax.Array) -> models.Layers:
        drawn = (
            starts.identity(model, settings.start_scale)
            if key is None
            else starts.gaussian(model, key_, start_scale=settings.start_scale)
        )
        return tuple(layer.astype(jnp.float32) for layer in drawn)

    keys = jax.random.split(jax.random.key(0) if key is None else key, settings.repeats)
    start = ensembles.ensemble(layers, keys)
    run = train.descend(
        model,
        problem,
        start,
        step_size=2 * settings.step_size,  # the library's loss has a half before the mean
        steps=settings.steps,
        every=20,
        record=(TOP_FIVE, MODES, "loss"),
        tolerance=settings.stop / 2,
    )
    W = np.asarray(jax.vmap(model.end_to_end)(run.final.stacked), float)
    target = np.diag(np.r_[VALUES, np.zeros(settings.dimension - len(VALUES))])
    error = np.sum((W - target) ** 2, axis=(1, 2)) / np.sum(VALUES**2)
    finished = run.loss.values[:, -1] <= 1.001 * settings.stop / 2  # in single precision
    return Sensed(run.step.values, run.top.values, run.modes.values, error, finished)
