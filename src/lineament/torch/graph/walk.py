"""The graph that autograd recorded while a model ran, and the way back through it for all outputs in one go.

Each of its nodes is pulled back by a rule of its own, in the order in which autograd would do so. What a rule needs is
what the node saved (`_saved_…`, PyTorch's notes on autograd say that it may be looked at). A node without a rule makes
the whole graph unknown.
"""

from collections.abc import Callable, Iterable
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..derivatives import CHECKED, Dense, Derivative, at_once, joined, together, unbounded
from .place import Place, Somewhere, UnknownError, few, onto

Names = dict[int, str]
Edge = tuple[int, int] | None  # the node that a gradient goes to, and which of its outputs that is the gradient of
Taken = list[tuple[str, Derivative]]  # what places gave, in the order of the graph
_LEAF = "torch::autograd::AccumulateGrad"
_TURNED = "TBackward0"
_VIEWS = frozenset(
    f"{name}Backward0"
    for name in ("T", "View", "Transpose", "Permute", "Unsqueeze", "Select", "Slice", "Split", "Unbind")
)


class Node(NamedTuple):
    """A function that ran: autograd's node, its name, and where its inputs came from."""

    fn: Any
    name: str
    edges: tuple[Edge, ...]

    def saved(self, name: str) -> Any:
        """What the function kept for its derivative; autograd refuses what was written into since."""
        try:
            return getattr(self.fn, "_saved_" + name)
        except (AttributeError, RuntimeError) as error:
            raise UnknownError(f"{self.name} does not show {name}") from error

    def number(self, name: str) -> int:
        """A whole number, or an axis, that the function kept."""
        return signed(self.saved(name))


def signed(value: int) -> int:
    """A whole number that PyTorch may show as if it had no sign."""
    return value - 2**64 if value >= 2**63 else value


Rule = Callable[["Way", Node, Any, Somewhere], None]


