"""Gissin, Shalev-Shwartz & Daniely (2020): the implicit bias of depth, or how learning becomes incremental."""

from . import (
    classification,
    convolution,
    incremental,
    phases,
    quadratic,
    quadratic_bias,
    sensing,
    sparse,
    steps,
    threshold_descent,
    threshold_flow,
    toy,
)

__all__ = [
    "classification",
    "convolution",
    "incremental",
    "phases",
    "quadratic",
    "quadratic_bias",
    "sensing",
    "sparse",
    "steps",
    "threshold_descent",
    "threshold_flow",
    "toy",
]
