"""Deep linear classifiers and how sparse they are: Figures 6 (diagonal networks) and 7 (convolutional networks)."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems, train
from ...core import ensembles
from ...evidence import Check, Evidence, at_least, at_most
from ...evidence import figure as fig
from ...measure.baselines import max_margin
from ..instances import generator
from ..sizes import Size

INPUTS, EXAMPLES = 100, 200
STOP = 1e-2  # of the exponential loss
SHARED = {"inputs": INPUTS, "examples": EXAMPLES, "loss": "exponential", "stop at loss": STOP}

WEIGHTS = train.Record("weights", lambda model, problem, w: model.end_to_end(w)[0], ("feature",))
Start = Callable[[float, jax.Array], jax.Array]


class Setting(NamedTuple):
    """Depths, scales of the start from large to small, repeats, the step of descent, and steps at most."""

    depths: tuple[int, ...]
    scales: tuple[float, ...]
    repeats: int
    step: float
    steps: int


class Run(NamedTuple):
    """Steps, and σ along training (scale, repeat, record, feature); not-a-number where descent diverged."""

    steps: np.ndarray
    weights: np.ndarray

    def correlation(self, truth: np.ndarray) -> np.ndarray:
        """The cosine with the truth at the end (scale, repeat)."""
        last = self.weights[:, :, -1].astype(float)
        return last @ truth / np.linalg.norm(last, axis=2) / np.linalg.norm(truth)


def sparse_truth() -> np.ndarray:
    """Four features of the sizes 8, 4, 2, 1."""
    w = np.r_[8.0, 4.0, 2.0, 1.0, np.zeros(INPUTS - 4)]
    return w / np.linalg.norm(w)


def low_frequencies() -> np.ndarray:
    """Four frequencies of the amplitudes 3, 4, 6, 12."""
    w = np.fft.irfft(np.r_[3.0, 4.0, 6.0, 12.0, np.zeros(INPUTS // 2 - 3)], INPUTS)
    return w / np.linalg.norm(w)


def examples(rng: np.random.Generator, truth: np.ndarray, repeats: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian examples (repeat, example, input) and their labels ±1."""
    X = rng.normal(size=(repeats, EXAMPLES, INPUTS))
    return X, np.where(X @ truth > 0, 1.0, -1.0)


def descend(
    net: models.Diagonal | models.Circular,
    start: Start,
    X: np.ndarray,
    y: np.ndarray,
    setting: Setting,
    key: jax.Array,
) -> Run:
    """Gradient descent of every scale and repeat as one program, until the loss is below 0.01.

    The data of a repeat are the same at every scale, and so is its key. Single precision is that of the authors.
    Records are denser at first, since large starts stop after some hundred steps and small ones after many thousands.
    """
    pairs = [(scale, r) for scale in setting.scales for r in range(setting.repeats)]
    keys = jax.random.split(key, setting.repeats)
    data = [problems.exponential(a.astype(np.float32), b.astype(np.float32)) for a, b in zip(X, y, strict=True)]
    begin = [np.asarray(start(scale, keys[r]), np.float32) for scale, r in pairs]
    run = train.descend(
        net,
        ensembles.stack([data[r] for _, r in pairs]),
        ensembles.Ensemble(jnp.asarray(np.stack(begin))),
        step=setting.step,
        steps=setting.steps,
        at=np.unique(np.r_[0, np.geomspace(1, setting.steps, 400).round()].astype(int)),
        record=(WEIGHTS,),
        tolerance=STOP,
        on_divergence="keep",
    )
    found = run.weights.values
    return Run(run.step.values, found.reshape(len(setting.scales), setting.repeats, *found.shape[1:]))


class Comparison(NamedTuple):
    """Runs by depth, their correlations with the truth (scale, repeat), and that of the max-margin separator."""

    runs: dict[int, Run]
    correlations: dict[int, np.ndarray]
    margin: np.ndarray


def compare(
    make: Callable[[int], tuple[models.Diagonal | models.Circular, Start]],
    truth: np.ndarray,
    setting: Setting,
    key: jax.Array,
) -> Comparison:
    """Train networks of every depth on the same data, which are also separated with the largest margin."""
    X, y = examples(generator(key), truth, setting.repeats)
    runs = {depth: descend(*make(depth), X, y, setting, key) for depth in setting.depths}
    separators = np.stack([max_margin(a, b) for a, b in zip(X, y, strict=True)])
    margin = separators @ truth / np.linalg.norm(separators, axis=1)
    return Comparison(runs, {depth: run.correlation(truth) for depth, run in runs.items()}, margin)


def _checks(found: Comparison) -> list[Check]:
    margin = found.margin.mean()
    shallow = abs(np.nanmean(found.correlations[1]) - margin)
    deep = [each for depth, each in found.correlations.items() if depth > 1]
    worst = min(np.nanmean(each, axis=1).min() for each in deep) - margin
    best = max(np.nanmean(each, axis=1).max() for each in deep) - margin
    gains = [np.nanmean(np.diff(each, axis=0), axis=1) for each in deep]
    return [
        at_most("distance of depth 1 from max-margin, over that of the best", float(shallow / best), 0.25),
        at_least("least gain of depth over max-margin", float(worst), 0.03),
        at_least("least gain from the largest to the smallest start", min(float(g.sum()) for g in gains), 0.0),
        at_least("least gain from one start to the next smaller", min(float(g.min()) for g in gains), -0.005),
    ]


