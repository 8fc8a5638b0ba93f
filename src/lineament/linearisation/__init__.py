"""Know a network's test curve, and its answer on every example, before it is trained: linearised at its start."""

from . import batches, losses, safe, words
from .learnt import CLOSE
from .linearise import linearise
from .linearised import Band, Curves, Linearised
from .losses import LOSSES, Loss
from .make import CAREFUL, make
from .renewed import RENEWALS, TOLERANCE, Renewed
from .safe import CAUTION, DEPARTED, Safety
from .tangents import AbstractTangents

__all__ = [
    "CAREFUL",
    "CAUTION",
    "CLOSE",
    "DEPARTED",
    "LOSSES",
    "RENEWALS",
    "TOLERANCE",
    "AbstractTangents",
    "Band",
    "Curves",
    "Linearised",
    "Loss",
    "Renewed",
    "Safety",
    "batches",
    "linearise",
    "losses",
    "make",
    "safe",
    "words",
]
