"""Less of a recording: the chosen classes alone, or the few largest outputs in place of all."""

from typing import Any, Literal

from lineament.core import arguments

from .recording import Recording
from .top import largest

Keep = Literal["outputs", "predictions"] | int


def accept_keep(keep: Keep) -> Keep:
    """Refuse what is no answer to how much is kept."""
    number = isinstance(keep, int) and not isinstance(keep, bool)
    if not (isinstance(keep, str) and keep in ("outputs", "predictions")) and not (number and keep >= 2):
        raise ValueError(
            f"keep must be 'outputs', 'predictions' or a number of outputs, 2 at least; got {arguments.shown(keep)}"
        )
    return keep


def compact(recording: Recording, keep: Keep) -> Recording:
    """A recording with less of the outputs.

    With the two largest outputs of each example and that of its label all scores of difficulty are the same as with all
    outputs; with predictions alone there are no margins. What needs all outputs, PC-bias and the linear phase, is lost.

    Args:
        recording: With outputs of at least two classes.
        keep: "predictions", or how many of the largest outputs.
    """
    arguments.instance("recording", recording, Recording)
    keep = accept_keep(keep)
    if keep == "outputs":
        return recording
    outputs, classes = recording.outputs, recording.predictions
    if outputs is None or classes is None or outputs.shape[2] < 2:
        raise ValueError(
            f"keep must be 'outputs' where these do not choose between classes, two at least; got {keep!r}"
        )
    less: dict[str, Any] = {"predictions": classes} if keep == "predictions" else {}
    if keep != "predictions":
        less["top"] = largest(outputs, int(keep), recording.labels)
    return Recording(
        recording.steps, None, recording.labels, recording.inputs,
        loss=recording._told, spectra=recording.spectra, unbalancedness=recording.unbalancedness,
        gradients=recording.gradients, seconds=recording.seconds, between=recording.between, about=recording.about,
        **less,
    )  # fmt: skip
