"""Ensembles of classifiers trained with minibatches, and what they predict after each epoch.

Networks are trained in single precision. The examples watched along the way are part of the problem, so that runs on
data of the same shape share one compiled program. Products on a GPU are in TF32 unless asked otherwise: predictions of
classes of images do not feel the difference, numbers that are compared with theory do.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from .. import problems
from ..core import ensembles
from ..core.keys import AnyKey, as_key
from ..core.model import AbstractModel
from ..core.precision import Precision
from .descend import descend
from .loop import Optimiser
from .records import Record

Loss = Literal["cross-entropy", "square"]
Start = Callable[[jax.Array], Any]
FEW = 50


class Watched(problems.AbstractProblem):
    """A loss on the first examples, those that have labels; all of them can be watched.

    The square loss is `½ Σ_k (f_k − y_k)²` with y in {0, 1}^K (Hacohen & Weinshall, eq. 5).
    """

    inputs: Float[Array, "n in"]
    labels: Int[Array, " trained"]
    classes: int = eqx.field(static=True)
    kind: Loss = eqx.field(static=True, default="cross-entropy")
    unwatched: int = eqx.field(static=True, default=0)  # how many of the first examples are not predicted

    @property
    def shape(self) -> tuple[int, int]:
        """One output per class."""
        return self.classes, self.inputs.shape[-1]

    @property
    def examples(self) -> int:
        """How many examples are trained on."""
        return self.labels.shape[-1]

    def take(self, indices: jax.Array) -> problems.AbstractProblem:
        """The loss on some of the examples."""
        X, y = self.inputs[indices], self.labels[indices]
        if self.kind == "cross-entropy":
            return problems.CrossEntropy(X, y, self.classes)
        return problems.LpRegression(X, jax.nn.one_hot(y, self.classes, dtype=X.dtype), 2)

    def loss(self, map: problems.Map) -> Float[Array, ""]:
        """The loss on a few examples: steps take minibatches, and this is only asked whether training diverged."""
        return self.take(jnp.arange(min(FEW, self.examples))).loss(map)


def _predictions(model: AbstractModel, problem: Watched, parameters: Any) -> jax.Array:
    outputs = problems.predict(model.end_to_end(parameters), problem.inputs[problem.unwatched :])
    return jnp.argmax(outputs, axis=1).astype(jnp.uint8)


PREDICTIONS = Record("predictions", _predictions, ("example",))


class History(NamedTuple):
    """What an ensemble predicted along its training.

    Attributes:
        epochs: The epochs at which predictions were kept.
        predictions: The predicted classes (member, epoch, example) of all examples watched.
        records: What else was recorded, by name, (member, epoch, …).
        diverged: Whether each member's loss became infinite.
        final: The final parameters, as an ensemble.
    """

    epochs: np.ndarray
    predictions: np.ndarray
    records: dict[str, np.ndarray]
    diverged: np.ndarray
    final: Any

    def right(self, labels: np.ndarray, watched: slice = slice(None)) -> np.ndarray:
        """Whether each prediction was right, (member, epoch, example)."""
        return self.predictions[:, :, watched] == labels

    def accuracy(self, labels: np.ndarray, watched: slice = slice(None)) -> np.ndarray:
        """The share of examples that were right, (member, epoch)."""
        return self.right(labels, watched).mean(axis=2)


def learn(
    model: AbstractModel,
    X: np.ndarray | Sequence[np.ndarray],
    labels: np.ndarray | Sequence[np.ndarray],
    watched: np.ndarray | Sequence[np.ndarray] | None = None,
    *,
    members: int,
    epochs: int,
    step_size: float | Sequence[float],
    start: Start | Sequence[Start],
    key: AnyKey,
    batch: int = 100,
    every: int = 1,
    at: Sequence[int] | np.ndarray | None = None,
    watch_training: bool = True,
    loss: Loss = "cross-entropy",
    record: Sequence[Record] = (),
    on_divergence: Literal["raise", "keep"] = "raise",
    optimiser: Optimiser = optax.sgd,
    precision: Precision = "float32",
) -> History:
    """Train an ensemble by stochastic descent, and keep what it predicts after some of its epochs.

    The ensemble consists of cells of `members` networks each. Lists make cells: of data sets of one shape, of step
    sizes, of starts. Lists of several kinds are walked together, and must be equally long. Network i of every cell has
    the same random numbers for its start and its own order of examples.

    Args:
        model: The network, fully connected or convolutional, in the standard parameterisation.
        X: Examples to train on; a list has one data set for each cell.
        labels: Their classes, likewise.
        watched: Further examples to predict, likewise; they come after those trained on.
        members: Networks in each cell.
        epochs: How long to train.
        step_size: The step size; a list has one for each cell.
        start: Parameters from a key; a list has one such function for each cell.
        key: Of starts and of the order of examples.
        batch: Examples per step.
        every: Keep the predictions of every so many epochs.
        at: Instead: the epochs whose predictions are kept; 0 is the start.
        watch_training: Whether to predict the examples trained on, too; without, `watched` come first.
        loss: The loss that is trained on.
        record: Further records, taken at the same epochs.
        on_divergence: What `descend` does about members that diverge.
        optimiser: Makes the optimiser from a step size, as for `descend`.
        precision: Of float32 products on a GPU, as for `descend`.
    """
    several = not isinstance(X, np.ndarray)
    starts = list(start) if isinstance(start, Sequence) else [start]
    step_sizes = np.atleast_1d(np.asarray(step_size, float))
    cells = max(len(X) if several else 1, len(starts), len(step_sizes))
    problem = _problem(model, X, labels, watched, loss, members, watch_training)
    start_key, order_key = jax.random.split(as_key(key))
    keys = jax.random.split(start_key, members)
    drawn = [ensembles.ensemble(draw, keys).stacked for draw in starts]
    drawn = drawn * cells if len(drawn) == 1 else drawn
    stacked = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *drawn)
    batch_size = min(batch, len(X[0]) if several else len(X))
    per_epoch = (len(X[0]) if several else len(X)) // batch_size
    kept = np.asarray(np.arange(every, epochs + 1, every) if at is None else at) * per_epoch
    run = descend(
        model,
        problem,
        ensembles.Ensemble(stacked),
        step_size=np.repeat(np.broadcast_to(step_sizes, cells), members),
        steps=int(kept[-1]),
        at=kept,
        record=(PREDICTIONS, *record),
        batch_size=batch_size,
        key=order_key,
        on_divergence=on_divergence,
        optimiser=optimiser,
        precision=precision,
    )
    records = {added.name: run[added.name].values for added in record}
    diverged = run.diverged_at.values >= 0
    return History(kept // per_epoch, run.predictions.values, records, diverged, run.final)


def _problem(
    model: AbstractModel, X: Any, labels: Any, watched: Any, loss: Loss, members: int, watch_training: bool
) -> problems.AbstractProblem | ensembles.Ensemble:
    """One problem that all members share, or one for each member where the cells have their own data."""
    classes, _ = model.shape

    def watched_problem(X: np.ndarray, y: np.ndarray, added: np.ndarray | None) -> Watched:
        rows = X if added is None else np.concatenate([X, added])
        hidden = 0 if watch_training else len(X)
        return Watched(jnp.asarray(rows, jnp.float32), jnp.asarray(y, int), classes, loss, hidden)

    if isinstance(X, np.ndarray):
        return watched_problem(X, labels, watched)
    added = list(watched) if isinstance(watched, (list, tuple)) else [watched] * len(X)
    tasks = [watched_problem(*data) for data in zip(X, labels, added, strict=True)]
    return ensembles.stack([task for task in tasks for _ in range(members)])


def cell_slices(cells: int, members: int) -> list[slice]:
    """Which members of a run belong to each of its cells."""
    return [slice(i * members, (i + 1) * members) for i in range(cells)]
