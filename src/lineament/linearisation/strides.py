r"""One stride of a network's training: so many steps by one tangent, that of the network halfway.

From θ_s the network is trained for h steps as its tangent would be, which `recursion` does from a kernel alone, and its
parameters are put where that training ends. The tangent is the one halfway, to which the steps of an older tangent lead.
So a stride misses what the tangent changes beyond the first order, which falls with the cube of its length, and costs one
kernel, however many steps it takes: an exponential midpoint rule, for descent as it is. A stride of one step is a step of
descent, with nothing missed.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..theory.kernel_shapes import Shapes, shapes
from . import losses
from .losses import Loss
from .recursion import Trail, advance
from .response import Optimiser
from .tangents import AbstractTangents, Array, Kernel


@dataclass(frozen=True, eq=False)
class Training:
    """What is trained, and how.

    Attributes:
        X: training inputs.
        y: targets, (n, k).
        X_test: test inputs, or None.
        y_test: their targets, or None.
        loss: which loss.
        optimiser: η, μ and κ, the pull towards the start and weight decay together.
        weight_decay: λ.
        steps: how many.
        kernel: "all" where every output has its own kernel, "mean" where they share one.
    """

    X: Any
    y: Array
    X_test: Any
    y_test: Array | None
    loss: Loss
    optimiser: Optimiser
    weight_decay: float
    steps: int
    kernel: Kernel


@dataclass(frozen=True, eq=False)
class Place:
    """The network somewhere on its way.

    Attributes:
        step: how many steps it has taken.
        network: at its parameters there.
        offset: how far these are from the start, as a change of parameters.
        velocity: of momentum, as a change of parameters.
        here: outputs on training points.
        there: outputs on test points, (0, k) without.
    """

    step: int
    network: AbstractTangents
    offset: Any
    velocity: Any
    here: Array
    there: Array


class Tangent(NamedTuple):
    """A network's tangent where it was linearised, with the kernel of the training points as a matrix."""

    network: AbstractTangents
    given: Shapes


class Carried(NamedTuple):
    """Vectors of parameters that a stride begins with.

    Attributes:
        vectors: changes of parameters.
        weights: of each in the parameters and in the velocity, (vector, 2).
        forcing: what each step adds to its weight in the velocity, (vector,).
    """

    vectors: list[Any]
    weights: Array
    forcing: Array


class Older(NamedTuple):
    """What the tangent that led to the middle of a stride says of the same steps."""

    tangent: Tangent
    trail: Trail
    here: Array


class Stride(NamedTuple):
    """Several steps with one tangent, and the network at their end.

    Attributes:
        end: where it led.
        tangent: that was used.
        trail: of the coefficients at the recorded steps.
        carried: the vectors it began with.
        images: J times these on training points.
        here: outputs on training points as the tangent has them, (record, n, k).
        there: on test points, at the last record alone, (m, k).
        older: the same by the tangent that led to this one; None where nothing but the end is recorded.
        missed: how far losses of single examples differ at the end between network and tangent, as a share of their mean:
            on training or test points, the larger.
    """

    end: Place
    tangent: Tangent
    trail: Trail
    carried: Carried
    images: Array
    here: Array
    there: Array
    older: Older | None
    missed: float


def begin(network: AbstractTangents, here: Array, there: Array) -> Place:
    """A network at its start, at rest, with its outputs there."""
    nothing = network.combine([0.0], [network.origin])
    return Place(0, network, nothing, nothing, here, there)


def stride(training: Training, place: Place, tangent: Tangent, records: np.ndarray) -> Stride | None:
    """Train for `records[-1]` steps by the tangent halfway, which the given one leads to; None where that has no end."""
    length, middle, older = int(records[-1]), place.network, None
    if length > 1:
        carried = _carried(training, place)
        images = images_of(tangent.network, training.X, carried, place.here)
        trail = _trail(training, place, tangent, carried, images, records)
        if len(records) > 1:
            here = outputs_along(place.here, tangent.given, tangent.given.kernel, carried, trail, images)
            older = Older(tangent, trail, here)
        change = _change(training, tangent, carried, trail)
        # Half of the way, not of the time: training slows down. Steps begin where they are taken, hence half a step less.
        middle = place.network.moved(place.network.combine([(1 - 1 / length) / 2], [change]))
    kernel = middle.kernel(training.X, None, "mean" if training.y.shape[1] == 1 else training.kernel)
    if not np.isfinite(kernel).all():
        return None
    return stride_along(training, place, Tangent(middle, shapes(kernel, training.y)), records, older)


