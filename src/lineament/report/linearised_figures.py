"""The figures of a network's forecast, as data: losses with the safe region, accuracies, when examples are learnt."""

import numpy as np

from lineament.evidence.figure import Figure, Mark, Panel, band, bars, measured, points, reference, theory
from lineament.linearisation import Linearised, Renewed, words

Run = dict[str, np.ndarray]
"""Of a run to lay under a forecast: "step", "loss", and where they were measured "test_loss", "accuracy", …"""


def figures(made: Linearised, run: Run | None = None) -> dict[str, Figure]:
    """Every figure by its name; what was measured is laid under the forecast."""
    found = {"loss": Figure(tuple(_losses(made, run)), f"{words.outcome(made)} {words.safe(made)}", columns=2)}
    if made.classes:
        found["accuracy"] = Figure((_accuracy(made, run),), _accuracy_caption(made), columns=1)
    return found | {"examples": Figure((_examples(made),), words.late(made), columns=1)}


def _losses(made: Linearised, run: Run | None) -> list[Panel]:
    bar = made.error_bar
    curves = made.curves
    panels = []
    if made.y_test is not None:
        spread = (bar.test_low, bar.test_high)
        carried = made.safety.test_loss
        panels.append(_loss(made, curves.test_loss, carried, spread, run, "test_loss", "What will the test loss do?"))
    spread = (bar.low, bar.high)
    panels.append(_loss(made, curves.loss, made.safety.loss, spread, run, "loss", "What will the training loss do?"))
    return panels


def _loss(
    made: Linearised,
    curve: np.ndarray,
    carried: np.ndarray,
    spread: tuple[np.ndarray, np.ndarray],
    run: Run | None,
    name: str,
    title: str,
) -> Panel:
    shown = made.at >= 1
    step, loss = made.at[shown], curve[shown]
    low, high = float(np.nanmin(loss)), float(np.nanmax(loss[: max(2, len(loss))]))
    air = 0.08 * (high - low) or 1.0
    marks: list[Mark] = []
    if run is not None and name in run:
        later = run["step"] >= 1
        marks.append(measured(run["step"][later], run[name][later], "trained", 0))
    # Beyond the figure the bar is cut off, not the figure made to hold it.
    below, above = (np.clip(part[shown], low - air, high + air) for part in spread)
    marks.append(band(step, below, above, "error bar", 2))
    marks.append(theory(step, loss, "forecast"))
    if isinstance(made, Renewed) and np.isfinite(made.linear_until):
        alone = getattr(made.tangent.curves, name)[shown]
        inside = (alone >= low - air) & (alone <= high + air)
        marks.append(reference(step[inside], alone[inside], "first tangent alone"))
    if len(made.safety.steps):
        seen = "tangent renewed" if isinstance(made, Renewed) else "looks at the network"
        marks.append(points(made.safety.steps, carried, seen, role="theory"))
    marks += _safe_line(made, low - air, high + air)
    label = "test loss" if name == "test_loss" else "training loss"
    return Panel(tuple(marks), "step", label, title, x_scale="log", y_limits=(low - air, high + air))


def _safe_line(made: Linearised, low: float, high: float) -> list[Mark]:
    """The end of the safe region, if it lies within the figure."""
    if not np.isfinite(made.safe_step):
        return []
    return [reference([max(made.safe_step, 1.0)] * 2, [low, high], "safe until here")]


def _accuracy(made: Linearised, run: Run | None) -> Panel:
    shown = made.at >= 1
    marks: list[Mark] = []
    names = [("accuracy", made.curves.accuracy, "training", 0)]
    if made.y_test is not None:
        names.append(("test_accuracy", made.curves.test_accuracy, "test", 1))
    for name, curve, label, group in names:
        if run is not None and name in run:
            later = run["step"] >= 1
            marks.append(measured(run["step"][later], 100 * run[name][later], f"{label}, trained", group))
        marks.append(theory(made.at[shown], 100 * curve[shown], f"{label}, forecast", group))
    marks += _safe_line(made, 0.0, 100.0)
    return Panel(
        tuple(marks), "step", "right answers [%]", "How many answers are right?", "log", y_limits=(0.0, 103.0)
    )


def _accuracy_caption(made: Linearised) -> str:
    right = made.curves.accuracy if made.y_test is None else made.curves.test_accuracy
    half = made.at[int(np.argmax(right >= right[0] + 0.5 * (right[-1] - right[0])))]
    gained = f"half of the gain is there by step {words.count(half)}"
    return f"{100 * right[-1]:.1f} % of answers are right at the end; {gained}."


def _examples(made: Linearised) -> Panel:
    """How many examples are learnt in each stretch of training."""
    when = made.learnt_at[np.isfinite(made.learnt_at)]
    edges = np.unique(np.rint(np.geomspace(1, max(made.steps, 2), 25)))
    edges = np.r_[edges, edges[-1] * 1.0001]
    heights = np.histogram(np.maximum(when, 1), edges)[0]
    return Panel((bars(edges, heights),), "step", "examples", "When are examples learnt for good?", x_scale="log")
