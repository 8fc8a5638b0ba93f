"""What a change of a model costs and gains, on data."""

import statistics
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from .batches import Given, outputs
from .modes import evaluating

REPEATS = 5


class Measured(NamedTuple):
    """Two models on the same examples: `error` is the norm of the change of all outputs over their norm.

    The accuracies are None where there are no labels.
    """

    examples: int
    error: float
    accuracy: float | None
    truncated_accuracy: float | None


class Cost(NamedTuple):
    """What one batch costs before and after: multiplications and additions, and seconds (medians of runs in turn)."""

    examples: int
    flops: int
    truncated_flops: int
    seconds: float
    truncated_seconds: float


@torch.no_grad()
def measure(whole: nn.Module, small: nn.Module, data: Iterable[Given], forward: Any) -> Measured:
    """Compare two models on batches, in evaluation mode."""
    examples = labelled = right = still = 0
    change = norm = 0.0
    with evaluating(whole, small):
        for positional, named, labels in data:
            before = outputs(forward(whole, *positional, **named))
            after = outputs(forward(small, *positional, **named))
            examples += len(before)
            change += float(((after - before).double() ** 2).sum())
            norm += float((before.double() ** 2).sum())
            if labels is not None and (before.ndim == 2 or not isinstance(labels, Tensor) or labels.ndim == 1):
                _check(before, labels)
                labelled += len(labels)
                right += int((before.argmax(1) == labels).sum())
                still += int((after.argmax(1) == labels).sum())
    if not examples:
        raise ValueError("data must hold at least one batch of inputs and labels; it was empty")
    rates = (right / labelled, still / labelled) if labelled else (None, None)
    return Measured(examples, (change / norm) ** 0.5 if norm else 0.0, *rates)


@torch.no_grad()
def cost(whole: nn.Module, small: nn.Module, batch: Given, forward: Any) -> Cost:
    """Count and time one batch on both models in turn, in evaluation mode."""
    flops, seconds = [], ([], [])
    with evaluating(whole, small):
        for model in (whole, small):
            with FlopCounterMode(display=False) as counter:
                found = outputs(forward(model, *batch.positional, **batch.named))
            flops.append(counter.get_total_flops())
        for _ in range(REPEATS):
            for model, spent in zip((whole, small), seconds, strict=True):
                _wait(found.device)
                begun = time.perf_counter()
                forward(model, *batch.positional, **batch.named)
                _wait(found.device)
                spent.append(time.perf_counter() - begun)
    return Cost(len(found), *flops, *map(statistics.median, seconds))


def _wait(device: torch.device) -> None:
    """Until the device has done what it was told: it works on its own."""
    if device.type in ("cuda", "mps", "xpu"):
        getattr(torch, device.type).synchronize()


def _check(outputs: Tensor, labels: Any) -> None:
    if not isinstance(labels, Tensor) or labels.is_floating_point() or labels.ndim != 1:
        kind = (
            f"{labels.dtype} and shape {tuple(labels.shape)}" if isinstance(labels, Tensor) else type(labels).__name__
        )
        raise ValueError(f"data must hold one integer label per example; got labels of {kind}")
    if outputs.ndim != 2 or len(outputs) != len(labels):
        raise ValueError(
            f"data must fit a model with outputs (examples, classes); for {len(labels)} labels it gave "
            f"{tuple(outputs.shape)}"
        )
