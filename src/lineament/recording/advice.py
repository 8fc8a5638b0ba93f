"""What to do after a recorded run: which labels to look at, which classes and layers need help, how far theory goes."""

from typing import NamedTuple

import numpy as np

from lineament.core import arguments

from .order import _trained, learning_step
from .phase import linear_phase
from .ranks import ranks
from .recording import Recording
from .scores import mean_margin

FEW = 5  # rows, classes or layers that a sentence names
COLLAPSED = 0.5  # of the effective rank a layer began with
FAR = 4.0  # standard deviations, by their median: one normal error in 16 000 is farther
LATE = 2.0  # times as many steps as the median class


class Advice(NamedTuple):
    """One thing to do.

    Attributes:
        kind: "trouble", "labels", "classes", "layers" or "linear".
        text: A sentence for a reader.
        rows: The examples it is about, the most urgent first.
    """

    kind: str
    text: str
    rows: tuple[int, ...] = ()


def advice(recording: Recording) -> list[Advice]:
    """What a recording suggests to do, the most urgent first; nothing where it gives no reason."""
    arguments.instance("recording", recording, Recording)
    trouble = recording.trouble
    if trouble is not None and trouble.place == 0:
        return [Advice("trouble", f"{_capital(str(trouble))}.")]
    sound = recording.sound
    found = [] if trouble is None else [Advice("trouble", f"{_capital(str(trouble))}.")]
    return found + [
        one for part in (_labels, _classes, _layers, _linear) if (one := _or_none(part, sound)) is not None
    ]


def _or_none(part, sound: Recording) -> Advice | None:
    try:
        return part(sound)
    except ValueError:  # the recording does not hold what it takes, as its page says
        return None


def _labels(sound: Recording) -> Advice | None:
    """Labels that another class was ahead of, on average over training."""
    if sound.labels is None:
        return None
    if sound.predictions is None:
        return _targets(sound)
    margin = mean_margin(sound)
    rows = np.flatnonzero(margin < 0)
    rows = rows[np.argsort(margin[rows], kind="stable")]
    if not rows.size:
        return None
    if len(rows) > sound.examples / 2:
        return Advice(
            "labels",
            "Train longer before you look for wrong labels: on average another class is ahead of the label for "
            f"{len(rows)} of {sound.examples} examples, too many to tell hard ones from wrong ones.",
        )
    labels, predictions = sound.labels, sound.predictions
    pairs = ", ".join(
        f"{row} (labelled {labels[row]}, said {_rival(predictions[:, row], int(labels[row]))})" for row in rows[:FEW]
    )
    text = (
        f"Look at the labels of {len(rows)} of {sound.examples} examples, for which another class was ahead over most of "
        f"training, beginning with row{'s' * (len(rows) > 1)} {pairs}."
    )
    return Advice("labels", text, tuple(rows.tolist()))


def _rival(predictions: np.ndarray, label: int) -> int:
    """The class other than the label that was predicted most often: at the end a wrong label may have been memorised."""
    others, counts = np.unique(predictions[predictions != label], return_counts=True)
    return others[np.argmax(counts)] if others.size else predictions[-1]


def _targets(sound: Recording) -> Advice | None:
    """Targets that the network misses throughout training by far more than others."""
    trained = _trained(sound)
    if trained.labels is None or trained.outputs is None:
        return None
    errors = np.mean(trained.labels - np.asarray(trained.outputs, np.float64), axis=0)
    off = np.abs(errors - np.median(errors, axis=0))
    spread = 1.4826 * np.median(off, axis=0)  # that of a normal distribution with this median
    times = np.max(off / np.where(spread > 0, spread, np.inf), axis=1)
    rows = np.flatnonzero(times > FAR)
    rows = rows[np.argsort(-times[rows], kind="stable")]
    if not rows.size:
        return None
    text = (
        f"Look at the targets of {len(rows)} of {sound.examples} examples, which the network misses throughout training "
        f"by more than {FAR:g} standard deviations of its errors, beginning with row{'s' * (len(rows) > 1)} "
        f"{', '.join(map(str, rows[:FEW]))}."
    )
    return Advice("labels", text, tuple(rows.tolist()))


def _classes(sound: Recording) -> Advice | None:
    """Classes half of whose examples are learnt for good much later than those of the median class, or not at all."""
    labels = sound.labels
    if labels is None or sound.predictions is None:
        return None
    step = np.nan_to_num(learning_step(sound), nan=np.inf)
    present = np.unique(labels)
    if len(present) < 2:
        return None
    half = np.array([np.median(step[labels == c]) for c in present])
    usual = float(np.median(half))
    first = float(_trained(sound).steps[0])
    late = np.flatnonzero(half > LATE * max(usual, first)) if np.isfinite(usual) else np.array([], int)
    if not late.size:
        return None
    late = late[np.argsort(-half[late], kind="stable")]
    ends = ["most are wrong at the end" if np.isinf(end) else f"half of it right from step {end:g}" for end in half]
    told = ", ".join(f"{present[c]} ({ends[c]})" for c in late[:FEW])
    more = f" and {len(late) - FEW} more" if len(late) > FEW else ""
    text = (
        f"Give more weight or more examples to {'a class that comes' if len(late) == 1 else 'classes that come'} late: "
        f"{told}{more}; half of the examples of the median class are right from step {usual:g} on."
    )
    return Advice("classes", text)


def _layers(sound: Recording) -> Advice | None:
    """Layers that kept less than half of the effective rank they began with."""
    courses = {name: rank.effective[np.isfinite(rank.effective)] for name, rank in ranks(sound).items()}
    shares = {name: course[-1] / course[0] for name, course in courses.items() if len(course) > 1 and course[0] > 0}
    fallen = sorted((name for name, share in shares.items() if share < COLLAPSED), key=lambda name: shares[name])
    if not fallen:
        return None
    told = ", ".join(
        f"{name or 'the model'} ({courses[name][0]:.3g} to {courses[name][-1]:.3g})" for name in fallen[:FEW]
    )
    more = f" and {len(fallen) - FEW} more" if len(fallen) > FEW else ""
    text = (
        f"Try fewer parameters in {len(fallen)} of {len(shares)} layers, whose effective rank collapsed: {told}{more}. "
        "If the network ought to use them, try a smaller step size or less weight decay."
    )
    return Advice("layers", text)


def _linear(sound: Recording) -> Advice | None:
    """Until when forecasts for linear models hold."""
    against = "data" if sound.linearised is None else "linearisation"
    phase = linear_phase(sound, against)
    model = "a linear model of the inputs" if against == "data" else "its linearisation at the start"
    if np.isinf(phase.end):
        text = f"Use linear theory for all of this run: to the last record the network stays near {model}."
    else:
        text = f"Trust forecasts by linear theory until step {phase.end:.3g}: there the network parts from {model}."
    return Advice("linear", text)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
