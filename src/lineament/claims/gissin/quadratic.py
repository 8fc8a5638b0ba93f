"""Quadratic networks trained on examples as by the authors: what Figures 1 and 5 share."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from ... import models, problems, train
from ...core import ensembles
from ..instances import rotation

VALUES = np.array([1, 1 / 2, 1 / 3, 1 / 4])

WEIGHTS = train.Record("weights", lambda model, problem, weights: weights[0], ("unit", "input"))


class Settings(NamedTuple):
    """Inputs d, sizes of the data sets, repeats, and how descent starts, moves and stops.

    The step size and the mean square at which descent stops are the authors', on a loss without a factor; `further` is
    the mean square down to which a network is trained on.
    """

    inputs: int
    examples: tuple[int, ...]
    repeats: int
    steps: int
    start_scale: float = 1e-4
    step_size: float = 1e-3
    stop: float = 1e-2
    further: float = 1e-4


class Descents(NamedTuple):
    """Runs of gradient descent, one for each member.

    Attributes:
        time: Time of the theory at the records.
        top: The five largest singular values of WᵀW (member, record, rank).
        error: ‖WᵀW − W*ᵀW*‖²/‖W*ᵀW*‖² (member, record).
        stop: The record at which the authors' script stops (member); the last one where it goes on.
        done: Whether the mean square came down to where training was to end (member).
    """

    time: np.ndarray
    top: np.ndarray
    error: np.ndarray
    stop: np.ndarray
    done: np.ndarray


def spectrum(W: np.ndarray) -> np.ndarray:
    """The singular values of WᵀW."""
    return np.linalg.svd(W, compute_uv=False) ** 2


def descend(rng: np.random.Generator, settings: Settings, count: int, bias: bool, further: bool = False) -> Descents:
    """Train by gradient descent as in the paper on `count` examples: orthogonal W, and b at the mean of the labels.

    It ends at the authors' stop, or `further` down.
    """
    d, repeats, end = settings.inputs, settings.repeats, settings.further if further else settings.stop
    X = rng.normal(size=(repeats, count, d)).astype(np.float32)
    y = np.einsum("rni,i->rn", X[..., :4] ** 2, VALUES).astype(np.float32)
    W = (np.sqrt(settings.start_scale) * np.stack([rotation(rng, d) for _ in range(repeats)])).astype(np.float32)
    begin = (W, y.mean(axis=1)) if bias else (W,)
    run = train.descend(
        models.Quadratic(d, bias=bias),
        ensembles.stack([problems.quadratic_regression(*data) for data in zip(X, y, strict=True)]),
        ensembles.Ensemble(tuple(map(jnp.asarray, begin))),
        step_size=16 * settings.step_size,  # the library's loss has 1/16 before the mean
        steps=settings.steps,
        every=20,
        record=(WEIGHTS, "loss"),
        tolerance=end / 16,
    )
    square = 16 * run.loss.values
    last = 1 + min(int(np.argmax(np.r_[np.all(square <= 1.001 * end, axis=0), True])), square.shape[1] - 1)
    W, square = run.weights.values[:, :last].astype(float), square[:, :last]  # after that all values are held
    error = np.swapaxes(W, 2, 3) @ W - np.diag(np.r_[VALUES, np.zeros(d - 4)])
    below = square <= 1.001 * settings.stop  # in single precision
    below[:, -1] = True
    return Descents(
        run.time.values[:last],
        spectrum(W)[..., :5],
        np.sum(error**2, axis=(2, 3)) / np.sum(VALUES**2),
        np.argmax(below, axis=1),
        square[:, -1] <= 1.001 * end,
    )
