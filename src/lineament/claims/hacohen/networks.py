"""The networks of Appendix D.2, and their starts."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp

from ... import models, starts
from ...data.tasks import Task
from ...theory import pc_bias

Activation = models.activations.Activation
Start = Literal["Glorot", "He", "Definition 3"]
Architecture = Literal["small", "st-VGG", "VGG-19"]


def dense(
    task: Task,
    hidden: Sequence[int],
    activation: Activation = "linear",
    dropout: float = 0.0,
    bias: bool = True,
) -> models.MLP:
    """A fully connected network on the rows of a task, by default linear; dropout acts before the output layer."""
    return models.MLP((task.X.shape[1], *hidden, task.classes), activation, "standard", bias, dropout)


def convolutional(
    task: Task, architecture: Architecture, activation: Activation = "elu", dropout: bool = False
) -> models.ConvNet:
    """st-VGG, VGG-19, or a small network in the manner of st-VGG for quick runs.

    The small one has a convolution, pooling and a hidden dense layer, and no dropout.
    """
    if architecture == "st-VGG":
        return models.st_vgg(task.classes, activation, task.image, dropout)
    if architecture == "VGG-19":
        return models.vgg19(task.classes, activation, task.image, dropout=dropout)
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


def start(model: Any, law: Start) -> Callable[[jax.Array], models.Affine]:
    """A start as a function of the key. Definition 3 has Glorot's numbers, its first and last layers rescaled."""
    if law == "He":
        return lambda key: starts.he(model, key, dtype=jnp.float32)
    if law == "Glorot":
        return lambda key: starts.glorot(model, key, dtype=jnp.float32)
    ratio = (pc_bias.isometric_variances(model.widths) / pc_bias.glorot_variances(model.widths)) ** 0.5

    def rescaled(key: jax.Array) -> models.Affine:
        begun = starts.glorot(model, key, dtype=jnp.float32)
        return models.Affine(tuple(r * W for r, W in zip(ratio.tolist(), begun.layers, strict=True)), begun.biases)

    return rescaled
