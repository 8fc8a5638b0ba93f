"""Functions whose derivative PyTorch takes one output at a time, in a form that it takes for all outputs at once.

They give the same values up to rounding, and the same derivatives, at kinks too.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

_ATTENDED = 2**14  # pairs of positions up to which attention is written out; above, its memory matters more


def normalised(x: Tensor, mean: Tensor, variance: Tensor, eps: float) -> Tensor:
    """Inputs (examples, channels, …) less their running mean, over their running standard deviation."""
    shape = (1, -1, *(1,) * (x.ndim - 2))
    return (x - mean.view(shape)) * torch.rsqrt(variance + eps).view(shape)


def batch_norm(
    x: Tensor, mean: Tensor, variance: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """Batch normalisation by running statistics: a scale and a shift of each channel, as constants."""
    shape = (1, -1, *(1,) * (x.ndim - 2))
    with torch.no_grad():
        scale = torch.rsqrt(variance + eps)
        scale = scale if weight is None else scale * weight
        shift = -mean * scale if bias is None else bias - mean * scale
    return torch.addcmul(shift.view(shape), x, scale.view(shape))


class Clipped(torch.autograd.Function):
    """Numbers between two bounds; no derivative at the bounds, as PyTorch has it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, low: float, high: float, inplace: bool) -> Tensor:
        """The numbers, in the place of x if so asked."""
        out = x.clamp_(low, high) if inplace else x.clamp(low, high)
        if inplace:
            ctx.mark_dirty(x)
        ctx.save_for_backward(out)
        ctx.bounds = low, high
        return out

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> Any:
        """What comes from where numbers were left as they are."""
        (out,), (low, high) = ctx.saved_tensors, ctx.bounds
        return slopes[0] * ((out > low) & (out < high)), None, None, None


def attention(func: Any, query: Tensor, key: Tensor, *rest: Any, **named: Any) -> Tensor:
    """Attention; written out where it is small."""
    if query.shape[-2] * key.shape[-2] > _ATTENDED:
        return func(query, key, *rest, **named)
    with sdpa_kernel(SDPBackend.MATH):
        return func(query, key, *rest, **named)
