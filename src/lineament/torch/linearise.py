"""Linearise any PyTorch module at its parameters: forecast its training before it begins."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from ..core import arguments
from ..linearisation import Linearised, Loss, make
from ..linearisation.tangents import AbstractTangents, Array, Kernel, Progress
from .batches import outputs as tensor_in
from .kernel import ntk
from .layers import copied
from .precision import differentiable, push_forward
from .reached import refuse_unreached

BLOCK = 512
"""Examples that go through the module at a time."""

HALF = (torch.float16, torch.bfloat16)

Change = dict[str, Tensor]


def linearise(
    module: nn.Module,
    X: Tensor,
    y: Any,
    X_test: Tensor | None = None,
    y_test: Any = None,
    *,
    loss: Loss = "square",
    step_size: float | None = None,
    momentum: float = 0.0,
    ridge: float = 0.0,
    weight_decay: float = 0.0,
    batch_size: int | None = None,
    steps: int = 1500,
    kernel: Kernel | None = None,
    renew: int = 0,
    memory: float = 2**27,
    seed: int = 0,
    progress: Progress | None = None,
) -> Linearised:
    """Forecast how a module will be trained by SGD, from its parameters as they are now; the module is not changed.

    Arguments as in `lineament.linearise`. The square loss is ½ mean over examples of the sum over outputs: with
    `nn.MSELoss` on k outputs, a learning rate of ηk/2 makes the same steps. Momentum is that of `torch.optim.SGD`
    without dampening or `nesterov`. Modules in half precision are taken in single. Parameters that do not require a
    gradient stay as they are. Layers that draw random numbers or mix examples are refused: put the module in
    evaluation mode, and train it so.

    Args:
        module: any module whose output, or the `logits` in it, has one row for each example.
        X: training inputs, examples along the first axis.
        y: targets (n,) or (n, k), tensors or arrays; for cross-entropy numbers of classes (n,) or shares (n, k).
        X_test: test inputs.
        y_test: their targets.
        loss: "square" or "cross-entropy".
        step_size: η; by default a tenth of the largest that is stable at the start.
        momentum: μ.
        ridge: ρ ≥ 0, the penalty (ρ/2n)‖θ − θ₀‖² on the distance from the start.
        weight_decay: λ ≥ 0, the penalty (λ/2)‖θ‖², as PyTorch's SGD has it.
        batch_size: examples a step; by default all.
        steps: how far curves are drawn.
        kernel: "all" or "mean", by the number of examples times outputs if not given.
        renew: how many times the tangent may be renewed on the way.
        memory: about how many bytes to use beyond the kernel.
        seed: of the orders of the examples in batches.
        progress: called now and then with the share that is done.
    """
    for name, value in (("X", X), ("X_test", X_test)):
        if value is not None and (not isinstance(value, Tensor) or value.ndim == 0 or not len(value)):
            kind = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
            raise ValueError(f"{name} must be a tensor with examples along its first axis; got {kind}")
    if not isinstance(X, Tensor):
        raise ValueError("X must be a tensor with examples along its first axis; got None")
    if X_test is not None and X_test.dtype != X.dtype:
        raise ValueError(f"X_test must be of the type of X, {X.dtype}; got {X_test.dtype}")
    arguments.instance("module", module, nn.Module)
    network = Tangents(module, arguments.number("memory", memory, above=0))
    return make(
        network, X, _numpy(y), X_test, None if y_test is None else _numpy(y_test), loss=loss, step_size=step_size,
        momentum=momentum, ridge=ridge, weight_decay=weight_decay, batch_size=batch_size, steps=steps, kernel=kernel,
        renew=renew, seed=seed, progress=progress,
    )  # fmt: skip


class Tangents(AbstractTangents):
    """A module with the parameters of its start."""

    def __init__(self, module: nn.Module, memory: float) -> None:
        self.module, self.memory = copied(module), memory
        self.reached = False  # whether a call was seen to use none but the parameters that it is given
        for part in self.module.modules():  # hooks on gradients are for training, and may change what they see
            part._backward_hooks.clear()
            part._backward_pre_hooks.clear()
        # A kernel in half precision has eigenvalues below zero, by rounding alone.
        if any(parameter.dtype in HALF for parameter in self.module.parameters()):
            self.module.float()
        self.start: Change = {
            name: parameter.detach().clone()
            for name, parameter in self.module.named_parameters()
            if parameter.requires_grad
        }
        if not self.start:
            raise ValueError("module must have parameters that require a gradient; it has none")

    def outputs(self, X: Tensor, change: Change | None = None) -> Array:
        """Outputs at the start, or after a change of the parameters."""
        parameters = self._at(change)
        if not self.reached:
            with torch.no_grad():
                refuse_unreached("module", self.module, lambda: self._value(parameters, X[:1]), parameters)
            self.reached = True
        with torch.no_grad():
            return _numpy(torch.cat([self._value(parameters, part) for part in X.split(BLOCK)]))

    def gradient(self, X: Tensor, y: Array, loss: Loss, change: Change) -> tuple[Array, Change]:
        """Forward and backward, a block of examples at a time."""
        found, outputs = self._zeros(), []
        for part, targets in zip(X.split(BLOCK), self._like(y).split(BLOCK), strict=True):
            slope = lambda f, targets=targets: ((f if loss == "square" else f.softmax(1)) - targets) / len(X)  # noqa: E731
            outputs.append(self._add_pulled(found, self._at(change), part, slope))
        return _numpy(torch.cat(outputs)), found

    def kernel(self, X: Tensor, Y: Tensor | None, outputs: Kernel) -> np.ndarray:
        """The empirical kernel, in blocks."""
        Y = None if Y is None else _single(Y)
        return _numpy(ntk(self.module, _single(X), Y, outputs=outputs, memory=self.memory), keep=True)

    def pull_back(self, X: Tensor, coefficients: Array) -> Change:
        """Backward at the start, a block of examples at a time."""
        found = self._zeros()
        for part, weights in zip(X.split(BLOCK), self._like(coefficients).split(BLOCK), strict=True):
            self._add_pulled(found, self.start, part, lambda f, weights=weights: weights)
        return found

    def push_forward(self, X: Tensor, change: Change) -> Array:
        """Forward with tangents, a block of examples at a time."""
        parts = [
            push_forward(lambda parameters, part=part: self._value(parameters, part), self.start, change)[1]
            for part in X.split(BLOCK)
        ]
        return _numpy(torch.cat(parts))

    def combine(self, weights: Sequence[float], changes: Sequence[Change]) -> Change:
        """A weighted sum."""
        pairs = list(zip(weights, changes, strict=True))
        return {name: sum(float(w) * change[name] for w, change in pairs) for name in self.start}  # type: ignore[misc]

    def moved(self, change: Change) -> "Tangents":
        """A copy of the module elsewhere."""
        found = Tangents(self.module, self.memory)
        for name, parameter in found.module.named_parameters():
            if name in change:
                parameter.data = self.start[name] + change[name]
                found.start[name] = parameter.detach().clone()
        return found

    @property
    def origin(self) -> Change:
        """The parameters that move."""
        return self.start

    @property
    def size(self) -> int:
        """How many parameters move."""
        return sum(parameter.numel() for parameter in self.start.values())

    @property
    def name(self) -> str:
        """The class of the module."""
        return type(self.module).__name__

    def _value(self, parameters: Change, X: Tensor) -> Tensor:
        with differentiable(self.module):
            out = functional_call(self.module, parameters, (_single(X).clone(),))
        return tensor_in(out).reshape(len(X), -1)

    def _add_pulled(self, found: Change, parameters: Change, X: Tensor, slope: Any) -> Tensor:
        """Add to `found` what a slope over the outputs pulls back to; returns the outputs."""
        inputs = {name: value.detach().requires_grad_() for name, value in parameters.items()}
        with torch.enable_grad():
            f = self._value(inputs, X)
            pulled = torch.autograd.grad(f, list(inputs.values()), slope(f.detach()), allow_unused=True)
        for name, part in zip(inputs, pulled, strict=True):
            if part is not None:
                found[name] += part
        return f.detach()

    def _at(self, change: Change | None) -> Change:
        return self.start if change is None else {name: value + change[name] for name, value in self.start.items()}

    def _zeros(self) -> Change:
        return {name: torch.zeros_like(value) for name, value in self.start.items()}

    def _like(self, values: Array) -> Tensor:
        first = next(iter(self.start.values()))
        return torch.as_tensor(values, dtype=first.dtype, device=first.device)


def _single(values: Tensor) -> Tensor:
    """Numbers in half precision as single, everything else as it is."""
    return values.float() if values.dtype in HALF else values


def _numpy(values: Any, keep: bool = False) -> Any:
    """An array of a tensor; real numbers as float64 unless they are to keep their type."""
    if not isinstance(values, Tensor):
        return values  # looked at where it enters
    array = _single(values.detach().cpu()).numpy()
    return array.astype(np.float64) if array.dtype.kind == "f" and not keep else array
