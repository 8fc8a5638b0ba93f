"""What is to be learnt: losses over maps, each with its gradient and its optimum."""

from .base import AbstractProblem, Map, Optimum, UnknownOptimumError, predict
from .classification import CrossEntropy, Margin, cross_entropy, exponential, logistic
from .max_margin import max_margin
from .quadratic import (
    QuadraticPopulation,
    QuadraticRegression,
    quadratic_regression,
    quadratic_squared,
    quadratic_variance,
)
from .regression import LpRegression, Regression, lp_regression, regression, regression_from_moments, whitened
from .sensing import Completion, Sensing, completion, sensing
from .tensor import TensorCompletion, tensor_completion

__all__ = [
    "AbstractProblem",
    "Completion",
    "CrossEntropy",
    "LpRegression",
    "Map",
    "Margin",
    "Optimum",
    "QuadraticPopulation",
    "QuadraticRegression",
    "Regression",
    "Sensing",
    "TensorCompletion",
    "UnknownOptimumError",
    "completion",
    "cross_entropy",
    "exponential",
    "logistic",
    "lp_regression",
    "max_margin",
    "predict",
    "quadratic_regression",
    "quadratic_squared",
    "quadratic_variance",
    "regression",
    "regression_from_moments",
    "sensing",
    "tensor_completion",
    "whitened",
]
