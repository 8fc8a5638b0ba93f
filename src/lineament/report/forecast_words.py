"""A forecast in words: the sentences, table rows and JSON that the terminal and the page share."""

import json
import math
from typing import Any

import numpy as np

from lineament.forecasting import Comparison, Component, Forecast
from lineament.forecasting.paths import MATTERS

SHOWN = 12
"""Rows of the table of components."""

SAVES_LITTLE = 0.01
"""Stopping early that saves less than this share of the expected test loss is not worth the trouble."""


def count(value: float) -> str:
    """A whole number with its thousands set apart; a dash for what does not happen."""
    return f"{round(value):,}".replace(",", "\u202f") if math.isfinite(value) else "–"


def percent(share: float, digits: int = 0) -> str:
    """A share as a percentage."""
    return f"{100 * share:.{digits}f} %"


def title(made: Forecast) -> str:
    """What the forecast is about."""
    layers = "one layer" if made.depth == 1 else f"{made.depth} layers"
    return f"What a linear network of {layers} learns from {made.name.rsplit('/', 1)[-1]}"


def kind(made: Forecast) -> str:
    """What is learnt: modes of the target where inputs are whitened, else principal components."""
    return "mode" if made.whiten else "component"


def listed(made: Forecast) -> list[Component]:
    """The components that explain most, in the order in which they are half learnt."""
    most = sorted(made.components, key=lambda each: -each.explained)[:SHOWN]
    return sorted(most, key=lambda each: (each.half, each.number))


def matters(made: Forecast, each: Component) -> bool:
    """Whether a component explains enough of what can be learnt to be worth a mark."""
    return each.explained >= MATTERS * sum(other.explained for other in made.components)


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


def data(made: Forecast) -> str:
    """The table in one sentence."""
    m = made.moments
    what = (
        f"{len(m.outputs)} classes"
        if m.classes
        else "one target"
        if len(m.outputs) == 1
        else f"{len(m.outputs)} targets"
    )
    share = f"A linear map can explain {percent(made.r2)} of the target's variance in these examples."
    return f"{count(m.rows)} examples, {len(m.features)} features, {what}. {share}"


def pace(made: Forecast) -> str:
    """How fast it learns, in one sentence."""
    if made.lr > made.largest_stable:
        return f"At step size {made.lr:.3g}, above the largest stable one, descent will not settle."
    half, most = step_when(made, 0.5), step_when(made, 0.99)
    end = (
        f"99 % by step {count(most)}" if math.isfinite(most) else f"{percent(made.learnt)} by step {count(made.steps)}"
    )
    begin = f"half of what can be learnt is learnt by step {count(half)}, " if math.isfinite(half) else ""
    return f"At step size {made.lr:.3g}, {begin}{end}."


def first(made: Forecast) -> str:
    """What is learnt first."""
    if not math.isfinite(listed(made)[0].half):
        return "No component is half learnt within this range."
    each = next((each for each in listed(made) if matters(made, each)), listed(made)[0])
    return (
        f"First comes {kind(made)} {each.number} ({made_of(each.features)}), which explains {percent(each.explained, 1)} "
        f"of the target's variance: half learnt by step {steps(made, each.half)}."
    )


def order(made: Forecast) -> str:
    """Whether what matters is learnt in phases."""
    if not made.phases:
        return f"Only one {kind(made)} matters: there are no phases to tell apart."
    apart = sum(phase.separated for phase in made.phases)
    number = "none is" if apart == 0 else "one is" if apart == 1 else f"{apart} are"
    return (
        f"Of {len(made.phases)} successive pairs of {kind(made)}s that matter, {number} learnt strictly one after the "
        "other (90 % of the first before 10 % of the second)."
    )


def stop(made: Forecast) -> str:
    """When to stop."""
    found = made.stopping
    if found is None:
        return "When to stop cannot be told: too few examples are left over to estimate the noise."
    if not math.isfinite(found.best):
        return "Train to the end: the expected test loss never rises."
    if found.gain < SAVES_LITTLE:
        return (
            f"Train to the end: stopping at the best step, {steps(made, found.best)}, would save only "
            f"{percent(found.gain, 1)} of the expected test loss."
        )
    if not found.within_range:
        rise = percent(found.gain)
        return f"The expected test loss still falls at step {count(made.steps)}; it rises later, by {rise}."
    end = f"to {steps(made, found.window[1])}" if math.isfinite(found.window[1]) else "onwards"
    return (
        f"Stop near step {steps(made, found.best)} (within 5 % of best: {steps(made, found.window[0])} {end}): it saves "
        f"{percent(found.gain)} of the expected test loss at the end of training."
    )


