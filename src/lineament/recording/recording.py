"""The record of one run as plain arrays: what a network said of some probe examples, and what its layers were like."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import arguments
from ..core.words import several
from . import accept
from .accept import Courses, Floats
from .top import Top

if TYPE_CHECKING:
    from lineament.data.components import Components

ADVICE = (
    "try a smaller step size, a warm-up or gradient clipping, and look for logarithms, roots and divisions of zero "
    "and for numbers beyond the range of half precision"
)


class Trouble(NamedTuple):
    """The first record that is not finite: its place and step, and what was wrong."""

    place: int
    step: float
    what: str

    def __str__(self) -> str:
        return f"{self.what} at step {self.step:g}: {ADVICE}"


class Recording:
    """What was recorded at some steps of training.

    Attributes:
        steps: When, rising (step,).
        outputs: What the network gave for each probe example (step, example, output), or None.
        predictions: The class it chose for each (step, example), or None where nothing was classified.
        top: The few largest outputs, where these were kept in place of all, or None.
        labels: Classes (example,), targets (example, output), or None.
        inputs: The probe inputs (example, …), or None.
        loss: The loss the loop reported (step,), not a number where it reported none.
        reported: Whether it reported one (step,): a loss of NaN that was reported is trouble, one that was not is none.
        spectra: Singular values of each layer in falling order (step, mode), NaN where there were fewer.
        unbalancedness: `‖W_{j+1}ᵀW_{j+1} − W_jW_jᵀ‖_F` of each pair of successive linear layers (step,).
        gradients: The norm of the gradient of each parameter (step,), NaN where there was none.
        linearised: What the linearisation of the network at its start gave (step, example, output), or None.
        seconds: Time spent in recording (step,).
        between: Time between the records (step,): that of training; NaN for the first.
        about: Anything else worth keeping, such as versions.
    """

    def __init__(
        self,
        steps: ArrayLike,
        outputs: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        inputs: ArrayLike | None = None,
        *,
        predictions: ArrayLike | None = None,
        top: Top | None = None,
        loss: Sequence[float | None] | NDArray | None = None,
        spectra: Courses | None = None,
        unbalancedness: Courses | None = None,
        gradients: Courses | None = None,
        linearised: ArrayLike | None = None,
        seconds: ArrayLike | None = None,
        between: ArrayLike | None = None,
        about: Mapping[str, str] | None = None,
    ) -> None:
        """Take arrays from any framework; a single output may be left out as an axis.

        Args:
            steps: When each record was made.
            outputs: Outputs (step, example, class), or (step, example) for one output.
            labels: Whole numbers from 0 for classes; real numbers (example[, output]) for regression. With one output,
                classes are 0 and 1 and the second is chosen where the output is positive.
            inputs: The probe inputs.
            predictions: The chosen classes (step, example), where the outputs were not kept.
            top: The few largest outputs, where no others were kept.
            loss: The loss at each record; None where it is not known.
            spectra: Singular values of each layer, (step, mode).
            unbalancedness: Of each pair of layers, (step,).
            gradients: Gradient norms, (step,).
            linearised: Outputs of the network's linearisation.
            seconds: Time spent in recording.
            between: Time between records.
            about: Texts to keep.
        """
        self.steps = accept.steps(steps)
        T = len(self.steps)
        if sum(given is not None for given in (outputs, predictions, top)) != 1:
            raise ValueError("one of outputs, predictions and top must be given, and no two of them")
        self.outputs = None if outputs is None else accept.outputs("outputs", outputs, T)
        self.linearised = None if linearised is None else accept.linearised(linearised, self.outputs, T)
        self.top = None if top is None else accept.top(top, T)
        chosen = predictions if self.top is None else self.top.classes[..., 0]
        self.predictions = None if chosen is None else accept.predictions(chosen, T)
        self.inputs = None if inputs is None else accept.inputs(inputs, self.examples)
        self.labels = None if labels is None else accept.labels(labels, self.examples, self.outputs)
        if self.outputs is not None:
            self.predictions = accept.classes(self.outputs, self.labels)
        self.loss, self.reported = accept.loss(loss, T)
        self.spectra = accept.courses("spectra", spectra, T, 2)
        self.unbalancedness = accept.courses("unbalancedness", unbalancedness, T, 1)
        self.gradients = accept.courses("gradients", gradients, T, 1)
        self.seconds = accept.course("seconds", seconds, T, 1)
        self.between = accept.course("between", between, T, 1)
        if about is not None and not isinstance(about, Mapping):
            raise ValueError(f"about must be a mapping of names to texts; got {arguments.shown(about)}")
        self.about = dict(about or {})

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        span = f"steps {self.steps[0]:g} to {self.steps[-1]:g}" if len(self) else "no steps"
        parts = several(len(self), "record"), span, several(self.examples, "example")
        return f"Recording({', '.join(parts)}, {several(len(self.spectra), 'layer')})"

    @property
    def examples(self) -> int:
        """How many probe examples there are."""
        return (self.predictions if self.outputs is None else self.outputs).shape[1]  # type: ignore[union-attr]

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Whether each example was classified correctly, (step, example)."""
        if self.labels is None or self.predictions is None:
            raise ValueError(
                "labels must be classes, whole numbers from 0, to tell what is correct; " + self._instead()
            )
        return self.predictions == self.labels

    @property
    def error(self) -> Floats:
        """The share of examples that are wrong, or the mean squared error of the outputs for real targets (step,)."""
        if self.labels is None or self.predictions is not None or self.outputs is None:
            return 1 - self.correct.mean(axis=1)
        return np.mean((self.outputs - self.labels) ** 2, axis=(1, 2))

    @property
    def gradient_norm(self) -> Floats:
        """The norm of the whole gradient (step,); NaN where no parameter had one."""
        if not self.gradients:
            return np.full(len(self), np.nan)
        norms = np.stack(list(self.gradients.values()))
        return np.where(np.isnan(norms).all(axis=0), np.nan, np.sqrt(np.nansum(norms**2, axis=0)))

    @property
    def overhead(self) -> float:
        """Time in the recorder over time between its calls; NaN unless both were measured."""
        known = np.isfinite(self.seconds) & np.isfinite(self.between)
        spent = float(self.between[known].sum())
        return float(self.seconds[known].sum()) / spent if spent > 0 else float("nan")

    @property
    def trouble(self) -> Trouble | None:
        """Where the loss or the outputs cease to be finite, if they do."""
        bad_loss = self.reported & ~np.isfinite(self.loss)
        values = self.outputs if self.top is None else self.top.values
        finite = np.ones(len(self), bool) if values is None else np.isfinite(values).all(axis=(1, 2))
        places = np.flatnonzero(bad_loss | ~finite)
        if not places.size:
            return None
        i = int(places[0])
        fault = f"the loss is {self.loss[i]:g}" if bad_loss[i] else "the outputs on the probe inputs are not finite"
        return Trouble(i, float(self.steps[i]), fault)

    @cached_property
    def sound(self) -> "Recording":
        """The records before any trouble: what can be analysed."""
        trouble = self.trouble
        if trouble is None:
            return self
        if trouble.place == 0:
            raise ValueError(f"nothing can be said of this recording: {trouble}")
        return self[: trouble.place]

    @cached_property
    def components(self) -> "Components":
        """The principal components of the probe inputs, found once: of a thousand pictures that takes a second."""
        from lineament.data.components import fit

        if self.inputs is None:
            raise ValueError("inputs must have been recorded: principal components are theirs; none were given")
        return fit(self.inputs.reshape(len(self.inputs), -1))

    def __getitem__(self, part: slice) -> "Recording":
        """A stretch of the records."""
        if not isinstance(part, slice):
            raise ValueError(f"take a stretch of a recording, such as recording[:5]; got {part!r}")
        return self._rebuilt(lambda course: course[part])

    def save(self, path: str | Path) -> Path:
        """Write everything to one `.npz` file, which is whole or absent whatever happens."""
        from . import store

        return store.write(arguments.path("path", path), self)

    @staticmethod
    def load(path: str | Path) -> "Recording":
        """Read what `save` wrote, or the folder that a recorder fills while it runs."""
        from . import store

        return store.read(arguments.path("path", path))

    def _rebuilt(self, change: Callable[[NDArray], NDArray]) -> "Recording":
        def change_all(courses: Mapping[str, NDArray]) -> dict[str, NDArray]:
            return {name: change(course) for name, course in courses.items()}

        return Recording(
            change(self.steps),
            None if self.outputs is None else change(self.outputs),
            self.labels,
            self.inputs,
            predictions=change(self.predictions) if self.predictions is not None and self._only_chosen else None,
            top=None if self.top is None else _changed_top(self.top, change),
            loss=change(np.array(self._told, object)),
            spectra=change_all(self.spectra),
            unbalancedness=change_all(self.unbalancedness),
            gradients=change_all(self.gradients),
            linearised=None if self.linearised is None else change(self.linearised),
            seconds=change(self.seconds),
            between=change(self.between),
            about=self.about,
        )

    @property
    def _only_chosen(self) -> bool:
        """Whether nothing but the chosen classes was kept."""
        return self.outputs is None and self.top is None

    @property
    def _told(self) -> list[float | None]:
        """The loss at each record as it was given, None where it was not."""
        return [value if known else None for value, known in zip(self.loss, self.reported, strict=True)]

    def _instead(self) -> str:
        return "none were given" if self.labels is None else f"got real targets of shape {self.labels.shape}"


