"""Overparameterise a network without changing what it computes (Arora et al. 2018; Cohen & Razin, Section 4)."""

from collections.abc import Iterable
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from lineament.core import arguments

from .factored import Layer, as_weights, balanced, double, factored, groups, matrices
from .layers import Site, copied, placed, sites
from .report import Table


class ExpandedLayer(NamedTuple):
    """What became of one layer."""

    layer: str
    kind: str
    shape: tuple[int, ...] | None
    done: bool
    widths: tuple[int, ...] | None
    parameters: int
    expanded: int
    note: str


class Expanded(NamedTuple):
    """An expanded copy of a model, and what became of each of its layers."""

    model: nn.Module
    report: Table[ExpandedLayer]


def expand(
    model: nn.Module,
    depth: int,
    width: int | None = None,
    layers: Iterable[str] | None = None,
    preserve: bool = True,
    *,
    generator: torch.Generator | None = None,
) -> Expanded:
    """Replace linear layers of a copy of the model by products `W_N ⋯ W_1` of `depth` linear maps.

    Every `Linear`, `Conv1d` and `Conv2d` becomes a `Factored` module. A convolution's first factor is a convolution
    with its kernel, stride, padding and dilation, the further ones are 1 × 1; all have its groups. What cannot be
    factored is left as it is, and the report says why. Layers that share a weight share the factors. An optimiser must
    be made anew, for the parameters of the copy.

    Args:
        model: Any module; it is not changed.
        depth: How many factors each layer becomes; 1 leaves every layer as it is.
        width: Hidden width of the products, over all groups; by default the smaller side of each layer's weight as a
            matrix (outputs, inputs × kernel), the least that can express every weight.
        layers: Names of the layers to expand, as in `model.named_modules()`; by default all.
        preserve: Whether the copy computes the same function, by balanced factors of the trained weights. Balanced
            factors have the rank of the weight, and keep it under gradient flow: a width above the rank is never used.
            Otherwise a fresh start: the entries of the first factor are independent normal with mean 0 and variance
            1/(3·fan_in), those of the others 1/fan_in, with the fan-in of each factor; the bias is uniform within
            ±1/√fan_in of the layer. The product's entries then have the variance 1/(3·fan_in) that PyTorch gives to
            the layer's own.
        generator: Of the fresh start; by default PyTorch's global one.

    Returns:
        The expanded model in the mode, dtype and on the device of the given one, and a table with a row per layer.
    """
    for name, value in {"depth": depth, **({} if width is None else {"width": width})}.items():
        arguments.count(name, value)
    model = copied(model)
    shared: dict[int, list[nn.Parameter]] = {}
    rows = []
    for site in sites(model, layers):
        note, hidden = _plan(site, depth, width, preserve)
        rows.append(_row(site, depth, hidden, note))
        if hidden:
            layer, weight = site.layer, site.layer.weight
            if id(weight) not in shared:
                shared[id(weight)] = _factors(layer, depth, hidden, preserve, generator)
            if not preserve and layer.bias is not None:
                _draw_bias(layer.bias, weight[0].numel(), generator)
            model = placed(model, site, factored(layer, shared[id(weight)]))
    return Expanded(model, Table(rows))


def _factors(
    layer: Layer, depth: int, hidden: int, preserve: bool, generator: torch.Generator | None
) -> list[nn.Parameter]:
    g = groups(layer)
    W = matrices(double(layer.weight), g)
    return as_weights(layer, balanced(W, depth, hidden // g) if preserve else _fresh(W, depth, hidden // g, generator))


def _plan(site: Site, depth: int, width: int | None, preserve: bool) -> tuple[str, int]:
    """A note, and the hidden width over all groups; 0 where the layer must be left alone."""
    if site.reason:
        return site.reason, 0
    if depth == 1:
        return "depth 1 is the layer itself", 0
    layer, g = site.layer, groups(site.layer)
    shape = matrices(layer.weight, g).shape[1:]
    hidden = g * min(shape) if width is None else width
    if hidden % g:
        return f"width {hidden} is no multiple of its {g} groups", 0
    if not preserve:
        return "", hidden
    rank = _rank(layer)
    if rank * g > hidden:
        return f"width {hidden} is below its rank {rank * g}: the function would change", 0
    dead = hidden - rank * g
    return (f"{dead} hidden units carry nothing: the rank is {rank * g}" if dead else ""), hidden


def _rank(layer: Layer) -> int:
    """The largest rank among the groups, up to rounding in the layer's own precision."""
    W = matrices(double(layer.weight), groups(layer))
    S = torch.linalg.svdvals(W)
    rounding = torch.finfo(layer.weight.dtype).eps * max(W.shape[1:]) * S.max()
    return int((rounding < S).sum(1).max())


def _fresh(W: Tensor, depth: int, width: int, generator: torch.Generator | None) -> list[Tensor]:
    g, out, fan_in = W.shape
    sizes = [fan_in, *(width for _ in range(depth - 1)), out]
    variances = [1 / (3 * fan_in), *(1 / width for _ in range(depth - 1))]
    return [
        variance**0.5 * torch.randn(g, sizes[j + 1], sizes[j], dtype=torch.float64, generator=generator)
        for j, variance in enumerate(variances)
    ]


def _draw_bias(bias: Tensor, fan_in: int, generator: torch.Generator | None) -> None:
    drawn = 2 * torch.rand(bias.shape, dtype=torch.float64, generator=generator) - 1
    with torch.no_grad():
        bias.copy_(drawn / fan_in**0.5)


def _row(site: Site, depth: int, hidden: int, note: str) -> ExpandedLayer:
    shape = site.shape
    before = prod(shape) if shape else 0
    after = before
    if hidden:
        g = groups(site.layer)
        after = (hidden * (before // shape[0]) + (depth - 2) * hidden**2 // g + hidden * shape[0] // g) if shape else 0
    widths = (hidden,) * (depth - 1) if hidden else None
    return ExpandedLayer(site.name, type(site.module).__name__, shape, hidden > 0, widths, before, after, note)