def stride_along(
    training: Training, place: Place, tangent: Tangent, records: np.ndarray, older: Older | None = None
) -> Stride:
    """Train for `records[-1]` steps by the given tangent."""
    carried, given = _carried(training, place), tangent.given
    images = images_of(tangent.network, training.X, carried, place.here)
    trail = _trail(training, place, tangent, carried, images, records)
    here = outputs_along(place.here, given, given.kernel, carried, trail, images)
    change = _change(training, tangent, carried, trail)
    network = place.network.moved(change)
    there = end_there = place.there
    if training.X_test is not None:
        there = place.there + tangent.network.push_forward(training.X_test, change)
        end_there = network.outputs(training.X_test)
    offset = place.network.combine([1.0, 1.0], [place.offset, change])
    velocity = _velocity(training, place, tangent, carried, trail)
    step = place.step + int(records[-1])
    end = Place(step, network, offset, velocity, network.outputs(training.X), end_there)
    missed = _missed(training, here[-1], there, end)
    return Stride(end, tangent, trail, carried, images, here, there, older, missed)


def outputs_along(
    start: Array, given: Shapes, kernel: np.ndarray, carried: Carried, trail: Trail, images: Array
) -> Array:
    """Outputs of a tangent at the recorded steps, (record, points, k), on points whose kernel and images are given."""
    with np.errstate(over="ignore", invalid="ignore"):
        moved = given.folded(kernel @ given.flat(trail.coefficients), len(start))
        return start + moved + np.tensordot(shares(carried, trail), images, 1)


def _carried(training: Training, place: Place) -> Carried:
    """The vectors that training begins with at a place."""
    optimiser, found = training.optimiser, []
    if optimiser.decay:
        found.append((place.offset, (1.0, 0.0), 0.0))
    if optimiser.momentum:
        found.append((place.velocity, (0.0, 1.0), 0.0))
    if training.weight_decay:
        start = place.network.combine([1.0, -1.0], [place.network.origin, place.offset])
        found.append((start, (0.0, 0.0), training.weight_decay))
    weights = np.array([part[1] for part in found], float).reshape(-1, 2)
    return Carried([part[0] for part in found], weights, np.array([part[2] for part in found], float))


def images_of(network: AbstractTangents, X: Any, carried: Carried, like: Array) -> Array:
    """J times each vector on the points X, of the shape of the outputs there."""
    return np.array([network.push_forward(X, vector) for vector in carried.vectors]).reshape(-1, *like.shape)


def _trail(
    training: Training, place: Place, tangent: Tangent, carried: Carried, images: Array, at: np.ndarray
) -> Trail:
    kernel, (_, weights, forcing) = tangent.given.kernel, carried
    return advance(kernel, training.y, place.here, images, weights, forcing, training.optimiser, training.loss, at)


def shares(carried: Carried, trail: Trail) -> Array:
    """By how much of each vector the parameters have moved, (record, vector)."""
    return trail.weights[:, :, 0] - carried.weights[:, 0]


def _change(training: Training, tangent: Tangent, carried: Carried, trail: Trail) -> Any:
    """How far the parameters have moved by the last record."""
    moved = tangent.network.pull_back(training.X, trail.coefficients[-1])
    return tangent.network.combine([1.0, *shares(carried, trail)[-1]], [moved, *carried.vectors])


def _velocity(training: Training, place: Place, tangent: Tangent, carried: Carried, trail: Trail) -> Any:
    if not training.optimiser.momentum:
        return place.velocity  # at rest: every step has its own
    pulled = tangent.network.pull_back(training.X, trail.velocity)
    return tangent.network.combine([1.0, *trail.weights[-1, :, 1]], [pulled, *carried.vectors])


def _missed(training: Training, here: Array, there: Array, end: Place) -> float:
    """How far losses of single examples are off on average, so that errors of either sign do not hide each other."""
    pairs = [(here, end.here, training.y)]
    if training.y_test is not None:
        pairs.append((there, end.there, training.y_test))
    off = 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for tangent, network, y in pairs:
            seen = losses.each(training.loss, network, y)
            each = np.abs(losses.each(training.loss, tangent, y) - seen)
            off = max(off, float(np.mean(each) / np.mean(seen))) if np.isfinite(each).all() else np.inf
    return off
