"""Deep linear classifiers trained as by the authors: what Figures 1, 6 and 7 share."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems, starts, train
from ...core import ensembles
from ...evidence import Check, at_least, at_most
from ...evidence import figure as fig
from ...problems.max_margin import max_margin
from ..instances import generator

INPUTS, EXAMPLES = 100, 200
STOP = 1e-2  # of the exponential loss
LIMIT = 500.0  # units of time after which the authors' script ends: 500,000 steps of 0.001

WEIGHTS = train.Record("weights", lambda model, problem, w: model.end_to_end(w)[0], ("feature",))
Start = Callable[[float, jax.Array], jax.Array]


class Settings(NamedTuple):
    """Depths, scales of the start from large to small, repeats, the step of descent, and steps at most."""

    depths: tuple[int, ...]
    start_scales: tuple[float, ...]
    repeats: int
    step_size: float
    steps: int


class Classifiers(NamedTuple):
    """Runs of one depth.

    Attributes:
        steps: The steps recorded.
        weights: σ along training (scale, repeat, record, feature); not-a-number where descent diverged.
        loss: The loss at the end (scale, repeat).
    """

    steps: np.ndarray
    weights: np.ndarray
    loss: np.ndarray

    @property
    def stopped(self) -> np.ndarray:
        """The step at which each run stopped (scale, repeat): from there on its weights are held."""
        held = np.all(self.weights == self.weights[:, :, -1:], axis=-1)
        return self.steps[np.argmax(held, axis=-1)]

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
    model: models.Diagonal | models.Circular,
    start: Start,
    X: np.ndarray,
    y: np.ndarray,
    settings: Settings,
    key: jax.Array,
) -> Classifiers:
    """Train by gradient descent, every scale and repeat as one program, until the loss is below 0.01.

    The data of a repeat are the same at every scale, and so is its key. Single precision is that of the authors.
    Records are denser at first, since large starts stop after some hundred steps and small ones after many thousands.
    """
    pairs = [(scale, r) for scale in settings.start_scales for r in range(settings.repeats)]
    keys = jax.random.split(key, settings.repeats)
    data = [problems.exponential(a.astype(np.float32), b.astype(np.float32)) for a, b in zip(X, y, strict=True)]
    begin = [np.asarray(start(scale, keys[r]), np.float32) for scale, r in pairs]
    run = train.descend(
        model,
        ensembles.stack([data[r] for _, r in pairs]),
        ensembles.Ensemble(jnp.asarray(np.stack(begin))),
        step_size=settings.step_size,
        steps=settings.steps,
        at=np.unique(np.r_[0, np.geomspace(1, settings.steps, 400).round()].astype(int)),
        record=(WEIGHTS, "loss"),
        tolerance=STOP,
        on_divergence="keep",
    )
    shape, weights = (len(settings.start_scales), settings.repeats), run.weights.values
    return Classifiers(
        run.step.values, weights.reshape(*shape, *weights.shape[1:]), run.loss.values[:, -1].reshape(shape)
    )


class Comparison(NamedTuple):
    """Runs by depth, their correlations with the truth (scale, repeat), and that of the max-margin separator."""

    runs: dict[int, Classifiers]
    correlations: dict[int, np.ndarray]
    margin: np.ndarray

    @property
    def void(self) -> str:
        """Why the runs cannot answer: some ran out of steps before they had fitted the data."""
        late = sum(int(np.sum(run.loss > 1.001 * STOP)) for run in self.runs.values())
        return f"{late} runs ran out of steps at a loss above {STOP:g}" if late else ""


def compare(
    make: Callable[[int], tuple[models.Diagonal | models.Circular, Start]],
    truth: np.ndarray,
    settings: Settings,
    key: jax.Array,
) -> Comparison:
    """Train networks of every depth on the same data, which are also separated with the largest margin."""
    X, y = examples(generator(key), truth, settings.repeats)
    runs = {depth: descend(*make(depth), X, y, settings, key) for depth in settings.depths}
    separators = np.stack([max_margin(a, b) for a, b in zip(X, y, strict=True)])
    margin = separators @ truth / np.linalg.norm(separators, axis=1)
    return Comparison(runs, {depth: run.correlation(truth) for depth, run in runs.items()}, margin)


def gains(comparison: Comparison) -> dict[int, np.ndarray]:
    """By how much each run is nearer to the truth than the max-margin separator of its data (scale, repeat).

    A run that diverged has gained nothing: none is left out.
    """
    return {n: np.nan_to_num(correlation - comparison.margin) for n, correlation in comparison.correlations.items()}


def in_errors(values: np.ndarray) -> np.ndarray:
    """The mean over repeats, the last axis, in its standard errors."""
    return values.mean(axis=-1) / (values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1]))


def depth_checks(comparison: Comparison) -> list[Check]:
    """Check that depth 1 is near max-margin, and that deeper networks are nearer to the truth."""
    gained = gains(comparison)
    deep = np.stack([gain for depth, gain in gained.items() if depth > 1])
    shallow = np.abs(gained[1].mean()) / deep.mean(axis=-1).max()
    return [
        at_most(
            "distance of depth 1 from max-margin, over that of the best", shallow, 0.25,
            "our reading of “similar”: a quarter of the way to the best network", void=comparison.void,
        ),
        at_least(
            "least gain of depth over max-margin, in standard errors", in_errors(deep).min(), 3,
            "three standard errors over repeats, on the same data", void=comparison.void,
        ),
    ]  # fmt: skip


def start_checks(comparison: Comparison) -> list[Check]:
    """Check that smaller starts end nearer to the truth in deep networks; pairs in which a run diverged are left out."""
    rises, steps = [], []
    for depth, correlation in comparison.correlations.items():
        if depth > 1:
            whole = correlation[:, ~np.isnan(correlation).any(axis=0)]
            rises.append(in_errors(whole[-1] - whole[0]))
            steps.append(in_errors(np.diff(whole, axis=0)).min())
    errors, void = "three standard errors over repeats, on the same data", comparison.void
    return [
        at_least("gain from the largest to the smallest start, in standard errors", min(rises), 3, errors, void=void),
        at_least("gain from one start to the next smaller, in standard errors", min(steps), -3, errors, void=void),
    ]


def numbers(comparison: Comparison, settings: Settings) -> dict[str, float]:
    """Correlations by depth and start, without the runs that diverged, and how many did."""
    named = {
        f"correlation, N = {depth}, σ₀ = {scale:g}": float(np.nanmean(correlation[i]))
        for depth, correlation in comparison.correlations.items()
        for i, scale in enumerate(settings.start_scales)
    }
    return {
        "correlation, max-margin": float(comparison.margin.mean()),
        **named,
        "runs that diverged": float(
            sum(int(np.isnan(correlation).sum()) for correlation in comparison.correlations.values())
        ),
    }


def on_divergence(comparison: Comparison, settings: Settings) -> str:
    """A sentence on the runs that diverged: which, and how they were counted."""
    lost = {
        f"{int(np.isnan(row).sum())} of {row.size} at N = {depth}, σ₀ = {scale:g}"
        for depth, correlation in comparison.correlations.items()
        for scale, row in zip(settings.start_scales, correlation, strict=True)
        if np.isnan(row).any()
    }
    if not lost:
        return "No run diverged."
    return (
        f"Diverged: {', '.join(sorted(lost))}. In the gain over max-margin they count as no gain; the correlations "
        "listed, the bands and the gain from start to start are without them. The paper does not mention any."
    )


def on_limit(comparison: Comparison, settings: Settings) -> str:
    """A sentence on the runs that took longer than the authors' script allows."""
    stopped = np.stack([run.stopped for run in comparison.runs.values()])
    longer = int(np.sum(stopped * settings.step_size > LIMIT))
    return (
        f"The authors' script ends a run after {LIMIT:g} units of time (step size × steps), whatever its loss. "
        f"{longer} of {stopped.size} runs took longer to come to a loss of {STOP:g}, and were trained on until then."
    )


