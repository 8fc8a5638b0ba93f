"""How functions that move numbers and change none are pulled back."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from .place import Place, Somewhere, UnknownError, onto, refuse_along, viewed
from .walk import Node, Rule, Way, signed

aten = torch.ops.aten


def _view(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    shape = node.saved("self_sym_sizes")
    way.give(node.edges[0], d.reshape(d.shape[0], *shape), viewed(place, d.shape[1:], shape, way.n))


def _same(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    way.give(node.edges[0], d, place)


def _permute(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    axes = [_axis(dim, d.ndim - 1) for dim in node.saved("dims")]
    back = sorted(range(len(axes)), key=axes.__getitem__)
    _permuted(way, node, d, place, back)


def _transpose(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    i, j = _axis(node.saved("dim0"), d.ndim - 1), _axis(node.saved("dim1"), d.ndim - 1)
    back = [*range(d.ndim - 1)]
    back[i], back[j] = j, i
    _permuted(way, node, d, place, back)


def _turn(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    _permuted(way, node, d, place, [*reversed(range(d.ndim - 1))])


def _permuted(way: Way, node: Node, d: Tensor, place: Somewhere, back: Sequence[int]) -> None:
    moved = None if place is None else place._replace(axis=back.index(place.axis))
    way.give(node.edges[0], d.permute(0, *(axis + 1 for axis in back)), moved)


def _unsqueeze(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    dim = _axis(node.saved("dim"), d.ndim - 1)
    refuse_along(place, dim)
    way.give(node.edges[0], d.squeeze(dim + 1), _shifted(place, dim, -1))


def _squeeze(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    shape = node.saved("self_sym_sizes")
    way.give(node.edges[0], d.reshape(d.shape[0], *shape), viewed(place, d.shape[1:], shape, way.n))


def _expand(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    way.give(node.edges[0], *onto(d, place, node.saved("self_sym_sizes"), way.n))


def _select(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    shape = node.saved("self_sym_sizes")
    dim = _axis(node.saved("dim"), len(shape))
    place = _shifted(place, dim, 1)
    back = aten.select_backward(d, [d.shape[0], *shape], dim + 1, node.number("index"))
    way.give(node.edges[0], back, place)


def _slice(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    shape = node.saved("self_sym_sizes")
    dim = _axis(node.saved("dim"), len(shape))
    if list(shape) == list(d.shape[1:]):
        way.give(node.edges[0], d, place)
        return
    refuse_along(place, dim)
    begin, end, step = (node.number(name) for name in ("start", "end", "step"))
    way.give(node.edges[0], aten.slice_backward(d, [d.shape[0], *shape], dim + 1, begin, end, step), place)


def _split(way: Way, node: Node, parts: Any, place: Somewhere) -> None:
    """Pieces along an axis; those that nothing came of have no derivative."""
    shape = node.saved("self_sym_sizes")
    dim = _axis(node.saved("dim"), len(shape))
    refuse_along(place, dim)
    if isinstance(parts, Tensor):
        parts = [parts]
    way.give(node.edges[0], torch.cat(_filled(node, parts), dim + 1), place)


def _unbind(way: Way, node: Node, parts: Any, place: Somewhere) -> None:
    if isinstance(parts, Tensor):
        parts = [parts]
    ndim = max(part.ndim for part in parts if part is not None)
    dim = _axis(node.saved("dim"), ndim)
    way.give(node.edges[0], torch.stack(_filled(node, parts), dim + 1), _shifted(place, dim, 1))


def _filled(node: Node, parts: list[Tensor | None]) -> list[Tensor]:
    some = next(part for part in parts if part is not None)
    shapes = [data.shape for data in node.fn._input_metadata]
    return [
        some.new_zeros(()).expand(len(some), *shape) if part is None else part
        for part, shape in zip(parts, shapes, strict=True)
    ]


def _cat(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    """Tensors side by side; of constants, which have no node to ask, only one may be among them."""
    dim = _axis(node.saved("dim"), d.ndim - 1)
    refuse_along(place, dim)
    sizes = [None if edge is None else way.shape(edge)[dim] for edge in node.edges]
    left = d.shape[dim + 1] - sum(size for size in sizes if size is not None)
    if sizes.count(None) > 1:
        raise UnknownError("several constants side by side")
    parts = d.split([left if size is None else size for size in sizes], dim + 1)
    for edge, part in zip(node.edges, parts, strict=True):
        way.give(edge, part, place)


def _stack(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    dim = _axis(node.saved("dim"), d.ndim - 1)
    refuse_along(place, dim)
    for edge, part in zip(node.edges, d.unbind(dim + 1), strict=True):
        way.give(edge, part, _shifted(place, dim, -1))


def _pad(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    pads = [signed(size) for size in node.saved("pad")]
    if any(pads):
        refuse_along(place, *range(d.ndim - 1 - len(pads) // 2, d.ndim - 1))
        d = pad(d, [-size for size in pads])
    way.give(node.edges[0], d, place)


def _strided(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    """What pooling to a single pixel does to have its channels last: numbers stay where they are."""
    size, stride = list(node.saved("size")), list(node.saved("stride"))
    edge = node.edges[0]
    b, c = size[:2]
    if edge is None or way.graph.nodes[edge[0]].name != "MeanBackward1" or [*way.shape(edge)] != size:
        raise UnknownError("strides")
    if len(size) != 4 or size[2:] != [1, 1] or stride != [c, 1, c, c] or node.saved("storage_offset"):
        raise UnknownError("strides")
    way.give(edge, d.reshape(d.shape[0], b, c, 1, 1), place)


def _axis(dim: int, ndim: int) -> int:
    """An axis counted from the first; autograd keeps negative ones as if they had no sign."""
    return signed(dim) % ndim


def _shifted(place: Somewhere, dim: int, by: int) -> Somewhere:
    """The place when an axis is put before `dim` (by = 1), or taken out there (by = -1)."""
    if place is None or place.axis < dim:
        return place
    return Place(place.axis + by, place.before, place.after)


RULES: dict[str, Rule] = {
    "ViewBackward0": _view,
    "UnsafeViewBackward0": _view,
    "ReshapeAliasBackward0": _view,
    "CloneBackward0": _same,
    "AliasBackward0": _same,
    "PermuteBackward0": _permute,
    "TransposeBackward0": _transpose,
    "TBackward0": _turn,
    "UnsqueezeBackward0": _unsqueeze,
    "SqueezeBackward0": _squeeze,
    "SqueezeBackward1": _squeeze,
    "SqueezeBackward2": _squeeze,
    "ExpandBackward0": _expand,
    "SelectBackward0": _select,
    "SliceBackward0": _slice,
    "SplitBackward0": _split,
    "SplitWithSizesBackward0": _split,
    "UnbindBackward0": _unbind,
    "CatBackward0": _cat,
    "StackBackward0": _stack,
    "ConstantPadNdBackward0": _pad,
    "AsStridedBackward1": _strided,
}
