"""A model as it is called, and the derivatives of what no structure is known of: by torch.func, or one by one."""

import warnings
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

from .batches import outputs as tensor_in
from .batches import own
from .derivatives import CHECKED, Dense, Derivative

Inputs = tuple[Any, ...]


class Otherwise:
    """A model, its parameters by name, and their derivatives where nothing better is known."""

    def __init__(self, model: nn.Module, forward: Callable[..., Any] | None, modules: list[tuple[str, nn.Module]]):
        self.model, self.forward = model, forward
        self.names: dict[int, str] = {}
        self.held: dict[str, nn.Parameter] = {}
        self.kinds: dict[str, str] = {}
        modes = []
        for path, module in modules:
            modes.append(module.training)
            for name, parameter in module._parameters.items():
                if parameter is not None and parameter.requires_grad and id(parameter) not in self.names:
                    whole = f"{path}.{name}" if path else name
                    self.names[id(parameter)], self.held[whole] = whole, parameter
                    self.kinds[whole] = type(module).__name__
        if not self.names:
            raise ValueError("model must have parameters that require a gradient; it has none")
        self.unknown: frozenset[str] = frozenset()  # what no tap gives
        self.one_by_one = False
        self.state = tuple(self.held), tuple(modes)
        # Where layers have numbers of several types, derivatives are of the widest; the coarsest says what rounding is.
        self.dtype = reduce(torch.promote_types, {parameter.dtype for parameter in self.parameters()})
        self.eps = torch.finfo(self.dtype).eps

    def parameters(self) -> Iterator[nn.Parameter]:
        """The parameters that require a gradient."""
        return iter(self.held.values())

    def output(self, inputs: Inputs) -> Tensor:
        """The model's outputs as (examples, outputs)."""
        inputs = tuple(map(own, inputs))  # the model may work on them in place
        found = self.model(*inputs) if self.forward is None else self.forward(self.model, *inputs)
        return as_rows(found, len(inputs[0]))

    def _combined(self, out: Tensor) -> tuple[Tensor, tuple[Tensor | None, ...]]:
        """A random combination of outputs, and its gradients by all parameters, as autograd finds them."""
        v = torch.randn(out.shape, generator=torch.Generator().manual_seed(0)).to(out)
        held = list(self.held.values())
        return v.to(self.dtype), torch.autograd.grad((out * v).sum(), held, retain_graph=True, allow_unused=True)

    def _otherwise(self, inputs: Inputs) -> dict[str, Derivative]:
        """Parameters that no tap gives: by `torch.func` for all examples at once where it can, else one at a time."""
        wrong = {name: parameter for name, parameter in self.held.items() if name in self.unknown}
        if not self.one_by_one:
            try:
                found = self._vmapped(inputs, wrong)
                self._refuse_unreached(inputs, found)
                return found
            except Exception as error:  # whatever the model does that torch.func cannot
                self.one_by_one = True
                named = ", ".join(f"{name} ({self.kinds[name]})" for name in wrong)
                warnings.warn(
                    f"ntk has no structured derivative for {named}, and torch.func cannot differentiate the model "
                    f"({str(error).splitlines()[0][:80]}): differentiating one example at a time, which is exact but "
                    "slow; requires_grad_(False) leaves a parameter out",
                    stacklevel=7,
                )
        return self._example_by_example(inputs, wrong)

    def _vmapped(self, inputs: Inputs, parameters: dict[str, nn.Parameter]) -> dict[str, Derivative]:
        every = [*self.model.named_parameters(), *self.model.named_buffers()]
        held = {name: value.detach() for name, value in every}
        moving = {name: value.detach() for name, value in parameters.items()}

        def single(moving: dict[str, Tensor], *one: Tensor) -> Tensor:
            alone = tuple(part[None].clone() for part in one)
            # Tied weights go by several names, and all of them must move.
            values = held | {name: moving[self.names[id(p)]] for name, p in tied if self.names[id(p)] in moving}
            if self.forward is None:
                return as_rows(functional_call(self.model, values, alone, strict=False), 1)[0]
            return as_rows(functional_call(_Whole(self.model, self.forward), _prefixed(values), alone), 1)[0]

        tied = [(name, p) for name, p in self.model.named_parameters(remove_duplicate=False) if id(p) in self.names]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a function that is not batched runs one by one
            found = vmap(jacrev(single), (None, *(0 for _ in inputs)))(moving, *inputs)
        return {name: Dense(J.flatten(2)) for name, J in found.items()}

    def _refuse_unreached(self, inputs: Inputs, found: dict[str, Derivative]) -> None:
        """Refuse what disagrees with autograd: `torch.func` moves what modules hold, not what lists of the model do."""
        out = self.output(tuple(part[:CHECKED] for part in inputs))
        v, truth = self._combined(out)
        gradients = {
            name: written_out(parameter, given).flatten().to(self.dtype)
            for (name, parameter), given in zip(self.held.items(), truth, strict=True)
        }
        sums = mixed({name: part.first(len(out)) for name, part in found.items()}, v)
        # Its square is what rounding leaves of a kernel. A derivative of one parameter may vanish but for rounding.
        bar = self.eps**0.5 * torch.cat(list(gradients.values())).norm()
        for name, ours in sums.items():
            if not (ours - gradients[name]).norm() <= bar:
                raise ValueError(f"it does not reach {name}")

    def _example_by_example(self, inputs: Inputs, parameters: dict[str, nn.Parameter]) -> dict[str, Derivative]:
        rows: dict[str, list[Tensor]] = {name: [] for name in parameters}
        for k in range(len(inputs[0])):
            out = self.output(tuple(part[k : k + 1] for part in inputs))[0]
            for c in range(len(out)):
                gradients = torch.autograd.grad(
                    out[c], list(parameters.values()), retain_graph=True, allow_unused=True
                )
                for (name, parameter), gradient in zip(parameters.items(), gradients, strict=True):
                    rows[name].append(written_out(parameter, gradient).flatten())
        return {name: Dense(torch.stack(J).unflatten(0, (len(inputs[0]), -1))) for name, J in rows.items()}


