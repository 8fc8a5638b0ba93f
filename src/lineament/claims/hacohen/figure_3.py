"""Figure 3: the gradient scale matrices of five-layer linear networks over the epochs."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems, train
from ...core.precision import products
from ...data import tasks
from ...data.tasks import Task
from ...evidence import Check, Evidence, at_most
from ...evidence import figure as fig
from ...models import Affine
from ...theory import pc_bias
from ...train import epochs as by_epochs
from ..instances import generator
from ..sizes import sizes
from ..stand_in import judged as judged_on
from . import readings
from .networks import Start, dense, start

TENTH = "≈ is taken as within a tenth, set before these runs; the paper prints no number"
LOW = (
    '"very low std" is taken as the tenth of ≈; asked after deviations of 0.07 had been seen in the figure of a full '
    "run; the paper prints no number"
)
PRINTED_WIDTH = 1024
WIDER = 4  # of the control's hidden layers, over those that failed


class Settings(NamedTuple):
    """What is run: every start with every dropout and step size, and the square loss beside.

    `printed` is the epoch up to which the paper sees the matrices stay, where its networks have their best test
    accuracy; at quick size, with other data and other steps, it is the best test accuracy alone.
    """

    data: str
    hidden: tuple[int, ...]
    networks: int
    starts: tuple[Start, ...]
    dropouts: tuple[float, ...]
    step_sizes: tuple[float, ...]
    square_loss_step_sizes: tuple[float, ...]
    batch: int
    epochs: tuple[int, ...]
    peak_between: tuple[int, int]
    printed: int
    precision: by_epochs.Precision = "tf32"


QUICK = Settings(
    data="photographs",
    hidden=(64,) * 4,
    networks=10,
    starts=("Glorot",),
    dropouts=(0.5, 0.0),
    step_sizes=(0.005, 0.01),
    square_loss_step_sizes=(0.01,),
    batch=50,
    epochs=(0, 1, 2, 3, 5, 7, 10, 14, 20, 26, 33, 40),
    peak_between=(1, 40),
    printed=0,
)
FULL = Settings(
    data="small-mammals",
    hidden=(1024,) * 4,
    networks=10,
    starts=("Glorot", "Definition 3"),
    dropouts=(0.5, 0.0),
    step_sizes=(3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2),
    square_loss_step_sizes=(1e-4, 1e-3),
    batch=100,
    epochs=(0, 1, 2, 4, 7, 10, 15, 20, 30, 40, 60, 80, 100, *range(120, 401, 20)),
    peak_between=(100, 400),
    printed=200,
)


class Cell(NamedTuple):
    """One choice of what the text leaves open, and what was found: the first best record and the scale matrices."""

    loss: by_epochs.Loss
    start: Start
    dropout: float
    step_size: float
    width: int  # of the hidden layers
    summary: np.ndarray  # (network, record, side, layer, statistic), diagonals over their means at the start's law
    accuracy: np.ndarray  # on test images, (network, record)
    diverged: bool
    printed: int = 0  # the record of the printed epoch

    @property
    def best(self) -> int:
        """The first record whose test accuracy is not clearly below the highest."""
        return readings.first_best(self.accuracy)

    @property
    def last(self) -> int:
        """The last record that is judged: the best, and no earlier one than that of the printed epoch."""
        return max(self.best, self.printed)

    @property
    def label(self) -> str:
        """What was chosen, in words."""
        loss = "" if self.loss == "cross-entropy" else "square loss, "
        return f"{loss}{self.start}, dropout {self.dropout:g}, step {self.step_size:g}"

    @property
    def kind(self) -> tuple[str, str, float, int]:
        """All that was chosen but the step size."""
        return self.loss, self.start, self.dropout, self.width

    def off(self, side: int) -> np.ndarray:
        """By layer, the largest distance of the mean diagonal from its mean, up to the last record."""
        return np.abs(self._judged[..., side, :, 0].mean(axis=0) - 1).max(axis=0)

    def moved(self, side: int, layer: int) -> np.ndarray:
        """By network, how far a diagonal has moved from its start at the last record."""
        diagonal = self._judged[:, :, side, layer, 0]
        return np.abs(diagonal[:, -1] - diagonal[:, 0])

    def diagonals_deviate(self) -> float:
        """The largest deviation of diagonal entries, of all networks together, in any layer up to the last record."""
        mean, deviation = self._judged[..., 0], self._judged[..., 1]
        variance = (deviation**2 + mean**2).mean(axis=0) - mean.mean(axis=0) ** 2
        return float(np.sqrt(np.maximum(variance, 0)).max())

    def others_deviate(self) -> float:
        """The largest deviation of the other entries from 0, in any layer up to the last record.

        From 0, not from their mean, so that it is large too where that is. The mean alone says nothing: entries of
        either sign cancel however large they are.
        """
        return float(np.sqrt((self._judged[..., 2] ** 2 + self._judged[..., 3] ** 2).mean(axis=0)).max())

    @property
    def _judged(self) -> np.ndarray:
        return self.summary[:, : self.last + 1]


@sizes(quick=QUICK, full=FULL)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Ten five-layer linear networks for each start, dropout and step size: the entries of A and B along training.

    The paper sees both stay at α_l and β_l up to epoch 200, where its networks reach their best test accuracy, with
    diagonal and other entries of very low deviation, and A leaving first. It names Glorot's start and dropout 0.5, and
    no step size; what it does say is that the best test accuracy comes at epoch 200. So the statement is judged on
    Glorot's start with dropout 0.5 at every step size whose best test accuracy comes within a factor of two of that
    epoch, the worst of them counting: small steps alone. At full size 10⁻⁴ … 10⁻² were swept first; all had their best
    test accuracy before epoch 100, so that 3·10⁻⁵ was added below, after that was seen, to meet the paper's epoch. It is
    the one step size judged there. The best test accuracy is the first that cannot be told from the highest (one
    standard error); where it comes before epoch 200, the matrices are followed up to 200 all the same.

    Asked are mean diagonals within a tenth of α_l and β_l; deviations of at most a tenth of α_l and β_l, those of
    diagonal entries from their mean and those of other entries from 0, over all entries of all networks; and A₂ moving
    more than B₄ (three factors each) by two standard errors over networks. Deviations took the place of the mean of the
    other entries after a full run had passed by it, in whose figure those of layers 2 and 4 were up to 0.07: entries of
    either sign cancel, so that their mean is near 0 in any run. At a start of width m the deviations are of order
    √(2(L−1)/m) on the diagonal, 0.09 at the paper's width, and 1/√2 of that beside it. Definition 3, no dropout, other
    step sizes and the square loss are shown beside.

    The statement is one about wide layers. Where a check fails, a control shows what the width has to do with it: what is
    judged is trained once more with hidden layers four times as wide. A run narrower than the paper's whose control
    keeps to its means is too narrow to answer. At the paper's width nothing is excused: there the control is a remark.
    """
    task = _task(settings.data, key)
    cells = _train(settings, task, key)
    epochs = np.asarray(settings.epochs)
    own = [cell for cell in cells if cell.kind == cells[0].kind]
    judged = _judged(settings, own)
    checks, control = _checks(settings, judged, _void(settings, judged, task)), []
    if not all(check.passed or check.void for check in checks):
        control = _control(settings, task, key, [cell.step_size for cell in judged])
        checks = _checks(settings, judged, _too_narrow(settings, control))
    return Evidence(
        checks=judged_on(checks, settings.data),
        numbers=_numbers(cells, epochs)
        | _numbers(control, epochs, f"control, layers of {WIDER * settings.hidden[0]}: "),
        settings=task.sizes | {"step sizes judged": [cell.step_size for cell in judged]},
        protocol=_protocol(settings, task),
        figure=_figure(settings, [*cells, *control], (judged or own)[0]),
        remarks=[
            "What moves A first is the start's own map dying away, of order q/m; what is learnt then adds its square. "
            "At larger steps the best test accuracy comes earlier in epochs and later in distance, and A has "
            "moved by more.",
            *_on_control(judged, control),
        ],
    )


