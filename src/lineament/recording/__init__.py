"""What was seen while a network trained, from any framework, and what it says: order, PC-bias, ranks, linear phase.

A `Recording` is made of plain arrays. `lineament.torch.Recorder` makes one from any PyTorch loop.
"""

from .bias import PCBias, pc_bias
from .order import accessibility, learning_order, learning_step
from .phase import data_linear, linear_phase
from .ranks import Ranks, ranks
from .recording import Recording, Trouble, join
from .scores import forgetting_events, mean_margin, to_frame

__all__ = [
    "PCBias",
    "Ranks",
    "Recording",
    "Trouble",
    "accessibility",
    "data_linear",
    "forgetting_events",
    "join",
    "learning_order",
    "learning_step",
    "linear_phase",
    "mean_margin",
    "pc_bias",
    "ranks",
    "to_frame",
]
