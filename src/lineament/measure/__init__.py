"""What is read off a map or its layers. Everything here can be evaluated inside a compiled training loop."""

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
    "alignment",
    "concentration",
    "conserved",
    "cosines",
    "effective_directions",
    "effective_rank",
    "frobenius_norm",
    "mode_strengths",
    "nuclear_norm",
    "numerical_rank",
    "singular_values",
    "spectral_norm",
    "stable_rank",
    "unbalancedness",
]
