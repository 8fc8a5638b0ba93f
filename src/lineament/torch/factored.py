"""A linear layer as a product of linear maps: the module, its factors, and the way back."""

from collections.abc import Sequence
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn

M = TypeVar("M", bound=nn.Module)
Layer = nn.Linear | nn.Conv1d | nn.Conv2d
LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d)
_SETTINGS = ("kernel_size", "stride", "padding", "dilation", "groups", "padding_mode")
_HOOKS = (
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_backward_pre_hooks",
    "_backward_hooks",
    "_is_full_backward_hook",
)


class Factored(nn.Sequential):
    """A product of linear maps `W_N ⋯ W_1` in the place of one layer.

    The first factor has the layer's kernel, stride, padding, dilation and padding mode; the later factors of a
    convolution are 1 × 1, and all have its groups. The last one has the bias. `weight` and `bias` are those of the one
    layer that computes the same, for code that reads them off.
    """

    @property
    def weight(self) -> Tensor:
        """The product of the factors, in the shape of the layer's weight; gradients flow through it."""
        return product([cast(Layer, factor) for factor in self])

    @property
    def bias(self) -> Tensor | None:
        """The bias of the last factor."""
        return cast(Layer, self[-1]).bias


def groups(layer: Layer) -> int:
    """How many separate matrices a layer's weight holds."""
    return 1 if isinstance(layer, nn.Linear) else layer.groups


def matrices(weight: Tensor, groups: int) -> Tensor:
    """A weight as matrices (groups, outputs, inputs × kernel): the map from each patch of inputs to the outputs."""
    return weight.reshape(groups, weight.shape[0] // groups, -1)


def product(factors: Sequence[Layer], dtype: torch.dtype | None = None) -> Tensor:
    """`W_N ⋯ W_1`, computed in `dtype`, in the shape of the weight of the layer that the factors replace."""
    first, g = factors[0], groups(factors[0])
    W = matrices(first.weight.to(dtype), g)
    for factor in factors[1:]:
        W = matrices(factor.weight.to(dtype), g) @ W
    return W.reshape(-1, *first.weight.shape[1:])


def double(weight: Tensor) -> Tensor:
    """A weight in float64, on the processor where its device has none."""
    weight = weight.detach()
    return (weight.cpu() if weight.device.type == "mps" else weight).to(torch.float64)


def balanced(W: Tensor, depth: int, width: int) -> list[Tensor]:
    """Factors `W_1, …, W_N` of `W = UΣVᵀ` with `W_{j+1}ᵀW_{j+1} = W_jW_jᵀ` (Arora et al. 2019, Procedure 1).

    `W_1 = Σ^{1/N}Vᵀ`, `W_N = UΣ^{1/N}`, and `Σ^{1/N}` in between. A hidden width below the rank keeps the largest
    singular values; one above it leaves the further hidden units at zero, as balance demands.

    Args:
        W: Matrices (groups, outputs, inputs).
        depth: How many factors, at least two.
        width: The hidden width within each group.
    """
    U, S, Vt = torch.linalg.svd(W, full_matrices=False)
    # A rounding error of 1e-16 would have the root 1e-8, or more: what should be zero is.
    rounding = torch.finfo(W.dtype).eps * max(W.shape[1:]) * S.max()
    S = torch.where(rounding < S, S, 0.0)
    kept = min(width, S.shape[-1])
    root = W.new_zeros(len(W), width)
    root[:, :kept] = S[:, :kept] ** (1 / depth)
    first, last = W.new_zeros(len(W), width, W.shape[2]), W.new_zeros(len(W), W.shape[1], width)
    first[:, :kept] = root[:, :kept, None] * Vt[:, :kept]
    last[:, :, :kept] = U[:, :, :kept] * root[:, None, :kept]
    return [first, *(torch.diag_embed(root) for _ in range(depth - 2)), last]


def as_weights(layer: Layer, factors: Sequence[Tensor]) -> list[nn.Parameter]:
    """Matrices (groups, outputs, inputs) as weights of a layer's kind, device and dtype, that train if it does."""
    ones = (1,) * (layer.weight.ndim - 2)
    kernels = [layer.weight.shape[1:], *((W.shape[2], *ones) for W in factors[1:])]
    return [
        nn.Parameter(W.reshape(-1, *kernel).to(layer.weight).contiguous(), requires_grad=layer.weight.requires_grad)
        for W, kernel in zip(factors, kernels, strict=True)
    ]


def factored(layer: Layer, weights: Sequence[nn.Parameter]) -> Factored:
    """The module that takes the layer's place, with its bias, mode and hooks."""
    g = groups(layer)
    sizes = [weights[0].shape[1] * g, *(len(weight) for weight in weights)]
    settings = [_settings(layer), *({"kernel_size": 1, "groups": g} for _ in weights[1:])]
    if isinstance(layer, nn.Linear):
        settings = [{} for _ in weights]
    factors = []
    for j, weight in enumerate(weights):
        # On the device "meta" nothing is drawn: the state of the random generator stays as it was.
        factor = type(layer)(sizes[j], sizes[j + 1], bias=False, device="meta", **settings[j])
        factor.weight = weight
        factors.append(factor)
    factors[-1].bias = layer.bias
    return take_place(layer, Factored(*factors))


def plain(module: Factored, weight: nn.Parameter | None = None) -> Layer:
    """The one layer that computes what the factors do; `weight` is their product if it is there already."""
    factors = [cast(Layer, factor) for factor in module]
    first, last = factors[0], factors[-1]
    if weight is None:
        wide = product([*factors], None if first.weight.device.type == "mps" else torch.float64)
        trains = any(factor.weight.requires_grad for factor in factors)
        weight = nn.Parameter(wide.detach().to(first.weight.dtype), requires_grad=trains)
    if isinstance(first, nn.Linear):
        layer = nn.Linear(first.in_features, len(weight), bias=False, device="meta")
    else:
        layer = type(first)(first.in_channels, len(weight), bias=False, device="meta", **_settings(first))
    layer.weight, layer.bias = weight, cast(nn.Parameter, last.bias)
    return take_place(module, layer)


def _settings(layer: Layer) -> dict[str, Any]:
    return {} if isinstance(layer, nn.Linear) else {name: getattr(layer, name) for name in _SETTINGS}


def take_place(old: nn.Module, new: M) -> M:
    """Give `new` the mode and the hooks of `old`."""
    for name in _HOOKS:
        setattr(new, name, getattr(old, name))
    return new.train(old.training)
