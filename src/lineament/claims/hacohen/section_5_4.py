"""§5.4: in two-layer ReLU networks, when is the order of learning most consistent?"""

from collections.abc import Hashable
from typing import Any, Literal, NamedTuple

import jax
import numpy as np
import optax

from ... import data
from ...data import tasks
from ...data.tasks import Task
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...measure import order
from ...models import Affine
from ...train import epochs as by_epochs
from ..instances import generator
from ..sizes import sizes
from ..stand_in import judged as judged_on
from . import readings
from .networks import Start, dense, start

Trained = Literal["both layers", "first layer", "each its own noise"]
OWN_NOISE: Trained = "each its own noise"  # the control: both layers trained
FALL = 0.02
FACTOR = 2.0  # "at the point of overfit", in epochs
FLIPS = 0.4  # of the training labels of a quick run, drawn again


class Case(NamedTuple):
    """A data set, and how long and with which step sizes networks are trained on it."""

    data: str
    step_sizes: tuple[float, ...]
    epochs: int
    records: int
    batch: int


class Settings(NamedTuple):
    """What is run."""

    cases: tuple[Case, ...]
    trained: tuple[Trained, ...]
    starts: tuple[Start, ...]
    networks: int
    hidden: int
    smoothed_over: int
    precision: by_epochs.Precision = "tf32"


class Cell(NamedTuple):
    """What one choice gave, by record: accuracies, and how well two halves of the networks agree."""

    label: str
    trained: Trained
    start: Start
    epochs: np.ndarray
    train: np.ndarray
    test: np.ndarray
    consistency: dict[str, np.ndarray]  # on training and on test images
    images: dict[str, int]

    @property
    def onset(self) -> int:
        """The record of the best test accuracy."""
        return int(np.argmax(self.test))

    @property
    def fall(self) -> float:
        """How far the test accuracy falls from its best to the end."""
        return float(self.test.max() - self.test[-1])

    @property
    def overfits(self) -> bool:
        """Whether there is a point of overfit: the best record is not the last, and something is lost after it."""
        return self.onset < len(self.test) - 1 and self.fall >= FALL

    def delay(self, images: str) -> float:
        """The epoch of the highest consistency over that of the best test accuracy."""
        return float(self.epochs[np.argmax(self.consistency[images])] / self.epochs[self.onset])

    def decline(self, images: str) -> float:
        """The fall of the consistency from its highest to the end, in standard errors of correlations over examples."""
        r = self.consistency[images]
        error = np.hypot(1 - r.max() ** 2, 1 - r[-1] ** 2) / self.images[images] ** 0.5
        return float((r.max() - r[-1]) / max(error, 1e-12))


QUICK = Settings(
    cases=tuple(Case(f"natural-gaussian {draw}", (0.05,), 150, 50, 50) for draw in (1, 2, 3, 4, 5)),
    trained=("both layers", "first layer"),
    starts=("He",),
    networks=10,
    hidden=32,
    smoothed_over=5,
)
FULL = Settings(
    cases=(
        Case("small-mammals", (1e-3, 5e-3, 1e-2, 2e-2), 300, 60, 100),
        Case("cats-dogs", (5e-3, 2e-2), 300, 50, 100),
    ),
    trained=("both layers", "first layer"),
    starts=("Glorot", "He"),
    networks=20,
    hidden=1024,
    smoothed_over=3,
)