def mixed(found: dict[str, Derivative], v: Tensor) -> dict[str, Tensor]:
    """`Σ v_{bc} J_{bc}` of every derivative; those that are written out are one product."""
    dense = {name: part.J.flatten(0, 1) for name, part in found.items() if isinstance(part, Dense)}
    sums = {name: part.weighted(v) for name, part in found.items() if not isinstance(part, Dense)}
    if dense:
        sizes = [J.shape[1] for J in dense.values()]
        parts = (v.flatten() @ torch.cat(list(dense.values()), 1)).split(sizes)
        sums |= dict(zip(dense, parts, strict=True))
    return sums


class _Whole(nn.Module):
    """A model together with how it is called, so that `functional_call` reaches it."""

    def __init__(self, model: nn.Module, forward: Callable[..., Any]) -> None:
        super().__init__()
        self.model, self.how = model, forward

    def forward(self, *inputs: Any) -> Any:
        return self.how(self.model, *inputs)


def _prefixed(values: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"model.{name}": value for name, value in values.items()}


def written_out(parameter: Tensor, gradient: Tensor | None) -> Tensor:
    """A gradient as a plain tensor: zeros where there is none, every entry where it is sparse."""
    if gradient is None:
        return torch.zeros_like(parameter)
    return gradient.to_dense() if gradient.is_sparse else gradient


def as_rows(found: Any, examples: int) -> Tensor:
    """What a model returned, as (examples, outputs)."""
    out = tensor_in(found)
    if not out.is_floating_point():
        raise ValueError(f"model must return one tensor of real numbers; got {out.dtype}")
    if not out.ndim or len(out) != examples:
        raise ValueError(
            f"model must return one row per example; for {examples} example(s) it gave shape {tuple(out.shape)}"
        )
    return out.reshape(len(out), -1)
