"""Incremental learning in four deep models: Figure 1."""

from typing import NamedTuple

import jax
import numpy as np

from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ..instances import generator
from ..sizes import Size
from . import classification, quadratic_bias, sensing
from .readings import overlaps

START = 1e-2  # of the classifiers, as in the authors' scripts
REPEATS = {"quick": 12, "full": 40}


class Curves(NamedTuple):
    """Values along training (repeat, record, value), largest first, their goals, and the share that is learnt."""

    name: str
    steps: np.ndarray
    values: np.ndarray
    goals: np.ndarray
    share: float

    def overlaps(self, share: float) -> np.ndarray:
        """How much of the next value there is when a value reaches a share of its goal, for every repeat and pair."""
        return np.array([overlaps(each[:, : len(self.goals)], self.goals, share) for each in self.values])


def _sensing(scale: Size, key: jax.Array) -> Curves:
    setting = sensing.SETTINGS[scale]
    data = sensing.measurements(generator(key), setting, setting.measurements[0])
    run = sensing.descend(data, 4, setting, key)
    return Curves("sensing, N = 4", run.steps, run.top, sensing.VALUES, 0.5)


def _quadratic(scale: Size, key: jax.Array) -> Curves:
    setting = quadratic_bias.SETTINGS[scale]
    run = quadratic_bias.descend(generator(key), setting, setting.examples[-1], True)
    return Curves("quadratic network", run.time / 16 / quadratic_bias.STEP, run.top, quadratic_bias.VALUES, 0.5)


def _diagonal(scale: Size, key: jax.Array) -> Curves:
    setting = classification.Setting((3,), (START,), REPEATS[scale], 1e-2, 100_000)
    X, y = classification.examples(generator(key), classification.sparse_truth(), setting.repeats)
    run = classification.descend(*classification.diagonal(3), X, y, setting, key)
    return Curves("diagonal, N = 3", run.steps, _ordered(np.abs(run.weights[0])), np.ones(4), 1.0)


def _circular(scale: Size, key: jax.Array) -> Curves:
    slow = 1 if scale == "quick" else 10
    setting = classification.Setting((3,), (START,), REPEATS[scale], 1e-2 / slow, 50_000 * slow)
    X, y = classification.examples(generator(key), classification.low_frequencies(), setting.repeats)
    run = classification.descend(*classification.circular(3), X, y, setting, key)
    amplitudes = _ordered(np.abs(np.fft.rfft(run.weights[0])))
    # A wave of amplitude |σ̂| is a vector of norm |σ̂|√(2/d).
    unit = np.full(4, np.sqrt(classification.INPUTS / 2))
    return Curves("convolutional, N = 3", run.steps, amplitudes, unit, 1.0)


def _ordered(paths: np.ndarray) -> np.ndarray:
    """The five features that are largest at the end, largest first."""
    order = np.argsort(-paths[:, -1], axis=1)[:, None, :5]
    return np.take_along_axis(paths, order, axis=2)


def incremental_curves(scale: Size, key: jax.Array) -> Evidence:
    """The five largest values along gradient descent on few examples, in the paper's four panels.

    Phases are separate if the next value has come at most a quarter of its way (the s of Definition 1) when a value is
    learnt. The median over repeats and consecutive values decides. Singular values are learnt at half their target.
    A classifier's weights have no target, since all grow together once they separate the data: they are learnt at size
    1, where they first move the loss. How many of the single phases are separate is reported, and how many by
    Definition 1 with f = ¾ where there are targets.
    """
    keys = jax.random.split(key, 4)
    panels = (_sensing, _quadratic, _diagonal, _circular)
    found = [make(scale, each) for make, each in zip(panels, keys, strict=True)]
    usual = {curves.name: curves.overlaps(curves.share) for curves in found}
    strict = {curves.name: curves.overlaps(0.75) for curves in found if curves.share < 1}
    return Evidence(
        checks=[at_most(f"{name}: share of the next value", np.nanmedian(each), 0.25) for name, each in usual.items()],
        numbers={f"{name}: separate phases": _separate(each) for name, each in usual.items()}
        | {f"{name}: (¼, ¾)-incremental pairs": _separate(each) for name, each in strict.items()},
        settings={curves.name: {"repeats": len(curves.values), "records": len(curves.steps)} for curves in found},
        figure=_figure(found),
    )


def _separate(overlap: np.ndarray) -> float:
    """The share of the pairs that were learnt of which the second had come at most a quarter of its way."""
    return float(np.mean(overlap[~np.isnan(overlap)] <= 0.25))


def _figure(found: list[Curves]) -> fig.Figure:
    panels = []
    for curves in found:
        path = curves.values[0]
        last = int(np.argmax(np.all(path == path[-1], axis=1))) + 1
        lines = tuple(fig.measured(curves.steps[:last] / 1000, path[:last, i], f"σ{'₁₂₃₄₅'[i]}", i) for i in range(5))
        panels.append(fig.Panel(lines, "thousand steps", "five largest values", curves.name))
    return fig.Figure(tuple(panels), "In all four models values are learnt in turn, the larger ones first.", 4)
