"""Figure 12: Definition 3 beside Glorot's start in a wide linear network of one hidden layer."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import data
from ...data import tasks
from ...data.tasks import Task
from ...evidence import Check, Evidence, at_most
from ...evidence import figure as fig
from ...theory import pc_bias
from ...train import two_layer
from ..sizes import sizes
from ..stand_in import judged as judged_on
from . import readings

NAMES = ("Definition 3", "Glorot")
CONTROL = "without the start's own map"
LEAST = 0.05  # of a logarithm of ratios: five per cent of the steps
VARIANCES = (pc_bias.isometric_variances, pc_bias.glorot_variances)


class Settings(NamedTuple):
    """What is run. Widths are in multiples of the number of inputs; the first is judged."""

    data: str
    widths: tuple[int, ...]
    step_sizes: tuple[float, ...]
    networks: int
    batch: int
    steps: int
    records: int
    levels: tuple[float, ...]
    smoothed_over: int


class BothStarts(NamedTuple):
    """Curves of both starts at every step size: (start, step size, network, record)."""

    steps: np.ndarray
    train: np.ndarray
    test: np.ndarray
    loss: np.ndarray


@sizes(
    quick=Settings(
        data="digits", widths=(8, 16), step_sizes=(0.003, 0.01, 0.03), networks=60, batch=20, steps=400,
        records=80, levels=(0.5, 0.75, 0.9), smoothed_over=3,
    ),
    full=Settings(
        data="cats-dogs", widths=(8, 64), step_sizes=(1e-4, 3e-4, 1e-3, 2e-3), networks=10, batch=100, steps=6000,
        records=80, levels=(0.5, 0.75, 0.9), smoothed_over=5,
    ),
)  # fmt: skip
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Learning curves of both starts on the same batches: steps to an accuracy, on training and on test images.

    The entries of the layers are uniform, the same in both starts but for their scale, and training is by cross-entropy
    and stochastic descent. Networks this wide are followed by their map and their scale matrices, which is exact. How
    much sooner one curve comes to an accuracy than the other is read at three accuracies, shares of the way from
    chance to what both reach; the logarithms of the ratios are averaged over them. Judged is the width of 8 times the
    inputs: at equal step size, over all step sizes at which both starts come there, and with each start at its best
    step size. The ratio must lie below 1 by two standard errors over paired networks, and the best test accuracies
    must be the same within two standard errors of an accuracy on so many images. A width of 64 times the inputs, and
    the loss on the training images at the end, are shown beside; so is a control, the same runs from W = 0 with the
    scale matrices of either start, which shows what the start's own map costs. A miss on stand-in data leaves the run
    undecided.
    """
    task = _task(settings.data)
    checks: list[Check] = []
    numbers: dict[str, float] = {}
    panels: list[fig.Panel] = []
    for times in settings.widths:
        runs = _train(settings, task, times, key)
        ratios, best = _ratios(settings, task, runs)
        judged = times == settings.widths[0]
        if judged:
            checks += _checks(ratios, runs, best, len(task.tests))
        for name, ratio in ratios.items():
            numbers[f"m = {times}q, {name}: steps, Definition 3 over Glorot"] = float(np.exp(np.mean(ratio)))
            numbers[f"m = {times}q, {name}: that logarithm, in standard errors"] = readings.in_errors(ratio)
        numbers |= _ends(settings, runs, best, times)
        panels += _panels(settings, runs, best, times)
    control = _ratios(settings, task, _train(settings, task, settings.widths[0], key, own_map=False))[0]
    numbers |= {
        f"m = {settings.widths[0]}q, {name}, {CONTROL}: steps, Definition 3 over Glorot": float(np.exp(np.mean(ratio)))
        for name, ratio in control.items()
    }
    return Evidence(
        checks=judged_on(checks, settings.data),
        numbers=numbers,
        settings=task.sizes | {"inputs q": task.X.shape[1]},
        protocol=_protocol(settings, task),
        figure=fig.Figure(tuple(panels), _caption(numbers, settings.widths), 3),
        remarks=[
            "Glorot's variances are almost twice Definition 3's in a wide network, so that A and B are almost 2I, not I: "
            "at equal step it moves twice as fast, and stands only half the step. Its map at the start has almost four "
            "times the variance, and has to be unlearnt; this costs more, the narrower the network.",
            _on_control(numbers, settings.widths[0]),
            _on_limits(settings, numbers),
        ],
    )


def _task(name: str) -> Task:
    """Cats and dogs; in a quick run handwritten threes and eights."""
    return tasks.prepared(data.load("digits").subset(("3", "8"))) if name == "digits" else tasks.real(name)


