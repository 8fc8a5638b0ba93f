"""The figures of a recording, as data: learning curves, learning order, PC-bias, ranks, and how linear it stays."""

from collections.abc import Callable, Mapping

import numpy as np

from lineament import recording as rec
from lineament.evidence.figure import Figure, Mark, Panel, bars, measured, points, reference
from lineament.recording import Recording

COURSES = 5
"""Principal components whose course is drawn."""
LAYERS = 6
"""Layers that are drawn; of more, those whose rank changes most. The page has a table of all."""
THRESHOLD = 0.02


def figures(recording: Recording) -> tuple[dict[str, Figure], list[str]]:
    """Every figure that the recording allows, by its name, and a reason for each that it does not."""
    makers: dict[str, Callable[[Recording], Figure]] = {
        "curves": _curves,
        "order": _order,
        "bias": _bias,
        "layers": _layers,
        "linear": _linear,
    }
    drawn: dict[str, Figure] = {}
    reasons: dict[str, None] = {}
    sound = recording.sound
    for name, make in makers.items():
        try:
            drawn[name] = make(sound)
        except ValueError as error:  # what a recording lacks is said on its page, and costs nothing else
            reasons[str(error)] = None
    return drawn, list(reasons)


def _curves(recording: Recording) -> Figure:
    steps, panels, sentences = recording.steps, [], []
    if recording.reported.any():
        known = recording.reported
        loss = recording.loss[known]
        scale = "log" if (loss > 0).all() else "linear"
        panels.append(Panel((_line(steps[known], loss),), "step", "training loss", "Loss", y_scale=scale))
        sentences.append(f"the loss goes from {loss[0]:.3g} to {loss[-1]:.3g}")
    if recording.labels is not None:
        error, classes = recording.error, recording.predictions is not None
        label = "probe examples wrong" if classes else "mean squared error"
        panels.append(Panel((_line(steps, error),), "step", label, "On the probe examples"))
        sentences.append(
            f"the {'error' if classes else 'squared error'} on the probe examples from " + _span(error, classes)
        )
    norm = recording.gradient_norm
    seen = np.isfinite(norm) & (norm > 0)
    if seen.any():
        panels.append(Panel((_line(steps[seen], norm[seen]),), "step", "‖gradient‖", "Gradient", y_scale="log"))
    if not panels:
        raise ValueError("no loss, labels or gradients were recorded: there is no learning curve to draw")
    caption = " and ".join(sentences) or "the norm of the gradient at each record"
    return Figure(tuple(panels), f"{caption[0].upper()}{caption[1:]}.")


def _order(recording: Recording) -> Figure:
    score, step = rec.accessibility(recording), rec.learning_step(recording)
    records = int(np.count_nonzero(recording.steps > 0))
    # Accessibility is a multiple of 1/records: bars stand around those, as long as there is room for them.
    edges = (np.arange(records + 2) - 0.5) / records if records <= 24 else np.linspace(0, 1, 21)
    histogram = Panel(
        (bars(edges, np.histogram(score, edges)[0]),), "accessibility", "examples", "How early examples are learnt"
    )
    counts = np.array([np.count_nonzero(step <= s) for s in recording.steps]) / recording.examples
    learnt = Panel(
        (_line(recording.steps, counts),), "step", "learnt for good", "When they are learnt", y_limits=(-0.02, 1.02)
    )
    never = int(np.isnan(step).sum())
    half = float(np.nanmedian(step)) if never < recording.examples else float("nan")
    return Figure(
        (histogram, learnt),
        f"Half of the examples that are right at the end stay right from step {half:g} on; {never} of "
        f"{recording.examples} are wrong at the end.",
        columns=2,
    )


def _bias(recording: Recording) -> Figure:
    bias = rec.pc_bias(recording)
    shown = np.flatnonzero(np.isfinite(bias.half))[:COURSES]
    if not shown.size:
        raise ValueError("the outputs did not move along any principal component of the probe inputs")
    courses = tuple(
        measured(recording.steps, bias.progress[:, j], f"component {j + 1}", group) for group, j in enumerate(shown)
    )
    number = np.arange(1, len(bias.half) + 1)
    moved = np.isfinite(bias.half)
    if np.isfinite(bias.spearman):
        tells = f"The rank correlation of the number of the component with the step is {bias.spearman:.2f}: " + (
            "components of high variance come first."
            if bias.spearman > 0.5
            else "components of high variance do not clearly come first."
        )
    else:
        tells = "There are too few components to say which come first."
    return Figure(
        (
            Panel(courses, "step", "share of the way", "Progress along components"),
            Panel((points(number[moved], bias.half[moved]),), "component", "half-way at step", "Which come first?"),
        ),
        tells,
        columns=2,
    )


