"""Section 5: a hierarchical tensor factorisation learns components one by one and finds low hierarchical rank."""

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, train
from ...evidence import Evidence
from ...models.tensor import matricisation_values
from ..instances import generator, rotation
from ..sizes import sizes
from .tensor_tasks import Settings, checks, complete, figure, numbers, tensor_tasks


@sizes(
    quick=Settings(
        (6, 6, 6, 6), 24, ranks=(1, 2, 3), repeats=4, observed=(150, 300, 600), steps=12_000, early=6000,
        start_scales=(0.06, 0.4),
    ),
    full=Settings(
        (10, 10, 10, 10), 60, ranks=(1, 2, 3, 5), repeats=3, observed=(500, 1000, 2000, 4000), steps=300_000,
        early=20_000, start_scales=(0.06, 0.4),
    ),
)  # fmt: skip
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Completion of order-4 tensors of low hierarchical rank by a wide binary tree, from small and large starts.

    Truths are trees of low rank with orthonormal parts. The tree that is trained has more weights than entries are
    seen, so that the data alone do not fix its rank. Recorded are the norms of the local components of the root, which
    joins the first two axes with the last two; the hierarchical rank found is that of the same matricisation: singular
    values above a hundredth of the tensor's norm. Entries of a start have standard deviation 0.06, or 0.4 for
    contrast; otherwise all is as for the CP factorisation. Components rise within some hundred steps, early on, so
    that the first steps are recorded densely; a rise that falls between two records makes the overlap void. A truth's
    components are of one size here, so that the start alone decides which comes first: now and then two start alike and
    rise together, and the overlap is judged by its mean over truths.
    """
    rng, shape = generator(key), settings.shape
    model = models.TreeTensor(shape, settings.width)
    truths = [(rank, _random_tree(rng, shape, rank)) for rank in settings.ranks * settings.repeats]
    tasks = tensor_tasks(truths, settings.observed, rng)
    record = train.Record("norms", lambda model, problem, w: model.component_norms(w)[-1][:10], ("component",))
    run = complete(model, tasks, key, settings, record)
    values = jax.vmap(lambda T: matricisation_values(T.reshape(shape), (0, 1)))(jnp.asarray(run.last))
    ranks = np.sum(np.asarray(values) > 0.01, axis=1)
    return Evidence(
        checks=checks(run, tasks, ranks, "hierarchical rank"),
        numbers=numbers(run, tasks, ranks, "hierarchical rank"),
        protocol={
            "data": f"completion of random {'×'.join(map(str, shape))} tensors of hierarchical rank "
            f"{', '.join(map(str, settings.ranks))} and norm 1, {', '.join(map(str, settings.observed))} entries seen",
            "network": f"binary tree of {settings.width} components at each node",
            "start": "Gaussian, standard deviation 0.06 (0.4 for contrast)",
            "optimiser": "gradient descent, the gradient divided by a running mean of its norm",
            "step size": f"{settings.step_size:g}",
            "repeats": f"{settings.repeats} truths of each rank",
        },
        figure=figure(
            run, tasks, settings.start_scales, "norms at the root",
            "A tree's local components too are born one by one, and tensors of low hierarchical rank are found.",
        ),
    )  # fmt: skip


def _random_tree(rng: np.random.Generator, shape: tuple[int, ...], rank: int) -> np.ndarray:
    """A tree with orthonormal leaves and nodes: all singular values of its matricisation at the root are equal.

    Normal weights would not do: products of them make the first singular value so large that the rest hardly matter.
    """
    leaves = [rotation(rng, length)[:, :rank] for length in shape]
    nodes = [rotation(rng, rank) for _ in range(len(shape) - 2)]
    factors = tuple(map(jnp.asarray, (*leaves, *nodes, np.ones((1, rank)))))
    return np.asarray(models.TreeTensor(shape, rank).end_to_end(factors))