@sizes(quick=QUICK, full=FULL)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Two ensembles of two-layer ReLU networks; whether they agree, epoch by epoch, on which examples are easy.

    At each record the share of networks that are right about an example is correlated between two halves of the
    networks, over test and over training images. The paper describes this in words only: the consistency is evident at
    first, peaks when the test accuracy begins to decline, and declines from there. This can be told only where the test
    accuracy does decline, by 0.02 at least, before the run ends. In every such run the peak must lie within a factor of
    two of the epoch of the best test accuracy, and the consistency must fall from it to the end by two standard errors.
    If the test accuracy declines in none, there is no point of overfit, and the claim is undecided. The words allow
    four readings: both layers are trained, or the first alone as in the model that the paper refers to, and the examples
    are the training or the test images. The one that favours the statement most counts, by both conditions together:
    each is measured as a share of its bar, the factor in its logarithm, and of a reading the condition counts that is
    met worse. So a reading that meets both is taken before any that does not; until results had been seen the smallest
    factor was, however much the consistency fell. Data, start and step sizes are swept, and every choice counts: the
    paper names Glorot's start in §3.1 and none here.

    In a quick run what is overfitted is noise in the labels, which all networks share. A control gives each network noise
    of its own on the same images. A miss in a quick run leaves it undecided: its data are not the paper's.
    """
    cells = [
        cell
        for case in settings.cases
        for trained in settings.trained
        for law in settings.starts
        for cell in _cells(settings, case, trained, law, key)
    ]
    judged = [cell for cell in cells if cell.overfits]
    void = "" if judged else "the test accuracy declines by 0.02 in no run: there is no point of overfit"
    reading = _most_favourable(settings, judged)
    control = [cell for case in settings.cases if _noisy(case.data) for cell in _own_noise(settings, case, key)]
    checks = [
        at_most(
            "largest factor between the epochs of highest consistency and best test accuracy",
            reading.factor,
            FACTOR,
            "“at the point of overfit” read as within a factor of two in epochs, set before these runs",
            void=void,
        ),
        at_least(
            "least fall of the consistency from its highest to the end, in standard errors",
            reading.decline,
            readings.ERRORS,
            "two standard errors of correlations over examples",
            void=void,
        ),
    ]
    return Evidence(
        checks=judged_on(checks, *(case.data for case in settings.cases)),
        numbers=_numbers([*cells, *control]) | {"runs that overfit": float(len(judged)), "runs": float(len(cells))},
        settings={"largest fall of the test accuracy": max(cell.fall for cell in cells), "reading": reading.words},
        protocol=_protocol(settings),
        figure=_figure([*cells, *control], len(judged), len(cells)),
        remarks=[*_remarks(cells, judged), *_on_control(judged, control)],
    )


class Reading(NamedTuple):
    """One way to read the words: over runs that overfit the largest factor in epochs, and the least decline."""

    words: str
    factor: float
    decline: float

    @property
    def margin(self) -> float:
        """By how much the condition that is met worse is met, as a share of its bar; below 0 by how much it is missed.

        A factor counts by its logarithm: 1 is no delay at all, 0 the bar, −1 the bar squared.
        """
        return min(1 - np.log(self.factor) / np.log(FACTOR), self.decline / readings.ERRORS - 1)


def _most_favourable(settings: Settings, judged: list[Cell]) -> Reading:
    """Of the readings that have runs which overfit, the one that comes nearest to meeting both conditions, or beyond."""
    options = []
    for trained in settings.trained:
        of_layers = [cell for cell in judged if cell.trained == trained]
        for images in ("test", "training"):
            if of_layers:
                factor = max(2 ** abs(np.log2(cell.delay(images))) for cell in of_layers)
                decline = min(cell.decline(images) for cell in of_layers)
                options.append(Reading(f"{trained}, {images} images", factor, decline))
    return max(options, key=lambda option: option.margin, default=Reading("none", np.nan, np.nan))


def _noisy(name: str) -> bool:
    """Whether a data set is one of Gaussian images, whose training labels are partly drawn again."""
    return name.startswith("natural-gaussian")


def _task(name: str, key: jax.Array, flips: float = FLIPS) -> Task:
    """Real images; in a quick run Gaussian ones whose training labels are partly drawn again, so that they overfit."""
    if not _noisy(name):
        return tasks.real(name)
    seed = int(generator(key).integers(2**31, size=9)[int(name.split()[1])])
    images = data.natural_gaussian(200, 800, size=10, exponent=4.0, alignment=2.0, flips=flips, seed=seed)
    return tasks.prepared(images)._replace(name=f"{images.name} 1/f⁴, {flips:.0%} of the training labels drawn anew")


def first_layer_alone(step_size: float) -> optax.GradientTransformation:
    """Descent that leaves the second layer where it began."""
    moves: dict[Hashable, optax.GradientTransformation] = {
        "moves": optax.sgd(step_size),
        "stays": optax.set_to_zero(),
    }
    labels: Any = Affine(("moves", "stays"), ())  # type: ignore[arg-type]  # labels stand where the layers do
    return optax.multi_transform(moves, labels)


def _cells(settings: Settings, case: Case, trained: Trained, law: Start, key: jax.Array) -> list[Cell]:
    task = _task(case.data, key)
    net = dense(task, (settings.hidden,), "relu", bias=False)
    history = by_epochs.learn(
        net,
        task.X,
        task.labels,
        task.tests,
        members=settings.networks,
        epochs=case.epochs,
        at=_records(case),
        step_size=case.step_sizes,
        start=start(net, law),
        key=key,
        batch=case.batch,
        optimiser=optax.sgd if trained == "both layers" else first_layer_alone,
        precision=settings.precision,
    )
    slices = by_epochs.cell_slices(len(case.step_sizes), settings.networks)
    labels = np.broadcast_to(task.labels, (settings.networks, len(task.X)))
    return [
        _cell(
            settings,
            case,
            trained,
            law,
            step_size,
            history.epochs,
            history.predictions[cell],
            labels,
            task.test_labels,
        )
        for step_size, cell in zip(case.step_sizes, slices, strict=True)
    ]


def _own_noise(settings: Settings, case: Case, key: jax.Array) -> list[Cell]:
    """Both layers trained on the same images, but with noise in the labels that every network has to itself.

    Cells of one network each see the examples in one order, which can only make them agree more.
    """
    task, rng = _task(case.data, key, flips=0.0), generator(key)
    flipped = rng.random((settings.networks, len(task.X))) < FLIPS
    labels = np.where(flipped, rng.integers(task.classes, size=flipped.shape), task.labels)
    net = dense(task, (settings.hidden,), "relu", bias=False)
    draw = start(net, settings.starts[0])
    history = by_epochs.learn(
        net,
        [task.X] * settings.networks,
        list(labels),
        task.tests,
        members=1,
        epochs=case.epochs,
        at=_records(case),
        step_size=case.step_sizes[0],
        start=[lambda k, i=i: draw(jax.random.fold_in(k, i)) for i in range(settings.networks)],
        key=key,
        batch=case.batch,
        precision=settings.precision,
    )
    cell = _cell(
        settings,
        case,
        OWN_NOISE,
        settings.starts[0],
        case.step_sizes[0],
        history.epochs,
        history.predictions,
        labels,
        task.test_labels,
    )
    return [cell]


def _records(case: Case) -> np.ndarray:
    return np.unique(np.geomspace(1, case.epochs, case.records).round().astype(int))


def _cell(
    settings: Settings,
    case: Case,
    trained: Trained,
    law: Start,
    step_size: float,
    epochs: np.ndarray,
    predictions: np.ndarray,
    labels: np.ndarray,
    test_labels: np.ndarray,
) -> Cell:
    """What networks' predictions (network, record, example) say, given the labels each was trained on and the tests'."""
    count = labels.shape[1]
    right = {
        "training": predictions[:, :, :count] == labels[:, None],
        "test": predictions[:, :, count:] == test_labels,
    }
    smooth = lambda values: readings.smoothed(np.asarray(values), settings.smoothed_over)  # noqa: E731
    return Cell(
        f"{case.data}, {trained}, {law}, step {step_size:g}",
        trained,
        law,
        epochs,
        smooth(right["training"].mean(axis=(0, 2))),
        smooth(right["test"].mean(axis=(0, 2))),
        {name: smooth(_consistency(values)) for name, values in right.items()},
        {name: values.shape[2] for name, values in right.items()},
    )


def _consistency(right: np.ndarray) -> np.ndarray:
    """By record, the correlation over examples of the shares of right networks in the two halves of an ensemble."""
    half = len(right) // 2
    a, b = right[:half].mean(axis=0), right[half:].mean(axis=0)  # (record, example)
    return np.array([correlation(x, y) for x, y in zip(a, b, strict=True)])


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's correlation; 0 where one of the scores does not vary, so that there is no order to agree about."""
    return order.constancy(a, b).pearson if np.ptp(a) > 0 and np.ptp(b) > 0 else 0.0


