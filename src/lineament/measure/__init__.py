"""What is read off a map or its layers. All but the modules can be evaluated inside a compiled training loop."""

from . import agreement, compact, critical, jumps, kernels, neighbours, order
from .alignment import alignment, mode_strengths
from .balance import conserved, unbalancedness
from .neurons import concentration, cosines, effective_directions
from .spectra import (
    effective_rank,
    frobenius_norm,
    nuclear_norm,
    numerical_rank,
    singular_values,
    spectral_norm,
    stable_rank,
)

__all__ = [
    "agreement",
    "alignment",
    "compact",
    "concentration",
    "conserved",
    "cosines",
    "critical",
    "effective_directions",
    "effective_rank",
    "frobenius_norm",
    "jumps",
    "kernels",
    "mode_strengths",
    "neighbours",
    "nuclear_norm",
    "numerical_rank",
    "order",
    "singular_values",
    "spectral_norm",
    "stable_rank",
    "unbalancedness",
]
