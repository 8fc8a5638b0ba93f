"""How products of tensors that both differ from example to example are pulled back: attention, and what it is made of."""

import torch
from torch import Tensor

from .place import Somewhere, UnknownError, refuse_along
from .walk import Node, Rule, Way

aten = torch.ops.aten


def times(d: Tensor, M: Tensor) -> Tensor:
    """`d M` for d (outputs, …, i, k) and M (…, k, j): products of matrices that have the rows of all outputs."""
    k, i = d.shape[0], d.shape[-2]
    rows = d.movedim(0, -3).flatten(-3, -2) @ M
    return rows.unflatten(-2, (k, i)).movedim(-3, 0)


def turned_times(M: Tensor, d: Tensor) -> Tensor:
    """`Mᵀ d` for M (…, i, j) and d (outputs, …, i, k)."""
    k, width = d.shape[0], d.shape[-1]
    columns = M.mT @ d.movedim(0, -2).flatten(-2, -1)
    return columns.unflatten(-1, (k, width)).movedim(-2, 0)


def _bmm(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    refuse_along(place, 1, 2)
    if place is None and way.n > 1:
        raise UnknownError("a product of parameters")
    first, second = node.edges
    if first is not None:
        way.give(first, times(d, node.saved("mat2").mT), place)
    if second is not None:
        way.give(second, turned_times(node.saved("self"), d), place)


def _softmax(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    dim = node.number("dim") % (d.ndim - 1)
    refuse_along(place, dim)
    way.give(node.edges[0], softened(d, node.saved("result"), dim + 1), place)


def softened(d: Tensor, p: Tensor, dim: int) -> Tensor:
    """Derivatives by what a softmax p was taken of."""
    g = d * p
    return g.addcmul_(g.sum(dim, keepdim=True), p, value=-1)


def _attention(way: Way, node: Node, d: Tensor, place: Somewhere) -> None:
    """Attention, written out: one softmax for all outputs."""
    q, k, v = (node.saved(name) for name in ("query", "key", "value"))
    if node.saved("dropout_p"):
        raise UnknownError("dropout")
    if (place is None and way.n > 1) or q.shape[:-2] != k.shape[:-2]:
        raise UnknownError("attention of another kind")
    refuse_along(place, d.ndim - 2, d.ndim - 3)
    scale, mask = node.saved("scale"), node.saved("attn_mask")
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = (q * scale) @ k.mT
    if node.saved("is_causal"):
        scores = scores.masked_fill(torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1), float("-inf"))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
    p = scores.softmax(-1)
    to_q, to_k, to_v = node.edges
    if to_v is not None:
        way.give(to_v, turned_times(p, d), place)
    if to_q is None and to_k is None:
        return
    ahead = softened(times(d, v.mT), p, -1)
    if to_q is not None:
        way.give(to_q, times(ahead, k * scale), place)
    if to_k is not None:
        way.give(to_k, ahead.mT @ (q * scale), place)


RULES: dict[str, Rule] = {
    "BmmBackward0": _bmm,
    "SoftmaxBackward0": _softmax,
    "SafeSoftmaxBackward0": _softmax,
    "ScaledDotProductFlashAttentionForCpuBackward0": _attention,
}
