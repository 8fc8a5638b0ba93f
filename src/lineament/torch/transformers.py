"""The recorder as a callback of transformers' `Trainer`, which is imported only when one is asked for."""

import importlib
from typing import TYPE_CHECKING, Any

from .layer_state import gradient_norms_later

if TYPE_CHECKING:
    from .recorder import Recorder


def callback(recorder: "Recorder", every: str = "epoch") -> Any:
    """A callback that records at the start of training and after every epoch or step, on the first process only.

    Steps are the trainer's global steps; a second `train` goes on after those of the first, and a recorder with
    `resume=True` from the checkpoint that the trainer is resumed from. The loss is the last that the
    trainer logged.

    Args:
        recorder: What to record; its probe inputs must be on the device that the trainer uses.
        every: "epoch" or "step".
    """
    if every not in ("epoch", "step"):
        raise ValueError(f"every must be 'epoch' or 'step'; got {every!r}")
    try:
        base: Any = importlib.import_module("transformers").TrainerCallback
    except ModuleNotFoundError as error:
        raise ImportError("a callback for Trainer needs transformers: pip install transformers") from error

    class RecorderCallback(base):
        def __init__(self) -> None:
            super().__init__()
            self.recorder, self.offset, self.gradients = recorder, 0.0, None

        def on_train_begin(self, args: Any, state: Any, control: Any, *, model: Any, **others: Any) -> None:
            if recorder.last_step is None or (recorder.resumes and state.global_step > 0):
                self._record(state, model)
            elif state.global_step < recorder.last_step:
                self.offset = recorder.last_step - state.global_step

        def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, *, model: Any, **others: Any) -> None:
            # The trainer clears them after each step, and does not say which is the last of an epoch.
            self.gradients = gradient_norms_later(model)

        def on_step_end(self, args: Any, state: Any, control: Any, *, model: Any, **others: Any) -> None:
            if every == "step":
                self._record(state, model)

        def on_epoch_end(self, args: Any, state: Any, control: Any, *, model: Any, **others: Any) -> None:
            if every == "epoch":
                self._record(state, model)

        def on_train_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
            recorder.close()

        def _record(self, state: Any, model: Any) -> None:
            step = self.offset + state.global_step
            if state.is_world_process_zero and step != recorder.last_step:
                loss = next((log["loss"] for log in reversed(state.log_history) if "loss" in log), None)
                recorder(model, step, loss=loss, gradients=None if self.gradients is None else self.gradients())

    return RecorderCallback()
