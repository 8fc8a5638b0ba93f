"""Functions whose derivative PyTorch takes one output at a time, in a form that it takes for all outputs at once.

They give the same values up to rounding, and the same derivatives, at kinks too.
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import conv2d, conv_transpose2d, linear

_ATTENDED = 2**14  # pairs of positions up to which attention is written out; above, its memory matters more

_ROWS = 16  # examples from which PyTorch has a routine of its own for a convolution of single pixels
Pair = tuple[int, int]
_vmap: Any = cast(Any, torch._C)._functorch  # whose functions PyTorch's own vmap is written with


def for_all(rule: Callable[[Tensor], Tensor], d: Tensor) -> Tensor:
    """Hand a derivative to a function with all outputs at once, the axis of outputs first, though vmap hides it.

    PyTorch's way to do so, a function with a rule for vmap, takes as long as a small layer.
    """
    if not _vmap.is_batchedtensor(d):
        return rule(d[None])[0]
    return _vmap._add_batch_dim(rule(of_all(d)), 0, _vmap.maybe_get_level(d))


def of_all(d: Tensor) -> Tensor:
    """A derivative of all outputs, their axis first."""
    if not _vmap.is_batchedtensor(d):
        return d[None]
    return _vmap.get_unwrapped(d).movedim(_vmap.maybe_get_bdim(d), 0)


class Convolved(torch.autograd.Function):
    """A convolution of pictures by a constant weight; its derivatives by the input for all outputs in one call.

    Channels come last in memory, so that a convolution of single pixels is a product of matrices.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Pair,
        padding: Pair,
        dilation: Pair,
        groups: int,
    ) -> Tensor:
        """What `conv2d` gives."""
        ctx.save_for_backward(weight)
        ctx.size, ctx.how = x.shape[2:], (stride, padding, dilation, groups)
        if len(x) < _ROWS and single(weight, *ctx.how):
            return linear(x.movedim(1, -1), weight.flatten(1), bias).movedim(-1, 1)
        return conv2d(x.contiguous(memory_format=torch.channels_last), weight, bias, stride, padding, dilation, groups)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> Any:
        """The derivatives by the input, of as many outputs as there are."""
        return _pulled(ctx, slopes[0]), None, None, None, None, None, None


class Normed(torch.autograd.Function):
    """A scale and a shift of each channel of what a convolution gave, as a function of the convolution's input.

    Its derivative is that of a convolution whose weight is scaled: one function for all outputs instead of two.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, z: Tensor, weight: Tensor, scale: Tensor, shift: Tensor, how: tuple[Any, ...]
    ) -> Tensor:
        """The channels of z, scaled and shifted."""
        ctx.save_for_backward(weight * scale.view(-1, 1, 1, 1))
        ctx.size, ctx.how = x.shape[2:], how
        return torch.addcmul(shift.view(1, -1, 1, 1), z, scale.view(1, -1, 1, 1))

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> Any:
        """The derivatives by the convolution's input, of as many outputs as there are."""
        return _pulled(ctx, slopes[0]), None, None, None, None, None


def _pulled(ctx: Any, slopes: Tensor) -> Tensor:
    """Derivatives by the input of a convolution of pictures."""
    (weight,) = ctx.saved_tensors

    def pulled(d: Tensor) -> Tensor:
        flat = d.flatten(0, 1)
        if flat.shape[0] < _ROWS and single(weight, *ctx.how):
            back = (flat.movedim(1, -1) @ weight.flatten(1)).movedim(-1, 1)
        else:
            flat = flat.contiguous(memory_format=torch.channels_last)
            back = _transposed(flat, weight, ctx.size, *ctx.how)
        return back.unflatten(0, d.shape[:2])

    return for_all(pulled, slopes)


