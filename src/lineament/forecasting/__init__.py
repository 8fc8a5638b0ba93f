"""Forecasts for a user's own table: what a network will learn from it and when, and how well that came true."""

from . import network_words, words
from .compare import Comparison, train
from .forecast import forecast, forecast_table
from .moments import Moments, gather
from .network import NetworkForecast, forecast_network, forecast_network_table
from .network_train import NetworkComparison, train_network
from .premises import Premise
from .result import Component, Forecast, Phase
from .stopping import Stopping

__all__ = [
    "Comparison",
    "Component",
    "Forecast",
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
    "network_words",
    "train",
    "train_network",
    "words",
]
