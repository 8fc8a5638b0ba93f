"""The figures of a forecast, as data: the loss, the components over time, when to stop, the spectrum."""

import math

import numpy as np

from lineament.evidence.figure import Figure, Mark, Panel, Role, band, bars, measured, points, reference, theory
from lineament.forecasting import Comparison, Component, Forecast, words

LINES = 5
"""Components whose course is drawn."""


def figures(made: Forecast, run: Comparison | None = None) -> dict[str, Figure]:
    """Every figure of a page by its name; what was measured is laid under the forecast."""
    return {
        "learning": Figure((_loss(made, run), _shares(made, run)), _learning_caption(made, run), columns=2),
        "timetable": Figure(
            (_timetable(made, run), *([_stopping(made)] if made.stopping is not None else [])),
            f"When each {words.kind(made)} is learnt, from 10 % to 90 %. {words.stop(made)}",
            columns=2,
        ),
        "spectrum": Figure(_spectrum(made), _spectrum_caption(made), columns=2),
    }


def _left(made: Forecast) -> float:
    """Where a logarithmic axis of steps begins: before anything is learnt, but without most of the plateau."""
    begins = min(made.step_of(component.begins) for component in made.components)
    return max(1.0, min(begins / 8, made.steps / 200))


def _shown(made: Forecast) -> tuple[np.ndarray, np.ndarray]:
    """Which points of the forecast are drawn, and their steps."""
    step = made.time / made.step_size
    later = step >= min(_left(made), step[-2])
    return later, step[later]


def _loss(made: Forecast, run: Comparison | None) -> Panel:
    later, step = _shown(made)
    marks: list[Mark] = []
    if run is not None:
        seen = run.steps >= _left(made)
        marks.append(measured(run.steps[seen], run.loss[seen], "trained"))
    marks.append(theory(step, made.loss[later], "forecast"))
    mattering = [component for component in words.listed(made) if words.matters(made, component)]
    half = np.array([component.half for component in mattering if math.isfinite(component.half)])
    loss = np.interp(half, made.time, made.loss)
    marks.append(points(half / made.step_size, loss, f"a {words.kind(made)} is half learnt", role="theory"))
    ends = step[[0, -1]]
    marks.append(reference(ends, [made.floor] * 2, "least possible"))
    # The range of the forecast: a run that diverges must not flatten it.
    limits = _with_air(made.floor, float(made.loss.max()))
    return Panel(tuple(marks), "step", "training loss", "What will the loss do?", x_scale="log", y_limits=limits)


def _shares(made: Forecast, run: Comparison | None) -> Panel:
    later, step = _shown(made)
    marks: list[Mark] = []
    drawn = _drawn(made)
    for group, component in enumerate(drawn):
        if run is not None:
            seen = run.steps >= _left(made)
            label = f"{words.kind(made)} {component.number}"
            marks.append(measured(run.steps[seen], run.share[seen, component.number - 1], label, group))
    name = "forecast"
    marks += [theory(step, made.path.share[later, component.number - 1], name) for component in drawn]
    drawn_shares = made.path.share[:, [component.number - 1 for component in drawn]]
    limits = _with_air(min(0.0, float(drawn_shares.min())), max(1.0, float(drawn_shares.max())))
    title = f"Which {words.kind(made)}s come first?"
    return Panel(tuple(marks), "step", "share learnt", title, x_scale="log", y_limits=limits)


def _timetable(made: Forecast, run: Comparison | None) -> Panel:
    rows = [component for component in words.listed(made) if math.isfinite(component.begins)]
    left, last = _left(made), float(made.steps)
    marks: list[Mark] = []
    for component in rows:
        begins, ends = max(made.step_of(component.begins), left), min(made.step_of(component.ends), last)
        # A guide over the whole range leads the eye, and lets all axes run alike.
        marks.append(reference([left, last], [component.number] * 2))
        marks.append(theory([begins, ends], [component.number] * 2, "forecast: 10 % to 90 %"))
    forecast = {row.number: made.step_of(row.half) for row in rows if math.isfinite(row.half)}
    marks.append(_at_half(forecast, "forecast: half", "theory"))
    if run is not None:
        trained = {row.number: row.measured for row in run.halfway if row.number in forecast}
        marks.append(_at_half(trained, "trained: half", "measured"))
    return Panel(tuple(marks), "step", words.kind(made), "When is each learnt?", x_scale="log")


def _at_half(steps: dict[int, float], label: str, role: Role) -> Mark:
    """The steps at which components, by their number, are half learnt."""
    return points(list(steps.values()), list(steps), label, role=role)


def _stopping(made: Forecast) -> Panel:
    stopping = made.stopping
    assert stopping is not None
    later, step = _shown(made)
    marks: list[Mark] = [reference(step, made.loss[later], "training loss")]
    curves = [stopping.loss[later], made.loss[later]]
    if stopping.fixed_design is not None and stopping.cross_validated is not None and stopping.error is not None:
        crossed, error = stopping.cross_validated[later], stopping.error[later]
        marks += [band(step, crossed - error, crossed + error), measured(step, crossed, "on tenths left out, ± error")]
        marks.append(reference(step, stopping.fixed_design.loss[later], "for a fixed design"))
        curves.append(crossed)
    if stopping.method != "cross-validation":
        name = "on rows left out one by one" if stopping.method == "leave-one-out" else "expected test loss"
        marks.append(theory(step, stopping.loss[later], name))
    low, high = min(float(curve.min()) for curve in curves), max(float(curve.max()) for curve in curves)
    if math.isfinite(stopping.best):
        marks.append(points([max(made.step_of(stopping.best), _left(made))], [stopping.least], "best", role="theory"))
    limits = _with_air(min(low, made.floor), high)
    return Panel(tuple(marks), "step", "loss", "When to stop?", x_scale="log", y_limits=limits)


def _spectrum(made: Forecast) -> tuple[Panel, Panel]:
    number = np.array([component.number for component in made.components])
    explained = np.array([component.explained for component in made.components])
    if made.whiten:
        size, label, title = [component.strength for component in made.components], "strength", "The target's modes"
    else:
        size, label, title = (
            [component.variance for component in made.components],
            "variance",
            "Variance of the inputs",
        )
    spectrum = Panel(
        (points(number, size),), words.kind(made), label, title, y_scale="linear" if made.whiten else "log"
    )
    edges = np.append(number - 0.5, number[-1] + 0.5)
    shares = Panel((bars(edges, 100 * explained),), words.kind(made), "explains [%]", "What explains the target")
    return spectrum, shares


def _with_air(low: float, high: float) -> tuple[float, float]:
    """A range with some air at both ends."""
    air = 0.06 * (high - low) or 1.0
    return low - air, high + air


def _drawn(made: Forecast) -> list[Component]:
    """The components that explain most, in the order in which they are half learnt."""
    most = sorted(made.components, key=lambda component: -component.explained)[:LINES]
    return sorted(most, key=lambda component: (component.half, component.number))


def _learning_caption(made: Forecast, run: Comparison | None) -> str:
    numbers = ", ".join(str(component.number) for component in _drawn(made))
    order = f"{words.pace(made)} In the order of half-learning: {words.kind(made)} {numbers}."
    return order if run is None else f"{order} {words.comparison(run)}"


def _spectrum_caption(made: Forecast) -> str:
    best = max(made.components, key=lambda component: component.explained)
    return (
        f"{words.kind(made).capitalize()} {best.number} ({words.made_of(best.features)}) explains most: "
        f"{best.explained:.1%} of the target's variance."
    )
