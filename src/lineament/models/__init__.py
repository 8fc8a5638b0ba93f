"""What is trained."""

from .circular import Circular
from .conv import Conv, Images
from .diagonal import Diagonal
from .linear import DeepLinear, Layers
from .quadratic import Quadratic, QuadraticForm
from .tensor import CP, TreeTensor
from .two_layer import TwoLayer, Units

__all__ = [
    "CP",
    "Circular",
    "Conv",
    "DeepLinear",
    "Diagonal",
    "Images",
    "Layers",
    "Quadratic",
    "QuadraticForm",
    "TreeTensor",
    "TwoLayer",
    "Units",
]