def _on_control(numbers: dict[str, float], times: int) -> str:
    """A sentence on what the start's own map costs."""
    name = f"m = {times}q, training accuracy, equal step"
    alone, whole = (numbers[f"{name}{what}: steps, Definition 3 over Glorot"] for what in (f", {CONTROL}", ""))
    return (
        f"The control: {CONTROL}, from W = 0 with the same A and B, Definition 3 takes {alone:.2f} of Glorot's steps to "
        f"a training accuracy at equal step, and with it {whole:.2f}. What it gains is what it has not to unlearn: "
        "little, where a pair of classes is told apart in a few steps."
    )


def _on_limits(settings: Settings, numbers: dict[str, float]) -> str:
    """A sentence on what is not judged: late training loss, and wider layers."""
    loss = lambda times, start, step: numbers[f"m = {times}q, {start}, step {step:g}: training loss at the end"]  # noqa: E731
    judged, wide = settings.widths[0], settings.widths[-1]
    cells = [(times, step) for times in settings.widths for step in settings.step_sizes]
    ratios = {
        times: [loss(t, NAMES[0], s) / loss(t, NAMES[1], s) for t, s in cells if t == times]
        for times in settings.widths
    }
    lower = sum(ratio > 1 for of_width in ratios.values() for ratio in of_width)
    steps = [
        numbers[f"m = {times}q, training accuracy, equal step: steps, Definition 3 over Glorot"]
        for times in (judged, wide)
    ]
    return (
        f"The limits: at {lower} of {len(cells)} widths and step sizes the training loss ends lower from Glorot's start; "
        f"Definition 3's over Glorot's is {min(ratios[judged]):.3g} to {max(ratios[judged]):.3g} at m = {judged}q and "
        f"{min(ratios[wide]):.3g} to {max(ratios[wide]):.3g} at m = {wide}q. To a training accuracy at equal step "
        f"Definition 3 takes {steps[0]:.2f} of Glorot's steps at m = {judged}q and {steps[1]:.2f} at m = {wide}q."
    )


def _train(settings: Settings, task: Task, times: int, key: jax.Array, own_map: bool = True) -> BothStarts:
    """Both starts at every step size; without their own map they begin at W = 0, A and B as they are."""
    q, K, count = task.X.shape[1], task.classes, len(settings.step_sizes)
    start_key, order_key = jax.random.split(key)
    drawn = jax.lax.map(
        lambda k: two_layer.uniform_start(k, q, K, times), jax.random.split(start_key, settings.networks)
    )
    widths = (q, times * q, K)
    cells = [two_layer.scaled(drawn, *variances(widths)) for variances in VARIANCES for _ in range(count)]
    start = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *cells)
    if not own_map:
        start = start._replace(W=jnp.zeros_like(start.W))
    at = np.unique(np.geomspace(1, settings.steps, settings.records).round().astype(int))
    curves = two_layer.descend_two_layer(
        start,
        task.X,
        task.labels,
        task.tests,
        task.test_labels,
        step_sizes=np.tile(np.repeat(settings.step_sizes, settings.networks), 2),
        keys=jnp.tile(jax.random.split(order_key, settings.networks), 2 * count),
        at=at,
        batch=settings.batch,
    )
    shape = (2, count, settings.networks, len(at))
    train, test = (
        readings.smoothed(curve.reshape(shape), settings.smoothed_over) for curve in (curves.train, curves.test)
    )
    return BothStarts(at, train, test, curves.loss.reshape(shape))


def _first(steps: np.ndarray, curves: np.ndarray, level: float) -> np.ndarray:
    """The first recorded step at which each curve has come to a level; not-a-number where it never does."""
    reached = curves >= level
    return np.where(reached.any(axis=-1), steps[np.argmax(reached, axis=-1)], np.nan)


def _ratios(settings: Settings, task: Task, runs: BothStarts) -> tuple[dict[str, np.ndarray], list[int]]:
    """For each network the mean logarithm of the ratio of steps, by kind; and the best step size of each start."""
    chance, shares = 1 / task.classes, settings.levels
    ratios: dict[str, np.ndarray] = {}
    best = [0, 0]
    for name, curves in (("training accuracy", runs.train), ("test accuracy", runs.test)):
        top = curves.mean(axis=2).max(axis=-1)  # (start, step size)
        equal = []
        for i in range(len(settings.step_sizes)):
            levels = [chance + share * (top[:, i].min() - chance) for share in shares]
            steps = np.stack([_first(runs.steps, curves[:, i], level) for level in levels])  # (level, start, network)
            equal.append(np.log(steps[:, 0] / steps[:, 1]))
        ratios[f"{name}, equal step"] = np.nanmean(np.concatenate(equal), axis=0)
        goal = [chance + share * (top.max(axis=1).min() - chance) for share in shares]
        needed = np.stack([_first(runs.steps, curves, level) for level in goal])  # (level, start, step size, network)
        slow = np.exp(np.log(needed).mean(axis=(0, 3)))  # not-a-number where a network never comes there
        best = [int(np.nanargmin(slow[i])) if np.isfinite(slow[i]).any() else 0 for i in (0, 1)]
        ratios[f"{name}, each at its best step"] = np.log(needed[:, 0, best[0]] / needed[:, 1, best[1]]).mean(axis=0)
    return ratios, best


