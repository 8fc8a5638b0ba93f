"""How a layer of each kind is a matrix, and what modules its factors become.

Every kind says the same four things: which matrices (groups, outputs, inputs) a weight holds, the shape that factors
`W_1, …, W_N` of these matrices have as weights, the modules that apply them one after the other, and the way back.
"""

# ruff: noqa: D102 (what a method does is said once, in `Kind`)
import copy
from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

HOOKS = (
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_backward_pre_hooks",
    "_backward_hooks",
    "_is_full_backward_hook",
)
_CONVOLUTIONS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}


class Rows(nn.Module):
    """A linear map `x ↦ xW` without bias, with the weight (inputs, outputs)."""

    def __init__(self, weight: nn.Parameter) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, x: Tensor) -> Tensor:
        """Multiply from the right."""
        return x @ self.weight

    def extra_repr(self) -> str:
        """The sizes."""
        return f"in_features={self.weight.shape[0]}, out_features={self.weight.shape[1]}"


class Kind:
    """Dense layers, `nn.Linear`: the weight is the matrix."""

    main = 0  # the factor that is a copy of the layer: the one with its kernel
    sizes = ("in_features", "out_features")

    def groups(self, layer: Any) -> int:
        """How many separate matrices the weight holds."""
        return 1

    def matrices(self, weight: Tensor, groups: int) -> Tensor:
        """A weight as matrices (groups, outputs, inputs × kernel)."""
        return weight.reshape(groups, weight.shape[0] // groups, -1)

    def shaped(self, layer: Any, factors: Sequence[Tensor]) -> list[Tensor]:
        """Matrices `W_1, …, W_N` in the shape of weights."""
        return [W[0] for W in factors]

    def modules(self, layer: Any, weights: Sequence[nn.Parameter]) -> list[nn.Module]:
        """The modules that apply the factors; the last one has the bias."""
        made = [_copied(layer, weight, dict(zip(self.sizes, weight.shape[::-1], strict=True))) for weight in weights]
        made[-1].bias = layer.bias
        return made

    def factors(self, modules: Sequence[Any], dtype: torch.dtype | None = None) -> list[Tensor]:
        """The matrices `W_1, …, W_N` (groups, outputs, inputs) of what `modules` made."""
        return [module.weight.to(dtype)[None] for module in modules]

    def weight(self, modules: Sequence[Any], dtype: torch.dtype | None = None) -> Tensor:
        """The product of the factors, in the shape of the layer's weight."""
        W, *rest = self.factors(modules, dtype)
        for factor in rest:
            W = factor @ W
        return self._joined(modules, W)

    def _joined(self, modules: Sequence[Any], W: Tensor) -> Tensor:
        return W[0]

    def plain(self, modules: Sequence[Any], weight: nn.Parameter) -> nn.Module:
        """The one layer that computes what the modules do."""
        first, last = modules[0], modules[-1]
        sizes = {name: getattr(end, name) for name, end in zip(self.sizes, (first, last), strict=True)}
        layer = _copied(modules[self.main], weight, sizes)
        layer.bias = last.bias
        return layer

    def own_variance(self, layer: Any) -> float:
        """The variance that PyTorch draws the entries of the layer's weight with."""
        return 1 / (3 * self.fan_in(layer))

    def fan_in(self, layer: Any) -> int:
        """What PyTorch takes for the fan-in, of weight and bias."""
        return prod(layer.weight.shape[1:])


class Convolution(Kind):
    """`nn.Conv1d` to `3d`: first the kernel, with stride, padding and dilation, then 1 × 1; all have the groups."""

    sizes = ("in_channels", "out_channels")

    def groups(self, layer: Any) -> int:
        return layer.groups

    def shaped(self, layer: Any, factors: Sequence[Tensor]) -> list[Tensor]:
        ones = (1,) * (layer.weight.ndim - 2)
        first, *rest = factors
        return [
            first.reshape(-1, *layer.weight.shape[1:]),
            *(W.reshape(-1, W.shape[2], *ones) for W in rest),
        ]

    def modules(self, layer: Any, weights: Sequence[nn.Parameter]) -> list[nn.Module]:
        first = _copied(layer, weights[0], {"out_channels": len(weights[0])})
        made = [first, *(_pointwise(weight, layer.groups) for weight in weights[1:])]
        made[-1].bias = layer.bias
        return made

    def factors(self, modules: Sequence[Any], dtype: torch.dtype | None = None) -> list[Tensor]:
        return [Kind.matrices(self, module.weight.to(dtype), module.groups) for module in modules]

    def _joined(self, modules: Sequence[Any], W: Tensor) -> Tensor:
        return W.reshape(-1, *modules[0].weight.shape[1:])


class Transposed(Convolution):
    """`nn.ConvTranspose1d` to `3d`: 1 × 1 first, and the kernel last. Its weight is (inputs, outputs, kernel)."""

    main = -1

    def matrices(self, weight: Tensor, groups: int) -> Tensor:
        return weight.reshape(groups, weight.shape[0] // groups, -1).mT

    def shaped(self, layer: Any, factors: Sequence[Tensor]) -> list[Tensor]:
        ones = (1,) * (layer.weight.ndim - 2)
        *rest, last = factors
        return [
            *(W.reshape(-1, W.shape[2], *ones) for W in rest),
            last.mT.reshape(-1, *layer.weight.shape[1:]),
        ]

    def modules(self, layer: Any, weights: Sequence[nn.Parameter]) -> list[nn.Module]:
        last = _copied(layer, weights[-1], {"in_channels": len(weights[-1])})
        last.bias = layer.bias
        return [*(_pointwise(weight, layer.groups) for weight in weights[:-1]), last]

    def factors(self, modules: Sequence[Any], dtype: torch.dtype | None = None) -> list[Tensor]:
        *rest, last = modules
        return [*super().factors(rest, dtype), self.matrices(last.weight.to(dtype), last.groups)]

    def _joined(self, modules: Sequence[Any], W: Tensor) -> Tensor:
        return W.mT.reshape(-1, *modules[-1].weight.shape[1:])


class RowsKind(Kind):
    """transformers' `Conv1D`, `x ↦ xW + b`: the weight is (inputs, outputs)."""

    main = -1
    sizes = ("nx", "nf")

    def matrices(self, weight: Tensor, groups: int) -> Tensor:
        return weight.T[None]

    def shaped(self, layer: Any, factors: Sequence[Tensor]) -> list[Tensor]:
        return [W[0].T for W in factors]

    def modules(self, layer: Any, weights: Sequence[nn.Parameter]) -> list[nn.Module]:
        last = _copied(layer, weights[-1], {"nx": len(weights[-1])})
        last.bias = layer.bias
        return [*(Rows(weight) for weight in weights[:-1]), last]

    def factors(self, modules: Sequence[Any], dtype: torch.dtype | None = None) -> list[Tensor]:
        return [module.weight.to(dtype).T[None] for module in modules]

    def _joined(self, modules: Sequence[Any], W: Tensor) -> Tensor:
        return W[0].T

    def plain(self, modules: Sequence[Any], weight: nn.Parameter) -> nn.Module:
        layer = _copied(modules[-1], weight, {"nx": len(weight)})
        layer.bias = modules[-1].bias
        return layer

    def own_variance(self, layer: Any) -> float:
        return 0.02**2


class Lookup(Kind):
    """`nn.Embedding`, a table `W_N ⋯ W_1`: rows of `W_N` are looked up, then multiplied from the right.

    The factors are those of a dense layer with the same weight, so that the two can share them.
    """

    def modules(self, layer: Any, weights: Sequence[nn.Parameter]) -> list[nn.Module]:
        table = _copied(layer, weights[-1], {"embedding_dim": weights[-1].shape[1]})
        return [table, *(Rows(weight) for weight in reversed(weights[:-1]))]

    def factors(self, modules: Sequence[Any], dtype: torch.dtype | None = None) -> list[Tensor]:
        return super().factors(modules[::-1], dtype)

    def plain(self, modules: Sequence[Any], weight: nn.Parameter) -> nn.Module:
        return _copied(modules[0], weight, {"embedding_dim": weight.shape[1]})

    def own_variance(self, layer: Any) -> float:
        return 1.0


LINEAR, CONVOLUTION, TRANSPOSED, ROWS, LOOKUP = Kind(), Convolution(), Transposed(), RowsKind(), Lookup()
KINDS: dict[str, Kind] = {
    "linear": LINEAR, "convolution": CONVOLUTION, "transposed": TRANSPOSED, "rows": ROWS, "lookup": LOOKUP,
}  # fmt: skip
BASES: dict[type[nn.Module], str] = {
    nn.Linear: "linear",
    nn.Conv1d: "convolution",
    nn.Conv2d: "convolution",
    nn.Conv3d: "convolution",
    nn.ConvTranspose1d: "transposed",
    nn.ConvTranspose2d: "transposed",
    nn.ConvTranspose3d: "transposed",
    nn.Embedding: "lookup",
}
LAYERS = tuple(BASES)
# Classes of other packages that compute what their name says, by where they live: nothing of theirs is imported.
_ELSEWHERE = {
    ("transformers.pytorch_utils", "Conv1D"): "rows",
    ("timm.layers.conv2d_same", "Conv2dSame"): "convolution",
    ("timm.layers.linear", "Linear"): "linear",
}


def kind_of(module: nn.Module) -> str:
    """The name of a module's kind; empty if it has none."""
    elsewhere = _ELSEWHERE.get((type(module).__module__, type(module).__name__))
    return elsewhere or next((kind for base, kind in BASES.items() if isinstance(module, base)), "")


def computes_its_own(module: nn.Module) -> bool:
    """Whether the class of a layer may compute something else than the layer it derives from."""
    if (type(module).__module__, type(module).__name__) in _ELSEWHERE:
        return False
    base = next(base for base in BASES if isinstance(module, base))
    parts = ("forward", "_conv_forward", "__call__", "__getattr__")
    return any(getattr(type(module), part, None) is not getattr(base, part, None) for part in parts)


def _copied(layer: Any, weight: nn.Parameter, sizes: dict[str, int]) -> Any:
    """A layer of the same settings with another weight, no bias and no hooks."""
    made = copy.copy(layer)
    for name in HOOKS:
        setattr(made, name, None if name == "_is_full_backward_hook" else type(getattr(layer, name))())
    made._parameters = dict.fromkeys(layer._parameters) | {"weight": weight}
    made._buffers, made._modules = dict(layer._buffers), dict(layer._modules)
    for name, size in sizes.items():
        setattr(made, name, size)
    return made


def _pointwise(weight: nn.Parameter, groups: int) -> Any:
    """A 1 × 1 convolution with that weight; on the device "meta" nothing is drawn, the random generator stays put."""
    kind = _CONVOLUTIONS[weight.ndim - 2]
    made = kind(weight.shape[1] * groups, len(weight), 1, groups=groups, bias=False, device="meta")
    made.weight = weight
    return made
