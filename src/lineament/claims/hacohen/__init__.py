"""Hacohen & Weinshall (2022): the principal-components bias of over-parameterised linear networks, and beyond them."""

from .experiments import EXPERIMENTS
from .theorems import THEOREMS

# The order in which the paper states them.
_ORDER = (
    "f1", "f2", "t1", "t2", "eq10", "f3", "b2", "f4", "f5", "f6a", "f6b", "f7", "f8", "tab1", "s54", "f9", "f10", "f11",
    "t3", "t4", "f12", "f13", "f14",
)  # fmt: skip
CLAIMS = tuple(sorted((*THEOREMS, *EXPERIMENTS), key=lambda claim: _ORDER.index(claim.id.removeprefix("hacohen-"))))
