"""How real targets fit what a network makes of the others: a score for wrong or unusual targets."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lineament.core import arguments

from .order import _trained
from .recording import Recording


class Estimates(NamedTuple):
    """How each target lies in the distribution that the network predicts for it, over training.

    Attributes:
        score: The share of that distribution below the target (example, output), the mean over training. Near 0 the
            network over-estimates the target to the end, near 1 it under-estimates it, around ½ it gets it right.
        spread: Its standard deviation over training (example, output): large where the network changed its mind.
    """

    score: NDArray[np.float64]
    spread: NDArray[np.float64]


def estimates(recording: Recording) -> Estimates:
    """Where each real target lies among what the network predicts for it, after TRIAGE (Seedat et al. 2023).

    At every record the errors of the other examples, added to what the network says of this one, are its predictive
    distribution (conformal, one left out); the score is the share of it below the target given. The paper divides
    errors by how difficult an example's neighbours are, and takes them from a set held out; here they are taken as they
    are, over the probe examples. Records of training count, not those at step 0.

    Args:
        recording: With outputs and real targets, of two examples at least.
    """
    arguments.instance("recording", recording, Recording)
    trained = _trained(recording)
    if trained.outputs is None or trained.labels is None or trained.predictions is not None or trained.examples < 2:
        raise ValueError(
            "recording must hold outputs and real targets of two examples at least; for classes there is mean_margin"
        )
    from scipy.stats import rankdata

    errors = trained.labels - np.asarray(trained.outputs, np.float64)
    below = (rankdata(errors, axis=1) - 1) / (trained.examples - 1)
    return Estimates(below.mean(axis=0), below.std(axis=0))
