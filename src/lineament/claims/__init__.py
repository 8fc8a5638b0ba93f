"""The papers, checked: one package for each paper, one module for each claim.

Each package lists its claims in the paper's own order, in `CLAIMS`. A module is imported when its claim is run.
"""

from .claim import Claim
from .papers import PAPERS, Paper
from .registry import all_claims, find, in_file
from .sizes import SIZES, Size, Sized, sizes

__all__ = ["PAPERS", "SIZES", "Claim", "Paper", "Size", "Sized", "all_claims", "find", "in_file", "sizes"]
