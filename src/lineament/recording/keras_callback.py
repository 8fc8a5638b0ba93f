"""The recorder as a callback of Keras 3, which is imported only when one is asked for."""

import importlib
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lineament.core import arguments

from .recorder import Recorder


def keras_callback(recorder: Recorder, every: Literal["epoch", "step"] = "epoch") -> Any:
    """A callback that records at the start of `model.fit` and after every epoch or step; Keras must be installed.

    A second `fit` goes on with the steps of the first; with `resume=True` and `initial_epoch`, from that epoch.

    Args:
        recorder: What to record.
        every: "epoch" or "step".
    """
    arguments.instance("recorder", recorder, Recorder)
    arguments.one_of("every", every, ("epoch", "step"))
    try:
        keras: Any = importlib.import_module("keras")
    except ModuleNotFoundError as error:
        raise ImportError("a Keras callback needs Keras: install it with pip install keras") from error

    class RecorderCallback(keras.callbacks.Callback):
        epoch = 0

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.epoch = epoch

        def on_train_begin(self, logs: Any = None) -> None:
            if recorder.last_step is None:
                self._record(0, None)

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if every == "step":
                steps = (getattr(self, "params", None) or {}).get("steps")
                self._record_next(logs, None if steps is None else self.epoch * steps + batch + 1)

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            if every == "epoch":
                self._record_next(logs, epoch + 1)

        def on_train_end(self, logs: Any = None) -> None:
            recorder.close()

        def _record_next(self, logs: Any, place: int | None) -> None:
            # With `initial_epoch` a run repeats what was recorded after its checkpoint; else it goes on after all of it.
            if place is None or not (recorder.resumes and self.epoch > 0):
                place = int(recorder.last_step or 0) + 1
            self._record(place, (logs or {}).get("loss"))

        def _record(self, step: float, loss: float | None) -> None:
            weights = {
                weight.path: keras.ops.convert_to_numpy(weight.value) for weight in self.model.trainable_weights
            }
            recorder(self._asked, step, loss=loss, parameters=weights)

        def _asked(self, weights: Any, x: NDArray) -> NDArray:
            """What the model says in inference mode; it holds the weights itself."""
            return np.asarray(keras.ops.convert_to_numpy(self.model(x, training=False)))

    return RecorderCallback()
