"""Networks whose dense layers are replaced by products of linear maps: for Figure 1 (right) and Section 4.4.

Plain and expanded networks start from the same function: the expansion splits each dense matrix evenly, so that what
differs is only how the layers are learnt.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from ... import models, problems, starts, train
from ...core import AbstractModel, ensembles
from ...data.mnist import Digits, has_mnist, mnist, small_digits

NOT_AT_HAND = "MNIST is not at hand: put its four files into the folder mnist of one named by LINEAMENT_DATA"


class Recipe(NamedTuple):
    """How a network is trained: by default as TensorFlow's tutorial does, whose network the authors expanded.

    Attributes:
        momentum: Of stochastic gradient descent.
        batch_size: Examples in a step.
        dropout: The share of the hidden dense layer that is dropped.
        decay: What the step size is multiplied by after each epoch.
        penalty: λ of the penalty ½λ‖w‖² on dense weights and biases.
    """

    momentum: float = 0.9
    batch_size: int = 64
    dropout: float = 0.5
    decay: float = 0.95
    penalty: float = 5e-4


class Images(NamedTuple):
    """Digits, and the plain network for them."""

    digits: Digits
    plain: models.Conv

    @property
    def epoch(self) -> int:
        """Examples in an epoch."""
        return len(self.digits.labels)


class Trained(NamedTuple):
    """Training losses over steps (seed, step size, record) and the networks at the end, multiplied out (seed first)."""

    steps: np.ndarray
    loss: np.ndarray
    maps: list[models.Images]


class Dropped(AbstractModel):
    """A convolutional network whose hidden dense layers are dropped in part while it is trained."""

    conv: models.Conv
    dropout: float = eqx.field(static=True)

    @property
    def shape(self) -> tuple[int, int]:
        """Classes and pixels."""
        return self.conv.shape

    @property
    def drops(self) -> bool:
        """Whether there is dropout."""
        return self.dropout > 0

    def layout(self) -> Any:
        """The layout of the convolutional network."""
        return self.conv.layout()

    def end_to_end(self, parameters: Any) -> models.Images:
        """The network as a function of images, nothing dropped."""
        return self.conv.end_to_end(parameters)

    def dropped(self, parameters: Any, key: jax.Array) -> Callable[[jax.Array], jax.Array]:
        """The network in one step of training: entries of the hidden dense layers are dropped."""
        map = self.conv.end_to_end(parameters)
        *hidden, (matrix, bias) = zip(map.dense, map.dense_biases, strict=True)

        def logits(X: jax.Array) -> jax.Array:
            h = map.features(X)
            for layer_key, (W, b) in zip(jax.random.split(key, len(hidden)), hidden, strict=True):
                h = jax.nn.relu(h @ W.T + b[None, :])
                kept = jax.random.bernoulli(layer_key, 1 - self.dropout, h.shape)
                h = jnp.where(kept, h / (1 - self.dropout), 0.0)
            return h @ matrix.T + bias[None, :]

        return logits


def images(data: str) -> Images:
    """The data of a size, "MNIST" or "digits", with TensorFlow's network or a small one."""
    if data == "MNIST":
        if not has_mnist():
            raise FileNotFoundError(NOT_AT_HAND)
        return Images(mnist(), models.Conv((28, 28, 1), (32, 64), (512, 10), kernel=5))
    return Images(small_digits(), models.Conv((8, 8, 1), (8, 16), (32, 10), kernel=3))


def optimiser(recipe: Recipe, steps_per_epoch: int) -> Callable[[Any], optax.GradientTransformation]:
    """Stochastic gradient descent by the recipe, as a function of the step size."""

    def dense(weights: Any) -> Any:
        return weights._replace(
            kernels=jax.tree.map(lambda _: False, weights.kernels),
            kernel_biases=jax.tree.map(lambda _: False, weights.kernel_biases),
            dense=jax.tree.map(lambda _: True, weights.dense),
            dense_biases=jax.tree.map(lambda _: True, weights.dense_biases),
        )

    def make(step_size: Any) -> optax.GradientTransformation:
        def schedule(count: Any) -> jax.Array:
            return step_size * recipe.decay ** (count // steps_per_epoch).astype(jnp.result_type(step_size))

        descent = optax.sgd(schedule, momentum=recipe.momentum)
        return optax.chain(optax.add_decayed_weights(recipe.penalty, mask=dense), descent)

    return make


def train_expanded(
    data: Images, depth: int, key: jax.Array, seeds: int, step_sizes: tuple[float, ...], epochs: float, recipe: Recipe
) -> Trained:
    """Every seed at every step size. Starts and the order of examples depend on the seed alone, not on the depth."""
    plain = data.plain
    conv = models.Conv(plain.image, plain.filters, plain.dense, kernel=plain.kernel, depth=depth)
    model = Dropped(conv, recipe.dropout) if recipe.dropout else conv
    problem = problems.cross_entropy(jnp.asarray(data.digits.rows()[0]), jnp.asarray(data.digits.labels), 10)
    keys = jnp.repeat(jax.random.split(key, seeds), len(step_sizes))
    per_epoch = data.epoch // recipe.batch_size
    steps = round(epochs * per_epoch)

    def start(key: jax.Array) -> models.conv.Weights:
        key_plain, key_frames = jax.random.split(key)
        return conv.expand(starts.he(plain, key_plain, dtype=jnp.float32), key_frames)

    members = ensembles.ensemble(start, keys)
    run = train.descend(
        model, problem, members, step_size=np.tile(np.array(step_sizes, np.float32), seeds), steps=steps,
        every=max(1, steps // 10), optimiser=optimiser(recipe, per_epoch), batch_size=recipe.batch_size, key=key,
        record=("loss",), on_divergence="keep",
    )  # fmt: skip
    last = run.final
    maps = [conv.end_to_end(last[member]) for member in range(len(keys))]
    return Trained(run.step.values, run.loss.values.reshape(seeds, len(step_sizes), -1), maps)