def _numbers(found: Comparison, setting: Setting) -> dict[str, float]:
    named = {
        f"correlation, N = {depth}, σ₀ = {scale:g}": float(np.nanmean(each[i]))
        for depth, each in found.correlations.items()
        for i, scale in enumerate(setting.scales)
    }
    diverged = sum(int(np.isnan(each).sum()) for each in found.correlations.values())
    return {"correlation, max-margin": float(found.margin.mean()), **named, "runs that diverged": float(diverged)}


def _figure(found: Comparison, setting: Setting, read: Callable[[np.ndarray], np.ndarray], label: str) -> fig.Figure:
    """Correlation against the scale of the start, and the five largest values along a run at the smallest."""
    scales = np.array(setting.scales)
    marks = []
    for group, (depth, each) in enumerate(found.correlations.items()):
        mean, spread = np.nanmean(each, axis=1), np.nanstd(each, axis=1)
        marks += [
            fig.band(scales, mean - spread, mean + spread, "", group),
            fig.measured(scales, mean, f"N = {depth}", group),
        ]
    marks.append(fig.reference(scales[[0, -1]], [found.margin.mean()] * 2, "max-margin"))
    panels = [fig.Panel(tuple(marks), "start σ₀", "correlation", x_scale="log")]
    for depth, run in list(found.runs.items())[:3]:
        path = read(run.weights[-1, 0])
        last = int(np.argmax(np.all(path == path[-1], axis=1))) + 1
        top = path[:, np.argsort(-path[-1])[:5]]
        lines = tuple(fig.measured(run.steps[:last] / 1000, top[:last, i], "", i) for i in range(5))
        panels.append(fig.Panel(lines, "thousand steps", label, f"N = {depth}, σ₀ = {setting.scales[-1]:g}"))
    caption = (
        "Depth 1 ends near the max-margin separator; deeper networks learn in turn and end near the sparse truth."
    )
    return fig.Figure(tuple(panels), caption, 4)


DIAGONAL = {
    "quick": Setting((1, 2, 3), (1.0, 1e-1, 1e-3), 4, 1e-2, 100_000),
    "full": Setting((1, 2, 3, 4, 5), (1.0, 1e-1, 1e-2, 1e-3, 1e-4), 100, 1e-2, 100_000),
}


def diagonal(depth: int) -> tuple[models.Diagonal, Start]:
    """σ = w₊^N − w₋^N from equal weights, so that σ = 0 at the start."""
    net = models.Diagonal(INPUTS, depth, signed=True)
    return net, lambda scale, key: net.start(scale)


def diagonal_classifiers(scale: Size, key: jax.Array) -> Evidence:
    """Gradient descent until the loss is below 0.01, from several scales and at several depths.

    The correlation is the cosine of σ with the truth. Descent stops long before it has the largest margin, so that
    depth 1 must only end near that of the max-margin separator through the origin: within a quarter of the distance
    from there to the best network. Deeper ones must end at least 0.03 above it, and a smaller start must not lower the
    correlation: not at all from the largest to the smallest, and by no more than 0.005 from one to the next, where it
    has come close to 1. At depth 1 the two halves cancel, and the start does not matter.
    """
    setting = DIAGONAL[scale]
    found = compare(diagonal, sparse_truth(), setting, key)
    return Evidence(
        checks=_checks(found),
        numbers=_numbers(found, setting),
        settings=setting._asdict() | SHARED,
        figure=_figure(found, setting, np.abs, "largest weights |σ|"),
    )


CIRCULAR = {
    "quick": Setting((1, 2), (10.0, 1.0, 1e-2), 4, 1e-2, 50_000),
    "full": Setting((1, 2, 3), (10.0, 1.0, 1e-1, 1e-2), 27, 1e-3, 500_000),
}


def circular(depth: int) -> tuple[models.Circular, Start]:
    """Circular convolutions and a dense layer, from random normal weights."""
    net = models.Circular(INPUTS, depth)
    return net, lambda scale, key: net.start(key, scale)


def convolutional_classifiers(scale: Size, key: jax.Array) -> Evidence:
    """As for diagonal networks, with a truth of four frequencies and random normal starts.

    By Parseval the correlation is the same in the frequency domain. Three times the paper's nine repeats are run at
    full scale, since at depth 3 the correlation depends little on the start.
    """
    setting = CIRCULAR[scale]
    found = compare(circular, low_frequencies(), setting, key)
    return Evidence(
        checks=_checks(found),
        numbers=_numbers(found, setting),
        settings=setting._asdict() | SHARED,
        figure=_figure(found, setting, lambda path: np.abs(np.fft.rfft(path)), "amplitudes |σ̂|"),
    )