def _judged(settings: Settings, own: list[Cell]) -> list[Cell]:
    """Of the runs as the paper trains, those whose best test accuracy comes about where the paper's does."""
    low, high = settings.peak_between
    return [cell for cell in own if not cell.diverged and low <= settings.epochs[cell.best] < high]


def _control(settings: Settings, task: Task, key: jax.Array, step_sizes: list[float]) -> list[Cell]:
    """What is judged, with wider hidden layers."""
    wider = settings._replace(hidden=tuple(WIDER * m for m in settings.hidden))
    grid: list[tuple[Start, float]] = [(settings.starts[0], step_size) for step_size in step_sizes]
    return _run(wider, task, key, "cross-entropy", max(settings.dropouts), grid)


def _too_narrow(settings: Settings, control: list[Cell]) -> str:
    """Why the run cannot answer, if it is narrower than the paper's and wider layers keep to their means.

    The control is not asked for low deviations: they fall as one over the root of the width, and four times that of a
    narrow run is narrow still.
    """
    judged = _judged(settings, control)
    if settings.hidden[0] >= PRINTED_WIDTH or not judged:
        return ""
    if not all(check.passed or check.void for check in (*_means(settings, judged, ""), _ahead(judged, ""))):
        return ""
    return (
        f"too narrow: with hidden layers of {judged[0].width} in place of {settings.hidden[0]}, all else as it is, A and "
        "B keep to their means within a tenth"
    )


