"""The deep toy model as a greedy pursuit: Appendix D and Figure 3."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems, starts, train
from ...core import ensembles
from ...evidence import Evidence, at_least
from ...evidence import figure as fig
from ..instances import generator
from ..sizes import sizes

DEPTH = 5
CHOSEN = 0.1  # a feature counts as chosen once its weight exceeds this

WEIGHTS = train.Record("weights", lambda model, problem, w: model.end_to_end(w)[0], ("feature",))


class Settings(NamedTuple):
    """What is run; `few` is up to where the two are expected to agree."""

    atoms: int
    dimension: int
    mean_value: float
    start_scale: float
    step_size: float
    steps: int
    sparsities: tuple[int, ...]
    few: int
    repeats: int
    stop: float = 1e-2


QUICK = Settings(200, 40, 3.0, 1e-3, 5e-3, 40_000, (1, 2, 3, 5, 8), 3, 20)
FULL = Settings(1000, 80, 10.0, 1e-4, 3e-3, 100_000, (1, 2, 3, 4, 5, 7, 10, 13, 16, 20, 25), 5, 100)


class Instances(NamedTuple):
    """Dictionaries of unit atoms (repeat, dimension, atom), hidden sparse vectors, and what they make of the atoms."""

    D: np.ndarray
    hidden: np.ndarray
    x: np.ndarray


def instances(rng: np.random.Generator, settings: Settings, sparsity: int) -> Instances:
    """Gaussian dictionaries, and hidden vectors whose `sparsity` values are one plus exponentially distributed."""
    D = rng.normal(size=(settings.repeats, settings.dimension, settings.atoms))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    hidden = np.zeros((settings.repeats, settings.atoms))
    for row in hidden:
        row[rng.choice(settings.atoms, sparsity, replace=False)] = rng.exponential(settings.mean_value, sparsity) + 1
    return Instances(D, hidden, np.einsum("rda,ra->rd", D, hidden))


def descend(given: Instances, settings: Settings) -> np.ndarray:
    """Weights of the toy model along gradient descent (repeat, record, atom), until the mean square is below 0.01.

    Each example of a regression is one row of the dictionary, and single precision is that of the authors.
    """
    model = models.Diagonal(settings.atoms, DEPTH, signed=True)
    data = zip(given.D.astype(np.float32)[:, :, None], given.x.astype(np.float32), strict=True)
    start = jnp.broadcast_to(
        starts.identity(model, settings.start_scale).astype(jnp.float32), (settings.repeats, *model.parameter_shape)
    )
    run = train.descend(
        model,
        ensembles.stack([problems.sensing(*instance) for instance in data]),
        ensembles.Ensemble(start),
        step_size=2 * settings.step_size,  # the library's loss has a half before the mean
        steps=settings.steps,
        every=settings.steps // 500,
        record=(WEIGHTS,),
        tolerance=settings.stop / 2,
        on_divergence="keep",
    )
    return run.weights.values


def first_chosen(weights: np.ndarray, count: int) -> np.ndarray:
    """The first features whose weight (record, feature) exceeds the threshold; of two at once the larger comes first."""
    magnitude = np.abs(weights)
    ever = np.flatnonzero(np.nanmax(magnitude, axis=0) > CHOSEN)
    when = np.argmax(magnitude[:, ever] > CHOSEN, axis=0)
    return ever[np.lexsort((-magnitude[when, ever], when))][:count]


def pursued(D: np.ndarray, x: np.ndarray, count: int) -> np.ndarray:
    """The first features of orthogonal matching pursuit."""
    from sklearn.linear_model import orthogonal_mp

    return np.flatnonzero(orthogonal_mp(D, x, n_nonzero_coefs=count))


def agreement(a: np.ndarray, b: np.ndarray) -> float:
    """The share of the smaller set that is in both, as the authors count it; nan if one is empty."""
    return len(np.intersect1d(a, b)) / min(len(a), len(b)) if len(a) and len(b) else np.nan


@sizes(quick=QUICK, full=FULL)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """The first s features of each, on random dictionaries and hidden vectors with s values.

    A feature of the toy model is chosen when its weight first exceeds 0.1 in size. A run that ends before it has chosen
    s features is compared on those it has, as by the authors; one that has chosen none is left out. How many features
    were not reached is reported.
    """
    rng = generator(key)
    agreed = np.full((len(settings.sparsities), settings.repeats), np.nan)
    reached = np.zeros_like(agreed)
    shown = np.zeros((1, settings.atoms)), np.zeros(settings.atoms)
    for row, s in enumerate(settings.sparsities):
        given = instances(rng, settings, s)
        weights = descend(given, settings)
        for i, (D, x, path) in enumerate(zip(given.D, given.x, weights, strict=True)):
            chosen = first_chosen(path, s)
            agreed[row, i] = agreement(chosen, pursued(D, x, s))
            reached[row, i] = len(chosen) / s
        if s == settings.few:
            shown = weights[0], given.hidden[0]
    mean = np.nanmean(agreed, axis=1)
    few = np.array(settings.sparsities) <= settings.few
    fall = mean[0] - mean[-1]
    error = np.sqrt(sum(np.nanvar(agreed[row], ddof=1) / np.sum(~np.isnan(agreed[row])) for row in (0, -1)))
    return Evidence(
        checks=[
            at_least(
                f"least mean agreement up to s = {settings.few}", mean[few].min(), 0.9,
                "our reading of “very similar features at the beginning”: nine of ten",
            ),
            at_least(
                "agreement at the smallest s less that at the largest, in standard errors", fall / error, 3,
                "three standard errors over repeats",
            ),
        ],
        numbers={f"agreement, s = {s}": float(m) for s, m in zip(settings.sparsities, mean, strict=True)}
        | {"share of features reached": float(reached.mean()), "runs left out": float(np.isnan(agreed).sum())},
        protocol=_protocol(settings),
        figure=_figure(settings, mean, np.nanstd(agreed, axis=1), *shown),
    )  # fmt: skip


def _protocol(settings: Settings) -> dict[str, str]:
    return {
        "data": f"dictionary of {settings.atoms} atoms, dimension {settings.dimension}; hidden vector of s values, 1 + "
        f"exponential of mean {settings.mean_value:g}",
        "model": f"σ = w₊^N − w₋^N, N = {DEPTH}",
        "start": f"{settings.start_scale:g}",
        "loss": "mean square",
        "optimiser": f"gradient descent, step {settings.step_size:g}, until the mean square is below {settings.stop:g}, "
        f"at most {settings.steps} steps",
        "sparsity": ", ".join(map(str, settings.sparsities)),
        "repeats": str(settings.repeats),
        "measure": f"share of the first s features in both; chosen when |σ| exceeds {CHOSEN:g}",
    }


def _figure(
    settings: Settings, mean: np.ndarray, spread: np.ndarray, weights: np.ndarray, hidden: np.ndarray
) -> fig.Figure:
    s = np.array(settings.sparsities, float)
    curve = (
        fig.band(s, mean - spread, np.minimum(mean + spread, 1.0), "standard deviation"),
        fig.measured(s, mean, "mean agreement"),
    )
    true = np.flatnonzero(hidden)[np.argsort(-hidden[hidden > 0])]
    steps = np.arange(len(weights)) * (settings.steps // 500) / 1000
    stopped = int(np.argmax(np.all(weights == weights[-1], axis=1))) + 1
    paths = [fig.measured(steps[:stopped], weights[:stopped, feature], "", i) for i, feature in enumerate(true)]
    levels = [fig.reference(steps[[0, stopped - 1]], [hidden[feature]] * 2, "hidden value") for feature in true]
    panels = (
        fig.Panel(curve, "sparsity s", "share of first s in both", y_limits=(0.0, 1.05)),
        fig.Panel((*paths, *levels), "thousand steps", "weights σ", f"one run, s = {settings.few}"),
    )
    caption = (
        f"Both choose the same features at first ({mean[0]:.0%} at s = {settings.sparsities[0]}); the more there are, "
        f"the less they agree ({mean[-1]:.0%} at s = {settings.sparsities[-1]})."
    )
    return fig.Figure(panels, caption, 2)
