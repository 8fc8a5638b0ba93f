"""A linear layer as a product of linear maps: the module, its factors, and the way back."""

from collections.abc import Sequence
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn

from .kinds import HOOKS, KINDS, Kind, kind_of

M = TypeVar("M", bound=nn.Module)


class Factored(nn.Sequential):
    """A product of linear maps `W_N ⋯ W_1` in the place of one layer.

    One factor has the layer's kernel, stride, padding, dilation and padding mode: the first of a convolution, the last
    of a transposed one, whose other factors are 1 × 1; all have its groups. The last has the bias. `weight` and `bias`
    are those of the one layer that computes the same, for code that reads them off; so are its sizes and its stride.
    """

    def __init__(self, *modules: Any, kind: str = "linear") -> None:
        super().__init__(*modules)
        self.kind = kind

    def forward(self, input: Any, *args: Any, **kwargs: Any) -> Any:
        """One factor after the other; what a layer takes besides, such as `output_size`, goes to that with its kernel."""
        parts = list(self)
        main = parts[self.rule.main]
        for part in parts:
            input = part(input, *args, **kwargs) if part is main else part(input)
        return input

    @property
    def rule(self) -> Kind:
        """How factors of this kind are joined."""
        return KINDS[self.kind]

    @property
    def weight(self) -> Tensor:
        """The product of the factors, in the shape of the layer's weight; gradients flow through it."""
        return self.rule.weight(list(self))

    @property
    def bias(self) -> Tensor | None:
        """The bias of the last factor."""
        return getattr(self[-1], "bias", None)

    @property
    def groups(self) -> int:
        """How many separate matrices the product holds."""
        return getattr(self[0], "groups", 1)

    def factors(self) -> list[Tensor]:
        """The matrices `W_1, …, W_N`, (groups, outputs, inputs)."""
        return self.rule.factors(list(self))


def groups(layer: nn.Module) -> int:
    """How many separate matrices a layer's weight holds."""
    return layer.groups if isinstance(layer, Factored) else KINDS[kind_of(layer)].groups(layer)


def matrices(layer: nn.Module, weight: Tensor) -> Tensor:
    """A layer's weight as matrices (groups, outputs, inputs × kernel): the map from each patch of inputs."""
    kind = layer.kind if isinstance(layer, Factored) else kind_of(layer)
    return KINDS[kind].matrices(weight, groups(layer))


def as_weights(layer: Any, factors: Sequence[Tensor]) -> list[nn.Parameter]:
    """Matrices as weights of a layer's kind, device, dtype and order in memory, that train if it does."""
    shaped = KINDS[kind_of(layer)].shaped(layer, factors)
    return [nn.Parameter(laid_out(W.to(layer.weight), layer.weight), layer.weight.requires_grad) for W in shaped]


def laid_out(W: Tensor, like: Tensor) -> Tensor:
    """A weight with its channels last in memory if the other one has them so."""
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    order = formats.get(like.ndim)
    if order and W.ndim == like.ndim and like.is_contiguous(memory_format=order) and not like.is_contiguous():
        return W.contiguous(memory_format=order)
    return W.contiguous()


def factored(layer: Any, weights: Sequence[nn.Parameter]) -> Factored:
    """The module that takes the layer's place, with its bias, mode and hooks, and the settings that others may read."""
    kind = kind_of(layer)
    module = Factored(*KINDS[kind].modules(layer, weights), kind=kind)
    for name, value in vars(layer).items():
        if isinstance(value, int | float | str | tuple) and name[0] != "_" and not hasattr(module, name):
            setattr(module, name, value)
    return take_place(layer, module)


def plain(module: Factored, weight: nn.Parameter | None = None) -> nn.Module:
    """The one layer that computes what the factors do; `weight` is their product if it is there already."""
    parts = cast(list[Any], list(module))
    if weight is None:
        held = parts[module.rule.main].weight
        wide = module.rule.weight(parts, None if held.device.type == "mps" else torch.float64)
        trains = any(part.weight.requires_grad for part in parts)
        weight = nn.Parameter(laid_out(wide.detach().to(held.dtype), held), requires_grad=trains)
    return take_place(module, module.rule.plain(parts, weight))


def take_place(old: nn.Module, new: M) -> M:
    """Give `new` the mode and the hooks of `old`."""
    for name in HOOKS:
        setattr(new, name, getattr(old, name))
    return new.train(old.training)
