"""How hard each probe example was, from one record of training: scores for finding wrong labels and late examples."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lineament.core import arguments

from .order import _trained, accessibility, learning_step
from .recording import Recording
from .regression import estimates
from .top import Top

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
    arguments.instance("recording", recording, Recording)
    trained = _trained(recording)
    if trained.labels is None or trained.predictions is None or trained._only_chosen:
        raise ValueError("recording must hold outputs, and classes as labels, to have margins; got one without")
    if trained.outputs is None:
        return np.mean(_top_margins(trained.top), axis=0)
    outputs, labels = np.asarray(trained.outputs, np.float64), trained.labels
    if outputs.shape[2] == 1:
        return 2 * np.mean(outputs[:, :, 0], axis=0) * np.where(labels == 1, 1.0, -1.0)
    examples = np.arange(outputs.shape[1])
    given = outputs[:, examples, labels]
    others = outputs.copy()
    others[:, examples, labels] = -np.inf
    return np.mean(given - others.max(axis=2), axis=0)


def _top_margins(top: Top | None) -> NDArray[np.float64]:
    """Margins (step, example) from the two largest outputs: the labelled class is the first, or is less than it."""
    if top is None or top.labelled is None or top.values.shape[2] < 2:
        raise ValueError("recording must hold two outputs and that of the label for each example, to have margins")
    values, labelled = np.asarray(top.values, np.float64), np.asarray(top.labelled, np.float64)
    return labelled - np.where(labelled == values[..., 0], values[..., 1], values[..., 0])


def forgetting_events(recording: Recording) -> NDArray[np.int64]:
    """How often each example was right at one record and wrong at the next (Toneva et al. 2019).

    An example that was never right has forgotten nothing; `learning_step` tells these apart.
    """
    arguments.instance("recording", recording, Recording)
    correct = recording.sound.correct
    return np.sum(correct[:-1] & ~correct[1:], axis=0)


def probabilities(recording: Recording) -> NDArray[np.float64]:
    """The probability of every class (example, class), the mean over training: what cleanlab takes as `pred_probs`.

    Averaged over training they are less sure of what was learnt by heart than those of the last record. One output is
    the logarithm of the odds of class 1. Records of training count, not those at step 0.
    """
    arguments.instance("recording", recording, Recording)
    from scipy.special import expit, softmax

    trained = _trained(recording)
    if trained.outputs is None or trained.predictions is None:
        raise ValueError("recording must hold all outputs, and of classes, to have probabilities; got one without")
    if trained.outputs.shape[2] == 1:
        second = np.mean(expit(np.asarray(trained.outputs[..., 0], np.float64)), axis=0)
        return np.stack([1 - second, second], axis=1)
    total = np.zeros(trained.outputs.shape[1:])
    for outputs in trained.outputs:  # one record at a time: all at once would hold them twice over
        total += softmax(np.asarray(outputs, np.float64), axis=1)
    return total / len(trained)


def to_frame(recording: Recording) -> "pd.DataFrame":
    """All scores as a table with one row per example, the hardest first.

    For classes: `given_label`, `predicted_label` (the last), `mean_margin` where outputs were recorded, `accessibility`,
    `learning_step` (NaN if it is wrong at the end), `forgetting_events`, `is_label_issue` and `label_quality`. For real
    targets: `given_label`, `predicted_label`, `estimate` and `spread` (see `estimates`) and `label_quality`; of several
    outputs that with the worst estimate, numbered in `output`.

    `label_quality` is a rank between 0 and 1, low for what is probably a wrong label: of the mean margin, else of the
    accessibility, or of how near the estimate is to ½. `is_label_issue` says whether another class was ahead on average.
    Names are those of cleanlab's tables, so that what reads those reads this.
    """
    arguments.instance("recording", recording, Recording)
    import pandas as pd

    sound = recording.sound
    if sound.labels is None:
        raise ValueError("recording must hold labels to be scored; got one without")
    table = pd.DataFrame(_of_targets(sound) if sound.predictions is None else _of_classes(sound))
    by = next(name for name in ("mean_margin", "accessibility", "nearness") if name in table)
    table["label_quality"] = table[by].rank(pct=True)
    table = table.drop(columns="nearness", errors="ignore").rename_axis("example")
    return table.sort_values("label_quality", kind="stable")


def _of_classes(sound: Recording) -> dict[str, NDArray]:
    assert sound.labels is not None
    assert sound.predictions is not None
    columns: dict[str, NDArray] = {"given_label": sound.labels, "predicted_label": sound.predictions[-1]}
    share = accessibility(sound)
    if sound._only_chosen:
        columns["is_label_issue"] = share < 0.5
    else:
        margin = mean_margin(sound)
        columns |= {"is_label_issue": margin < 0, "mean_margin": margin}
    return columns | {
        "accessibility": share,
        "learning_step": learning_step(sound),
        "forgetting_events": forgetting_events(sound),
    }


def _of_targets(sound: Recording) -> dict[str, NDArray]:
    assert sound.labels is not None
    assert sound.outputs is not None
    score, spread = estimates(sound)
    worst = np.argmax(np.abs(score - 0.5), axis=1)
    rows = np.arange(len(worst))
    columns: dict[str, NDArray] = {"given_label": sound.labels[rows, worst]}
    columns |= {"predicted_label": sound.outputs[-1, rows, worst], "estimate": score[rows, worst]}
    columns |= {"spread": spread[rows, worst], "nearness": 0.5 - np.abs(score[rows, worst] - 0.5)}
    return columns | ({"output": worst} if score.shape[1] > 1 else {})