def _checks(ratios: dict[str, np.ndarray], runs: BothStarts, best: list[int], images: int) -> list[Check]:
    checks = [
        readings.shown(
            f"{name}: logarithm of Glorot's steps over Definition 3's",
            -ratio,
            LEAST,
            void="" if np.isfinite(ratio).all() else "a network never comes to the accuracy that both starts reach",
        )
        for name, ratio in ratios.items()
    ]
    ends = [runs.test[i, best[i]].mean(axis=0).max() for i in (0, 1)]
    chance_error = 2 * (ends[0] * (1 - ends[0]) / images) ** 0.5
    return [
        *checks,
        at_most(
            "difference of the best test accuracies, each at its best step",
            abs(ends[0] - ends[1]),
            chance_error,
            f"two standard errors of an accuracy on {images} test images",
        ),
    ]


def _ends(settings: Settings, runs: BothStarts, best: list[int], times: int) -> dict[str, float]:
    """Best steps, accuracies and losses at the end."""
    numbers = {}
    for i, name in enumerate(NAMES):
        numbers |= {
            f"m = {times}q, {name}: best step size": settings.step_sizes[best[i]],
            f"m = {times}q, {name}: best test accuracy there": float(runs.test[i, best[i]].mean(axis=0).max()),
        }
        for j, step_size in enumerate(settings.step_sizes):
            numbers[f"m = {times}q, {name}, step {step_size:g}: training loss at the end"] = float(
                runs.loss[i, j, :, -1].mean()
            )
    return numbers


def _protocol(settings: Settings, task: Task) -> dict[str, str]:
    widths = " and ".join(f"{times}q" for times in settings.widths)
    return {
        "data": task.name,
        "network": f"one hidden layer, linear, {widths} hidden units for q inputs; the first is judged; no dropout",
        "start": "uniform entries with the variances of Definition 3 and of Glorot, the same random numbers",
        "loss": "cross-entropy",
        "optimiser": f"SGD, batches of {settings.batch}, {settings.steps} steps",
        "step size": "swept: " + ", ".join(f"{s:g}" for s in settings.step_sizes),
        "repeats": f"{settings.networks} networks, paired",
        "measure": "learning curves: steps to an accuracy, training and test",
    }


def _caption(numbers: dict[str, float], widths: tuple[int, ...]) -> str:
    ratio = [
        numbers[f"m = {times}q, training accuracy, equal step: steps, Definition 3 over Glorot"] for times in widths
    ]
    return (
        f"To one training accuracy at equal step Definition 3 takes {ratio[0]:.2f} of Glorot's steps at m = "
        f"{widths[0]}q, "
        f"and {ratio[-1]:.2f} at m = {widths[-1]}q."
    )


def _panels(settings: Settings, runs: BothStarts, best: list[int], times: int) -> list[fig.Panel]:
    """Accuracies with each start at its best step, and the training loss at one common step."""
    panels = []
    for values, label in ((runs.train, "training accuracy"), (runs.test, "test accuracy")):
        marks = []
        for i, name in enumerate(NAMES):
            curves = values[i, best[i]]
            middle, error = curves.mean(axis=0), readings.standard_error(curves)
            words = f"{name}, step {settings.step_sizes[best[i]]:g}"
            marks.append(fig.measured(runs.steps, middle, words, i))
            marks.append(fig.band(runs.steps, middle - error, middle + error, "", i))
        panels.append(fig.Panel(tuple(marks), "step", label, f"m = {times}q", "log"))
    common = len(settings.step_sizes) // 2
    marks = tuple(fig.measured(runs.steps, runs.loss[i, common].mean(axis=0), name, i) for i, name in enumerate(NAMES))
    title = f"m = {times}q, step {settings.step_sizes[common]:g}"
    panels.append(fig.Panel(marks, "step", "training loss", title, "log", "log"))
    return panels