def _on_control(judged: list[Cell], control: list[Cell]) -> list[str]:
    """A sentence on what wider layers change."""
    if not control:
        return []
    off = lambda cells, side: max(float(c.off(side).max() if side else c.off(side)[1]) for c in cells)  # noqa: E731
    deviate = lambda cells: max(cell.diagonals_deviate() for cell in cells)  # noqa: E731
    return [
        f"The control: with hidden layers of {control[0].width} in place of {judged[0].width}, all else as it is, A₂ "
        f"moves by {off(control, 0):.1%} in place of {off(judged, 0):.1%}, and B by {off(control, 1):.1%} in place of "
        f"{off(judged, 1):.1%}; diagonal entries deviate by up to {deviate(control):.0%} in place of "
        f"{deviate(judged):.0%}."
    ]


def _task(name: str, key: jax.Array) -> Task:
    if name != "photographs":
        return tasks.real(name)
    return tasks.patches(int(generator(key).integers(2**31)), 400, 400, 8)


def _void(settings: Settings, judged: list[Cell], task: Task) -> str:
    """Why the runs cannot answer: nothing peaks where the paper's networks do, or the peak is one of chance."""
    low, high = settings.peak_between
    if not judged:
        return f"no step size has its best test accuracy between epochs {low} and {high}"
    chance = 1 / task.classes
    least = min(float(cell.accuracy.mean(axis=0).max()) for cell in judged)
    told = chance + 2 * (chance * (1 - chance) / len(task.tests)) ** 0.5
    if least < told:
        return (
            f"a best test accuracy of {least:.2f} on {len(task.tests)} images is not told from chance, {chance:.2f}: "
            "when it comes says nothing"
        )
    return ""


def _checks(settings: Settings, judged: list[Cell], void: str) -> list[Check]:
    return [*_means(settings, judged, void), *_deviations(judged, void), _ahead(judged, void)]


def _worst(judged: list[Cell], read: Callable[[Cell], float]) -> float:
    return max((float(read(cell)) for cell in judged), default=np.nan)


def _means(settings: Settings, judged: list[Cell], void: str) -> list[Check]:
    """Whether mean diagonals keep to α and β."""
    until = f"up to {_until(settings)}"
    parts: list[tuple[str, Callable[[Cell], float]]] = [
        (f"mean diagonal of A₂ off α₂, {until}", lambda cell: cell.off(0)[1]),
        (f"mean diagonal of A₄ off α₄, {until}", lambda cell: cell.off(0)[3]),
        ("mean diagonal of B off β, any layer, up to there", lambda cell: cell.off(1).max()),
    ]
    return [at_most(name, _worst(judged, read), 0.1, TENTH, void=void) for name, read in parts]


def _deviations(judged: list[Cell], void: str) -> list[Check]:
    """Whether the matrices are almost diagonal, with almost equal entries there."""
    parts: list[tuple[str, Callable[[Cell], float]]] = [
        ("deviation of diagonal entries over α and β, any layer, up to there", Cell.diagonals_deviate),
        ("deviation of other entries from 0 over α and β, any layer, up to there", Cell.others_deviate),
    ]
    return [at_most(name, _worst(judged, read), 0.1, LOW, void=void) for name, read in parts]


