"""What the experiments share: tasks, and ensembles trained with minibatches whose every epoch is kept.

Dropout is left out but where a claim says otherwise: the order of learning is then that of plain descent. Networks
are trained in single precision; the examples watched along the way are part of the problem, so that runs on data of
the same shape share one compiled program.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ... import data, models, problems, train
from ...core import ensembles
from ..instances import generator

Law = models.layered.Law
FEW = 50


class Task(NamedTuple):
    """Rows of normalised images with their classes, for training and for testing, and where they come from."""

    X: np.ndarray
    labels: np.ndarray
    tests: np.ndarray
    test_labels: np.ndarray
    image: tuple[int, int, int]
    classes: int
    name: str

    @property
    def sizes(self) -> dict[str, object]:
        """For the settings of a claim."""
        kind = "×".join(map(str, self.image))
        return {"data": self.name, "examples": len(self.X), "test examples": len(self.tests), "image": kind}


def prepared(images: data.Images) -> Task:
    """Images normalised to mean 0 and deviation 1 in every channel (D.3), as rows."""
    pixels = data.normalise_channels(images.images, images.test_images)
    X, tests = (each.reshape(len(each), -1).astype(np.float32) for each in pixels)
    return Task(X, images.labels, tests, images.test_labels, images.shape, len(images.classes), images.name)


def patches(key: jax.Array, train: int, test: int, size: int, names: Sequence[str] | None = None) -> Task:
    """The bundled task of natural images: which photograph does a patch come from?"""
    seed = int(generator(key).integers(2**31))
    chosen = data.photos.PHOTOGRAPHS if names is None else names
    return prepared(data.photographs(train, test, size=size, names=chosen, seed=seed))


def real(name: str) -> Task:
    """A data set of real images; of CIFAR-10 the batches that are at hand."""
    return prepared(data.load(name, partial=True, download=False))


class Watched(problems.Problem):
    """Cross-entropy on the first examples, those that have labels; all of them can be watched."""

    inputs: Float[Array, "n in"]
    labels: Int[Array, " trained"]
    classes: int = eqx.field(static=True)

    @property
    def shape(self) -> tuple[int, int]:
        """One output per class."""
        return self.classes, self.inputs.shape[-1]

    @property
    def examples(self) -> int:
        """How many examples are trained on."""
        return self.labels.shape[-1]

    def take(self, indices: jax.Array) -> problems.Problem:
        """The loss on some of the examples."""
        return problems.CrossEntropy(self.inputs[indices], self.labels[indices], self.classes)

    def loss(self, map: problems.Map) -> Float[Array, ""]:
        """The loss on a few examples: steps take minibatches, and this is only asked whether training diverged."""
        few = min(FEW, self.examples)
        return problems.CrossEntropy(self.inputs[:few], self.labels[:few], self.classes).loss(map)


def _predictions(model: Any, problem: Watched, params: Any) -> jax.Array:
    return jnp.argmax(model.end_to_end(params)(problem.inputs), axis=1).astype(jnp.uint8)


PREDICTIONS = train.Record("predictions", _predictions, ("example",))


class History(NamedTuple):
    """Epochs, the predicted classes (member, epoch, example) of all examples watched, and the final parameters."""

    epochs: np.ndarray
    predictions: np.ndarray
    final: Any

    def right(self, labels: np.ndarray, watched: slice = slice(None)) -> np.ndarray:
        """Whether each prediction was right, (member, epoch, example)."""
        return self.predictions[:, :, watched] == labels

    def accuracy(self, labels: np.ndarray, watched: slice = slice(None)) -> np.ndarray:
        """The share of examples that were right, (member, epoch)."""
        return self.right(labels, watched).mean(axis=2)


def learn(
    net: Any,
    X: np.ndarray | Sequence[np.ndarray],
    labels: np.ndarray | Sequence[np.ndarray],
    watched: np.ndarray | Sequence[np.ndarray] | None = None,
    *,
    members: int,
    epochs: int,
    step: float | Sequence[float],
    key: jax.Array,
    batch: int = 100,
    every: int = 1,
    at: Sequence[int] | None = None,
    law: Law = "glorot",
) -> History:
    """Train an ensemble by descent on the cross-entropy, and keep what it predicts after every epoch.

    Args:
        net: The network, fully connected or convolutional, in the standard parameterisation.
        X: Examples to train on; a list of them is a list of tasks of one shape, each with `members` networks.
        labels: Their classes, likewise.
        watched: Further examples to predict, likewise; they come after those trained on.
        members: Networks for each task. Those of two tasks have the same starts.
        epochs: How long to train.
        step: The step size; a list has one for each task.
        key: Of starts and of the order of examples.
        batch: Examples per step.
        every: Keep the predictions of every so many epochs.
        at: Instead: the epochs whose predictions are kept.
        law: Of the start.
    """
    several = not isinstance(X, np.ndarray)
    tasks = [X] if not several else list(X)
    classes_of = [labels] if not several else list(labels)
    more = [watched] * len(tasks) if not isinstance(watched, list) else watched
    classes, _ = net.shape
    made = [
        Watched(
            jnp.asarray(x if extra is None else np.concatenate([x, extra]), jnp.float32), jnp.asarray(y, int), classes
        )
        for x, y, extra in zip(tasks, classes_of, more, strict=True)
    ]
    start_key, order_key = jax.random.split(key)
    keys = jnp.tile(jax.random.split(start_key, members), len(made))
    start = ensembles.ensemble(lambda k: net.start(k, law=law), keys)
    problem = ensembles.stack([each for each in made for _ in range(members)]) if len(made) > 1 else made[0]
    steps = np.repeat(np.broadcast_to(np.asarray(step, float), len(made)), members)
    size = min(batch, len(tasks[0]))
    per_epoch = len(tasks[0]) // size
    kept = (np.arange(every, epochs + 1, every) if at is None else np.asarray(at)) * per_epoch
    run = train.descend(
        net,
        problem,
        start,
        step=steps,
        steps=int(kept[-1]),
        at=kept,
        record=(PREDICTIONS,),
        batch_size=size,
        key=order_key,
    )
    return History(kept // per_epoch, run.predictions.values, train.final(run, start))


def member_slices(tasks: int, members: int) -> list[slice]:
    """Which members of a run belong to each of its tasks."""
    return [slice(i * members, (i + 1) * members) for i in range(tasks)]


def small_convnet(task: Task, activation: models.activations.Activation = "elu") -> models.ConvNet:
    """A small network in the manner of st-VGG, for quick runs: a convolution, pooling, and a hidden dense layer."""
    return models.ConvNet(
        task.image,
        (12,),
        (32, task.classes),
        pooled=(0,),
        pooling="average" if activation == "linear" else "max",
        activation=activation,
        parameterisation="standard",
        bias=True,
    )


def dense(task: Task, hidden: Sequence[int], activation: models.activations.Activation = "linear") -> models.MLP:
    """A fully connected network on the rows of a task; by default linear."""
    widths = (task.X.shape[1], *hidden, task.classes)
    return models.MLP(widths, activation, "standard", bias=True)
