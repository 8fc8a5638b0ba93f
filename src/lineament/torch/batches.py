"""What a model is given and what it returns: pairs, dicts, tensors; a tensor, or an output with logits in it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

LABELS = ("labels", "label", "targets", "target")
_OUTPUTS = ("logits", "last_hidden_state", "prediction", "sample")


class Given(NamedTuple):
    """What one batch gives a model by position and by name, and its labels if it has any."""

    positional: tuple[Any, ...]
    named: dict[str, Any]
    labels: Tensor | None


def call(model: nn.Module, *positional: Any, **named: Any) -> Any:
    """Call the model."""
    return model(*positional, **named)


def telling(forward: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, whose errors say that they came of a batch; their own traceback stays with them.

    The model is given copies: one that works in place on its inputs would give the next one others.
    """

    def told(model: nn.Module, *positional: Any, **named: Any) -> Any:
        try:
            return forward(model, *map(own, positional), **{name: own(value) for name, value in named.items()})
        except Exception as error:
            raise ValueError(
                f"batches must be what the model takes; it raised {type(error).__name__}: {error}"
            ) from error

    return told


def given(batch: Any, inputs: Callable[[Any], Any] | None = None) -> Given:
    """Take a batch apart.

    A dict is given by name, without its labels. Of a pair the first is the input, a tensor or a tuple of them, and the
    second the labels. Anything else is the input. `inputs` says what to take from a batch of any other form.
    """
    labels = None
    if isinstance(batch, Mapping):
        labels = next((batch[name] for name in LABELS if name in batch), None)
        found = {name: value for name, value in batch.items() if name not in LABELS}
    elif isinstance(batch, list | tuple) and len(batch) == 2:
        found, labels = batch
    else:
        found = batch[0] if isinstance(batch, list | tuple) and len(batch) == 1 else batch
    found = found if inputs is None else inputs(batch)
    if isinstance(found, Mapping):
        return Given((), dict(found), labels)
    return Given(tuple(found) if isinstance(found, list | tuple) else (found,), {}, labels)


def moved(value: Any, device: torch.device) -> Any:
    """Tensors on a device, everything else as it is."""
    return value.to(device) if isinstance(value, Tensor) else value


def own(value: Any) -> Any:
    """Copies of tensors, everything else as it is."""
    return value.clone() if isinstance(value, Tensor) else value


def each(batches: Iterable[Any], device: torch.device, inputs: Callable[[Any], Any] | None = None) -> Iterator[Given]:
    """The batches taken apart, on a device."""
    for batch in batches:
        positional, named, labels = given(batch, inputs)
        yield Given(
            tuple(moved(value, device) for value in positional),
            {name: moved(value, device) for name, value in named.items()},
            moved(labels, device),
        )


def device_of(model: nn.Module) -> torch.device:
    """Where a model's parameters are."""
    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))


def outputs(found: Any) -> Tensor:
    """The tensor in what a model returned."""
    if isinstance(found, Tensor):
        return found
    for name in _OUTPUTS:
        value = found.get(name) if isinstance(found, Mapping) else getattr(found, name, None)
        if isinstance(value, Tensor):
            return value
    raise ValueError(
        f"model must return a tensor, or an output that holds logits; got a {type(found).__name__}: say how to get it, "
        "such as forward=lambda model, x: model(x)[0]"
    )