def _ahead(judged: list[Cell], void: str) -> Check:
    """Whether A leaves first."""
    ahead = [cell.moved(0, 1) - cell.moved(1, 3) for cell in judged]
    further = min(ahead, key=readings.in_errors, default=np.zeros(2))
    return readings.shown("how much further A₂'s diagonal moved than B₄'s, over α₂", further, 0.01, void=void)


def _until(settings: Settings) -> str:
    """Up to where the matrices are judged, in words."""
    return "the best test accuracy" + (f", epoch {settings.printed} at least" if settings.printed else "")


def _numbers(cells: list[Cell], epochs: np.ndarray, which: str = "") -> dict[str, float]:
    numbers = {}
    for cell in cells:
        label = f"{which}{cell.label}"
        if cell.diverged:
            numbers[f"{label}: diverged"] = 1.0
            continue
        numbers |= {
            f"{label}: epoch of the best test accuracy": float(epochs[cell.best]),
            f"{label}: best test accuracy": float(cell.accuracy.mean(axis=0).max()),
            f"{label}: judged up to epoch": float(epochs[cell.last]),
            f"{label}: A₂ off α₂ up to there": float(cell.off(0)[1]),
            f"{label}: B off β up to there, any layer": float(cell.off(1).max()),
            f"{label}: deviation of diagonal entries up to there, any layer": cell.diagonals_deviate(),
            f"{label}: deviation of other entries up to there, any layer": cell.others_deviate(),
        }
    return numbers


def _train(settings: Settings, task: Task, key: jax.Array) -> list[Cell]:
    cells: list[Cell] = []
    for dropout in settings.dropouts:
        grid: list[tuple[Start, float]] = [
            (law, step_size) for law in settings.starts for step_size in settings.step_sizes
        ]
        cells += _run(settings, task, key, "cross-entropy", dropout, grid)
    square: list[tuple[Start, float]] = [
        (settings.starts[0], step_size) for step_size in settings.square_loss_step_sizes
    ]
    return cells + _run(settings, task, key, "square", 0.0, square)


def _run(
    settings: Settings,
    task: Task,
    key: jax.Array,
    loss: by_epochs.Loss,
    dropout: float,
    grid: list[tuple[Start, float]],
) -> list[Cell]:
    """All starts and step sizes with one loss and one dropout, as one ensemble."""
    net = dense(task, settings.hidden, dropout=dropout, bias=False)
    history = by_epochs.learn(
        net,
        task.X,
        task.labels,
        task.tests,
        members=settings.networks,
        epochs=settings.epochs[-1],
        at=settings.epochs,
        step_size=[step_size for _, step_size in grid],
        start=[start(net, law) for law, _ in grid],
        key=key,
        batch=settings.batch,
        loss=loss,
        record=(SUMMARY,),
        on_divergence="keep",
        precision=settings.precision,
    )
    accuracy = history.accuracy(task.test_labels, slice(len(task.X), None))
    cells = []
    for (law, step_size), cell in zip(grid, by_epochs.cell_slices(len(grid), settings.networks), strict=True):
        variances = (pc_bias.isometric_variances if law == "Definition 3" else pc_bias.glorot_variances)(net.widths)
        means = np.stack(pc_bias.scale_means(net.widths, variances))[..., None]  # (side, layer, 1)
        over_means = history.records["summary"][cell] / means
        diverged = bool(history.diverged[cell].any())
        printed = settings.epochs.index(settings.printed)
        width = settings.hidden[0]
        cells.append(Cell(loss, law, dropout, step_size, width, over_means, accuracy[cell], diverged, printed))
    return cells


def summary(model: models.MLP, problem: problems.AbstractProblem, parameters: Affine) -> jax.Array:
    """Mean and deviation of the diagonal entries of A and B and of the others, (side, layer, 4).

    No q × q matrix is made. Of G = QᵀQ the diagonal holds squared norms of columns, the sum of all entries is |Q1|²,
    and the sum of all squares is that of QQᵀ, which is as small as the narrowest layer.
    """
    with products("float32"):
        layers = parameters.layers
        Q, right = None, []
        for W in layers:
            right.append(_gram_summary(Q, model.shape[1], layers[0].dtype))
            Q = W if Q is None else W @ Q
        P, left = None, []
        for W in layers[::-1]:
            left.append(_gram_summary(None if P is None else P.T, model.shape[0], layers[0].dtype))
            P = W if P is None else P @ W
        return jnp.stack([jnp.stack(left[::-1]), jnp.stack(right)])


