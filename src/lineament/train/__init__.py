"""How parameters move: gradient flow, gradient descent, and what is recorded on the way."""

from .descend import descend
from .diverged import Diverged
from .flow import flow
from .noise import noisy_descend, noisy_flow
from .normalised import normalised
from .records import Record

__all__ = ["Diverged", "Record", "descend", "flow", "noisy_descend", "noisy_flow", "normalised"]
