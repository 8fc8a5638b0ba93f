"""How claims are run: one or many, here or in several processes, and how what they find is kept.

Nothing is imported before it is used: a worker process must set its thread limits first.
"""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import batch, environment, files, reproduce, store

__all__ = ["batch", "environment", "files", "reproduce", "store"]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