def step_size(made: Forecast) -> str:
    """The step sizes, in one sentence."""
    share = f"{made.recommended / made.largest_stable:.2g}"
    return (
        f"The largest stable step at the optimum is {made.largest_stable:.3g}; recommended is {made.recommended:.3g}, "
        f"{share} of it, at which descent follows the forecast closely."
    )


def comparison(run: Comparison) -> str:
    """What training showed, in one sentence."""
    if run.diverged_at is not None:
        return f"Training diverged at step {count(run.diverged_at)}: the step size is too large."
    return (
        f"Trained in {run.seconds:.2g} s: the loss was never further than {percent(run.gap, 1)} of its first value "
        "from the forecast for the same step."
    )


def settings(made: Forecast) -> dict[str, object]:
    """What the forecast was made with."""
    directions = (
        "in the directions of the target's modes" if made.whiten else f"in random directions, seed {made.seed}"
    )
    return {
        "table": made.name,
        "target": ", ".join(made.moments.outputs[:SHOWN]) + (", …" if len(made.moments.outputs) > SHOWN else ""),
        "depth": made.depth,
        "start": f"balanced, all singular values {made.start:g}, {directions}",
        "step size": made.lr,
        "steps": made.steps,
        "inputs": "whitened" if made.whiten else "centred" if np.all(made.moments.scale == 1) else "standardised",
        "loss": "½ mean‖Wx − y‖², full batch, centred targets",
    }


def to_json(made: Forecast, run: Comparison | None = None) -> str:
    """Everything that was forecast (and measured) as one line of strict JSON; null is what does not happen."""
    m = made.moments
    found: dict[str, Any] = {
        "table": made.name,
        "rows": m.rows,
        "rows_with_missing_values": m.missing,
        "features": list(m.features),
        "constant_columns": list(m.constant),
        "outputs": list(m.outputs),
        "classes": m.classes,
        "depth": made.depth,
        "start": made.start,
        "seed": made.seed,
        "whiten": made.whiten,
        "lr": made.lr,
        "steps": made.steps,
        "largest_stable_lr": made.largest_stable,
        "recommended_lr": made.recommended,
        "explained": made.r2,
        "least_loss": made.floor,
        "variances": made.variances,
        "components": [_component(made, each) for each in made.components],
        "phases": [phase._asdict() for phase in made.phases],
        "curve": {"step": made.time / made.lr, "loss": made.loss},
        "stopping": _stopping(made),
        "premises": [premise._asdict() for premise in made.premises],
        "notices": list(made.notices),
    }
    if run is not None:
        found["trained"] = {
            "verdict": run.verdict,
            "checks": [
                {"name": check.name, "value": check.value, "bar": check.high, "passed": check.passed}
                for check in run.checks
            ],
            "diverged_at": run.diverged_at,
            "widths": list(run.widths),
            "halfway": [each._asdict() for each in run.halfway],
            "step": run.steps,
            "loss": run.loss,
            "seconds": run.seconds,
        }
    return json.dumps(_strict(found), allow_nan=False, ensure_ascii=False)


def _component(made: Forecast, each: Component) -> dict[str, Any]:
    when = {f"{name}_step": made.step_of(getattr(each, name)) for name in ("begins", "half", "ends")}
    return {**each._asdict(), **when, "features": dict(each.features), "outputs": dict(each.outputs)}


def _stopping(made: Forecast) -> dict[str, Any] | None:
    if made.stopping is None:
        return None
    names = ("noise", "best", "window", "least", "final", "gain", "within_range", "loss")
    fields = {name: getattr(made.stopping, name) for name in names}
    return {**fields, "train_to_the_end": made.stopping.gain < SAVES_LITTLE, "advice": stop(made)}


def _strict(value: Any) -> Any:
    """Only what JSON has: a number that is not finite becomes null."""
    if isinstance(value, dict):
        return {str(name): _strict(part) for name, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _strict(value.tolist())
    if isinstance(value, list | tuple):
        return [_strict(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