def protocol(settings: Settings, network: str, start: str, target: str) -> dict[str, str]:
    """What was done, under the names of the paper's setting."""
    return {
        "data": f"{EXAMPLES} Gaussian examples, d = {INPUTS}",
        "target": target,
        "network": f"{network}, depths {', '.join(map(str, settings.depths))}",
        "start": f"{start}, σ0 = {', '.join(f'{scale:g}' for scale in settings.start_scales)}",
        "loss": "exponential",
        "optimiser": f"gradient descent, step {settings.step_size:g}, until the loss is below {STOP:g}, at most "
        f"{settings.steps} steps",
        "repeats": str(settings.repeats),
        "baseline": "hard-margin separator through the origin",
        "measure": "cosine with the truth; mean and standard deviation over repeats",
    }


def figure(
    comparison: Comparison, settings: Settings, read: Callable[[np.ndarray], np.ndarray], label: str
) -> fig.Figure:
    """Correlation against the scale of the start, and the five largest values along a run at the smallest.

    A colour is a depth.
    """
    scales = np.array(settings.start_scales)
    marks = []
    for group, (depth, correlation) in enumerate(comparison.correlations.items()):
        mean, spread = np.nanmean(correlation, axis=1), np.nanstd(correlation, axis=1)
        marks += [
            fig.band(scales, mean - spread, mean + spread, "", group),
            fig.measured(scales, mean, f"N = {depth}", group),
        ]
    marks.append(fig.reference(scales[[0, -1]], [comparison.margin.mean()] * 2, "max-margin"))
    least = min(
        float(np.nanmin(correlation)) for correlation in (comparison.margin, *comparison.correlations.values())
    )
    room = (2 * least - 1.05, 1.02)  # below the curves, for the legend
    panels = [fig.Panel(tuple(marks), "start σ₀", "correlation", x_scale="log", y_limits=room)]
    for group, (depth, run) in enumerate(list(comparison.runs.items())[:3]):
        path = read(run.weights[-1, 0])
        last = int(np.argmax(np.all(path == path[-1], axis=1))) + 1
        top = path[:, np.argsort(-path[-1])[:5]]
        lines = tuple(fig.measured(run.steps[:last] / 1000, top[:last, i], "", group) for i in range(5))
        panels.append(fig.Panel(lines, "thousand steps", label, f"N = {depth}, σ₀ = {settings.start_scales[-1]:g}"))
    best = {depth: np.nanmean(correlation, axis=1)[-1] for depth, correlation in comparison.correlations.items()}
    deepest = max(best)
    caption = (
        f"Depth 1 ends near the max-margin separator (correlations {best[1]:.2f} and {comparison.margin.mean():.2f}); "
        f"deeper networks learn in turn and end near the sparse truth ({best[deepest]:.3f} at depth {deepest})."
    )
    return fig.Figure(tuple(panels), caption, 4)


def diagonal(depth: int) -> tuple[models.Diagonal, Start]:
    """The model σ = w₊^N − w₋^N and its start from equal weights, so that σ = 0 at the start."""
    model = models.Diagonal(INPUTS, depth, signed=True)
    return model, lambda scale, key: starts.identity(model, scale)


def circular(depth: int) -> tuple[models.Circular, Start]:
    """The model of circular convolutions and a dense layer, and its start from random normal weights."""
    model = models.Circular(INPUTS, depth)
    return model, lambda scale, key: starts.circular(model, key, scale)
