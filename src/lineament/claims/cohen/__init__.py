"""Cohen & Razin (2024): lecture notes on linear neural networks, claim by claim in the notes' own order.

A figure stands where the text first speaks of it; exercises that serve a statement stand with it.
"""

from .ledger_dynamics import DYNAMICS
from .ledger_exercises import EXERCISES
from .ledger_generalisation import GENERALISATION
from .ledger_optimisation import OPTIMISATION

CLAIMS = (*DYNAMICS, *OPTIMISATION, *GENERALISATION, *EXERCISES)
