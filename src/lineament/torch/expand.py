"""Overparameterise a network without changing what it computes (Arora et al. 2018; Cohen & Razin, Section 4)."""

from collections.abc import Iterable
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from lineament.core import arguments

from . import packed
from .decomposition import balanced, decomposed, double, gap, precision, rank
from .factored import as_weights, factored
from .kinds import KINDS, kind_of
from .layers import Site, copied, placed, replaceable
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


@torch.inference_mode(False)  # what comes back is to be trained, wherever it was made
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

    Dense and convolutional layers, transposed ones and embeddings become `Factored` modules, transformers' `Conv1D` and
    timm's layers too. One factor of a convolution has its kernel, stride, padding and dilation, the others are 1 × 1;
    all have its groups. Projections of attention and recurrent weights, which their modules read themselves, become
    products that are multiplied out at every call. What cannot be factored is left as it is, and the report says why.
    Layers that share a weight share the factors. Hooks stay with their modules and parameters; a layer whose weight has
    one on its gradient is left alone. An optimiser must be made anew, for the parameters of the copy.

    Factors are computed in float64. Before they take a layer's place, their product as it is held in the layer's own
    dtype is compared with the weight: what differs by more than the rounding of `depth` factors is left alone.

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
    depth = arguments.depth("depth", depth)
    width = None if width is None else arguments.count("width", width)
    generator = None if generator is None else arguments.instance("generator", generator, torch.Generator)
    preserve = arguments.truth("preserve", preserve)
    model = copied(model)
    plans: dict[int, _Plan] = {}
    rows = []
    for site in replaceable(model, layers):
        key = id(site.weight)
        plan = _Plan(site.reason, 0, [])
        if not site.reason:
            if key not in plans:
                plans[key] = _plan(site, depth, width, preserve, generator)
            plan = plans[key]
        rows.append(_row(site, depth, plan.hidden, plan.note))
        if plan.hidden:
            if not preserve:
                _draw_biases(site, generator)
            if site.parameter:
                packed.pack(site.module, site.parameter, plan.factors)
            else:
                model = placed(model, site, factored(site.module, plan.factors))
    return Expanded(model, Table(rows))


class _Plan(NamedTuple):
    """A note, the hidden width over all groups (0 where the layer is left alone), and the factors."""

    note: str
    hidden: int
    factors: list[Any]


def _plan(site: Site, depth: int, width: int | None, preserve: bool, generator: torch.Generator | None) -> _Plan:
    if depth == 1:
        return _Plan("depth 1 is the layer itself", 0, [])
    g, dtype = site.groups, site.weight.dtype
    W = site.matrices(double(site.weight))
    hidden = g * min(W.shape[1:]) if width is None else width
    arguments.held("depth and width", depth, hidden, max(hidden, *W.shape[1:]))
    if hidden % g:
        return _Plan(f"width {hidden} is no multiple of its {g} groups", 0, [])
    if not preserve:
        return _Plan(_packed_note(site), hidden, _held(site, _fresh(site, W, depth, hidden // g, generator)))
    parts, known = decomposed(W, dtype), precision(W, dtype)
    least = g * rank(parts, known)
    if least > hidden:
        return _Plan(f"width {hidden} is below its rank {least}: the function would change", 0, [])
    wide = balanced(parts, depth, hidden // g, least // g)
    # Row j of W_1 and column j of W_N are rounded to a part of σ_j^{1/N}, so the product to depth such parts of ‖W‖.
    moved = gap([W.to(dtype) for W in wide], W)
    if not moved <= (depth + 1) * known:
        return _Plan(f"in {dtype} its factors would change it by {moved:.1%}: convert the model first", 0, [])
    notes = [f"{hidden - least} hidden units carry nothing: the rank is {least}"] if hidden > least else []
    return _Plan("; ".join(filter(None, [*notes, _packed_note(site)])), hidden, _held(site, wide))


def _held(site: Site, factors: list[Tensor]) -> list[Any]:
    return factors if site.parameter else as_weights(site.module, factors)


def _packed_note(site: Site) -> str:
    return "multiplied out at every call" if site.parameter else ""


def _fresh(site: Site, W: Tensor, depth: int, width: int, generator: torch.Generator | None) -> list[Tensor]:
    g, out, fan_in = W.shape
    sizes = [fan_in, *(width for _ in range(depth - 1)), out]
    variances = [_own_variance(site), *(1 / width for _ in range(depth - 1))]
    return [
        variance**0.5 * torch.randn(g, sizes[j + 1], sizes[j], dtype=torch.float64, generator=generator)
        for j, variance in enumerate(variances)
    ]


def _own_variance(site: Site) -> float:
    """The variance that PyTorch draws the entries of a weight with."""
    if not site.parameter:
        return KINDS[kind_of(site.module)].own_variance(site.module)
    if isinstance(site.module, nn.MultiheadAttention):
        return 2 / sum(site.weight.shape)
    return 1 / (3 * cast(Any, site.module).hidden_size)


def _draw_biases(site: Site, generator: torch.Generator | None) -> None:
    """As PyTorch does: uniform within ±1/√fan_in, zero in attention and in transformers' `Conv1D`."""
    module = cast(Any, site.module)
    biases, bound = [getattr(module, "bias", None)], 0.0
    if isinstance(module, nn.RNNBase | nn.RNNCellBase):
        ending = site.parameter.removeprefix("weight")
        biases, bound = [getattr(module, f"bias{ending}", None)], module.hidden_size**-0.5
    elif isinstance(module, nn.MultiheadAttention):
        biases = [module.in_proj_bias]
    elif kind_of(module) != "rows":
        bound = KINDS[kind_of(module)].fan_in(module) ** -0.5
    with torch.no_grad():
        for bias in (bias for bias in biases if isinstance(bias, Tensor)):
            drawn = 2 * torch.rand(bias.shape, dtype=torch.float64, generator=generator) - 1
            bias.copy_(bound * drawn)


def _row(site: Site, depth: int, hidden: int, note: str) -> ExpandedLayer:
    shape, before = site.shape, site.size
    after = before
    if hidden:
        g, inner = site.groups, hidden // site.groups
        _, out, inputs = site.matrices(site.weight.detach()).shape
        after = g * inner * (inputs + out + (depth - 2) * inner)
    widths = (hidden,) * (depth - 1) if hidden else None
    return ExpandedLayer(site.name, type(site.module).__name__, shape, hidden > 0, widths, before, after, note)