class Graph:
    """The functions that gave some outputs (example, output), in an order in which they can be pulled back."""

    def __init__(self, out: Tensor, names: Names, rules: dict[str, Rule]) -> None:
        self.shape, self.dtype, self.device = out.shape, out.dtype, out.device
        self.root = out.output_nr
        order = _ordered(out.grad_fn)
        index = {fn: k for k, fn in enumerate(order)}
        self.rules = rules
        self.nodes: list[Any] = []
        self.leaves: dict[int, str] = {}
        self.uses = [0] * len(order)  # how many edges lead to each node
        for k, fn in enumerate(order):
            name = fn.name()
            if name == _LEAF:
                self.leaves[k] = names.get(id(fn.variable), "")
            elif name not in rules:
                raise UnknownError(name)
            edges: list[Edge] = []
            for to, number in fn.next_functions:
                edge = None if to is None else (index[to], number)
                edges.append(edge)
                if edge is not None:
                    self.uses[edge[0]] += 1
            self.nodes.append(Node(fn, name, tuple(edges)))

    def only(self, edge: Edge, name: str) -> Node | None:
        """The node that an edge leads to, if it has that name and nothing else leads to it."""
        if edge is None or self.uses[edge[0]] > 1:
            return None
        node = self.nodes[edge[0]]
        return node if node.name == name else None

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells this graph from that of a model which ran other functions, or joined them otherwise."""
        return tuple((self.leaves.get(k, node.name), node.edges) for k, node in enumerate(self.nodes))

    @property
    def channels_alone(self) -> bool:
        """Whether there are convolutions of channels by themselves."""
        return any(node.name == "ConvolutionBackward0" and node.saved("groups") > 1 for node in self.nodes)

    def sizes(self) -> list[int]:
        """How many numbers functions of parameters gave, one by one, but for those that make a view of one."""
        return [
            prod(node.fn._input_metadata[0].shape)
            for node in self.nodes
            if node.name not in _VIEWS and any(map(self.leaf, node.edges))
        ]

    def leaf(self, edge: Edge) -> str:
        """The name of the parameter that an edge leads to, if need be by way of its transpose; empty for all else."""
        if edge is None:
            return ""
        k = edge[0]
        if self.nodes[k].name == _TURNED:
            (edge,) = self.nodes[k].edges
            k = k if edge is None else edge[0]
        return self.leaves.get(k, "")

    def direct(self, edge: Edge) -> str:
        """The name of the parameter that an edge leads to with nothing in between; empty for all else."""
        return "" if edge is None else self.leaves.get(edge[0], "")

    def of_one_type(self, dtype: torch.dtype) -> bool:
        """Whether all that was computed is of a type."""
        return all(data.dtype == dtype for node in self.nodes for data in node.fn._input_metadata)

    def derivatives(self, several: int, bounded: bool = False, rough: bool = False) -> dict[str, Derivative]:
        """The derivatives by each parameter, of so many outputs at a time; what functions kept is given up on the way.

        Every one knows a bound on what it is the sum of if they are `bounded`; if they are `rough`, plain sums do.
        """
        c = self.shape[1]
        pieces: list[Taken] = []
        with torch.no_grad():
            for begin in range(0, c, several):
                end = min(c, begin + several)
                pieces.append(Way(self, begin, end, bounded, rough, free=end == c).taken)
        found: dict[str, list[Derivative]] = {}
        while pieces and pieces[0]:  # the pieces of each are given up as they are joined
            parts = [piece.pop() for piece in pieces]
            some = [part for _, part in parts]
            found.setdefault(parts[0][0], []).append(joined(some, 1, not any(map(unbounded, some))))
            del parts, some
        # The first layers, which were found last, come first: large derivatives, of the last ones, are added last.
        return {name: together(parts) for name, parts in found.items()}


class Way:
    """One way back, of the outputs from `begin` to `end`."""

    def __init__(self, graph: Graph, begin: int, end: int, bounded: bool, rough: bool, free: bool) -> None:
        self.graph, self.bounded, self.rough = graph, bounded, rough
        self.n, c = graph.shape
        self.k = end - begin
        self.taken: Taken = []
        self.waiting: dict[int, dict[int, tuple[Tensor, Somewhere]]] = {}
        one = torch.eye(c, dtype=graph.dtype, device=graph.device)[begin:end]
        every = one[:, None].expand(-1, self.n, -1)
        self.give((0, graph.root), every, Place(0) if self.n > 1 else None)
        for k, node in enumerate(graph.nodes):
            arrived = self.waiting.pop(k, None)
            if arrived is not None:
                if k in graph.leaves:
                    self._end(k, *arrived[0])
                elif len(node.fn._input_metadata) == 1:
                    graph.rules[node.name](self, node, *arrived[0])
                else:
                    graph.rules[node.name](self, node, *_together(node, arrived))
            if free:
                graph.nodes[k] = None
            del arrived, node

    def shape(self, edge: tuple[int, int]) -> list[int]:
        """The shape of what an edge leads to."""
        node = self.graph.nodes[edge[0]]
        return node.fn.variable.shape if edge[0] in self.graph.leaves else node.fn._input_metadata[edge[1]].shape

    def give(self, edge: Edge, d: Tensor, place: Somewhere) -> None:
        """Hand a derivative on."""
        if edge is None:
            return
        k, number = edge
        held = self.waiting.setdefault(k, {})
        if number in held:
            before, where = held[number]
            if where != place:
                raise UnknownError("examples along two axes")
            d = before + d
        held[number] = d, place

    def give_onto(self, edge: Edge, d: Tensor, place: Somewhere) -> None:
        """Hand on the derivative by something that was broadcast."""
        if edge is not None:
            self.give(edge, *onto(d, place, self.shape(edge), self.n))

    def take(self, edge: Edge, part: Derivative, early: bool = False) -> None:
        """Keep the derivative by a parameter, or hand it on to what the parameter made."""
        if edge is None:
            return
        if name := self.graph.leaf(edge):
            self.taken.append((name, at_once(part, self.bounded) if early else part))
        elif edge[0] not in self.graph.leaves:
            self.give(edge, part.dense().reshape(self.n * self.k, *self.shape(edge)), None)

    def sum_up(self, edge: Edge, d: Tensor, place: Somewhere, shape: Iterable[int]) -> None:
        """Keep the derivative by what was broadcast from some shape, as examples have it."""
        if edge is None:
            return
        J, where = onto(d, place, list(shape), self.n)
        name = self.graph.leaves.get(edge[0])
        if not name or where is not None:
            self.give(edge, J.reshape(J.shape[0], *self.shape(edge)), where)
            return
        bound = None
        if self.bounded or self.rough:
            size = (d.numel() / J.numel()) ** 0.5 * few(d, place, self.n, CHECKED).norm()
            bound = lambda: size  # noqa: E731
        self.taken.append((name, Dense(J.reshape(self.n, self.k, -1), bound)))

    def _end(self, k: int, d: Tensor, place: Somewhere) -> None:
        """A derivative that has come to a parameter, or to something else that has a gradient, as inputs may."""
        name = self.graph.leaves[k]
        if name and place is not None:
            raise UnknownError("a parameter with an axis of examples")
        if name:
            self.taken.append((name, Dense(d.reshape(self.n, self.k, -1))))


def _together(node: Node, arrived: dict[int, tuple[Tensor, Somewhere]]) -> tuple[list[Tensor | None], Somewhere]:
    """The derivatives by all that a function gave; none where nothing came of it."""
    if len({place for _, place in arrived.values()}) > 1:
        raise UnknownError("examples along two axes")
    parts = [arrived[k][0] if k in arrived else None for k in range(len(node.fn._input_metadata))]
    return parts, next(iter(arrived.values()))[1]


def _ordered(root: Any) -> list[Any]:
    """All nodes, none before one that leads to it."""
    edges: dict[Any, Any] = {}
    finished: dict[Any, None] = {}
    left = [root]
    while left:
        fn = left[-1]
        if fn in edges:
            left.pop()
            finished.setdefault(fn)
        else:
            edges[fn] = fn.next_functions
            left += [to for to, _ in edges[fn] if to is not None and to not in edges]
    return [*reversed(finished)]
