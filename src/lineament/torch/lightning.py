"""The recorder as a callback of Lightning, which is imported only when one is asked for."""

import importlib
from typing import TYPE_CHECKING, Any

from .layer_state import gradient_norms

if TYPE_CHECKING:
    from .recorder import Recorder

_HOMES = ("lightning.pytorch", "pytorch_lightning")


def callback(recorder: "Recorder", every: str = "epoch") -> Any:
    """A callback that records at the start of training and after every epoch or step, on the first process only.

    Args:
        recorder: What to record; its probe inputs must be on the device that Lightning trains on.
        every: "epoch" or "step".
    """
    if every not in ("epoch", "step"):
        raise ValueError(f"every must be 'epoch' or 'step'; got {every!r}")
    base: Any = _base()

    class RecorderCallback(base):
        def __init__(self) -> None:
            super().__init__()
            self.recorder, self.loss, self.last = recorder, None, None
            self.gradients, self.offset = None, 0

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            before = recorder.last_step
            if self.last is not None and before is not None and trainer.global_step <= before - self.offset:
                # A second fit counts from zero again: its steps follow those of the first, whose end is its start.
                self.offset, self.last = before - trainer.global_step, trainer.global_step
                return
            self._record(trainer, pl_module)

        def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
            # Before validation and the next batch clear them; only those of a batch that is recorded are needed.
            if every == "step" or getattr(trainer, "is_last_batch", True):
                self.gradients = gradient_norms(pl_module)

        def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
            self.loss = outputs["loss"] if isinstance(outputs, dict) else outputs
            if every == "step":
                self._record(trainer, pl_module)

        def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            if every == "epoch":
                self._record(trainer, pl_module)

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            recorder.close()

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            recorder.close()

        def _record(self, trainer: Any, pl_module: Any) -> None:
            # Batches that only gather gradients do not move the step: there is nothing new to record.
            if trainer.is_global_zero and trainer.global_step != self.last:
                recorder(pl_module, self.offset + trainer.global_step, loss=self.loss, gradients=self.gradients)
                self.last, self.gradients = trainer.global_step, None

    return RecorderCallback()


def _base() -> type:
    for home in _HOMES:
        try:
            return importlib.import_module(home).Callback
        except ModuleNotFoundError as error:
            if error.name != home and error.name != home.split(".")[0]:
                raise
    raise ImportError("a Lightning callback needs Lightning: install it with pip install lightning")