def _gram_summary(Q: jax.Array | None, dimension: int, dtype: jnp.dtype) -> jax.Array:
    """Of QᵀQ, or of the identity: mean and deviation of the diagonal, mean and deviation of the other entries."""
    if Q is None:
        return jnp.array([1.0, 0.0, 0.0, 0.0], dtype)
    diagonal, off_diagonal = jnp.sum(Q**2, axis=0), dimension * (dimension - 1)
    small = Q @ Q.T if Q.shape[0] <= Q.shape[1] else Q.T @ Q
    mean = (jnp.sum(jnp.sum(Q, axis=1) ** 2) - jnp.sum(diagonal)) / off_diagonal
    squares = (jnp.sum(small**2) - jnp.sum(diagonal**2)) / off_diagonal
    return jnp.stack([jnp.mean(diagonal), jnp.std(diagonal), mean, jnp.sqrt(jnp.maximum(squares - mean**2, 0))])


SUMMARY = train.Record("summary", summary, ("side", "layer", "statistic"))


def _protocol(settings: Settings, task: Task) -> dict[str, str]:
    widths = "-".join(str(w) for w in (task.X.shape[1], *settings.hidden, task.classes))
    return {
        "data": task.name,
        "network": f"fully connected linear, {widths}, without biases",
        "start": " and ".join(settings.starts),
        "dropout": " and ".join(f"{rate:g}" for rate in settings.dropouts) + " before the output layer",
        "loss": "cross-entropy; the square loss beside",
        "optimiser": f"SGD, batches of {settings.batch}",
        "step size": "swept: " + ", ".join(f"{s:g}" for s in settings.step_sizes),
        "epochs": str(settings.epochs[-1]),
        "repeats": f"{settings.networks} networks",
        "measure": "mean and deviation of diagonal and other entries of A and B",
    }


def _figure(settings: Settings, cells: list[Cell], shown: Cell) -> fig.Figure:
    """Diagonals and other entries of layers 2 and 4 in one cell, and how far A₂ and B moved in every cell."""
    panels, x = [], np.asarray(settings.epochs) + 1
    for layer in (1, 3):
        for name, centre, spread in (("diagonal over its mean − 1", 0, 1), ("off the diagonal, over it", 2, 3)):
            marks = []
            for side, label in enumerate("AB"):
                middle = shown.summary[..., side, layer, centre].mean(axis=0) - (1.0 if centre == 0 else 0.0)
                width = shown.summary[..., side, layer, spread].mean(axis=0)
                marks += [
                    fig.measured(x, middle, f"{label}{'₀₁₂₃₄'[layer + 1]}", side),
                    fig.band(x, middle - width, middle + width, "", side),
                ]
            marks.append(fig.reference([x[shown.best]] * 2, [-0.5, 0.5], "best test accuracy"))
            panels.append(fig.Panel(tuple(marks), "epoch + 1", name, f"layer {layer + 1}", "log"))
    kept = [cell for cell in cells if not cell.diverged]
    kinds = list(dict.fromkeys(cell.kind for cell in kept))
    for side, name in ((0, "A₂ off α₂"), (1, "B off β")):
        marks = []
        for group, kind in enumerate(kinds):
            of_kind = [cell for cell in kept if cell.kind == kind]
            off = [cell.off(side)[1] if side == 0 else cell.off(side).max() for cell in of_kind]
            words = f"{kind[1]}, dropout {kind[2]:g}" + (", square loss" if kind[0] == "square" else "")
            words += f", layers of {kind[3]}" if kind[3] != shown.width else ""
            marks += [
                fig.points([cell.step_size for cell in of_kind], off, words, group),
                fig.measured([cell.step_size for cell in of_kind], off, "", group),
            ]
        marks.append(
            fig.reference([min(c.step_size for c in kept), max(c.step_size for c in kept)], [0.1, 0.1], "a tenth")
        )
        panels.append(fig.Panel(tuple(marks), "step size", name, f"up to {_until(settings)}", "log"))
    moved = shown.off(0)[1], shown.off(1).max()
    return fig.Figure(
        tuple(panels),
        f"Up to {_until(settings)} ({shown.label}) A₂ moves by {moved[0]:.0%} and B by {moved[1]:.0%} at most; "
        "bands are one deviation.",
        2,
    )
