"""Section 5: a tensor factorisation learns components one by one and finds tensors of low CP rank."""

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, train
from ...evidence import Evidence
from ..instances import generator
from ..sizes import sizes
from .tensor_tasks import Settings, checks, complete, figure, numbers, tensor_tasks


@sizes(
    quick=Settings(
        (8, 8, 8), 0, ranks=(1, 2, 3), repeats=3, observed=(60, 120, 240), steps=5000, early=5000,
        start_scales=(1e-3, 0.1),
    ),
    full=Settings(
        (10, 10, 10, 10), 0, ranks=(1, 3, 5), repeats=3, observed=(250, 500, 1000, 2000), steps=600_000,
        early=600_000, start_scales=(1e-3, 0.1),
    ),
)  # fmt: skip
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Completion of tensors of low CP rank by a factorisation wide enough for any, from small and large starts.

    All entries of a start have standard deviation 1e-3, or 0.1 for contrast. A component counts as found when its norm
    exceeds a hundredth of the tensor's. Components rise one by one if the next has hardly begun when one passes half
    of its last norm: the overlap. All is judged where most entries are seen, by medians over truths of all ranks. At
    full size components rise as late as after 400,000 steps, so that records lie densely throughout.
    """
    rng, shape = generator(key), settings.shape
    model = models.CP(shape)
    truths = [(rank, _random_cp(rng, shape, rank)) for rank in settings.ranks * settings.repeats]
    tasks = tensor_tasks(truths, settings.observed, rng)
    record = train.Record("norms", lambda model, problem, w: model.component_norms(w)[:10], ("component",))
    run = complete(model, tasks, key, settings, record)
    ranks = np.sum(run.norms[:, -1] > 0.01, axis=1)
    return Evidence(
        checks=checks(run, tasks, ranks, "components"),
        numbers=numbers(run, tasks, ranks, "components"),
        settings={"components": model.components},
        protocol={
            "data": f"completion of random {'×'.join(map(str, shape))} tensors of CP rank "
            f"{', '.join(map(str, settings.ranks))} and norm 1, {', '.join(map(str, settings.observed))} entries seen",
            "network": f"CP factorisation with {model.components} components, as many as any such tensor needs",
            "start": "Gaussian, standard deviation 0.001 (0.1 for contrast)",
            "optimiser": "gradient descent, the gradient divided by a running mean of its norm",
            "step size": f"{settings.step_size:g}",
            "repeats": f"{settings.repeats} truths of each rank",
        },
        figure=figure(
            run, tasks, settings.start_scales, "component norms",
            "From a small start components are born one after another, and low-rank tensors are found.",
        ),
    )  # fmt: skip


def _random_cp(rng: np.random.Generator, shape: tuple[int, ...], rank: int) -> np.ndarray:
    """A sum of `rank` outer products of normal vectors."""
    return np.asarray(models.CP(shape, rank).end_to_end(tuple(jnp.asarray(rng.normal(size=(d, rank))) for d in shape)))
