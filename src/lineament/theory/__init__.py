"""What is predicted: closed forms in NumPy and SciPy, in float64, without any flag.

Modules are imported when they are first used: together they need all of SciPy, which takes half a second.
"""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import (
        activations,
        analytic_svd,
        assumptions,
        certificates,
        circulation,
        constant_alignment,
        critical_points,
        dual_activations,
        dual_grid,
        early_stopping,
        end_to_end,
        jump_times,
        kernels,
        label_noise,
        lambda_modes,
        landscape,
        large_steps,
        layer_descent,
        layers,
        learning_curves,
        linearised,
        linearised_classes,
        linearised_ensemble,
        log_det,
        modes,
        narrowing,
        nuclear,
        pc_bias,
        phase_bounds,
        phase_descent,
        phases,
        quadratic,
        riccati,
        silent_alignment,
        singular_flow,
        training_time,
        twin,
        twin_constants,
        two_by_two,
        two_layer,
        units,
        wide_limit,
    )

__all__ = [
    "activations",
    "analytic_svd",
    "assumptions",
    "certificates",
    "circulation",
    "constant_alignment",
    "critical_points",
    "dual_activations",
    "dual_grid",
    "early_stopping",
    "end_to_end",
    "jump_times",
    "kernels",
    "label_noise",
    "lambda_modes",
    "landscape",
    "large_steps",
    "layer_descent",
    "layers",
    "learning_curves",
    "linearised",
    "linearised_classes",
    "linearised_ensemble",
    "log_det",
    "modes",
    "narrowing",
    "nuclear",
    "pc_bias",
    "phase_bounds",
    "phase_descent",
    "phases",
    "quadratic",
    "riccati",
    "silent_alignment",
    "singular_flow",
    "training_time",
    "twin",
    "twin_constants",
    "two_by_two",
    "two_layer",
    "units",
    "wide_limit",
]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
