"""What a change of a classifier costs on data."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


class Measured(NamedTuple):
    """Two classifiers on the same examples: `error` is the norm of the change of all outputs over their norm."""

    examples: int
    error: float
    accuracy: float
    truncated_accuracy: float


@torch.no_grad()
def measure(whole: nn.Module, small: nn.Module, data: Iterable[tuple[Any, Tensor]]) -> Measured:
    """Compare two classifiers on batches of inputs and integer labels, in evaluation mode."""
    modes = [(module, module.training) for model in (whole, small) for module in model.modules()]
    try:
        return _measure(whole.eval(), small.eval(), data)
    finally:
        for module, training in modes:
            module.training = training


def _measure(whole: nn.Module, small: nn.Module, data: Iterable[tuple[Any, Tensor]]) -> Measured:
    device = next((parameter.device for parameter in whole.parameters()), torch.device("cpu"))
    examples = right = still = 0
    change = norm = 0.0
    for inputs, labels in data:
        inputs = [part.to(device) for part in (inputs if isinstance(inputs, tuple | list) else (inputs,))]
        labels = labels.to(device)
        before, after = whole(*inputs), small(*inputs)
        _check(before, labels)
        examples += len(labels)
        right += int((before.argmax(1) == labels).sum())
        still += int((after.argmax(1) == labels).sum())
        change += float(((after - before).double() ** 2).sum())
        norm += float((before.double() ** 2).sum())
    if not examples:
        raise ValueError("data must hold at least one batch of inputs and labels; it was empty")
    return Measured(examples, (change / norm) ** 0.5 if norm else 0.0, right / examples, still / examples)


def _check(outputs: Any, labels: Tensor) -> None:
    if labels.is_floating_point() or labels.ndim != 1:
        raise ValueError(
            f"data must hold one integer label per example; got labels of {labels.dtype} and shape {tuple(labels.shape)}"
        )
    if not isinstance(outputs, Tensor) or outputs.ndim != 2 or len(outputs) != len(labels):
        shape = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
        raise ValueError(
            f"data must fit a model with outputs (examples, classes); for {len(labels)} labels it gave {shape}"
        )
