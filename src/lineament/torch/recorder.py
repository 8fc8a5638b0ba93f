"""Record a network while any loop trains it: one call per step or epoch."""

import tempfile
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from lineament.core.versions import version
from lineament.recording import Recording, join, store

from .layer_state import gradient_norms, singular_values, unbalancedness
from .probing import (
    Forward,
    Linearisation,
    as_array,
    plain_forward,
    predict,
    probes,
    randomness,
    refuse_elsewhere,
    undisturbed,
    unwrapped,
)

_START = "start.pt"


class Recorder:
    """Records what a network says of some probe examples while it trains, and what its layers are like.

    Call it once before training and then once a step or epoch, with the model::

        recorder = Recorder(probe_inputs, probe_labels, path="run")
        recorder(model, 0)
        for epoch in range(epochs):
            …
            recorder(model, epoch + 1, loss=loss)

    Each call asks the model for its outputs in evaluation mode, and takes the singular values of its layers, the
    unbalancedness of successive linear layers and the norms of the gradients that are there. The model's mode, gradients
    and buffers and the random generators are left as they were. `recording` is what was recorded so far.
    """

    def __init__(
        self,
        probe_inputs: Tensor | np.ndarray | tuple[Tensor, ...],
        probe_labels: Tensor | np.ndarray | None = None,
        *,
        path: str | Path | None = None,
        interval: int = 1,
        resume: bool = False,
        layers: Iterable[str] | None = None,
        linearise: bool = False,
        forward: Forward = plain_forward,
        batch: int = 512,
    ) -> None:
        """Say what to record.

        Args:
            probe_inputs: Examples along the first axis, on the model's device; a tuple for a model of several inputs.
                They need not be training data.
            probe_labels: Classes from 0, or real targets (example[, output]).
            path: A folder to write to while training, so that a crash loses at most the last interval. Read it with
                `Recording.load`.
            interval: After how many calls to write.
            resume: Go on with the recording that the folder holds. The first call says from which step: what was
                recorded from there on is forgotten, since a run resumed from an earlier checkpoint repeats it.
            layers: Names of the layers whose spectra and balance are taken, as in `model.named_modules()`; all that are
                linear by default, none with `()`. Singular values cost a decomposition per layer and call.
            linearise: Whether to record also what the network's linearisation about the first call gives. It holds a
                copy of the parameters and costs about three forward passes.
            forward: How to get outputs (example, output) from the model and a batch of inputs.
            batch: How many probe examples the model sees at a time.
        """
        self._inputs, shown = probes(probe_inputs)
        for name, value in {"interval": interval, "batch": batch}.items():
            if value < 1:
                raise ValueError(f"{name} must be at least 1; got {value}")
        self._shown, self._labels = shown, _labels(probe_labels, len(self._inputs[0]))
        self._interval, self._batch, self._forward = interval, batch, forward
        self._layers = layers if layers is None or isinstance(layers, str) else tuple(layers)
        self._linearise, self._linear = linearise, None
        self._rows: list[Recording] = []
        self._written, self._warned, self._resumed = 0, False, False
        self._outputs: int | None = None
        self._since: float | None = None
        self._debt = 0.0  # seconds of the last writing, that the next record accounts for
        self._folder = None if path is None else store.prepared(Path(path))
        if resume:
            self._resume()
        elif self._folder is not None:
            _refuse_held(self._folder)

    def __call__(
        self,
        model: nn.Module,
        step: float,
        loss: Tensor | float | None = None,
        *,
        gradients: dict[str, float] | None = None,
    ) -> None:
        """Record the model as it is now.

        A loss or outputs that are not finite are recorded too; a warning says so once, with the step.

        Args:
            model: The network; compiled and data-parallel ones are looked into.
            step: The number of the step or epoch, larger at each call.
            loss: The training loss, if it is to be recorded.
            gradients: Norms of the gradients, where they were taken before the optimiser cleared them.
        """
        model = unwrapped(model)
        refuse_elsewhere(model, self._inputs)
        self._rewind(step)
        if self._inputs[0].is_cuda:
            torch.cuda.synchronize(self._inputs[0].device)  # what is still running is training, not recording
        begun = time.perf_counter()
        between = np.nan if self._since is None else begun - self._since
        value = None if loss is None else float(loss.detach() if isinstance(loss, Tensor) else loss)
        outputs, linear = self._ask(model)
        row = Recording(
            [step],
            as_array(outputs)[None],
            self._labels,
            self._shown,
            loss=[value],
            spectra={name: s[None] for name, s in singular_values(model, self._layers).items()},
            unbalancedness={name: [size] for name, size in unbalancedness(model, self._layers).items()},
            gradients={name: [size] for name, size in (gradients or gradient_norms(model)).items()},
            linearised=None if linear is None else as_array(linear)[None],
            between=[between],
            seconds=[0.0],
            about={
                "model": type(model).__name__,
                "torch": torch.__version__,
                "lineament": version("lineament"),
            },
        )
        self._keep(row)
        self._warn(row)
        row.seconds[0] = time.perf_counter() - begun + self._debt
        written = time.perf_counter()
        if len(self._rows) - self._written >= self._interval:
            self._flush_or_warn()
        self._since = time.perf_counter()
        self._debt = self._since - written

    def _keep(self, row: Recording) -> None:
        assert row.outputs is not None
        number = row.outputs.shape[2]
        if self._outputs not in (None, number):
            raise ValueError(
                f"model must keep the number of its outputs, {self._outputs}; got {number} at step {row.steps[0]:g}"
            )
        self._outputs = number
        self._rows.append(row)

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, kind: type | None, value: BaseException | None, traceback: TracebackType | None) -> None:
        self.flush()

    @property
    def recording(self) -> Recording:
        """Everything recorded so far."""
        if not self._rows:
            raise ValueError("nothing was recorded yet: call the recorder with the model first")
        return join(self._rows)

    @property
    def last_step(self) -> float | None:
        """The step of the last record; None before the first."""
        return float(self._rows[-1].steps[0]) if self._rows else None

    @property
    def overhead(self) -> float:
        """Seconds in the recorder per second between its calls; NaN before the second call."""
        return self.recording.overhead

    def flush(self) -> None:
        """Write what was recorded since the last writing; a `with` block does it at its end, whatever happens."""
        if self._folder is not None and self._written < len(self._rows):
            store.append(self._folder, join(self._rows[self._written :]))
            self._written = len(self._rows)

    def lightning_callback(self, every: Literal["epoch", "step"] = "epoch") -> Any:
        """A Lightning callback that records at the start and after every epoch or step; Lightning must be installed."""
        from .lightning import callback

        return callback(self, every)

    def _ask(self, model: nn.Module) -> tuple[Tensor, Tensor | None]:
        with undisturbed(model):
            found = predict(model, self._inputs, self._batch, self._forward)
            if not self._rows and (gap := randomness(model, self._inputs, self._batch, self._forward)):
                warnings.warn(
                    f"the model's outputs in evaluation mode are random: two passes over the probe inputs differ by "
                    f"{gap:.2g}. Look for functional dropout without training=self.training",
                    stacklevel=3,
                )
            if not self._linearise:
                return found, None
            if self._linear is None:
                self._linear = self._start(model)
            return found, self._linear.predict(model, self._inputs, self._batch)

    def _start(self, model: nn.Module) -> Linearisation:
        """The linearisation about the first call, of this run or of the one that is resumed."""
        file = None if self._folder is None else self._folder / _START
        if self._rows and file is not None:
            held = torch.load(file, weights_only=True, map_location=self._inputs[0].device)
            return Linearisation(held["parameters"], held["buffers"], self._forward)
        start = Linearisation.at(model, self._forward)
        if file is not None:
            self._save_start(start, file)
        return start

    def _save_start(self, start: Linearisation, file: Path) -> None:
        """A disk that is full must not end the training: without the file it only cannot be resumed elsewhere."""
        part = None
        try:
            descriptor, name = tempfile.mkstemp(prefix=".start.", suffix=".part", dir=file.parent)
            part = Path(name)
            with open(descriptor, "wb") as stream:
                torch.save({"parameters": start.parameters, "buffers": start.buffers}, stream)
            part.replace(file)
        except (OSError, RuntimeError) as error:
            warnings.warn(
                f"cannot write {str(file)!r}: {error}. Recording goes on, but cannot be resumed with linearise=True",
                stacklevel=5,
            )
        finally:
            if part is not None and part.exists():
                part.unlink()

    def _resume(self) -> None:
        if self._folder is None or not store.stretches(self._folder):
            raise ValueError(f"resume=True needs a path that holds a recording; got {str(self._folder)!r}")
        held = Recording.load(self._folder)
        for name, old, new in (("labels", held.labels, self._labels), ("inputs", held.inputs, self._shown)):
            same = old is new if old is None or new is None else np.array_equal(old.ravel(), new.ravel())
            if not same:
                raise ValueError(f"probe_{name} must be those of the recording that is resumed; they differ")
        if (held.linearised is not None) != self._linearise:
            raise ValueError(
                f"linearise must be {held.linearised is not None}, as in the recording; got {self._linearise}"
            )
        self._rows = [held[i : i + 1] for i in range(len(held))]
        self._written, self._resumed = len(self._rows), True
        self._outputs = None if held.outputs is None else held.outputs.shape[2]

    def _rewind(self, step: float) -> None:
        last = float(self._rows[-1].steps[0]) if self._rows else -np.inf
        if not np.isfinite(step) or (step <= last and not self._resumed):
            raise ValueError(f"step must be finite and larger at each call; got {step} after {last:g}")
        if step <= last and self._folder is not None:
            store.rewind(self._folder, step)
            self._rows = [row for row in self._rows if row.steps[0] < step]
            self._written = len(self._rows)
        self._resumed = False

    def _flush_or_warn(self) -> None:
        """A full disk must not end the training: what cannot be written now is kept and tried again."""
        try:
            self.flush()
        except store.UnwritableError as error:
            warnings.warn(f"{error}. Recording goes on, and writing is tried again at the next call", stacklevel=3)

    def _warn(self, row: Recording) -> None:
        if row.trouble is not None and not self._warned:
            self._warned = True
            warnings.warn(f"{row.trouble}. Recording goes on", stacklevel=3)


def _labels(given: Tensor | np.ndarray | None, examples: int) -> np.ndarray | None:
    labels = None if given is None else as_array(torch.as_tensor(given))
    if labels is not None and (labels.ndim < 1 or len(labels) != examples):
        raise ValueError(f"probe_labels must be one per probe input, {examples} of them; got shape {labels.shape}")
    return labels


def _refuse_held(folder: Path) -> None:
    if store.stretches(folder):
        raise ValueError(
            f"path must be a folder without a recording; got {str(folder)!r}, which holds one: go on with resume=True, "
            "or choose another folder"
        )
