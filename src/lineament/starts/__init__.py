"""Where training begins: every start is a function of a model, and of a key where it is random.

| start | models | what it makes |
| --- | --- | --- |
| `gaussian` | every | independent normal weights, by the scale of the product, of the weights, or of each layer |
| `he`, `glorot` | in standard parameterisation | weights that keep the size of a signal, forwards or both ways |
| `torch_default` | in standard parameterisation | what PyTorch gives `nn.Linear` and `nn.Conv2d`, biases included |
| `isometric` | chains | Hacohen & Weinshall's Definition 3 |
| `balanced`, `aligned` | chains | layers of equal spectra with a given product |
| `identity` | chains, `Diagonal`, `Quadratic` | a multiple of the identity |
| `orthogonal` | `Quadratic` | a multiple of a random orthogonal matrix |
| `shaped` | chains of two layers | a start of a given shape and scale whose last layer is zero |
| `circular` | `Circular` | the start of Gissin et al.'s experiments |
| `balanced_components` | `CP` | components all of one norm, split evenly |
| `mirrored` | `Mirrored` | two equal copies of a start of the plain network |

A *chain* is a model of matrices that multiply one after the other: `DeepLinear`, `TwoLayer`, and `MLP` in standard
parameterisation. A start that does not fit a model is refused.
"""

from .copies import mirrored
from .frames import orthonormal
from .layers import aligned, balanced, isometric, shaped
from .multiples import balanced_components, circular, identity, orthogonal
from .normal import gaussian, glorot, he, torch_default

__all__ = [
    "aligned",
    "balanced",
    "balanced_components",
    "circular",
    "gaussian",
    "glorot",
    "he",
    "identity",
    "isometric",
    "mirrored",
    "orthogonal",
    "orthonormal",
    "shaped",
    "torch_default",
]