def _numbers(cells: list[Cell]) -> dict[str, float]:
    numbers = {}
    for cell in cells:
        numbers |= {
            f"{cell.label}: fall of the test accuracy": cell.fall,
            f"{cell.label}: epoch of the best test accuracy": float(cell.epochs[cell.onset]),
        }
        for images in ("test", "training"):
            peak = int(np.argmax(cell.consistency[images]))
            numbers |= {
                f"{cell.label}: epoch of the highest consistency, {images} images": float(cell.epochs[peak]),
                f"{cell.label}: training accuracy there, {images} images": float(cell.train[peak]),
                f"{cell.label}: highest consistency, {images} images": float(cell.consistency[images][peak]),
                f"{cell.label}: its fall to the end in standard errors, {images} images": cell.decline(images),
            }
    return numbers


def _remarks(cells: list[Cell], judged: list[Cell]) -> list[str]:
    return [
        *(_on_peaks(cells, images) for images in ("test", "training")),
        f"The test accuracy declines by {FALL:g} or more in {len(judged)} of {len(cells)} runs.",
    ]


def _on_peaks(cells: list[Cell], images: str) -> str:
    """Where the consistency on test or on training images peaks and falls, in words."""
    peak = {cell.label: int(np.argmax(cell.consistency[images])) for cell in cells}
    peaked = [c for c in cells if peak[c.label] < len(c.epochs) - 1 and c.decline(images) >= readings.ERRORS]
    sentence = (
        f"The consistency on {images} images has a peak, from which it falls by two standard errors or more, in "
        f"{len(peaked)} of {len(cells)} runs"
    )
    if not peaked:
        return sentence + "."
    span = lambda values: f"{min(values):.3g} to {max(values):.3g}"  # noqa: E731
    at = [float(c.epochs[peak[c.label]]) for c in peaked]
    level = [float(c.train[peak[c.label]]) for c in peaked]
    lost = [float(c.consistency[images].max() - c.consistency[images][-1]) for c in peaked]
    return (
        f"{sentence}: at epochs {span(at)}, where the training accuracy is {span(level)}; from there to the end it falls "
        f"by {span(lost)}."
    )


