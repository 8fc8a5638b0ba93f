"""Forecasts for a user's own table: what a network will learn from it and when, and how well that came true."""

from . import words
from .compare import Comparison, train
from .curve_result import LearningCurve
from .forecast import forecast, forecast_table
from .learning_curve import learning_curve
from .moments import Moments, gather
from .premises import Premise
from .result import Component, Forecast, Phase
from .stopping import Stopping

__all__ = [
    "Comparison",
    "Component",
    "Forecast",
    "LearningCurve",
    "Moments",
    "Phase",
    "Premise",
    "Stopping",
    "forecast",
    "forecast_table",
    "gather",
    "learning_curve",
    "train",
    "words",
]
