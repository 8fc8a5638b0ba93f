"""A network's training followed in strides: linearised, carried along, and linearised again.

At the end of a stride (`lineament.linearisation.strides`) the network itself is looked at. How far its losses are from
those of the tangent is what the stride has missed; the next is as long as that allows.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..theory.kernel_shapes import matrix
from . import batches, losses
from .strides import Place, Stride, Tangent, Training, images_of, outputs_along, stride, stride_along
from .tangents import Array, Kernel, Progress

FIRST = 50
"""The first stride is the number of steps over this."""
SAFETY, SHORTEST, LONGEST = 0.8, 0.2, 3.0
"""How the length of a stride follows from the last: a share of what would just do, within these factors."""


@dataclass(frozen=True, eq=False)
class Path:
    """A training that was followed.

    Attributes:
        at: recorded steps that were reached.
        here: outputs on training points there, (record, n, k).
        there: on test points.
        ends: of the strides.
        loss: training loss of the network there.
        test_loss: its test loss; empty without test targets.
        missed: what each stride missed, as a share of a loss.
        kernels: how many kernels it took, that of the start included.
        followed: the last step to which the network was followed; beyond, the last tangent alone speaks.
        finished: whether that is the last step of all.
        orders: training and test loss, (2, run, record), over orders of the examples in minibatches; None without.
    """

    at: np.ndarray
    here: Array
    there: Array
    ends: np.ndarray
    loss: Array
    test_loss: Array
    missed: Array
    kernels: int
    followed: int
    finished: bool
    orders: Array | None


def follow(
    training: Training, start: Place, tangent: Tangent, at: np.ndarray, tolerance: float, most: int,
    drawn: np.ndarray | None = None, progress: Progress | None = None,
) -> Path:  # fmt: skip
    """Follow a training in strides as long as may be.

    Args:
        training: what is trained.
        start: the network at its start.
        tangent: its tangent there.
        at: steps to record, rising from 0.
        tolerance: the share of a loss that a stride may miss.
        most: kernels that may be computed beyond the first.
        drawn: batches of several runs, (step, run, batch), that are trained beside the whole.
        progress: called with the share of the steps that is done.
    """
    made = _Making(training, start, at, drawn)
    kernels, length = 0, max(1, training.steps // FIRST)
    while made.place.step < training.steps and kernels < most:
        length = min(length, training.steps - made.place.step)
        found = stride(training, made.place, tangent, made.records(length))
        kernels += 1
        missed = np.inf if found is None else found.missed
        if missed > tolerance and length > 1:
            length = max(1, int(length * max(SHORTEST, SAFETY * (tolerance / missed) ** 0.5)))
            continue
        if found is None or not np.isfinite(found.end.here).all():
            break  # the network itself diverges
        tangent = made.take(found, mended=True)
        length = 1 + int(length * min(LONGEST, max(SHORTEST, SAFETY * (tolerance / max(missed, 1e-12)) ** 0.5)))
        if progress is not None:
            progress(made.place.step / training.steps)
    followed = made.place.step
    if kernels == most and followed < training.steps:  # what the last tangent says of the rest, true or not
        made.take(stride_along(training, made.place, tangent, made.records(training.steps - followed)), mended=False)
    return made.path(kernels + 1, followed)


def retrace(training: Training, start: Place, tangent: Tangent, ends: np.ndarray) -> Array:
    """Training and test loss, (end, 2), where strides to the given ends lead; not-a-number where they lead nowhere."""
    found = np.full((len(ends), 2), np.nan)
    place = start
    for i, end in enumerate(ends):
        taken = stride(training, place, tangent, np.array([end - place.step]))
        if taken is None or not np.isfinite(taken.end.here).all():
            break
        place, tangent = taken.end, taken.tangent
        found[i, : 1 + (training.y_test is not None)] = _losses(training, place.here, place.there)
    return found


class _Making:
    """A path as far as it is known."""

    def __init__(self, training: Training, start: Place, at: np.ndarray, drawn: np.ndarray | None) -> None:
        self.training, self.place, self.at = training, start, at
        self.here, self.there = [start.here[None]], [start.there[None]]
        self.seen: list[tuple[float, ...]] = []
        self.runs = None if drawn is None else _Runs(training, start, drawn)
        self.last = 0

    def records(self, length: int) -> np.ndarray:
        """Steps to record in a stride of some length, counted from its beginning; its end is always one."""
        inside = self.at[(self.at > self.place.step) & (self.at < self.place.step + length)]
        return np.r_[inside - self.place.step, length]

    def take(self, found: Stride, mended: bool) -> Tangent:
        """Go on to the end of a stride; returns its tangent, with the kernel of the test points where it is known."""
        training, place = self.training, self.place
        records = self.records(found.end.step - place.step)
        tested = _on_test_points(training, place, found, self.runs is not None)
        if self.runs is not None:
            self.runs.carry(place, found, tested, records)
        wanted = np.isin(place.step + records, self.at)
        here, there = found.here, tested.outputs
        if found.older is not None:
            # Halfway to an early step lies between the older tangent, half of the last stride ago, and this one.
            newer = ((records + self.last) / (records[-1] + self.last))[:, None, None]
            here, there = newer * here + (1 - newer) * found.older.here, newer * there + (1 - newer) * tested.older
        share = (records / records[-1])[:, None, None] if mended else 0.0
        # What the tangent has missed by the end is laid over the stride, so that curves have no jumps.
        self.here.append((here + share * (found.end.here - here[-1]))[wanted])
        self.there.append((there + share * (found.end.there - there[-1]))[wanted])
        self.place, self.last = found.end, int(records[-1])
        if mended:
            losses_there = _losses(training, found.end.here, found.end.there)
            self.seen.append((found.end.step, *losses_there, found.missed))
        return found.tangent._replace(given=replace(found.tangent.given, cross=tested.cross))

    def path(self, kernels: int, followed: int) -> Path:
        """What has come of it."""
        tested = self.training.y_test is not None
        table = np.array(self.seen, float).reshape(len(self.seen), 3 + tested)
        return Path(
            self.at[self.at <= self.place.step], np.concatenate(self.here), np.concatenate(self.there),
            table[:, 0].astype(np.int64), table[:, 1], table[:, 2] if tested else np.zeros(0), table[:, -1], kernels,
            followed, followed >= self.training.steps, None if self.runs is None else self.runs.losses(self.at),
        )  # fmt: skip


class _Tested(NamedTuple):
    """Test points along a stride: outputs (record, m, k) by its tangent and by the older one, and what they come from."""

    outputs: Array
    older: Array
    cross: np.ndarray | None
    images: Array


def _on_test_points(training: Training, place: Place, found: Stride, batched: bool) -> _Tested:
    """Outputs at the end alone are known already; in between they need a kernel of their own."""
    given, records = found.tangent.given, len(found.trail.coefficients)
    if training.X_test is None or (records == 1 and not batched):
        known = np.broadcast_to(found.there, (records, *found.there.shape))
        return _Tested(known, known, None, found.images[:, :0])
    kind: Kernel = "all" if given.full else "mean"
    network, carried = found.tangent.network, found.carried
    cross = matrix(network.kernel(training.X_test, training.X, kind))
    images = images_of(network, training.X_test, carried, place.there)
    outputs = older = outputs_along(place.there, given, cross, carried, found.trail, images)
    if found.older is not None:
        before, trail = found.older.tangent, found.older.trail
        known = before.given.cross
        if known is None:
            known = matrix(before.network.kernel(training.X_test, training.X, kind))
        seen = images_of(before.network, training.X_test, carried, place.there)
        older = outputs_along(place.there, before.given, known, carried, trail, seen)
    return _Tested(outputs, older, cross, images)


def _losses(training: Training, here: Array, there: Array) -> tuple[float, ...]:
    found = (float(losses.mean(training.loss, here, training.y)),)
    if training.y_test is None:
        return found
    return (*found, float(losses.mean(training.loss, there, training.y_test)))


class _Runs:
    """Runs by minibatches beside the path: each keeps what the order of its examples has made of it."""

    def __init__(self, training: Training, start: Place, drawn: np.ndarray) -> None:
        self.training, self.drawn = training, drawn
        self.tested = training.y_test is not None
        there = start.there if self.tested else start.there[:0]
        self.state = batches.at_rest(start.here, there, drawn.shape[1])
        first = np.array([losses.mean(training.loss, start.here, training.y), np.nan])
        if training.y_test is not None:
            first[1] = losses.mean(training.loss, there, training.y_test)
        self.steps = [np.zeros(1, np.int64)]
        self.found = [np.broadcast_to(first[:, None, None], (2, drawn.shape[1], 1))]

    def carry(self, place: Place, found: Stride, tested: _Tested, records: np.ndarray) -> None:
        """Along one stride, by its tangent; then to where the network is."""
        training, given, forcing = self.training, found.tangent.given, found.carried.forcing
        here = batches.Points(given.kernel, training.y, self._source(place.here, found.images, forcing))
        empty = np.zeros((0, given.outputs))
        there = batches.Points(np.zeros((0, given.kernel.shape[1])), empty, empty)
        if training.y_test is not None:
            assert tested.cross is not None
            there = batches.Points(tested.cross, training.y_test, self._source(place.there, tested.images, forcing))
        drawn = self.drawn[place.step : found.end.step]
        state, told = batches.carry(self.state, here, there, training.optimiser, training.loss, drawn, records)
        beyond = found.end.there - found.there if self.tested else 0.0
        self.state = state._replace(here=state.here + (found.end.here - found.here[-1]), there=state.there + beyond)
        self.steps.append(place.step + records)
        self.found.append(told)

    def losses(self, at: np.ndarray) -> Array:
        """At the recorded steps, (2, run, record)."""
        steps = np.concatenate(self.steps)
        return np.concatenate(self.found, axis=2)[:, :, np.isin(steps, at)]

    def _source(self, outputs: Array, images: Array, forcing: Array) -> Array:
        """What decay adds to the velocity of outputs, beyond `decay` times them: κ(J(θ_s − θ₀) − f_s) + λJθ₀."""
        pulled = np.tensordot(forcing, images, 1)
        decay = self.training.optimiser.decay
        return pulled + decay * (images[0] - outputs) if decay else pulled
