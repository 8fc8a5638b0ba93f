"""Varre, Vladarean, Pillaud-Vivien & Flammarion (2023): the spectral bias of two-layer linear networks."""

from . import label_noise, parameters, regimes, relu, theorem

__all__ = ["label_noise", "parameters", "regimes", "relu", "theorem"]
