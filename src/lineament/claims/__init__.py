"""The papers, checked: one package per paper, one function per claim."""

from .evidence import Check, Evidence, Verdict, at_least, at_most, within
from .figure import Figure, Mark, Panel
from .papers import PAPERS, Paper
from .registry import SCALES, Claim, Result, Scale, all_claims, claim, environment, find, run

__all__ = [
    "PAPERS",
    "SCALES",
    "Check",
    "Claim",
    "Evidence",
    "Figure",
    "Mark",
    "Panel",
    "Paper",
    "Result",
    "Scale",
    "Verdict",
    "all_claims",
    "at_least",
    "at_most",
    "claim",
    "environment",
    "find",
    "run",
    "within",
]
