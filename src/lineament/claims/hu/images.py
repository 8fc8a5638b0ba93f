"""Real images: deep networks, fully connected and convolutional, and the one linear twin they share (Section 4)."""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ... import data, measure, models, problems, starts, train
from ...core.precision import products
from ...theory import kernels, twin
from . import limit_of_width

HIDDEN = 4
EARLY = 0.5  # the linear phase is judged up to where the twin has made this share of its progress on V_lin
Name = Literal["fully connected", "convolutional"]
Preparation = Literal["per image", "centred", "raw"]
PREPARED: dict[Preparation, str] = {
    "per image": "the mean image subtracted, then every image scaled to ‖x‖² = d",
    "centred": "the mean image subtracted, one scale for all",
    "raw": "pixels as they are, one scale for all",
}


class Training(NamedTuple):
    """How networks are trained beside their twin.

    Attributes:
        train: Examples.
        test: Images on which outputs are compared.
        width: Of the fully connected network's four hidden layers.
        channels: Of the convolutional network's.
        steps: How many.
        rate: η times the rate of the top principal component, ηκs₁²/(nd).
        part: The convolutional network sees so many examples at a time, to bound memory; the gradient is that of all.
        course: The steps over which the twin's progress counts; those that are trained, if not given.
    """

    train: int
    test: int
    width: int
    channels: int
    steps: int
    rate: float
    part: int = 10_000
    course: int = 0


class OnImages(NamedTuple):
    """Steps, outputs on the test examples (step, example) of the twin and of the networks, and what they are about.

    `end` is the last step of the linear phase, and `limit` has the outputs of networks in the limit of width, at every
    step of it.
    """

    steps: np.ndarray
    twin: np.ndarray
    networks: dict[Name, np.ndarray]
    inputs: np.ndarray
    labels: np.ndarray
    end: int
    limit: dict[Name, np.ndarray]

    def parts(self, outputs: np.ndarray) -> measure.agreement.Split:
        """Half the mean squared test residual on V_lin, the span of the inputs, and on its complement."""
        return losses(outputs, self.labels, self.inputs)

    @property
    def early(self) -> np.ndarray:
        """Which records are after the start and in the linear phase."""
        return (self.steps > 0) & (self.steps <= self.end)

    def apart(self, name: Name) -> np.ndarray:
        """E(f − f^lin)²/E(f^lin)² on the test examples (Fig. 3c)."""
        return measure.agreement.relative_mse(self.networks[name], self.twin)

    def early_gap(self, name: Name) -> float:
        """The median of that ratio over the linear phase."""
        return float(np.median(self.apart(name)[self.early]))

    def growth(self, name: Name) -> float:
        """How much larger that ratio is at the end."""
        return float(self.apart(name)[-1] / self.early_gap(name))

    def loss_gap(self, name: Name) -> float:
        """The largest gap of the test losses on V_lin in the linear phase, over the twin's first loss."""
        network, model = self.parts(self.networks[name]).linear, self.parts(self.twin).linear
        return float(np.max(np.abs(network - model)[self.early]) / model[0])

    def in_the_limit(self, name: Name) -> "OnImages":
        """The linear phase of a network of unbounded width, for which this one stands."""
        early = self.steps <= self.end
        limit = self.limit[name][self.steps[early]]
        return self._replace(steps=self.steps[early], twin=self.twin[early], networks={name: limit})

    def progress(self, name: Name) -> tuple[float, float]:
        """How much of the test loss off V_lin the network has taken away by the end of the linear phase, and at best."""
        outside = self.parts(self.networks[name]).rest
        return float(1 - outside[self.early][-1] / outside[0]), float(1 - outside.min() / outside[0])

    def progress_error(self, name: Name) -> float:
        """The standard error over test images of what the network has taken away off V_lin at best."""
        residual = measure.agreement.split(self.networks[name] - self.labels, self.inputs).rest
        best = int(np.argmin(np.mean(residual**2, axis=1)))
        gained = residual[0] ** 2 - residual[best] ** 2
        return float(gained.std(ddof=1) / np.sqrt(len(gained)) / np.mean(residual[0] ** 2))

    def pace(self, name: Name) -> float:
        """How far the network moves along the twin's first step, over the twin.

        A first step moves outputs by the tangent kernel of the start, which is not the twin's where images have few
        directions, and strays from its own limit at finite width.
        """
        network, model = (outputs[1] - outputs[0] for outputs in (self.networks[name], self.twin))
        return float(network @ model / (model @ model))


def losses(outputs: np.ndarray, labels: np.ndarray, inputs: np.ndarray) -> measure.agreement.Split:
    """Half the mean squared residual of outputs (step, example) on the span of the inputs, and on its complement."""
    split = measure.agreement.split_mse(outputs - labels, inputs)
    return measure.agreement.Split(split.linear / 2, split.rest / 2)


