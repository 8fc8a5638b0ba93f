"""What a model says of some inputs, asked in the middle of training without leaving a trace."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel

from lineament.core import arguments

from . import batches
from .precision import differentiable, push_forward
from .reached import refuse_unreached

Inputs = tuple[Tensor, ...]
Forward = Callable[..., Any]


def probes(given: Tensor | np.ndarray | tuple[Tensor, ...]) -> tuple[Inputs, np.ndarray | None]:
    """The probe inputs as tensors, and as an array to keep if they are one array of numbers."""
    parts = tuple(_tensor(part).detach() for part in (given if isinstance(given, tuple) else (given,)))
    _refuse_unusable(parts)
    first = parts[0]
    if len(parts) > 1 or not first.is_floating_point():
        return parts, None
    return parts, as_array(first if first.dtype == torch.float64 else first.float())


def _tensor(given: Tensor | np.ndarray) -> Tensor:
    return given if isinstance(given, Tensor) else torch.tensor(arguments.numeric("probe_inputs", given))


def changes(part: Tensor) -> int:
    """How often a tensor was written into; 0 where PyTorch does not count."""
    return 0 if part.is_inference() else part._version


def as_bytes(parts: Inputs, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Inputs as plain bytes, by their names or their numbers."""
    named = zip(names or map(str, range(len(parts))), parts, strict=True)
    return {name: part.cpu().contiguous().view(torch.uint8).numpy() for name, part in named}


def _refuse_unusable(parts: Inputs) -> None:
    lengths = {len(part) if part.ndim else 0 for part in parts}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(
            "probe_inputs must hold equally many examples, at least one, along the first axis; got shapes "
            + " and ".join(str(tuple(part.shape)) for part in parts)
        )
    if any(part.is_meta for part in parts):
        raise ValueError("probe_inputs must have values; they are on the device meta")
    if not all(bool(torch.isfinite(part).all()) for part in parts):
        raise ValueError("probe_inputs must be finite; some of their numbers are not")


def plain_forward(model: nn.Module, *inputs: Tensor, **named: Tensor) -> Any:
    """Call the model."""
    return model(*inputs, **named)


def by_name(forward: Forward, names: tuple[str, ...]) -> Forward:
    """The same way to call a model, for inputs that are given by position and that it takes by name."""

    def called(model: nn.Module, *inputs: Tensor) -> Any:
        return forward(model, **dict(zip(names, inputs, strict=True)))

    return called


def unwrapped(model: nn.Module) -> nn.Module:
    """The module inside `torch.compile` and data-parallel wrappers: it shares the weights and needs no compilation."""
    if not isinstance(model, nn.Module):
        raise ValueError(f"model must be a torch.nn.Module; got {type(model).__name__}")
    if hasattr(model, "_orig_mod"):
        return unwrapped(cast(nn.Module, model._orig_mod))
    if isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
        return unwrapped(model.module)
    return model


