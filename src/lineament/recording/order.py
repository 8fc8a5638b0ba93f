"""In which order the probe examples were learnt (Hacohen & Weinshall, §4)."""

import numpy as np
from numpy.typing import NDArray

from lineament.core import arguments

from .recording import Recording


def accessibility(recording: Recording) -> NDArray[np.float64]:
    """How early each example is learnt: the share of the records at which it is classified correctly (§4).

    Records of training count, those at step 0 do not: what an untrained network gets right is chance. They should be
    spread over training evenly, as one an epoch is. The paper averages over an ensemble too: take the mean over several
    recordings for that.
    """
    arguments.instance("recording", recording, Recording)
    from lineament.measure import order  # with JAX, which recording alone does not need

    return order.accessibility(_trained(recording).correct[None])


def learning_step(recording: Recording) -> NDArray[np.float64]:
    """The recorded step from which on each example is classified correctly to the end; NaN if it is not at the end."""
    arguments.instance("recording", recording, Recording)
    from lineament.measure.critical import critical_pc

    trained = _trained(recording)
    # Of growing approximations of the data or growing steps alike: the first from which on all are right.
    correct = trained.correct
    return critical_pc(correct.astype(int), np.ones(correct.shape[1], int), trained.steps)


def learning_order(recording: Recording) -> NDArray[np.int64]:
    """The examples from the most accessible to the least; among equals, those learnt for good earlier come first."""
    arguments.instance("recording", recording, Recording)
    last = np.nan_to_num(learning_step(recording), nan=np.inf)
    return np.lexsort((last, -accessibility(recording)))


def _trained(recording: Recording) -> Recording:
    sound = recording.sound
    begun = int(np.searchsorted(sound.steps, 0, side="right"))
    if begun == len(sound):
        raise ValueError(f"at least one sound record after step 0 is needed to see an order; steps are {sound.steps}")
    return sound[begun:]