def linear_phase(steps: np.ndarray, loss: np.ndarray) -> int:
    """The last step of the linear phase: the first at which the twin has made half of its progress on V_lin."""
    progress = (loss[0] - loss) / (loss[0] - loss.min())
    return int(steps[np.argmax(progress >= EARLY)])


class InParts(problems.LpRegression):
    """Square loss of a function on so many examples at a time, to bound the memory that its gradient takes."""

    part: int = eqx.field(static=True, default=1000)

    def loss(self, map: Any) -> jax.Array:
        """The mean over all examples; a part's activations are not kept but computed again."""
        count = -(-len(self.inputs) // self.part)
        if count == 1:
            return super().loss(map)
        if len(self.inputs) % count:
            raise ValueError(f"part must divide the {len(self.inputs)} examples into equal parts; got {self.part}")
        inputs, outputs = (rows.reshape(count, -1, rows.shape[1]) for rows in (self.inputs, self.outputs))
        residual = jax.checkpoint(lambda pair: jnp.sum((map(pair[0]) - pair[1]) ** 2))
        return jnp.sum(jax.lax.map(residual, (inputs, outputs))) / (2 * len(self.inputs))


def prepare(images: data.Images, how: Preparation) -> tuple[np.ndarray, np.ndarray]:
    """Training and test inputs with ‖x‖² = d, for each image or on average."""
    X, tests = (rows.astype(np.float64) for rows in images.rows())
    if how != "raw":
        tests, X = tests - X.mean(axis=0), X - X.mean(axis=0)
    if how == "per image":
        return X / _size(X), tests / _size(tests)
    deviation = np.sqrt(np.mean(X**2))
    return X / deviation, tests / deviation


def _size(rows: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(rows**2, axis=1, keepdims=True))


def signs(labels: np.ndarray) -> np.ndarray:
    """Labels ±1 of the classes 0 and 1."""
    return 2.0 * labels - 1


def network(image: tuple[int, int, int], name: Name, training: Training) -> models.Mirrored:
    """A network of four hidden layers, erf, NTK parameterisation: both kinds have the same coefficient of XXᵀ/d."""
    if name == "fully connected":
        return models.Mirrored(models.MLP((int(np.prod(image)), *(training.width,) * HIDDEN, 1), "erf"))
    return models.Mirrored(models.ConvNet(image, (training.channels,) * HIDDEN, (1,), 3, padding="circular"))


def follow(
    images: data.Images,
    how: Preparation,
    training: Training,
    key: jax.Array,
    names: tuple[Name, ...],
    limits: tuple[Name, ...] = (),
) -> OnImages:
    """Train the networks and the twin by full-batch descent, at one step size for all; some in the limit of width, too.

    The twin's kernel is κXXᵀ/d, κ from `kernels.expansion`. The step makes the rate of the top principal component,
    ηκs₁²/(nd), equal to `training.rate`.
    """
    X, tests = prepare(images, how)
    y, labels = signs(images.labels), signs(images.test_labels)
    coefficient = kernels.expansion("erf", HIDDEN).linear
    top = np.linalg.norm(X, 2) ** 2 / X.size
    step_size = float(training.rate / (coefficient * top))
    linear = twin.Twin(X, y, twin.FeatureMap(np.sqrt(coefficient)), step_size=step_size)
    at, course = (np.unique(np.r_[0, np.geomspace(1, steps, 40).astype(int)])
                  for steps in (training.steps, training.course or training.steps))  # fmt: skip
    inputs, outside, outputs = (jnp.asarray(rows, jnp.float32) for rows in (X, tests, y[:, None]))
    record = train.Record("tests", lambda model, problem, p: _in_parts(model.end_to_end(p), outside), ("example",))
    networks = {}
    for name in names:
        model = network(images.shape, name, training)
        start = starts.mirrored(model, key, starts.gaussian, deviation=1.0, dtype=jnp.float32)
        problem = InParts(inputs, outputs, 2, len(X) if name == "fully connected" else training.part)
        with products("float32"):
            run = train.descend(
                model, problem, start, step_size=step_size, steps=training.steps, at=at, record=(record,)
            )
        networks[name] = run["tests"].values.astype(np.float64)
    end = linear_phase(course, losses(linear.predict(course, tests), labels, tests).linear)
    limit: dict[Name, np.ndarray] = {}
    for name in limits:
        shape = (1, 1, X.shape[1]) if name == "fully connected" else images.shape
        limit[name] = limit_of_width.outputs(shape, HIDDEN, X, y, tests, step_size, end)
    return OnImages(at, linear.predict(at, tests), networks, tests, labels, end, limit)


def _in_parts(function: Any, X: jax.Array) -> jax.Array:
    """The outputs on many examples, a thousand at a time."""
    return jnp.concatenate([function(X[i : i + 1000])[:, 0] for i in range(0, len(X), 1000)])
