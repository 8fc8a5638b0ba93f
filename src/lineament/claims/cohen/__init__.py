"""Cohen & Razin (2024): lecture notes on linear neural networks."""

from . import (
    acceleration,
    balance,
    certificates,
    certificates_descent,
    completion,
    dynamics,
    exercises,
    expansion,
    figure_one,
    landscape,
    line_integrals,
    margins,
    norms,
    singular_values,
    tensors,
)

__all__ = [
    "acceleration",
    "balance",
    "certificates",
    "certificates_descent",
    "completion",
    "dynamics",
    "exercises",
    "expansion",
    "figure_one",
    "landscape",
    "line_integrals",
    "margins",
    "norms",
    "singular_values",
    "tensors",
]