def _layers(recording: Recording) -> Figure:
    ranks = _known_ranks(recording)
    moved = {name: _moved(rank.effective) for name, rank in ranks.items()}
    most_first = sorted(moved, key=lambda name: -moved[name])
    shown = {name: ranks[name] for name in _most_changed({name: rank.effective for name, rank in ranks.items()})}
    panels = [
        Panel(
            _lines(recording, {name: getattr(rank, kind) for name, rank in shown.items()}),
            "step",
            f"{kind} rank",
            f"{kind.capitalize()} rank of the layers",
        )
        for kind in ("effective", "stable")
    ]
    pairs = _most_changed(recording.unbalancedness)
    if pairs:
        label = r"$\Vert W_{j+1}^TW_{j+1}-W_jW_j^T\Vert$"
        panels.append(Panel(_lines(recording, pairs), "step", label, "Unbalancedness"))
    most, hidden = most_first[0], len(ranks) - len(shown)
    course = ranks[most].effective[np.isfinite(ranks[most].effective)]
    return Figure(
        tuple(panels),
        f"The effective rank changes most in layer {most or 'the model itself'}, from {course[0]:.3g} to "
        f"{course[-1]:.3g}."
        + (f" Drawn are the {len(shown)} of {len(ranks)} layers that change most." if hidden else ""),
        columns=len(panels),
    )


def _linear(recording: Recording) -> Figure:
    marks: list[Mark] = []
    sentences, reasons = [], []
    for group, (against, name) in enumerate(
        (("data", "linear map of the inputs"), ("linearisation", "own linearisation"))
    ):
        if against == "linearisation" and recording.linearised is None:
            continue
        try:
            phase = rec.linear_phase(recording, against, threshold=THRESHOLD)
        except ValueError as error:
            reasons.append(str(error))
            continue
        seen = phase.gap > 0
        marks.append(measured(recording.steps[seen], phase.gap[seen], name, group))
        whole = f"{'a' if against == 'data' else 'its'} {name}"
        ends = np.isfinite(phase.end)
        sentences.append(f"parts from {whole} at step {phase.end:.3g}" if ends else f"never parts from {whole}")
    if not sentences:
        raise ValueError("; ".join(reasons))
    marks.append(reference(recording.steps[[0, -1]], [THRESHOLD] * 2, f"{THRESHOLD:.0%}"))
    return Figure(
        (Panel(tuple(marks), "step", "gap / what is learnt", "How linear is it?", y_scale="log"),),
        f"At a gap of {THRESHOLD:.0%}, the network {' and '.join(sentences)}.",
    )


def _known_ranks(recording: Recording) -> dict[str, rec.Ranks]:
    ranks = {name: rank for name, rank in rec.ranks(recording).items() if np.isfinite(rank.effective).any()}
    if not ranks:
        raise ValueError("no layer's singular values were recorded: there are no ranks to draw")
    return ranks


def _most_changed(courses: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The few courses that change most, in the order in which they are given."""
    known = {name: course for name, course in courses.items() if np.isfinite(course).any()}
    most = sorted(known, key=lambda name: -_moved(known[name]))[:LAYERS]
    return {name: course for name, course in known.items() if name in most}


def _moved(course: np.ndarray) -> float:
    return float(np.nanmax(course) - np.nanmin(course))


def _lines(recording: Recording, courses: Mapping[str, np.ndarray]) -> tuple[Mark, ...]:
    """A line for each course, in a colour of its own."""
    return tuple(
        measured(recording.steps, course, _short(name), group) for group, (name, course) in enumerate(courses.items())
    )


def _line(x: np.ndarray, y: np.ndarray) -> Mark:
    return measured(x, y)


def _span(course: np.ndarray, share: bool) -> str:
    return " to ".join(f"{value:.1%}" if share else f"{value:.3g}" for value in course[[0, -1]])


def _short(name: str, longest: int = 22) -> str:
    """A name with as many of its last parts as fit, and the last number before them; each of a pair by itself."""
    if _PAIR in name:
        return _PAIR.join(_short(part, 16) for part in name.split(_PAIR))
    parts, number = name.split("."), ""
    while len(parts) > 1 and len(".".join(parts)) > longest:
        left_out = parts.pop(0)
        number = f"…{left_out}" if left_out.isdigit() else number
    kept = ".".join(parts)[-longest:]
    return kept if kept == name else f"{number}…{kept}"


_PAIR = " → "
