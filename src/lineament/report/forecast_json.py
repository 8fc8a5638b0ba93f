"""A forecast as JSON: everything that was forecast and measured, for other programs."""

import json
import math
from typing import Any

import numpy as np

from lineament.forecasting import Comparison, Component, Forecast, LearningCurve, words


def to_json(made: Forecast, run: Comparison | None = None, curve: LearningCurve | None = None) -> str:
    """Everything that was forecast (and measured) as one line of strict JSON; null is what does not happen."""
    m = made.moments
    fields: dict[str, Any] = {
        "table": made.name,
        "rows": m.rows,
        "rows_with_missing_values": m.missing,
        "features": list(m.features),
        "constant_columns": list(m.constant),
        "outputs": list(m.outputs),
        "classes": m.classes,
        "depth": made.depth,
        "start_scale": made.start_scale,
        "seed": made.seed,
        "whiten": made.whiten,
        "step_size": made.step_size,
        "steps": made.steps,
        "largest_stable_step_size": made.largest_stable,
        "settles_below_step_size": made.settles_below,
        "recommended_step_size": made.recommended,
        "explained": made.r2,
        "least_loss": made.floor,
        "variances": made.variances,
        "components": [_component(made, component) for component in made.components],
        "phases": [phase._asdict() for phase in made.phases],
        "curve": {"step": made.time / made.step_size, "loss": made.loss},
        "stopping": _stopping(made),
        "premises": [premise._asdict() for premise in made.premises],
        "notices": list(made.notices),
    }
    if run is not None:
        fields["trained"] = {
            "verdict": run.verdict,
            "checks": [
                {"name": check.name, "value": check.value, "bar": check.high, "passed": check.passed}
                for check in run.checks
            ],
            "diverged_at": run.diverged_at,
            "widths": list(run.widths),
            "halfway": [component._asdict() for component in run.halfway],
            "step": run.steps,
            "loss": run.loss,
            "seconds": run.seconds,
        }
    if curve is not None:
        fields["more_rows"] = _more_rows(curve)
    return json.dumps(strict(fields), allow_nan=False, ensure_ascii=False)


def _component(made: Forecast, component: Component) -> dict[str, Any]:
    when = {f"{name}_step": made.step_of(getattr(component, name)) for name in ("begins", "half", "ends")}
    names = {"features": dict(component.features), "outputs": dict(component.outputs)}
    return {**component._asdict(), **when, **names}


def _stopping(made: Forecast) -> dict[str, Any] | None:
    if made.stopping is None:
        return None
    names = ("noise", "best", "window", "least", "final", "gain", "within_range", "loss")
    found, fixed = made.stopping, made.stopping.fixed_design
    return {
        **{name: getattr(found, name) for name in (*names, "method", "cross_validated", "error")},
        "fixed_design": {name: getattr(fixed or found, name) for name in names},
        "train_to_the_end": found.gain < words.SAVES_LITTLE,
        "advice": words.stop(made),
    }


def _more_rows(curve: LearningCurve) -> dict[str, Any]:
    return {
        **{name: getattr(curve, name) for name in ("rows", "used", "level", "weight", "limit", "gain", "helps")},
        "steps": [step._asdict() for step in curve.steps],
        "curve": {name: getattr(curve, name) for name in ("at", "error", "low", "high", "theory", "power_law")},
        "subsamples": {"rows": curve.subsamples, "error": curve.measured},
        "trials": [trial._asdict() for trial in curve.trials],
        "sentences": list(curve.sentences),
    }


def strict(value: Any) -> Any:
    """Only what JSON has: a number that is not finite becomes null."""
    if isinstance(value, dict):
        return {str(name): strict(part) for name, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return strict(value.tolist())
    if isinstance(value, list | tuple):
        return [strict(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
