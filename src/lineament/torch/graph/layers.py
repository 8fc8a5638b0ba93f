"""How layers with parameters are pulled back, and what they give of their parameters."""

from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..batched import _transposed, single
from ..derivatives import Found, by_convolution, by_linear, by_lookup, by_written
from .place import Place, Somewhere, UnknownError, apart, refuse_along
from .walk import Edge, Node, Rule, Way

aten = torch.ops.aten
_WHOLE = Place(0)


def _addmm(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    if node.saved("alpha") != 1 or node.saved("beta") != 1:
        raise UnknownError("a scaled product")
    bias, *edges = node.edges
    _product(way, d, place, edges, node.saved("mat1"), node.saved("mat2"))
    if bias is not None:
        way.sum_up(bias, d, place, way.shape(bias))


def _mm(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    _product(way, d, place, list(node.edges), node.saved("self"), node.saved("mat2"))


def _product(way: Way, d: Tensor, place: Somewhere, edges: list[Edge], a: Any, W: Any) -> None:
    """A product of rows with a matrix that is the same for all examples."""
    refuse_along(place, 1)
    rows, matrix = edges
    if matrix is not None:
        _matrix(way, d, place, matrix, a)
    if rows is not None:
        way.give(rows, d @ W.mT, place)


def _matrix(way: Way, d: Tensor, place: Somewhere, edge: Edge, a: Tensor) -> None:
    assert edge is not None
    n, a = way.n, a.detach()
    if place is None:
        flat, a = d.unflatten(0, (n, way.k)), a.expand(n, *a.shape)
    else:
        flat, a = apart(d, place, n), apart(a[None], place, n)[:, 0]
    name = way.graph.leaf(edge)
    turned = not name or edge[0] in way.graph.leaves
    part = by_linear(a, name or "made", "", turned)(flat)[name or "made"]
    way.take(edge, part, early=a.shape[2] <= a.shape[1])


def _convolution(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    x, W, b = node.edges
    pictures = _convolved(way, node, place)
    first = d.transpose(0, 1)
    if W is not None:
        name = way.graph.leaf(W) or "made"
        way.take(W, pictures.by_weight(name)(first)[name], pictures.early(first))
    if b is not None:
        way.sum_up(b, d, place, (1, d.shape[2], *(1,) * (d.ndim - 3)))
    if x is not None:
        way.give(x, pictures.pulled(d, pictures.weight), place)


class _Pictures(NamedTuple):
    """What was convolved, and how."""

    x: Tensor
    weight: Tensor
    stride: Any
    padding: Any
    dilation: Any
    groups: int

    def by_weight(self, name: str) -> Found:
        """The derivatives by the weight."""
        return by_convolution(self.x, self.weight.shape[2:], *self[2:], name, "")

    def early(self, d: Tensor) -> bool:
        """Whether derivatives by the weight take less than those at the outputs, d (examples, outputs, …)."""
        return self.groups > 1 or self.weight[0].numel() <= d[0, 0, 0].numel()

    def pulled(self, d: Tensor, weight: Tensor) -> Tensor:
        """Derivatives by the input, of a convolution with some weight in the place of its own."""
        size, how = self.x.shape[2:], self[2:]
        flat = d.flatten(0, 1)
        if weight.ndim != 4:
            x = flat.new_zeros(()).expand(flat.shape[0], *self.x.shape[1:])
            whole = (False, [0] * len(size), self.groups, (True, False, False))
            back = aten.convolution_backward(flat, x, weight, None, *how[:3], *whole)[0]
        elif single(weight, *how):
            back = (flat.movedim(1, -1) @ weight.flatten(1)).movedim(-1, 1)
        else:
            back = _transposed(flat.contiguous(memory_format=torch.channels_last), weight, size, *how)
        return back.unflatten(0, d.shape[:2])


def _convolved(way: Way, node: Node, place: Somewhere) -> _Pictures:
    """What was convolved; refused where examples are not its first axis, each of them one picture."""
    x = node.saved("input").detach()
    if node.saved("transposed") or x.shape[0] != way.n or (place != _WHOLE and way.n > 1):
        raise UnknownError("a convolution of another kind")
    stride, padding, dilation = node.saved("stride"), node.saved("padding"), node.saved("dilation")
    axes = x.ndim - 2
    if len(stride) < axes or len(padding) < axes or len(dilation) < axes:  # one number stands for all axes
        stride, padding, dilation = ((*sizes, *sizes * axes)[:axes] for sizes in (stride, padding, dilation))
    return _Pictures(x, node.saved("weight"), stride, padding, dilation, node.saved("groups"))


def _batch_norm(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    """A scale and a shift of each channel, where statistics are the layer's own."""
    mean, variance = node.saved("running_mean"), node.saved("running_var")
    if node.saved("training") or mean is None or variance is None:
        raise UnknownError("statistics of a batch")
    refuse_along(place, 1)
    x, W, b = node.edges
    shape = (1, -1, *(1,) * (d.ndim - 3))
    wide = (1, d.shape[2], *shape[2:])
    over, weight = torch.rsqrt(variance + node.saved("eps")), node.saved("weight")
    scale = over if weight is None else over * weight
    if _with_convolution(way, node, d, place, scale, over, mean):
        return
    if W is not None:
        normal = (node.saved("input") - mean.view(shape)).mul_(over.view(shape))
        way.sum_up(W, d * normal, place, wide)
    if b is not None:
        way.sum_up(b, d, place, wide)
    if x is not None:
        way.give(x, d * scale.view(shape), place)


def _with_convolution(
    way: Way, node: Node, d: Tensor, place: Somewhere, scale: Tensor, over: Tensor, mean: Tensor
) -> bool:
    """A convolution and its normalisation in one: the derivatives by the weight give those by the scale, too."""
    before = way.graph.only(node.edges[0], "ConvolutionBackward0")
    if before is None or before.saved("transposed"):
        return False
    x, W, b = before.edges
    edges = W, b, *node.edges[1:]
    names = [way.graph.direct(edge) for edge in edges]
    still = b is None and not any(before.saved("bias_sym_sizes_opt") or ())  # a fixed bias would not be seen
    if not (names[0] and (names[1] or still) and names[2] and names[3]):
        return False
    bias = None if b is None else way.graph.nodes[b[0]].fn
    pictures, first = _convolved(way, before, place), d.transpose(0, 1)
    if not pictures.early(first):
        return False
    shift = -mean if bias is None else bias.variable.detach() - mean
    found = by_written(pictures.by_weight(names[0]), pictures.weight, scale, over, shift, *names)(first)
    for edge, name in zip(edges, names, strict=True):
        if name:
            way.take(edge, found[name], early=True)
    if x is not None:
        way.give(x, pictures.pulled(d, pictures.weight * scale.view(-1, *(1,) * (pictures.weight.ndim - 1))), place)
    return True


def _layer_norm(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    shape = node.saved("normalized_shape")
    axes = [*range(-len(shape), 0)]
    refuse_along(place, *(d.ndim - 1 + axis for axis in axes))
    x, W, b = node.edges
    weight, over = node.saved("weight"), node.saved("result2")
    normal = (node.saved("input") - node.saved("result1")).mul_(over)
    if W is not None:
        way.sum_up(W, d * normal, place, shape)
    if b is not None:
        way.sum_up(b, d, place, shape)
    if x is not None:
        g = d.clone() if weight is None else d * weight
        along = (g * normal).mean(axes, keepdim=True)
        way.give(x, g.sub_(g.mean(axes, keepdim=True)).addcmul_(normal, along, value=-1).mul_(over), place)


def _embedding(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    if node.saved("scale_grad_by_freq"):
        raise UnknownError("gradients scaled by how often rows occur")
    index, rows, (edge,) = node.saved("indices"), node.saved("weight_sym_argsize_0"), node.edges
    if place is None:
        flat, index = d.unflatten(0, (way.n, way.k)), index.expand(way.n, *index.shape)
    else:
        refuse_along(place, d.ndim - 2)
        flat = apart(d, place, way.n)
        index = apart(index[None], place, way.n)[:, 0]
    index, flat = index.reshape(way.n, -1), flat.flatten(2, -2)
    skipped = node.number("padding_idx")
    found = by_lookup(index, rows, None if skipped < 0 else skipped, "table")(flat)
    way.take(edge, found["table"], early=index.shape[1] >= rows)


def _max_pool(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    """The slope goes to the pixel that was the largest."""
    (edge,) = node.edges
    assert edge is not None
    shape, chosen = [*way.shape(edge)], node.saved("result1")
    refuse_along(place, *range(len(shape) - 2, len(shape)))
    back = d.new_zeros(*d.shape[:-2], prod(shape[-2:]))
    back.scatter_add_(-1, chosen.flatten(-2).expand(d.shape[0], *chosen.shape[:-2], -1), d.flatten(-2))
    way.give(edge, back.unflatten(-1, shape[-2:]), place)


def _mean_pool(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    names = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
    _pooled(way, node, d, place, lambda flat, x: aten.avg_pool2d_backward(flat, x, *map(node.saved, names)))


def _adaptive_pool(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    _pooled(way, node, d, place, aten._adaptive_avg_pool2d_backward)


def _pooled(way: Way, node: Node, d: Tensor, place: Somewhere, back: Any) -> None:
    """Means of pixels: of the input no more is asked for than its shape."""
    (edge,) = node.edges
    assert edge is not None
    shape = [*way.shape(edge)]
    refuse_along(place, *range(len(shape) - 2, len(shape)))
    flat = d.reshape(-1, *d.shape[-3:])
    x = d.new_zeros(()).expand(flat.shape[0], *shape[-3:])
    way.give(edge, back(flat, x).reshape(d.shape[0], *shape), place)


RULES: dict[str, Rule] = {
    "AddmmBackward0": _addmm,
    "MmBackward0": _mm,
    "ConvolutionBackward0": _convolution,
    "NativeBatchNormBackward0": _batch_norm,
    "NativeLayerNormBackward0": _layer_norm,
    "EmbeddingBackward0": _embedding,
    "MaxPool2DWithIndicesBackward0": _max_pool,
    "AvgPool2DBackward0": _mean_pool,
    "AdaptiveAvgPool2DBackward0": _adaptive_pool,
}