def _transposed(
    d: Tensor, weight: Tensor, size: torch.Size, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Tensor:
    """The transpose of a convolution of pictures of some size.

    Of channels each by itself, at every pixel, it is a convolution too, for which PyTorch has the faster routine.
    """
    wide = [spread * (side - 1) for spread, side in zip(dilation, weight.shape[2:], strict=True)]
    edges = [reach - edge for reach, edge in zip(wide, padding, strict=True)]
    if stride == (1, 1) and groups == len(weight) and weight.shape[1] == 1 and min(edges) >= 0:
        return conv2d(d, weight.flip(2, 3), None, stride, edges, dilation, groups)
    left = [
        pixels - (out - 1) * step + 2 * edge - reach - 1
        for pixels, out, step, edge, reach in zip(size, d.shape[2:], stride, padding, wide, strict=True)
    ]
    return conv_transpose2d(d, weight, None, stride, padding, left, groups, dilation)


def single(weight: Tensor, stride: Pair, padding: Pair, dilation: Pair, groups: int) -> bool:
    """Whether a convolution takes each pixel by itself."""
    return (*weight.shape[2:], *stride, groups) == (1, 1, 1, 1, 1) and padding == (0, 0)


class Bent(torch.autograd.Function):
    """An activation applied to every number, with its slopes taken once for all outputs."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, activation: Callable[[Tensor], Tensor], slope: Callable[[Tensor, Tensor], Tensor]
    ) -> Tensor:
        """The activation, given with its slopes."""
        ctx.save_for_backward(slope(torch.ones_like(x), x))
        return activation(x)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> Any:
        """The slopes, times what comes from behind."""
        return slopes[0] * ctx.saved_tensors[0], None, None


class Standardised(torch.autograd.Function):
    """Layer normalisation along the last axis by constants; its derivatives by the input for all outputs in one call."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
        """What `layer_norm` gives."""
        out, mean, over = torch.native_layer_norm(x, x.shape[-1:], weight, bias, eps)
        ctx.save_for_backward(x, mean, over, weight)
        return out

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> Any:
        """The derivatives by the input, of as many outputs as there are."""
        x, mean, over, weight = ctx.saved_tensors
        normal = (x - mean).mul_(over)

        def pulled(d: Tensor) -> Tensor:
            g = d.clone() if weight is None else d * weight
            along = (g * normal).mean(-1, keepdim=True)
            return g.sub_(g.mean(-1, keepdim=True)).addcmul_(normal, along, value=-1).mul_(over)

        return for_all(pulled, slopes[0]), None, None, None


def normalised(x: Tensor, mean: Tensor, variance: Tensor, eps: float) -> Tensor:
    """Inputs (examples, channels, …) less their running mean, over their running standard deviation."""
    shape = (1, -1, *(1,) * (x.ndim - 2))
    return (x - mean.view(shape)) * torch.rsqrt(variance + eps).view(shape)


def batch_norm(
    x: Tensor, mean: Tensor, variance: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """Batch normalisation by running statistics: a scale and a shift of each channel, as constants."""
    shape = (1, -1, *(1,) * (x.ndim - 2))
    scale, shift = by_running(mean, variance, weight, bias, eps)
    return torch.addcmul(shift.view(shape), x, scale.view(shape))


@torch.no_grad()
def by_running(
    mean: Tensor, variance: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor]:
    """The scale and the shift of each channel that batch normalisation by running statistics is."""
    scale = torch.rsqrt(variance + eps)
    scale = scale if weight is None else scale * weight
    return scale, -mean * scale if bias is None else bias - mean * scale


class Clipped(torch.autograd.Function):
    """Numbers between two bounds; no derivative at the bounds, as PyTorch has it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, low: float, high: float) -> Tensor:
        """The numbers, none below or above."""
        out = x.clamp(low, high)
        ctx.save_for_backward(out)
        ctx.bounds = low, high
        return out

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> Any:
        """What comes from where numbers were left as they are."""
        (out,), (low, high) = ctx.saved_tensors, ctx.bounds
        # As numbers: PyTorch multiplies numbers by truth values one at a time.
        return slopes[0] * ((out > low) & (out < high)).to(out.dtype), None, None


def attention(func: Any, query: Tensor, key: Tensor, *rest: Any, **named: Any) -> Tensor:
    """Attention; written out where it is small."""
    if query.shape[-2] * key.shape[-2] > _ATTENDED:
        return func(query, key, *rest, **named)
    with sdpa_kernel(SDPBackend.MATH):
        return func(query, key, *rest, **named)
