"""What a change of a model costs and gains, on data."""

import math
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
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

    The accuracies are of the examples that have a class as label, None where there are none; of sequences and pictures
    with a label at each place they are of places. One output is the logarithm of the odds of class 1; labels of -100 are
    left out, as PyTorch's cross-entropy does; real targets have no accuracy. `note` says which labels do not fit. The
    error is infinite where the truncated model gives numbers that are not finite.
    """

    examples: int
    error: float
    accuracy: float | None
    truncated_accuracy: float | None
    note: str = ""


class Cost(NamedTuple):
    """What one batch costs before and after: multiplications and additions, and seconds (medians of runs in turn)."""

    examples: int
    flops: int
    truncated_flops: int
    seconds: float
    truncated_seconds: float


@torch.no_grad()
def measure(
    whole: nn.Module, small: nn.Module, data: Iterable[Given], forward: Any, argument: str = "data"
) -> Measured:
    """Compare two models on batches, in evaluation mode; `argument` is what errors call these."""
    data = list(data)
    following = _are_inputs(data)
    examples = labelled = right = still = 0
    change = norm = 0.0
    notes: list[str] = []
    with evaluating(whole, small):
        for positional, named, labels in data:
            before = outputs(forward(whole, *positional, **named))
            after = outputs(forward(small, *positional, **named))
            examples += len(before)
            change += float(((after - before).double() ** 2).sum())
            norm += float((before.double() ** 2).sum())
            if not math.isfinite(norm):
                raise ValueError(_not_finite(argument, Given(positional, named, labels), before))
            note = "" if labels is None else _unfit(before, labels)
            if note and note not in notes:
                notes.append(note)
            if labels is None or note or not _classes(before, labels):
                continue
            before, after = _classes_last(before, labels), _classes_last(after, labels)
            if following:
                before, after, labels = before[:, :-1], after[:, :-1], labels[:, 1:]
            known = labels != IGNORED
            labelled += int(known.sum())
            right += int((_chosen(before) == labels)[known].sum())
            still += int((_chosen(after) == labels)[known].sum())
    if not examples:
        raise ValueError(f"{argument} must hold at least one batch, and that an example; it was empty")
    rates = (right / labelled, still / labelled) if labelled else (None, None)
    error = (change / norm) ** 0.5 if norm else 0.0
    return Measured(examples, math.inf if math.isnan(error) else error, *rates, "; ".join(notes))


def _not_finite(argument: str, batch: Given, out: Tensor) -> str:
    """What is wrong with a batch or with what a model gives on it."""
    values = {f"input {k}": value for k, value in enumerate(batch.positional)} | batch.named
    for name, value in values.items():
        if isinstance(value, Tensor) and value.is_floating_point() and bool(torch.isnan(value).any()):
            return f"{argument} must hold finite numbers; {name} of a batch has NaN in it"
    for name, value in values.items():
        if isinstance(value, Tensor) and value.is_floating_point() and bool(torch.isinf(value).any()):
            return f"{argument} must hold finite numbers; {name} of a batch has infinite ones"
    kind = "are not finite" if not bool(torch.isfinite(out).all()) else "are too large to be squared"
    return f"model must give finite outputs on {argument}; some of those of shape {tuple(out.shape)} {kind}"


def _are_inputs(data: Sequence[Given]) -> bool:
    """Whether the labels are the inputs themselves, wherever there are labels.

    Language models that predict the next token are trained on such, and compare with the label one place further.
    """
    known = 0
    for positional, named, labels in data:
        tokens = named.get("input_ids", next(iter((*positional, *named.values())), None))
        if labels is None:
            continue
        if not isinstance(labels, Tensor) or not isinstance(tokens, Tensor) or labels.ndim != 2:
            return False
        there = labels != IGNORED
        if labels.is_floating_point() or tokens.shape != labels.shape or not torch.equal(tokens[there], labels[there]):
            return False
        known += int(there.sum())
    return known > 0


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
    """The class that outputs (…, classes) choose."""
    return (outputs[..., 0] > 0).long() if outputs.shape[-1] == 1 else outputs.argmax(-1)


def _classes_last(outputs: Tensor, labels: Tensor) -> Tensor:
    """Outputs (…, classes) for labels (…): cross-entropy and models of pictures have classes after the examples."""
    return outputs if outputs.shape[:-1] == labels.shape else outputs.movedim(1, -1)


def _unfit(outputs: Tensor, labels: Any) -> str:
    """Why labels of places cannot be compared with outputs; empty if they can, or have one row per example."""
    if outputs.ndim < 3 or not isinstance(labels, Tensor) or labels.ndim == 1 or _are_targets(outputs, labels):
        return ""
    kind = f"labels of {labels.dtype} and shape {tuple(labels.shape)} were left out"
    last, second = outputs.shape[:-1] == labels.shape, (len(outputs), *outputs.shape[2:]) == labels.shape
    if labels.is_floating_point() or not (last or second):
        return f"{kind}: they are no classes of outputs {tuple(outputs.shape)}"
    if last and second:
        return f"{kind}: the classes of outputs {tuple(outputs.shape)} may be along axis 1 or the last"
    return ""


def _are_targets(outputs: Tensor, labels: Tensor) -> bool:
    """Whether labels are real targets, one for each output."""
    return labels.is_floating_point() and labels.numel() == outputs.numel() and len(labels) == len(outputs)


def _classes(outputs: Tensor, labels: Any) -> bool:
    """Whether labels are classes, checked against the outputs; real targets of the outputs' shape are none."""
    if not isinstance(labels, Tensor):
        raise ValueError(f"data must hold one integer label per example; got labels of {type(labels).__name__}")
    kind = f"{labels.dtype} and shape {tuple(labels.shape)}"
    if _are_targets(outputs, labels):
        return False
    if labels.is_floating_point() or labels.ndim != max(1, outputs.ndim - 1):
        raise ValueError(f"data must hold one integer label per example; got labels of {kind}")
    if outputs.ndim < 2 or len(outputs) != len(labels):
        raise ValueError(
            f"data must fit a model with outputs (examples, classes); for {len(labels)} labels it gave "
            f"{tuple(outputs.shape)}"
        )
    known, classes = labels[labels != IGNORED].long(), max(2, _classes_last(outputs, labels).shape[-1])
    if known.numel() and (known.min() < 0 or known.max() >= classes):
        raise ValueError(
            f"data must hold labels from 0 to {classes - 1}, or {IGNORED} for none; got {int(known.min())} to "
            f"{int(known.max())}"
        )
    return True
