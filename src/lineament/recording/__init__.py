"""What was seen while a network trained, from any framework, and what it says: order, PC-bias, ranks, linear phase.

A `Recording` is made of plain arrays. `Recorder` makes one from a loop of any framework, `keras_callback` from that of
Keras, and `lineament.torch.Recorder` from any PyTorch loop.
"""

from .advice import COLLAPSED, Advice, advice
from .bias import PCBias, pc_bias
from .compact import compact
from .keras_callback import keras_callback
from .order import accessibility, learning_order, learning_step
from .phase import data_linear, linear_phase
from .ranks import Ranks, ranks
from .recorder import Recorder
from .recording import Recording, Trouble, join
from .regression import Estimates, estimates
from .scores import forgetting_events, mean_margin, probabilities, to_frame
from .top import Top

__all__ = [
    "COLLAPSED",
    "Advice",
    "Estimates",
    "PCBias",
    "Ranks",
    "Recorder",
    "Recording",
    "Top",
    "Trouble",
    "accessibility",
    "advice",
    "compact",
    "data_linear",
    "estimates",
    "forgetting_events",
    "join",
    "keras_callback",
    "learning_order",
    "learning_step",
    "linear_phase",
    "mean_margin",
    "pc_bias",
    "probabilities",
    "ranks",
    "to_frame",
]
