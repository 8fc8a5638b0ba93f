"""The deep toy model as a greedy pursuit: Appendix D and Figure 3."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems, train
from ...core import ensembles
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ..instances import generator
from ..sizes import Size

DEPTH = 5
CHOSEN = 0.1  # a feature counts as chosen once its weight exceeds this

WEIGHTS = train.Record("weights", lambda model, problem, w: model.end_to_end(w)[0], ("feature",))


class Setting(NamedTuple):
    """What is run; `few` is up to where the two are expected to agree, and repeats go through in `blocks`."""

    atoms: int
    dimension: int
    mean_value: float
    start: float
    step: float
    steps: int
    sparsities: tuple[int, ...]
    few: int
    blocks: int
    block: int


SETTINGS = {
    "quick": Setting(200, 40, 3.0, 1e-3, 5e-3, 40_000, (1, 2, 3, 5, 8), 3, 1, 20),
    "full": Setting(1000, 80, 10.0, 1e-4, 3e-3, 100_000, (1, 2, 3, 4, 5, 7, 10, 13, 16, 20, 25), 5, 1, 100),
}


class Instances(NamedTuple):
    """Dictionaries of unit atoms (repeat, dimension, atom), hidden sparse vectors, and what they make of the atoms."""

    D: np.ndarray
    hidden: np.ndarray
    x: np.ndarray


def instances(rng: np.random.Generator, setting: Setting, sparsity: int) -> Instances:
    """Gaussian dictionaries, and hidden vectors whose `sparsity` values are one plus exponentially distributed."""
    D = rng.normal(size=(setting.block, setting.dimension, setting.atoms))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    hidden = np.zeros((setting.block, setting.atoms))
    for each in hidden:
        each[rng.choice(setting.atoms, sparsity, replace=False)] = rng.exponential(setting.mean_value, sparsity) + 1
    return Instances(D, hidden, np.einsum("rda,ra->rd", D, hidden))


def descend(given: Instances, setting: Setting) -> np.ndarray:
    """Weights of the toy model along gradient descent (repeat, record, atom), until the mean square is below 0.01.

    Each example of a regression is one row of the dictionary, and single precision is that of the authors.
    """
    net = models.Diagonal(setting.atoms, DEPTH, signed=True)
    each = zip(given.D.astype(np.float32)[:, :, None], given.x.astype(np.float32), strict=True)
    start = jnp.broadcast_to(net.start(setting.start).astype(jnp.float32), (setting.block, *net.parameter_shape))
    run = train.descend(
        net,
        ensembles.stack([problems.sensing(*one) for one in each]),
        ensembles.Ensemble(start),
        step=2 * setting.step,  # the library's loss has a half before the mean
        steps=setting.steps,
        every=setting.steps // 500,
        record=(WEIGHTS,),
        tolerance=0.005,
        on_divergence="keep",
    )
    return run.weights.values


def first_chosen(weights: np.ndarray, count: int) -> np.ndarray:
    """The first features whose weight (record, feature) exceeds the threshold; of two at once the larger comes first."""
    size = np.abs(weights)
    ever = np.flatnonzero(np.nanmax(size, axis=0) > CHOSEN)
    when = np.argmax(size[:, ever] > CHOSEN, axis=0)
    return ever[np.lexsort((-size[when, ever], when))][:count]


def pursued(D: np.ndarray, x: np.ndarray, count: int) -> np.ndarray:
    """The first features of orthogonal matching pursuit."""
    from sklearn.linear_model import orthogonal_mp

    return np.flatnonzero(orthogonal_mp(D, x, n_nonzero_coefs=count))


def agreement(a: np.ndarray, b: np.ndarray) -> float:
    """The share of the smaller set that is in both, as the authors count it; nan if one is empty."""
    return len(np.intersect1d(a, b)) / min(len(a), len(b)) if len(a) and len(b) else np.nan


def like_matching_pursuit(scale: Size, key: jax.Array) -> Evidence:
    """The first s features of each, on random dictionaries and hidden vectors with s values.

    A feature of the toy model is chosen when its weight first exceeds 0.1 in size. A run that ends before it has chosen
    s features is compared on those it has, as by the authors; one that has chosen none is left out. How many features
    were not reached is reported.
    """
    setting, rng = SETTINGS[scale], generator(key)
    agreed = np.full((len(setting.sparsities), setting.blocks * setting.block), np.nan)
    reached = np.zeros_like(agreed)
    shown = None
    for row, s in enumerate(setting.sparsities):
        for block in range(setting.blocks):
            given = instances(rng, setting, s)
            weights = descend(given, setting)
            for i, (D, x, path) in enumerate(zip(given.D, given.x, weights, strict=True)):
                chosen = first_chosen(path, s)
                agreed[row, block * setting.block + i] = agreement(chosen, pursued(D, x, s))
                reached[row, block * setting.block + i] = len(chosen) / s
            if s == setting.few:
                shown = weights[0], given.hidden[0]
    mean = np.nanmean(agreed, axis=1)
    few = np.array(setting.sparsities) <= setting.few
    assert shown is not None
    return Evidence(
        checks=[
            at_least(f"least mean agreement up to s = {setting.few}", mean[few].min(), 0.9),
            at_most("agreement at the largest s over that at the smallest", mean[-1] / mean[0], 0.9),
        ],
        numbers={f"agreement, s = {s}": float(m) for s, m in zip(setting.sparsities, mean, strict=True)}
        | {"share of features reached": float(reached.mean())},
        settings=setting._asdict() | {"depth": DEPTH, "chosen above": CHOSEN, "stop at mean square": 0.01},
        figure=_figure(setting, mean, np.nanstd(agreed, axis=1), *shown),
    )


def _figure(
    setting: Setting, mean: np.ndarray, spread: np.ndarray, weights: np.ndarray, hidden: np.ndarray
) -> fig.Figure:
    s = np.array(setting.sparsities, float)
    curve = (
        fig.band(s, mean - spread, np.minimum(mean + spread, 1.0), "standard deviation"),
        fig.measured(s, mean, "mean agreement"),
    )
    true = np.flatnonzero(hidden)[np.argsort(-hidden[hidden > 0])]
    steps = np.arange(len(weights)) * (setting.steps // 500) / 1000
    stopped = int(np.argmax(np.all(weights == weights[-1], axis=1))) + 1
    paths = [fig.measured(steps[:stopped], weights[:stopped, feature], "", i) for i, feature in enumerate(true)]
    levels = [fig.reference(steps[[0, stopped - 1]], [hidden[feature]] * 2, "hidden value") for feature in true]
    panels = (
        fig.Panel(curve, "sparsity s", "share of first s in both", y_limits=(0.0, 1.05)),
        fig.Panel((*paths, *levels), "thousand steps", "weights σ", f"one run, s = {setting.few}"),
    )
    return fig.Figure(panels, "Both choose the same features at first; the more there are, the less they agree.", 2)
