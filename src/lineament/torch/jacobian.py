"""The derivatives of a model's outputs by its parameters, taken block by block and checked against autograd."""

import warnings
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from .derivatives import KNOWN, Dense, Derivative, nbytes, of_call, settled, together


class Jacobian:
    """Derivatives of a model's outputs by its parameters, block by block."""

    def __init__(self, model: nn.Module):
        self.model = model
        self.names: dict[nn.Parameter, str] = {}
        self.kinds: dict[str, str] = {}
        for path, module in model.named_modules():
            for name, parameter in module.named_parameters(recurse=False):
                if parameter.requires_grad and parameter not in self.names:
                    self.names[parameter] = f"{path}.{name}" if path else name
                    self.kinds[self.names[parameter]] = type(module).__name__
        if not self.names:
            raise ValueError("model must have parameters that require a gradient; it has none")
        self.slow: set[str] = set()
        self.passing = 0  # bytes of the derivatives of the last block before they were settled

    def parameters(self) -> Iterator[nn.Parameter]:
        """The parameters that require a gradient."""
        return iter(self.names)

    def __call__(self, inputs: tuple[Tensor, ...]) -> dict[str, Derivative]:
        """The derivatives at a block of examples, by the name of the parameter; those that vanish may be left out."""
        with torch.enable_grad():
            calls, out = self._forward(inputs)
            found: dict[str, list[Derivative]] = {}
            for (module, x, _), d in zip(calls, _deltas(out, [z for *_, z in calls]), strict=True):
                for name, derivative in self._of_call(module, x, d, len(out)).items():
                    found.setdefault(name, []).append(derivative)
            joined = {name: together(parts) for name, parts in found.items()}
            self.passing = sum(map(nbytes, joined.values()))
            wrong = self._unconfirmed(out, joined)
            del calls, out
            if wrong:
                self._warn(wrong)
                joined |= self._example_by_example(inputs, wrong)
        return {name: settled(derivative) for name, derivative in joined.items()}

    def _forward(self, inputs: tuple[Tensor, ...]) -> tuple[list[tuple[nn.Module, Tensor, Tensor]], Tensor]:
        calls: list[tuple[nn.Module, Tensor, Tensor]] = []

        def keep(module: nn.Module, args: tuple, kwargs: dict, z: Tensor) -> Tensor:
            given = [*args, *kwargs.values()]
            if len(given) == 1 and isinstance(z, Tensor) and z.requires_grad:
                calls.append((module, given[0].detach(), z))
                return z.clone()  # what follows may work in place
            return z

        modules = [module for module in self.model.modules() if type(module) in KNOWN]
        hooks = [module.register_forward_hook(keep, with_kwargs=True) for module in modules]
        try:
            out = output(self.model, inputs)
        finally:
            for hook in hooks:
                hook.remove()
        if not out.requires_grad:
            raise ValueError("model must have outputs that depend on its parameters; autograd sees no dependence")
        return calls, out

    def _of_call(self, module: nn.Module, x: Tensor, d: Tensor, examples: int) -> dict[str, Derivative]:
        if len(x) != examples or d.shape[0] != examples or (hasattr(module, "kernel_size") and x.ndim != d.ndim - 1):
            return {}  # examples do not lie along the first axis
        own = dict(module.named_parameters(recurse=False))
        parts = of_call(module, x, d) if own else {}
        return {self.names[own[name]]: part for name, part in parts.items() if own.get(name) in self.names}

    def _unconfirmed(self, out: Tensor, found: dict[str, Derivative]) -> list[str]:
        """Parameters whose derivatives are unknown, or disagree with autograd on a random combination of outputs."""
        v = torch.randn(out.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(out)
        truth = torch.autograd.grad((out * v).sum(), list(self.names), allow_unused=True)
        wrong = []
        for (parameter, name), gradient in zip(self.names.items(), truth, strict=True):
            gradient = _written(parameter, gradient)
            if name not in found:
                wrong += [name] if gradient.any() else []
                continue
            eps, gradient = torch.finfo(out.dtype).eps, gradient.flatten()
            ours, scale = found[name].weighted(v)
            rounding = eps**0.5 * gradient.norm() + 100 * eps * scale
            if ours.shape != gradient.shape or not (ours - gradient).norm() <= rounding:
                wrong.append(name)
        return wrong

    def _warn(self, wrong: list[str]) -> None:
        new = [f"{name} ({self.kinds[name]})" for name in wrong if name not in self.slow]
        self.slow |= set(wrong)
        if new:
            warnings.warn(
                f"ntk has no structured derivative for {', '.join(new)}: differentiating one example at a time, which "
                "is exact but slow; requires_grad_(False) leaves a parameter out",
                stacklevel=5,
            )

    def _example_by_example(self, inputs: tuple[Tensor, ...], wrong: list[str]) -> dict[str, Derivative]:
        parameters = {name: parameter for parameter, name in self.names.items() if name in wrong}
        rows: dict[str, list[Tensor]] = {name: [] for name in parameters}
        for k in range(len(inputs[0])):
            out = output(self.model, tuple(part[k : k + 1] for part in inputs))[0]
            for c in range(len(out)):
                gradients = torch.autograd.grad(
                    out[c], list(parameters.values()), retain_graph=True, allow_unused=True
                )
                for (name, parameter), gradient in zip(parameters.items(), gradients, strict=True):
                    rows[name].append(_written(parameter, gradient).flatten())
        joined = {name: torch.stack(J).unflatten(0, (len(inputs[0]), -1)) for name, J in rows.items()}
        return {name: Dense(J, J.norm()) for name, J in joined.items()}


def _written(parameter: Tensor, gradient: Tensor | None) -> Tensor:
    """A gradient as a plain tensor: zeros where there is none, every entry where it is sparse."""
    if gradient is None:
        return torch.zeros_like(parameter)
    return gradient.to_dense() if gradient.is_sparse else gradient


def _deltas(out: Tensor, zs: Sequence[Tensor]) -> list[Tensor]:
    """`∂f_c/∂z` (examples, outputs, …) for every output c of every example; examples do not see each other."""
    if not zs:
        return []
    rows = []
    for c in range(out.shape[1]):
        gradients = torch.autograd.grad(out[:, c].sum(), list(zs), retain_graph=True, allow_unused=True)
        rows.append([torch.zeros_like(z) if g is None else g for z, g in zip(zs, gradients, strict=True)])
    return [torch.stack(column, 1) for column in zip(*rows, strict=True)]


def output(model: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
    """The model's outputs as (examples, outputs)."""
    out = model(*inputs)
    if not isinstance(out, Tensor) or not out.is_floating_point():
        raise ValueError(
            f"model must return one tensor of real numbers; got {getattr(out, 'dtype', type(out).__name__)}"
        )
    if not out.ndim or len(out) != len(inputs[0]):
        raise ValueError(
            f"model must return one row per example; for {len(inputs[0])} example(s) it gave shape {tuple(out.shape)}"
        )
    return out.reshape(len(out), -1)
