"""Record a network while any loop trains it: one call per step or epoch."""

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from lineament.core import arguments
from lineament.recording.compact import Keep
from lineament.recording.keeper import Keeper, sum_of

from .batches import LABELS
from .layer_state import gradient_norms, singular_values, unbalancedness
from .probing import (
    Forward,
    Linearisation,
    as_array,
    as_bytes,
    by_name,
    changes,
    plain_forward,
    predict,
    probes,
    randomness,
    refuse_elsewhere,
    undisturbed,
    unwrapped,
)
from .start_file import load_start, save_start

_START = "start.pt"


class Recorder(Keeper):
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
        probe_inputs: Tensor | np.ndarray | tuple[Tensor, ...] | Mapping[str, Tensor],
        probe_labels: Tensor | np.ndarray | None = None,
        *,
        path: str | Path | None = None,
        interval: int = 1,
        resume: bool = False,
        layers: Iterable[str] | None = None,
        linearise: bool = False,
        forward: Forward = plain_forward,
        batch: int = 512,
        keep: Keep = "outputs",
        keep_inputs: bool = True,
    ) -> None:
        """Say what to record.

        Args:
            probe_inputs: Examples along the first axis, on the model's device; a tuple for a model of several inputs, a
                dict for one that takes them by name (labels in it are left out). They need not be training data.
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
            forward: How to get outputs (example, output) from the model and a batch of inputs; by default the model is
                called, and its tensor or `logits` taken.
            batch: How many probe examples the model sees at a time.
            keep: How much of the outputs is kept: all "outputs", "predictions" alone, or a number of the largest ones.
                Of 1000 classes 5 take a hundredth of the space; what is lost is PC-bias and the linear phase.
            keep_inputs: Whether to keep the probe inputs, once, to show them.
        """
        forward, names = arguments.function("forward", forward), ()
        if isinstance(probe_inputs, Mapping):
            named = {name: part for name, part in probe_inputs.items() if name not in LABELS}
            names, probe_inputs = tuple(named), tuple(named.values())
            forward = by_name(forward, names)
        self._inputs, shown = probes(probe_inputs)
        self._versions = [changes(part) for part in self._inputs]
        shown = shown if arguments.truth("keep_inputs", keep_inputs) else None
        batch = arguments.count("batch", batch)
        linearise = arguments.truth("linearise", linearise)
        super().__init__(
            _labels(probe_labels, len(self._inputs[0])),
            shown,
            path=path,
            interval=interval,
            resume=resume,
            keep=keep,
            linearise=linearise,
            probe="" if shown is not None else sum_of(as_bytes(self._inputs, names)),
        )
        self._batch, self._forward = batch, forward
        self._layers = None if layers is None else arguments.words("layers", layers)
        self._asked = False
        self._linear: Linearisation | None = None
        self._unknown = False  # whether the start of a run that is resumed cannot be read

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
        self._warn_of_changes()
        if self._inputs[0].is_cuda:
            torch.cuda.synchronize(self._inputs[0].device)  # what is still running is training, not recording
        begun = self._begin(step)
        if gradients is not None and not isinstance(gradients, Mapping):
            raise ValueError(f"gradients must be norms by name; got {arguments.shown(gradients)}")
        outputs, linear = self._ask(model)
        self._add(
            begun,
            step,
            as_array(outputs),
            loss=[loss.detach().cpu() if isinstance(loss, Tensor) else loss],
            spectra={name: s[None] for name, s in singular_values(model, self._layers).items()},
            unbalancedness={name: [size] for name, size in unbalancedness(model, self._layers).items()},
            gradients={name: [size] for name, size in (gradients or gradient_norms(model)).items()},
            linearised=None if linear is None else as_array(linear)[None],
            about={"model": type(model).__name__, "torch": torch.__version__},
        )

    def lightning_callback(self, every: Literal["epoch", "step"] = "epoch") -> Any:
        """A Lightning callback that records at the start and after every epoch or step; Lightning must be installed."""
        from .lightning import callback

        return callback(self, every)

    def transformers_callback(self, every: Literal["epoch", "step"] = "epoch") -> Any:
        """A callback for transformers' `Trainer` that records at the start and after every epoch or step."""
        from .transformers import callback

        return callback(self, every)

    def _warn_of_changes(self) -> None:
        """Say once if somebody has written into the probe inputs, which are not copied."""
        now = [changes(part) for part in self._inputs]
        if any(after > before for after, before in zip(now, self._versions, strict=True)):
            warnings.warn(
                "probe_inputs have been changed in place since the recorder took them: records from here on are of other "
                "inputs than those before. Give it a clone",
                stacklevel=3,
            )
        self._versions = now

    def _ask(self, model: nn.Module) -> tuple[Tensor, Tensor | None]:
        with undisturbed(model):
            found = predict(model, self._inputs, self._batch, self._forward)
            if not self._asked and (gap := randomness(model, self._inputs, self._batch, self._forward)):
                warnings.warn(
                    f"the model's outputs in evaluation mode are random: two passes over the probe inputs differ by "
                    f"{gap:.2g}. Look for functional dropout without training=self.training",
                    stacklevel=3,
                )
            self._asked = True
            if not self._linearise:
                return found, None
            if self._linear is None and not self._unknown:
                self._linear = self._start(model)
            if self._linear is None:
                return found, torch.full_like(found, torch.nan)
            return found, self._linear.predict(model, self._inputs, self._batch)

    def _start(self, model: nn.Module) -> Linearisation | None:
        """The linearisation about the first call, of this run or of the one that is resumed."""
        folder = self._growing.folder
        if folder is not None and self.last_step is not None:
            start = load_start(folder / _START, self._forward, self._inputs[0].device)
            self._unknown = start is None
            return start
        start = Linearisation.at(model, self._forward)
        if folder is not None:
            save_start(folder / _START, start)
        return start


def _labels(given: Tensor | np.ndarray | None, examples: int) -> np.ndarray | None:
    labels = as_array(given) if isinstance(given, Tensor) else given
    if labels is not None and getattr(labels, "dtype", None) != np.bool_:
        labels = arguments.numeric("probe_labels", labels)
    if labels is not None and (labels.ndim < 1 or len(labels) != examples):
        raise ValueError(f"probe_labels must be one per probe input, {examples} of them; got shape {labels.shape}")
    return labels