@contextmanager
def undisturbed(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients; afterwards every module's mode and the random generators are as before."""
    modes = [(module, module.training) for module in model.modules()]
    devices = {value.device.index for value in _values(model) if value.device.type == "cuda"}
    with torch.random.fork_rng(devices=sorted(devices)), torch.no_grad():
        try:
            model.eval()
            yield
        finally:
            # Modules may do something when their mode changes: tell them by `train`, then restore what it overruled.
            model.train(modes[0][1])
            for module, training in modes:
                module.training = training


def refuse_elsewhere(model: nn.Module, inputs: Inputs) -> None:
    """Refuse probe inputs on a device where the model is not."""
    devices = {value.device for value in _values(model)}
    if any(device.type == "meta" for device in devices):
        raise ValueError("model must have values to be recorded; some of its parameters are on the device meta")
    for part in inputs:
        if devices and part.device not in devices:
            where = " and ".join(sorted(map(str, devices)))
            raise ValueError(
                f"probe_inputs are on {part.device} and the model is on {where}: give the recorder "
                f"probe_inputs.to({str(min(devices, key=str))!r})"
            )


def predict(model: nn.Module, inputs: Inputs, batch: int, forward: Forward) -> Tensor:
    """The outputs (example, output) on all inputs, `batch` at a time, on the processor."""
    return torch.cat([_answer(model, some, forward).cpu() for some in pieces(inputs, batch)])


def _answer(model: nn.Module, some: Inputs, forward: Forward) -> Tensor:
    """The outputs on a few inputs; an error of the model's own says what it was given."""
    try:
        found = forward(model, *map(batches.own, some))
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # whatever a model raises, with its own traceback
        kinds = " and ".join(f"{part.dtype} of shape {tuple(part.shape)}" for part in some)
        raise ValueError(
            f"probe_inputs must be what the model takes; given {kinds} it raised {type(error).__name__}: {error}"
        ) from error
    return outputs(found, len(some[0]))


def pieces(inputs: Inputs, batch: int) -> Iterator[Inputs]:
    """The inputs, `batch` examples at a time."""
    for begin in range(0, len(inputs[0]), batch):
        yield tuple(part[begin : begin + batch] for part in inputs)


def outputs(found: Any, examples: int) -> Tensor:
    """What a model returned, a tensor or an output that holds one, as (example, output), in single precision at least."""
    found = batches.outputs(found)
    if found.ndim not in (1, 2) or len(found) != examples or not found.numel():
        raise ValueError(
            f"the model must return outputs (example, output); for {examples} examples it gave {tuple(found.shape)}: "
            "say which to record, such as forward=lambda model, x: model(x)[:, -1]"
        )
    rows = found.detach().reshape(examples, -1)
    return rows if rows.dtype in (torch.float32, torch.float64) else rows.float()


def randomness(model: nn.Module, inputs: Inputs, batch: int, forward: Forward) -> float:
    """The largest difference between two passes over the first inputs in evaluation mode: zero, one hopes."""
    some = next(pieces(inputs, batch))
    first, second = (_answer(model, some, forward) for _ in range(2))
    return float((first - second).abs().nan_to_num().max())


def as_array(found: Tensor) -> np.ndarray:
    """A tensor as a NumPy array."""
    found = found.detach().cpu()
    return (found.float() if found.dtype == torch.bfloat16 else found).numpy()


class Linearisation:
    """The first-order expansion of a network in its parameters about where they are now, in evaluation mode.

    `f(θ₀) + ∂f(θ₀)·(θ − θ₀)` (Lee et al. 2019, eq. 5) at the parameters θ of a later time, by one forward-mode
    derivative along the displacement. Buffers, such as the statistics of batch normalisation, stay as they were.
    """

    def __init__(self, parameters: dict[str, Tensor], buffers: dict[str, Tensor], forward: Forward):
        self.parameters, self.buffers, self.forward = parameters, buffers, forward
        self.reached = False  # whether a call was seen to use none but the parameters that it is given

    @classmethod
    def at(cls, model: nn.Module, forward: Forward) -> "Linearisation":
        """About the model's present parameters."""
        moving, fixed = ({name: value.detach().clone() for name, value in some.items()} for some in _named(model))
        return cls(moving, fixed, forward)

    def predict(self, model: nn.Module, inputs: Inputs, batch: int) -> Tensor:
        """Outputs (example, output) at the model's present parameters; call it inside `undisturbed`."""
        now, _ = _named(model)
        if {k: v.shape for k, v in now.items()} != {k: v.shape for k, v in self.parameters.items()}:
            raise ValueError(
                "model must keep the parameters it was linearised with; their names or shapes have changed"
            )
        device = {name: value.device for name, value in now.items()}
        start = {name: value.to(device[name]) for name, value in self.parameters.items()}
        ahead = {name: now[name].detach() - value for name, value in start.items()}
        whole = _Called(model, self.forward)

        def called(some: Inputs, parameters: dict[str, Tensor]) -> Tensor:
            given = {f"model.{name}": value for name, value in {**parameters, **self.buffers}.items()}
            return outputs_kept(functional_call(whole, given, tuple(map(batches.own, some))), len(some[0]))

        found = []
        for some in pieces(inputs, batch):
            if not self.reached:
                with torch.no_grad(), differentiable(model):
                    refuse_unreached("model", model, partial(called, some, start), start)
                self.reached = True
            try:
                with differentiable(model), sdpa_kernel(SDPBackend.MATH):  # other attention has no such derivative
                    value, change = push_forward(partial(called, some), start, ahead)
            except (NotImplementedError, RuntimeError) as error:
                raise ValueError(
                    f"linearise=True needs forward-mode derivatives of the model, which failed: {error}; record it "
                    "with linearise=False"
                ) from error
            found.append(outputs(value + change, len(some[0])).cpu())
        return torch.cat(found)


def outputs_kept(found: Any, examples: int) -> Tensor:
    """Check what a model returned, but keep its derivative."""
    outputs(found, examples)
    return batches.outputs(found)


class _Called(nn.Module):
    """A model with the way to call it, so that its parameters can be replaced for one call."""

    def __init__(self, model: nn.Module, forward: Forward):
        super().__init__()
        self.model, self._forward = model, forward

    def forward(self, *inputs: Tensor) -> Any:
        return self._forward(self.model, *inputs)


def _named(model: nn.Module) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """What can be displaced, and all else."""
    parameters = dict(model.named_parameters())
    moving = {name: value for name, value in parameters.items() if value.is_floating_point()}
    fixed = {name: value for name, value in parameters.items() if name not in moving}
    return cast(dict[str, Tensor], moving), {**fixed, **dict(model.named_buffers())}


def _values(model: nn.Module) -> Iterator[Tensor]:
    return chain(model.parameters(), model.buffers())
