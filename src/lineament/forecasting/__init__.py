"""Forecasts for a user's own table: what a network will learn from it and when, and how well that came true.

Forecasts of ordinary networks need JAX and are imported when they are asked for; those of linear networks do without.
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import words
from .compare import Comparison, train
from .curve_result import LearningCurve
from .forecast import forecast, forecast_table
from .learning_curve import learning_curve
from .moments import Moments, gather
from .premises import Premise
from .result import Component, Forecast, Phase
from .stopping import Stopping

if TYPE_CHECKING:
    from . import network_words
    from .network import NetworkForecast, forecast_network, forecast_network_table
    from .network_train import NetworkComparison, train_network

_LATER = {
    "NetworkComparison": "network_train",
    "NetworkForecast": "network",
    "forecast_network": "network",
    "forecast_network_table": "network",
    "train_network": "network_train",
}

__all__ = [
    "Comparison",
    "Component",
    "Forecast",
    "LearningCurve",
    "Moments",
    "NetworkComparison",
    "NetworkForecast",
    "Phase",
    "Premise",
    "Stopping",
    "forecast",
    "forecast_network",
    "forecast_network_table",
    "forecast_table",
    "gather",
    "learning_curve",
    "network_words",
    "train",
    "train_network",
    "words",
]


def __getattr__(name: str) -> Any:
    if name == "network_words":
        return importlib.import_module(f"{__name__}.network_words")
    if name in _LATER:
        return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
