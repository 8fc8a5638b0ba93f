"""What is shown: figures, stored evidence, the atlas, and how a batch of claims is run and reported.

A module is loaded when it is first asked for, because Matplotlib, xarray and Jinja take longer to import than the
command line may take to answer.
"""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import (
        atlas,
        console,
        datasets,
        draw,
        forecast_page,
        marks,
        plot,
        prose,
        recording_page,
        style,
        survey,
    )

__all__ = [
    "atlas",
    "console",
    "datasets",
    "draw",
    "forecast_page",
    "marks",
    "plot",
    "prose",
    "recording_page",
    "style",
    "survey",
]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
