"""What every other package uses: models, ensembles, runs, keys, and checks of arguments.

Nothing is imported before it is used: `theory` takes its checks of arguments from here, and needs no JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .ensembles import Ensemble, ensemble, stack
    from .keys import AnyKey, as_key
    from .layered import AbstractLayered, Applied
    from .model import AbstractModel, Map, Parameter
    from .run import Run

_NAMES = {
    "AbstractLayered": "layered",
    "AbstractModel": "model",
    "AnyKey": "keys",
    "Applied": "layered",
    "Ensemble": "ensembles",
    "Map": "model",
    "Parameter": "model",
    "Run": "run",
    "as_key": "keys",
    "ensemble": "ensembles",
    "stack": "ensembles",
}
__all__ = [
    "AbstractLayered",
    "AbstractModel",
    "AnyKey",
    "Applied",
    "Ensemble",
    "Map",
    "Parameter",
    "Run",
    "as_key",
    "ensemble",
    "stack",
]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(f"lineament.core.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'lineament.core' has no attribute {name!r}")
