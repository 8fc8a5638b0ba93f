"""Whether noisy descent follows the poster's diffusion: the weak error over step sizes, on a small network."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems, starts, train
from ...core import ensembles
from ..instances import generator, rotation, slope

IMBALANCE = train.Record("imbalance", lambda model, problem, layers: jnp.sum(layers[0] ** 2) - jnp.sum(layers[1] ** 2))


class WeakError(NamedTuple):
    """Relative errors of the mean imbalance of descent against that of the diffusion, over step sizes."""

    etas: np.ndarray
    errors: np.ndarray
    slope: float


def weak_error(key: jax.Array, paths: int) -> WeakError:
    """How far the mean imbalance of descent is from that of the diffusion, over step sizes, on a small network."""
    rng = generator(jax.random.fold_in(key, 7))
    n, until, reference = 4, 0.5, 256
    X = rotation(rng, n)[:, :2] * [1.0, 1.5]
    problem = problems.regression(X, X @ rotation(rng, 2)[0])
    model = models.DeepLinear((2, 3, 1))
    start = ensembles.Ensemble(
        tuple(jnp.broadcast_to(layer, (paths, *layer.shape)) for layer in starts.shaped(model, key, 1.0))
    )
    options = {"record": (IMBALANCE,), "key": jax.random.fold_in(key, 8)}
    exact = train.noisy_flow(
        model,
        problem,
        start,
        intensity=np.sqrt(n),
        step_size=n * until / reference,
        times=np.array([0.0, n * until]),
        **options,
    ).imbalance.values[:, -1]
    counts, errors = np.array([16, 32, 64]), []
    for steps in map(int, counts):
        eta = until / steps
        run = train.noisy_descend(
            model, problem, start, step_size=n * eta, steps=steps, at=[0, steps], noise=eta**-0.5, **options
        )
        errors.append(abs(run.imbalance.values[:, -1].mean() - exact.mean()) / exact.mean())
    etas = until / counts
    return WeakError(etas, np.array(errors), slope(etas - until / reference, errors)[0])
