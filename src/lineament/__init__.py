"""lineament: forecast how a neural network learns, train it, measure, and see how well the two agree.

Nothing heavy is imported before it is used, so that the command line answers at once.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import claims, measure, models, problems, starts, theory, train
    from .ensembles import Ensemble, ensemble, stack
    from .report import plot
    from .train import Diverged, Record, descend, final, flow

_MODULES = ("claims", "measure", "models", "problems", "starts", "theory", "train")
_NAMES = {
    "plot": "lineament.report",
    "Ensemble": "lineament.ensembles",
    "ensemble": "lineament.ensembles",
    "stack": "lineament.ensembles",
    "Diverged": "lineament.train",
    "Record": "lineament.train",
    "descend": "lineament.train",
    "final": "lineament.train",
    "flow": "lineament.train",
}
__version__ = "0.1.0"
__all__ = [
    "Diverged",
    "Ensemble",
    "Record",
    "claims",
    "descend",
    "ensemble",
    "final",
    "flow",
    "measure",
    "models",
    "plot",
    "problems",
    "stack",
    "starts",
    "theory",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"lineament.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'lineament' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
