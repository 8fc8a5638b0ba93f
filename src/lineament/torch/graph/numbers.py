"""How functions of single numbers, sums, means and products of numbers are pulled back."""

from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch import Tensor

from .place import Somewhere, refuse_along
from .walk import Node, Rule, Way, signed

aten = torch.ops.aten


def _sloped(slope: Callable[[Node], Any]) -> Rule:
    """A function of every number by itself: its slopes are taken once for all outputs."""

    def rule(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
        way.give(node.edges[0], d * slope(node), place)

    return rule


def _kinked(back: Callable[[Tensor, Node], Tensor]) -> Rule:
    """The same where PyTorch's own function takes slopes as fast as it multiplies."""

    def rule(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
        way.give(node.edges[0], back(d, node), place)

    return rule


def _of_input(function: Callable[..., Tensor], *options: str) -> Rule:
    """One whose slopes PyTorch finds from its input and some options."""

    def slope(node: Node) -> Tensor:
        x = node.saved("self")
        return function(torch.ones_like(x), x, *(node.saved(name) for name in options))

    return _sloped(slope)


def _gelu(node: Node) -> Tensor:
    x = node.saved("self")
    return aten.gelu_backward(torch.ones_like(x), x, approximate=node.saved("approximate"))


def _power(node: Node) -> Tensor:
    x, exponent = node.saved("self"), node.saved("exponent")
    return torch.zeros_like(x) if exponent == 0 else exponent * x.pow(exponent - 1)


def _sigmoid(node: Node) -> Tensor:
    y = node.saved("result")
    return y * (1 - y)


def _tanh(node: Node) -> Tensor:
    y = node.saved("result")
    return 1 - y * y


def _add(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    alpha = node.saved("alpha")
    way.give_onto(node.edges[0], d, place)
    if len(node.edges) > 1 and node.edges[1] is not None:
        way.give_onto(node.edges[1], d if alpha == 1 else d * alpha, place)


def _subtract(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    way.give_onto(node.edges[0], d, place)
    if len(node.edges) > 1 and node.edges[1] is not None:
        way.give_onto(node.edges[1], d * -node.saved("alpha"), place)


def _multiply(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    first, second = node.edges
    if first is not None:
        way.sum_up(first, d * node.saved("other"), place, way.shape(first))
    if second is not None:
        way.sum_up(second, d * node.saved("self"), place, way.shape(second))


def _divide(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    first, second = node.edges
    other = node.saved("other")
    if first is not None:
        way.sum_up(first, d / other, place, way.shape(first))
    if second is not None:
        way.sum_up(second, d * (-node.saved("self") / (other * other)), place, way.shape(second))


def _mean(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    shape, axes = _summed(node)
    _spread(way, node, d / prod(shape[axis] for axis in axes), place, shape, axes)


def _sum(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    _spread(way, node, d, place, *_summed(node))


def _summed(node: Node) -> tuple[list[int], list[int]]:
    """The shape of what was summed, and the axes along which it was."""
    shape = [*node.saved("self_sym_sizes")]
    dims = node.saved("dim") or range(len(shape))
    return shape, sorted(signed(dim) % len(shape) for dim in dims)


def _spread(way: Way, node: Node, d: Tensor, place: Somewhere, shape: list[int], axes: list[int]) -> None:
    if node.saved("keepdim"):
        refuse_along(place, *axes)
    else:
        left = [axis for axis in range(len(shape)) if axis not in axes]
        place = None if place is None else place._replace(axis=left[place.axis])
        for axis in axes:
            d = d.unsqueeze(axis + 1)
    way.give(node.edges[0], d.expand(d.shape[0], *shape), place)


RULES: dict[str, Rule] = {
    "ReluBackward0": _kinked(lambda d, node: aten.threshold_backward(d, node.saved("result"), 0)),
    "HardtanhBackward0": _kinked(
        lambda d, node: aten.hardtanh_backward(d, node.saved("self"), node.saved("min_val"), node.saved("max_val"))
    ),
    "LeakyReluBackward0": _kinked(
        lambda d, node: aten.leaky_relu_backward(d, node.saved("self"), node.saved("negative_slope"), False)
    ),
    "HardsigmoidBackward0": _kinked(lambda d, node: aten.hardsigmoid_backward(d, node.saved("self"))),
    "SiluBackward0": _of_input(aten.silu_backward),
    "HardswishBackward0": _of_input(aten.hardswish_backward),
    "MishBackward0": _of_input(aten.mish_backward),
    "SoftplusBackward0": _of_input(aten.softplus_backward, "beta", "threshold"),
    "GeluBackward0": _sloped(_gelu),
    "SigmoidBackward0": _sloped(_sigmoid),
    "TanhBackward0": _sloped(_tanh),
    "PowBackward0": _sloped(_power),
    "ExpBackward0": _sloped(lambda node: node.saved("result")),
    "RsqrtBackward0": _sloped(lambda node: -0.5 * node.saved("result") ** 3),
    "SqrtBackward0": _sloped(lambda node: 0.5 / node.saved("result")),
    "NegBackward0": _kinked(lambda d, node: -d),
    "MulBackward1": _sloped(lambda node: node.saved("other")),
    "DivBackward1": _sloped(lambda node: 1 / node.saved("other")),
    "AddBackward0": _add,
    "AddBackward1": _add,
    "SubBackward0": _subtract,
    "SubBackward1": _subtract,
    "MulBackward0": _multiply,
    "DivBackward0": _divide,
    "MeanBackward1": _mean,
    "SumBackward1": _sum,
}
