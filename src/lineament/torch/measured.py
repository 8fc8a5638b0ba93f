"""What a change of a model costs and gains, on data."""

import statistics
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from .batches import Given, outputs
from .modes import evaluating

REPEATS = 5
IGNORED = -100  # the label of examples that have none


class Measured(NamedTuple):
    """Two models on the same examples: `error` is the norm of the change of all outputs over their norm.

    The accuracies are of the examples that have a class as label, None where there are none. One output is the logarithm
    of the odds of class 1; labels of -100 are left out, as PyTorch's cross-entropy does; real targets have no accuracy.
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
                if not _classes(before, labels):
                    continue
                known = labels != IGNORED
                labelled += int(known.sum())
                right += int((_chosen(before) == labels)[known].sum())
                still += int((_chosen(after) == labels)[known].sum())
    if not examples:
        raise ValueError("data must hold at least one batch, and that an example; it was empty")
    rates = (right / labelled, still / labelled) if labelled else (None, None)
    return Measured(examples, (change / norm) ** 0.5 if norm else 0.0, *rates)


@torch.no_grad()
def cost(whole: nn.Module, small: nn.Module, batch: Given, forward: Any) -> Cost:
    """Count and time one batch on both models in turn, in evaluation mode."""
    flops, seconds = [], ([], [])
    with evaluating(whole, small):
        for model in (whole, small):
            with FlopCounterMode(display=False) as counter, _in_products():
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


@contextmanager
def _in_products() -> Iterator[None]:
    """Inside, recurrent layers are computed by products that can be counted, not as a whole by a library."""
    libraries: tuple[Any, ...] = (torch.backends.mkldnn, torch.backends.cudnn)
    before = [library.enabled for library in libraries]
    try:
        for library in libraries:
            library.enabled = False
        yield
    finally:
        for library, enabled in zip(libraries, before, strict=True):
            library.enabled = enabled


def _wait(device: torch.device) -> None:
    """Until the device has done what it was told: it works on its own."""
    if device.type in ("cuda", "mps", "xpu"):
        getattr(torch, device.type).synchronize()


def _chosen(outputs: Tensor) -> Tensor:
    """The class that each row of outputs chooses."""
    return (outputs[:, 0] > 0).long() if outputs.shape[1] == 1 else outputs.argmax(1)


def _classes(outputs: Tensor, labels: Any) -> bool:
    """Whether labels are classes, checked against the outputs; real targets of the outputs' shape are none."""
    if not isinstance(labels, Tensor):
        raise ValueError(f"data must hold one integer label per example; got labels of {type(labels).__name__}")
    kind = f"{labels.dtype} and shape {tuple(labels.shape)}"
    if labels.is_floating_point() and labels.numel() == outputs.numel() and len(labels) == len(outputs):
        return False
    if labels.is_floating_point() or labels.ndim != 1:
        raise ValueError(f"data must hold one integer label per example; got labels of {kind}")
    if outputs.ndim != 2 or len(outputs) != len(labels):
        raise ValueError(
            f"data must fit a model with outputs (examples, classes); for {len(labels)} labels it gave "
            f"{tuple(outputs.shape)}"
        )
    known, classes = labels[labels != IGNORED].long(), max(2, outputs.shape[1])
    if known.numel() and (known.min() < 0 or known.max() >= classes):
        raise ValueError(
            f"data must hold labels from 0 to {classes - 1}, or {IGNORED} for none; got {int(known.min())} to "
            f"{int(known.max())}"
        )
    return True
