"""lineament: forecast how a neural network learns, train it, measure, and see how well the two agree.

Nothing heavy is imported before it is used, so that the command line answers at once.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import claims, data, evidence, measure, models, problems, recording, starts, theory, torch, train
    from .core.ensembles import Ensemble, ensemble, stack
    from .core.model import AbstractModel, Parameter
    from .core.run import Run
    from .execution.open_experiment import experiment
    from .execution.reproduce import reproduce
    from .execution.stores import Store
    from .execution.sweep import sweep
    from .forecasting import forecast, forecast_network, learning_curve
    from .linearisation import linearise
    from .problems.base import AbstractProblem
    from .report import plot
    from .train import Diverged, Record, descend, flow

_MODULES = (
    "claims",
    "data",
    "evidence",
    "measure",
    "models",
    "problems",
    "recording",
    "starts",
    "theory",
    "torch",
    "train",
)
_NAMES = {
    "plot": "lineament.report",
    "AbstractModel": "lineament.core.model",
    "AbstractProblem": "lineament.problems",
    "Parameter": "lineament.core.model",
    "Run": "lineament.core.run",
    "Ensemble": "lineament.core.ensembles",
    "ensemble": "lineament.core.ensembles",
    "stack": "lineament.core.ensembles",
    "Diverged": "lineament.train",
    "Record": "lineament.train",
    "descend": "lineament.train",
    "flow": "lineament.train",
    "forecast": "lineament.forecasting",
    "forecast_network": "lineament.forecasting",
    "linearise": "lineament.linearisation",
    "learning_curve": "lineament.forecasting",
    "reproduce": "lineament.execution.reproduce",
    "experiment": "lineament.execution.open_experiment",
    "Store": "lineament.execution.stores",
    "sweep": "lineament.execution.sweep",
}
__version__ = "0.1.0"
__all__ = [
    "AbstractModel",
    "AbstractProblem",
    "Diverged",
    "Ensemble",
    "Parameter",
    "Record",
    "Run",
    "Store",
    "claims",
    "data",
    "descend",
    "ensemble",
    "evidence",
    "experiment",
    "flow",
    "forecast",
    "forecast_network",
    "learning_curve",
    "linearise",
    "measure",
    "models",
    "plot",
    "problems",
    "recording",
    "reproduce",
    "stack",
    "starts",
    "sweep",
    "theory",
    "torch",
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
