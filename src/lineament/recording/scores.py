"""How hard each probe example was, from one record of training: scores for finding wrong labels and late examples."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .order import _trained, accessibility, learning_step
from .recording import Recording

if TYPE_CHECKING:
    import pandas as pd


def mean_margin(recording: Recording) -> NDArray[np.float64]:
    """The margin of the labelled class over the largest other output, averaged over training (AUM, Pleiss et al. 2020).

    Low or negative values point to wrong labels: the other examples pull such an output away from the label given.
    Records of training count, not those at step 0. With one output, classes 0 and 1, the margin is twice the output,
    signed.

    Returns:
        One number for each example.
    """
    trained = _trained(recording)
    if trained.outputs is None or trained.labels is None or trained.predictions is None:
        raise ValueError("recording must hold outputs, and classes as labels, to have margins; got one without")
    outputs, labels = np.asarray(trained.outputs, np.float64), trained.labels
    if outputs.shape[2] == 1:
        return 2 * np.mean(outputs[:, :, 0], axis=0) * np.where(labels == 1, 1.0, -1.0)
    examples = np.arange(outputs.shape[1])
    given = outputs[:, examples, labels]
    others = outputs.copy()
    others[:, examples, labels] = -np.inf
    return np.mean(given - others.max(axis=2), axis=0)


def forgetting_events(recording: Recording) -> NDArray[np.int64]:
    """How often each example was right at one record and wrong at the next (Toneva et al. 2019).

    An example that was never right has forgotten nothing; `learning_step` tells these apart.
    """
    correct = recording.sound.correct
    return np.sum(correct[:-1] & ~correct[1:], axis=0)


def to_frame(recording: Recording) -> "pd.DataFrame":
    """All scores as a table with one row per example, the hardest first.

    Columns: `label`, `prediction` (the last), `mean_margin` where outputs were recorded, `accessibility`,
    `learning_step` (NaN if it is wrong at the end), `forgetting_events`, and `label_quality`: the rank of the mean
    margin (else of the accessibility) between 0 and 1, low for what is probably a wrong label, as cleanlab's scores are.
    """
    import pandas as pd

    sound = recording.sound
    if sound.labels is None or sound.predictions is None:
        raise ValueError("recording must hold classes as labels to be scored; got one without")
    columns: dict[str, NDArray] = {"label": sound.labels, "prediction": sound.predictions[-1]}
    if sound.outputs is not None:
        columns["mean_margin"] = mean_margin(recording)
    columns |= {
        "accessibility": accessibility(recording),
        "learning_step": learning_step(recording),
        "forgetting_events": forgetting_events(recording),
    }
    table = pd.DataFrame(columns).rename_axis("example")
    by = "mean_margin" if "mean_margin" in table else "accessibility"
    table["label_quality"] = table[by].rank(pct=True)
    return table.sort_values("label_quality", kind="stable")