def join(parts: Iterable[Recording]) -> Recording:
    """Join the stretches of a recording, in order; labels and inputs are those of the first stretch.

    Layers that some stretches lack, or that have fewer singular values there, are filled with NaN.
    """
    stretches = list(parts) if isinstance(parts, Iterable) and not hasattr(parts, "shape") else []
    if not stretches or not all(isinstance(part, Recording) for part in stretches):
        raise ValueError(f"parts must hold at least one recording, and nothing else; got {arguments.shown(parts)}")
    first = stretches[0]
    for part in stretches[1:]:
        _refuse_another_shape(first, part)

    def all_of(name: str) -> Any:
        if getattr(first, name) is None:
            return None
        return np.concatenate([getattr(part, name) for part in stretches])

    lengths = [len(part) for part in stretches]
    return Recording(
        all_of("steps"),
        all_of("outputs"),
        first.labels,
        first.inputs,
        predictions=all_of("predictions") if first._only_chosen else None,
        top=_joined_top([part.top for part in stretches]),
        loss=[value for part in stretches for value in part._told],
        spectra=_padded([part.spectra for part in stretches], lengths),
        unbalancedness=_padded([part.unbalancedness for part in stretches], lengths),
        gradients=_padded([part.gradients for part in stretches], lengths),
        linearised=all_of("linearised"),
        seconds=all_of("seconds"),
        between=all_of("between"),
        about=first.about,
    )


