"""Forecasts for a user's own table: what a network will learn from it and when, and how well that came true."""

from . import words
from .compare import Comparison, train
from .forecast import forecast, forecast_table
from .moments import Moments, gather
from .premises import Premise
from .result import Component, Forecast, Phase
from .stopping import Stopping

__all__ = [
    "Comparison",
    "Component",
    "Forecast",
    "Moments",
    "Phase",
    "Premise",
    "Stopping",
    "forecast",
    "forecast_table",
    "gather",
    "train",
    "words",
]
