"""Hu, Xiao, Adlam & Pennington (2020): the surprising simplicity of the early-time learning of neural networks."""

from . import concentration, constants, figures, full_size, images, kernels, kernels_circular, optimum, theorems

__all__ = [
    "concentration",
    "constants",
    "figures",
    "full_size",
    "images",
    "kernels",
    "kernels_circular",
    "optimum",
    "theorems",
]
