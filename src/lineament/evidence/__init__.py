"""Checks, the verdict that follows from them, and figures as plain data: what claims, forecasts and recordings share."""

from .check import Check, at_least, at_most, within
from .evidence import Evidence
from .figure import Figure, Mark, Panel
from .verdict import Kind, Verdict, judge, pool, reason

__all__ = [
    "Check",
    "Evidence",
    "Figure",
    "Kind",
    "Mark",
    "Panel",
    "Verdict",
    "at_least",
    "at_most",
    "judge",
    "pool",
    "reason",
    "within",
]
