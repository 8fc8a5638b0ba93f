"""How long a network is linear: against the best linear map of the data, its own linearisation, or a given twin."""

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lineament.core import arguments

from .bias import learnt_outputs, unit_coordinates
from .recording import Recording

if TYPE_CHECKING:
    from lineament.measure.agreement import LinearPhase

Floats = NDArray[np.float64]


def data_linear(recording: Recording) -> tuple[Floats, Floats, int]:
    """What the network learnt, and the linear map of the probe inputs nearest to it at each record.

    What it learnt is the change of its outputs since the first record, less its mean over the examples. Early on a wide
    network moves as a linear model on its inputs (Hu et al. 2020): this is the linear model, of all, that comes nearest.

    Returns:
        The change and its linear part, (step, example, output), and how many features the latter has, the constant
        included.
    """
    arguments.instance("recording", recording, Recording)
    f = learnt_outputs(recording)
    components = recording.components
    features = components.count + 1
    if features >= recording.examples:
        raise ValueError(
            f"more than {features} probe examples are needed to tell a network from a linear map of its inputs; "
            f"got {recording.examples}"
        )
    c = unit_coordinates(recording, components)
    f = f - f.mean(axis=1, keepdims=True)
    return f, c @ (c.T @ f) / recording.examples, features


def linear_phase(
    recording: Recording,
    against: Literal["data", "linearisation"] | ArrayLike = "data",
    *,
    threshold: float = 0.02,
    scale: float | None = None,
) -> "LinearPhase":
    """The step at which the network parts from a linear one.

    Against "data" it is `data_linear`. Its features fit a part of anything, `features/examples` of noise: the gap is
    the residual over the degrees of freedom that are left, as in regression. Against "linearisation" it is the
    network's first-order expansion in its parameters about the first record. Both compare changes since that record.
    Given outputs, such as those of `lineament.theory.twin.two_layer(…).predict(steps, inputs)`, are compared as they
    are.

    Args:
        recording: With outputs; with inputs, or linearised outputs, as `against` asks.
        against: "data", "linearisation", or outputs (step, example[, output]).
        threshold: The gap at which they count as parted.
        scale: What the gap is relative to; by default the largest mean square of what the network learnt, so that a
            gap is a share of it, or that of a given twin's outputs. It grows with the length of a run whose outputs
            do not settle, as under cross-entropy.
    """
    arguments.instance("recording", recording, Recording)
    from lineament.measure import agreement  # with JAX, which recording alone does not need

    threshold = arguments.number("threshold", threshold, above=0)
    scale = None if scale is None else arguments.number("scale", scale, above=0)
    sound = recording.sound
    if not isinstance(against, str):
        twin = arguments.real("against", against)
        if twin.ndim not in (2, 3):
            raise ValueError(f"against must be outputs (step, example[, output]); got shape {twin.shape}")
        twin = (twin[..., None] if twin.ndim == 2 else twin)[: len(sound)]
        if sound.outputs is None:
            raise ValueError("outputs must have been recorded to compare them with a twin's")
        return agreement.linear_phase(sound.steps, sound.outputs, twin, threshold=threshold, scale=scale)
    if against == "linearisation":
        if sound.linearised is None:
            raise ValueError("linearised outputs must have been recorded: ask the recorder for linearise=True")
        # A run that was resumed without the file of its start has none from there on.
        known = np.isfinite(sound.linearised).all(axis=(1, 2))
        sound = sound if known.all() else sound[: int(np.argmin(known))]
        assert sound.linearised is not None
        f, g = learnt_outputs(sound), sound.linearised.astype(np.float64) - sound.linearised[0].astype(np.float64)
        return agreement.linear_phase(sound.steps, f, g, threshold=threshold, scale=scale or _largest(f))
    if against != "data":
        raise ValueError(f"against must be 'data', 'linearisation' or outputs of a twin; got {against!r}")
    f, g, features = data_linear(sound)
    freedom = 1 - features / sound.examples
    phase = agreement.linear_phase(sound.steps, f, g, threshold=threshold * freedom, scale=scale or _largest(f))
    return phase._replace(gap=phase.gap / freedom)


def _largest(f: Floats) -> float:
    largest = float(np.mean(f**2, axis=(1, 2)).max())
    if largest == 0:
        raise ValueError("the outputs must change to see how; they are the same at every record")
    return largest
