"""A forecast in words: the sentences that the object, the terminal and the page share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..core.words import several
from .paths import MATTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .compare import Comparison
    from .result import Component, Forecast

SHOWN = 12
"""Rows of the table of components."""

SAVES_LITTLE = 0.01
"""Stopping early that saves less than this share of the expected test loss is not worth the trouble."""


LEARNS = 0.01
"""The least share of what can be learnt that counts as having learnt anything."""


def count(value: float) -> str:
    """A whole number with its thousands set apart; a dash for what does not happen."""
    return f"{round(value):,}".replace(",", "\u202f") if math.isfinite(value) else "–"


def percent(share: float, digits: int = 0) -> str:
    """A share as a percentage."""
    return f"{100 * share:.{digits}f} %"


def part(share: float) -> str:
    """A share as a percentage, with one more digit where it would read 0 % or 100 % and is not."""
    return percent(share, 1 if 0.0005 <= share < 0.005 or 0.995 <= share < 0.9995 else 0)


def loss(value: float) -> str:
    """A loss to three digits, in plain figures as long as there are few of them."""
    return count(float(f"{value:.3g}")) if 1000 <= value < 1e6 else f"{value:.3g}"


def title(made: Forecast) -> str:
    """What the forecast is about."""
    layers = "one layer" if made.depth == 1 else f"{made.depth} layers"
    return f"What a linear network of {layers} learns from {made.name.rsplit('/', 1)[-1]}"


def kind(made: Forecast) -> str:
    """What is learnt: modes of the target where inputs are whitened, else principal components."""
    return "mode" if made.whiten else "component"


def listed(made: Forecast) -> list[Component]:
    """The components that explain most, in the order in which they are half learnt."""
    most = sorted(made.components, key=lambda component: -component.explained)[:SHOWN]
    return sorted(most, key=lambda component: (component.half, component.number))


def matters(made: Forecast, component: Component) -> bool:
    """Whether a component explains enough of what can be learnt to be worth a mark."""
    return component.explained >= MATTERS * sum(other.explained for other in made.components)


def steps(made: Forecast, time: float) -> str:
    """A time as a number of steps."""
    return count(made.step_of(time))


def made_of(pairs: tuple[tuple[str, float], ...]) -> str:
    """The names that weigh most, with the sign of their weight."""
    return ", ".join(f"{'+' if weight >= 0 else '−'}{name}" for name, weight in pairs)


def step_when(made: Forecast, share: float) -> float:
    """The step after which a share of what can be learnt is learnt; infinity if not in the range."""
    learnt = 1 - made.path.left / made.path.left[0]
    i = int(np.argmax(learnt >= share))
    return made.step_of(float(made.time[i])) if learnt[i] >= share else math.inf


def sentences(made: Forecast, run: Comparison | None = None) -> tuple[str, ...]:
    """All that is to be said of a forecast, and of the run that it was compared with."""
    told = tuple(part(made) for part in (data, step_size, pace, first, order, stop, test_loss) if part(made))
    return told if run is None else (*told, f"Trained: {run.verdict}. {comparison(run)}")


def brief(made: Forecast) -> str:
    """The forecast in one short line."""
    m = made.moments
    layers = "1 layer" if made.depth == 1 else f"{made.depth} layers"
    name = made.name if len(made.name) <= 40 else f"…{made.name[-39:]}"
    return (
        f"{name}: {count(m.rows)} examples, {several(len(m.features), 'feature')}, {outputs(made)}; {layers}, "
        f"step size {made.step_size:.3g}, {several(made.steps, 'step')}, {percent(made.learnt)} learnt"
    )


def outputs(made: Forecast) -> str:
    """How many targets there are, or classes."""
    number = len(made.moments.outputs)
    if made.moments.classes:
        return f"{number} classes"
    return "one target" if number == 1 else f"{number} targets"


def left_out(missing: int, rows: int) -> str:
    """How many rows have a missing value."""
    have, were = ("has", "was") if missing == 1 else ("have", "were")
    return f"{missing} of {rows} rows {have} a missing value and {were} left out."


def constant(columns: Sequence[str]) -> str:
    """Which columns do not vary."""
    were = "was" if len(columns) == 1 else "were"
    named = ", ".join(columns[:6]) + (", …" if len(columns) > 6 else "")
    return f"{several(len(columns), 'constant column')} {were} left out: {named}."


def data(made: Forecast) -> str:
    """The table in one sentence."""
    m = made.moments
    share = f"A linear map can explain {part(made.r2)} of the target's variance in these examples."
    return f"{count(m.rows)} examples, {several(len(m.features), 'feature')}, {outputs(made)}. {share}"


def pace(made: Forecast) -> str:
    """How fast it learns, in one sentence."""
    if made.step_size > made.largest_stable:
        return beyond(made)
    at = f"At step size {made.step_size:.3g}"
    if made.learnt < LEARNS:
        return f"{at} hardly anything is learnt in {several(made.steps, 'step')}."
    half, most = step_when(made, 0.5), step_when(made, 0.99)
    end = (
        f"99 % of the way by step {count(most)}"
        if math.isfinite(most)
        else f"{percent(made.learnt)} of the way by step {count(made.steps)}"
    )
    begin = f"half of the way by step {count(half)} and " if math.isfinite(half) else ""
    return f"{at} the training loss goes {begin}{end} to the least that a linear map has."


def beyond(made: Forecast) -> str:
    """What becomes of steps above the largest that the balanced optimum bears: the forecast of the flow ends there."""
    above = f"The step size {made.step_size:.3g} is above {made.largest_stable:.3g}, the largest stable one"
    if made.depth == 1:
        return f"{above}: descent diverges."
    ends = f"{above} at the balanced optimum: the forecast ends there."
    if made.step_size < made.settles_below:
        return (
            f"{ends} Descent can still settle, at a flatter, unbalanced optimum: one bears steps up to "
            f"{made.settles_below:.3g}."
        )
    others = "no optimum" if len(made.moments.outputs) == 1 else "no optimum with scaled layers"
    return (
        f"{ends} As {others} bears more than {made.settles_below:.3g}, descent ends in a cycle of two or more maps, or "
        "diverges."
    )


def first(made: Forecast) -> str:
    """What is learnt first."""
    if made.step_size > made.largest_stable:
        return "All times below are those of gradient flow, which descent does not follow at this step size."
    if not math.isfinite(listed(made)[0].half):
        return f"No {kind(made)} is half learnt within this range."
    component = next((one for one in listed(made) if matters(made, one)), listed(made)[0])
    if not math.isfinite(component.half):
        return f"No {kind(made)} that matters is half learnt within this range."
    return (
        f"First comes {kind(made)} {component.number} ({made_of(component.features)}), which explains "
        f"{percent(component.explained, 1)} of the target's variance: half learnt by step {steps(made, component.half)}."
    )


def order(made: Forecast) -> str:
    """Whether what matters is learnt in phases."""
    if not made.phases:
        if not any(math.isfinite(component.half) for component in made.components):
            return ""
        if sum(matters(made, component) for component in made.components) > 1:
            return (
                f"No two {kind(made)}s that matter are half learnt within this range: there are no phases to compare."
            )
        return f"Only one {kind(made)} matters: there are no phases to tell apart."
    pairs, apart = len(made.phases), sum(phase.separated for phase in made.phases)
    strictly = "learnt strictly one after the other (90 % of the first before 10 % of the second)"
    if pairs == 1:
        return f"The two {kind(made)}s that matter are {'' if apart else 'not '}{strictly}."
    number = "none is" if apart == 0 else "one is" if apart == 1 else "all are" if apart == pairs else f"{apart} are"
    return f"Of {pairs} successive pairs of {kind(made)}s that matter, {number} {strictly}."


def stop(made: Forecast) -> str:
    """When to stop."""
    stopping = made.stopping
    if stopping is None:
        return "When to stop cannot be told: too few examples are left over to estimate the noise."
    if made.step_size > made.largest_stable:
        return "When to stop cannot be told: the forecast ends at this step size."
    if made.learnt < LEARNS:
        return "When to stop cannot be told: hardly anything is learnt within this range."
    if not math.isfinite(stopping.best):
        return "Train to the end: the expected test loss never rises."
    if stopping.gain < SAVES_LITTLE:
        return (
            f"Train to the end: stopping at the best step, {steps(made, stopping.best)}, would save only "
            f"{percent(stopping.gain, 1)} of the expected test loss."
        )
    if not stopping.within_range:
        rise = percent(stopping.gain)
        return f"The expected test loss still falls at step {count(made.steps)}; it rises later, by {rise}."
    end = f"to {steps(made, stopping.window[1])}" if math.isfinite(stopping.window[1]) else "onwards"
    return (
        f"Stop near step {steps(made, stopping.best)} (within 5 % of best: {steps(made, stopping.window[0])} {end}): it "
        f"saves {percent(stopping.gain)} of the expected test loss at the end of training."
    )


def test_loss(made: Forecast) -> str:
    """What the loss on new rows will be, by every estimate; empty where nothing is said on stopping."""
    stopping = made.stopping
    if stopping is None:
        return ""
    i = int(np.argmin(stopping.loss))
    told = f"{loss(stopping.least)} at best, {loss(stopping.final)} when everything is learnt"
    fixed, crossed, error = stopping.fixed_design, stopping.cross_validated, stopping.error
    if fixed is None or crossed is None or error is None or stopping.final_error is None:
        return (
            f"The test loss is expected to be {told}, on new labels of the table's own inputs (a fixed design); on new "
            "rows it is higher, and the table is too short or too wide to hold rows out."
        )
    said = f"{loss(fixed.least)}, {loss(fixed.final)}"
    apart = f"; for new labels of the table's own inputs (a fixed design) theory says {said}"
    if stopping.method == "cross-validation":
        # Where training never hurts, the best is what is left when everything is learnt, beyond the end of the path.
        off = stopping.final_error if stopping.least == stopping.final else error[i]
        return f"On tenths of the rows that were left out the test loss is {told} (± {off:.2g}){apart}."
    return (
        f"On rows left out one by one the test loss is {told}; on tenths that were left out {loss(crossed[i])} "
        f"(± {error[i]:.2g}) at the same step{apart}."
    )


def step_size(made: Forecast) -> str:
    """The step sizes, in one sentence."""
    share = f"{made.recommended / made.largest_stable:.2g}"
    return (
        f"The largest stable step at the balanced optimum is {made.largest_stable:.3g}; recommended is "
        f"{made.recommended:.3g}, {share} of it, at which descent follows the forecast closely."
    )


def comparison(run: Comparison) -> str:
    """What training showed, in one sentence."""
    if run.diverged_at is not None:
        return f"Training diverged at step {count(run.diverged_at)}: the step size is too large."
    if all(check.void for check in run.checks):
        return (
            f"Neither forecast nor training learns anything in {several(run.forecast.steps, 'step')} to be compared."
        )
    return (
        f"Trained in {run.seconds:.2g} s: the loss was never further than {percent(run.gap, 1)} of its first value "
        "from the forecast for the same step."
    )


def settings(made: Forecast) -> dict[str, object]:
    """What the forecast was made with."""
    directions = (
        "in the directions of the target's modes" if made.whiten else f"in random directions, seed {made.seed}"
    )
    targets = "centred" if np.all(made.moments.target_scale == 1) else "standardised"
    return {
        "table": made.name,
        "target": ", ".join(made.moments.outputs[:SHOWN]) + (", …" if len(made.moments.outputs) > SHOWN else ""),
        "depth": made.depth,
        "start": f"balanced, all singular values {made.start_scale:g}, {directions}",
        "step size": made.step_size,
        "steps": made.steps,
        "inputs": "whitened" if made.whiten else "centred" if np.all(made.moments.scale == 1) else "standardised",
        "loss": f"½ mean‖Wx − y‖², full batch, {targets} targets",
    }