def _joined_top(parts: Sequence[Top | None]) -> Top | None:
    held = [part for part in parts if part is not None]
    if not held:
        return None
    labelled = [part.labelled for part in held if part.labelled is not None]
    return Top(
        np.concatenate([part.classes for part in held]),
        np.concatenate([part.values for part in held]),
        np.concatenate(labelled) if len(labelled) == len(held) else None,
    )


def _refuse_another_shape(first: Recording, part: Recording) -> None:
    for name in ("outputs", "linearised", "top", *(("predictions",) if first._only_chosen else ())):
        before, after = (_shape(getattr(recording, name))[1:] for recording in (first, part))
        if before != after:
            raise ValueError(
                f"{name} must keep the shape {before} that they have at step {first.steps[0]:g}; got {after} at step "
                f"{part.steps[0]:g}"
            )


def _changed_top(top: Top, change: Callable[[NDArray], NDArray]) -> Top:
    labelled = None if top.labelled is None else change(top.labelled)
    return Top(change(top.classes), change(top.values), labelled)


def _shape(value: NDArray | Top | None) -> tuple[int, ...]:
    return () if value is None else np.shape(value.values if isinstance(value, Top) else value)


def _padded(parts: Sequence[Mapping[str, NDArray]], lengths: Sequence[int]) -> dict[str, NDArray]:
    names = dict.fromkeys(name for part in parts for name in part)
    filled = {}
    for name in names:
        shape = max(part[name].shape[1:] for part in parts if name in part)
        rows = [np.full((length, *shape), np.nan) for length in lengths]
        for row, part in zip(rows, parts, strict=True):
            if name in part:
                row[(..., *(slice(0, length) for length in part[name].shape[1:]))] = part[name]
        filled[name] = np.concatenate(rows)
    return filled
