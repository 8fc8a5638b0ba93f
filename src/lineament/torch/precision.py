"""How a GPU computes while derivatives are taken: in full, and by functions that have a derivative."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import jvp, vjp

from .layers import walked

_HIGHEST = "highest"


@contextmanager
def full_precision() -> Iterator[None]:
    """Inside, products of float32 numbers are computed in full on a GPU, whose convolutions keep ten bits by default.

    Derivatives that were rounded so would differ from autograd's by more than rounding, and kernels of the same
    network from one device to the next.
    """
    with ExitStack() as stack:
        matmul = torch.get_float32_matmul_precision()
        stack.callback(torch.set_float32_matmul_precision, matmul)
        torch.set_float32_matmul_precision(_HIGHEST)
        cudnn: Any = torch.backends.cudnn
        if hasattr(cudnn, "conv"):  # from PyTorch 2.9 on, one precision for each kind of layer
            for kind in (cudnn.conv, cudnn.rnn):
                stack.callback(setattr, kind, "fp32_precision", kind.fp32_precision)
                kind.fp32_precision = "ieee"
        else:
            stack.callback(setattr, cudnn, "allow_tf32", cudnn.allow_tf32)
            cudnn.allow_tf32 = False
        yield


Parameters = dict[str, Tensor]


def push_forward(f: Callable[[Parameters], Tensor], start: Parameters, change: Parameters) -> tuple[Tensor, Tensor]:
    """The value of f at the start, and its derivative along a change.

    Some functions, that of weight normalisation for one, have no derivative forwards. The way back is linear in what is
    sent along it, and differentiated by that it gives the way forwards, for three passes in place of one.
    """
    try:
        return jvp(f, (start,), (change,))[:2]
    except NotImplementedError:
        value = f(start)
        back = vjp(lambda v: vjp(f, start)[1](v)[0], torch.zeros_like(value))[1]
        return value, back(change)[0]


@contextmanager
def differentiable(model: nn.Module, modules: list[tuple[str, nn.Module]] | None = None) -> Iterator[None]:
    """Inside, recurrent layers have derivatives in evaluation mode; those of cuDNN have none.

    What is in the model may be given, where it was walked through before.
    """
    if not any(isinstance(module, nn.RNNBase) for _, module in (walked(model) if modules is None else modules)):
        yield
        return
    before = torch.backends.cudnn.enabled
    torch.backends.cudnn.enabled = False
    try:
        yield
    finally:
        torch.backends.cudnn.enabled = before
