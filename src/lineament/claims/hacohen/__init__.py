"""Hacohen & Weinshall (2022): the principal-components bias of over-parameterised linear networks, and beyond them."""

from . import (
    components,
    consistency,
    directions,
    evolution,
    frequency,
    initialisation,
    labels,
    linear,
    neighbours,
    one_step,
    order,
    over_time,
    pictures,
    relu,
    scales,
    stopping,
)

__all__ = [
    "components",
    "consistency",
    "directions",
    "evolution",
    "frequency",
    "initialisation",
    "labels",
    "linear",
    "neighbours",
    "one_step",
    "order",
    "over_time",
    "pictures",
    "relu",
    "scales",
    "stopping",
]