def _on_control(judged: list[Cell], control: list[Cell]) -> list[str]:
    """A sentence on what becomes of the consistency where networks do not share their noise."""
    shared = [cell for cell in judged if cell.trained == "both layers"]
    own = [cell for cell in control if cell.overfits]
    if not shared or not own:
        return []
    end = lambda cells: np.median([c.consistency["test"][-1] / c.consistency["test"][c.onset] for c in cells])  # noqa: E731
    delay = lambda cells: np.median([c.delay("test") for c in cells])  # noqa: E731
    return [
        "The control: what these networks overfit is noise in labels that all of them are given, so that they go on to "
        "agree about it. With noise that each network has to itself, and the same images, consistency on test images "
        f"peaks at {delay(own):.1f} times the epoch of the best test accuracy in the middle run and ends at "
        f"{end(own):.2f} of what it was there; with shared noise at {delay(shared):.1f} times, and {end(shared):.2f}."
    ]


def _protocol(settings: Settings) -> dict[str, str]:
    return {
        "data": "; ".join(case.data for case in settings.cases),
        "network": f"two layers, ReLU, {settings.hidden} hidden units; trained: " + ", or ".join(settings.trained),
        "start": " and ".join({"He": "He's normal", "Glorot": "Glorot's uniform"}[law] for law in settings.starts),
        "loss": "cross-entropy",
        "optimiser": "SGD, batches of " + ", ".join(dict.fromkeys(str(case.batch) for case in settings.cases)),
        "step size": "; ".join(f"{c.data}: " + ", ".join(f"{s:g}" for s in c.step_sizes) for c in settings.cases),
        "epochs": ", ".join(dict.fromkeys(str(case.epochs) for case in settings.cases)),
        "repeats": f"{settings.networks} networks in two halves",
        "measure": "correlation of the shares of networks that are right about an example, at each epoch",
    }


def _figure(cells: list[Cell], overfit: int, judged_of: int) -> fig.Figure:
    """Consistency on test and on training images and test accuracies, by rows of the layers trained and the start."""
    panels = []
    for trained, law in dict.fromkeys((cell.trained, cell.start) for cell in cells):
        of_layers = [cell for cell in cells if (cell.trained, cell.start) == (trained, law)]
        names = [cell.label.replace(f"{trained}, {law}, ", "") for cell in of_layers]
        for label, curves in (
            ("consistency, test images", [cell.consistency["test"] for cell in of_layers]),
            ("consistency, training images", [cell.consistency["training"] for cell in of_layers]),
            ("test accuracy", [cell.test for cell in of_layers]),
        ):
            lines = zip(of_layers, curves, names, strict=True)
            marks = tuple(fig.measured(cell.epochs, y, name, i) for i, (cell, y, name) in enumerate(lines))
            title = f"control: {trained}" if trained == OWN_NOISE else f"{trained} trained from {law}'s start"
            panels.append(fig.Panel(marks, "epoch", label, title, x_scale="log"))
    return fig.Figure(
        tuple(panels),
        f"Consistency of the order of learning, and test accuracy, which declines by 0.02 in {overfit} of "
        f"{judged_of} runs.",
        3,
    )
