"""What is trained."""

from .activations import activation
from .chain import AbstractChain, Layers
from .circular import Circular
from .conv import Conv, Images
from .convnet import ConvNet, st_vgg, vgg19
from .diagonal import Diagonal
from .layered import AbstractAffine, Affine
from .linear import DeepLinear
from .mirrored import Mirrored, Pair
from .mlp import MLP
from .quadratic import Quadratic, QuadraticForm
from .tensor import CP, TreeTensor
from .two_layer import TwoLayer, Units

__all__ = [
    "CP",
    "MLP",
    "AbstractAffine",
    "AbstractChain",
    "Affine",
    "Circular",
    "Conv",
    "ConvNet",
    "DeepLinear",
    "Diagonal",
    "Images",
    "Layers",
    "Mirrored",
    "Pair",
    "Quadratic",
    "QuadraticForm",
    "TreeTensor",
    "TwoLayer",
    "Units",
    "activation",
    "st_vgg",
    "vgg19",
]
