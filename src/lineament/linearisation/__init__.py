"""Know a network's test curve, and its answer on every example, before it is trained: linearised at its start."""

from . import losses, safe, words
from .learnt import CLOSE
from .linearise import linearise
from .linearised import Band, Curves, Linearised
from .losses import Loss
from .make import make
from .safe import CAUTION, DEPARTED, Safety
from .tangents import AbstractTangents

__all__ = [
    "CAUTION",
    "CLOSE",
    "DEPARTED",
    "AbstractTangents",
    "Band",
    "Curves",
    "Linearised",
    "Loss",
    "Safety",
    "linearise",
    "losses",
    "make",
    "safe",
    "words",
]
