"""What is trained."""

from .circular import Circular
from .diagonal import Diagonal
from .linear import DeepLinear, Layers
from .quadratic import Quadratic, QuadraticForm

__all__ = ["Circular", "DeepLinear", "Diagonal", "Layers", "Quadratic", "QuadraticForm"]
