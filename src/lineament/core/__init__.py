"""What every other package stands on: models, ensembles, runs, keys, and checks of arguments."""

from .ensembles import Ensemble, ensemble, stack
from .keys import AnyKey, as_key
from .layered import AbstractLayered, Applied
from .model import AbstractModel, Map, Parameter, Parameters
from .run import Run

__all__ = [
    "AbstractLayered",
    "AbstractModel",
    "AnyKey",
    "Applied",
    "Ensemble",
    "Map",
    "Parameter",
    "Parameters",
    "Run",
    "as_key",
    "ensemble",
    "stack",
]
