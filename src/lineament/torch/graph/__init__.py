"""The way back from all outputs at once, along the graph that autograd recorded in an ordinary pass."""

from torch import Tensor

from . import layers, numbers, pairs, shapes
from .place import UnknownError
from .walk import Graph, Names

RULES = shapes.RULES | numbers.RULES | layers.RULES | pairs.RULES


def graph_of(out: Tensor, names: Names) -> Graph:
    """The graph of some outputs, with a rule for each of its functions."""
    return Graph(out, names, RULES)


__all__ = ["Graph", "UnknownError", "graph_of"]
