"""The derivatives of a model's outputs by its parameters, taken block by block and checked against autograd."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

from .batches import outputs as tensor_in
from .derivatives import CHECKED, Dense, Derivative, together
from .taps import Tap, Taps

Inputs = tuple[Any, ...]


class Jacobian:
    """Derivatives of a model's outputs by its parameters, block by block."""

    def __init__(self, model: nn.Module, forward: Callable[..., Any] | None = None):
        self.model, self.forward = model, forward
        self.names: dict[nn.Parameter, str] = {}
        self.kinds: dict[str, str] = {}
        for path, module in model.named_modules():
            for name, parameter in module.named_parameters(recurse=False):
                if parameter.requires_grad and parameter not in self.names:
                    self.names[parameter] = f"{path}.{name}" if path else name
                    self.kinds[self.names[parameter]] = type(module).__name__
        if not self.names:
            raise ValueError("model must have parameters that require a gradient; it has none")
        self.unknown: set[str] | None = None  # what no tap gives; None before the first block was checked
        self.one_by_one = False
        # Whether what follows a place works on a copy of it, as it may do so in place.
        self.copies = any(getattr(module, "inplace", False) for module in model.modules())
        self.few: Tensor | None = None

    def parameters(self) -> Iterator[nn.Parameter]:
        """The parameters that require a gradient."""
        return iter(self.names)

    def output(self, inputs: Inputs) -> Tensor:
        """The model's outputs as (examples, outputs)."""
        found = self.model(*inputs) if self.forward is None else self.forward(self.model, *inputs)
        return as_rows(found, len(inputs[0]))

    def __call__(self, inputs: Inputs) -> dict[str, Derivative]:
        """The derivatives at a block of examples, by the name of the parameter; those that vanish may be left out.

        The first block is checked against autograd.
        """
        with torch.enable_grad():
            taps, out = self._forward(inputs)
            joined = _joined(taps, _deltas(out, taps))
            if self.unknown is None:
                self.unknown = set(self._unconfirmed(inputs, joined, out.detach()))
            del taps, out
        known = {name: part for name, part in joined.items() if name not in self.unknown}
        if self.unknown:
            with torch.enable_grad():
                known |= self._otherwise(inputs)
        return {name: Dense(part.J) if isinstance(part, Dense) else part for name, part in known.items()}

    def outputs(self, inputs: Inputs) -> int:
        """How many outputs there are."""
        with torch.enable_grad():
            self.few = self.output(tuple(part[:CHECKED] for part in inputs))
        if not self.few.requires_grad:
            raise ValueError("model must have outputs that depend on its parameters; autograd sees no dependence")
        return self.few.shape[1]

    def sketch(self, inputs: Inputs) -> tuple[int, Callable[[], dict[str, Derivative]]]:
        """The bytes of all taps, and derivatives of the right shapes that hold nothing, if asked: no backward pass."""
        with torch.enable_grad():
            taps, out = self._forward(inputs)
        n, c = out.shape

        def blank() -> dict[str, Derivative]:
            nothing = ((tap, tap.z.new_zeros(()).expand(c, *tap.z.shape)) for tap in taps)
            return _joined(taps, (tap.apart(vmap(tap.kept)(d), n) for tap, d in nothing))

        return sum(tap.z.nbytes for tap in taps), blank

    def _forward(self, inputs: Inputs) -> tuple[list[Tap], Tensor]:
        with Taps(self.names, len(inputs[0]), self.copies) as taps:
            out = self.output(inputs)
        if not taps.lost:
            return taps.found, out
        self.copies = True
        return self._forward(inputs)

    def _unconfirmed(self, inputs: Inputs, found: dict[str, Derivative], among: Tensor) -> list[str]:
        """Parameters whose derivatives are unknown, or disagree with autograd; refuse a model whose outputs are random.

        A random combination of the outputs of two examples is differentiated in a pass of their own, so that examples
        which see each other are found too. `among` has the outputs that examples had among all of the block.
        """
        k = min(CHECKED, len(inputs[0]))
        first = tuple(part[:k] for part in inputs)
        out = self.few if self.few is not None and len(self.few) == k else self.output(first)
        self.few = None
        eps = torch.finfo(out.dtype).eps
        if not torch.allclose(out, among[:k], rtol=0, atol=eps**0.5 * float(out.detach().abs().max())):
            self._refuse_random(first, out)
        v = torch.randn(out.shape, generator=torch.Generator().manual_seed(0)).to(out)
        truth = torch.autograd.grad((out * v).sum(), list(self.names), allow_unused=True)
        pairs, names, wrong = [], [], []
        mixed = _mixed({name: part.first(k) for name, part in found.items()}, v)
        for (parameter, name), gradient in zip(self.names.items(), truth, strict=True):
            gradient = _written(parameter, gradient)
            if name not in found:
                wrong += [name] if gradient.any() else []
                continue
            ours = mixed[name]
            if ours.shape == (gradient.numel(),):
                pairs.append((ours, gradient.flatten()))
                names.append(name)
            else:
                wrong.append(name)
        if not pairs:
            return wrong
        theirs = [gradient for _, gradient in pairs]
        apart: Any = torch  # its functions for lists, as its optimisers use them: one call instead of one a parameter
        gaps = torch.stack(apart._foreach_norm(apart._foreach_sub([ours for ours, _ in pairs], theirs)))
        sizes = torch.stack(apart._foreach_norm(theirs))
        over = gaps - eps**0.5 * sizes
        for name, more in zip(names, over.tolist(), strict=True):
            # What is left of numbers that cancel may be rounding alone.
            if not more <= 0 and not more <= 100 * eps * float(found[name].first(k).scale(v)):
                wrong.append(name)
        return wrong

    def _refuse_random(self, inputs: Inputs, before: Tensor) -> None:
        if not torch.equal(self.output(inputs), before):
            raise ValueError(
                "model must give the same output for the same input; two calls in a row differed: call .eval()"
            )

    def _otherwise(self, inputs: Inputs) -> dict[str, Derivative]:
        """Parameters that no tap gives: by `torch.func` for all examples at once where it can, else one at a time."""
        wrong = {name: parameter for parameter, name in self.names.items() if name in (self.unknown or ())}
        if not self.one_by_one:
            try:
                return self._vmapped(inputs, wrong)
            except Exception as error:  # whatever the model does that torch.func cannot
                self.one_by_one = True
                named = ", ".join(f"{name} ({self.kinds[name]})" for name in wrong)
                warnings.warn(
                    f"ntk has no structured derivative for {named}, and torch.func cannot differentiate the model "
                    f"({str(error).splitlines()[0][:80]}): differentiating one example at a time, which is exact but "
                    "slow; requires_grad_(False) leaves a parameter out",
                    stacklevel=4,
                )
        return self._example_by_example(inputs, wrong)

    def _vmapped(self, inputs: Inputs, parameters: dict[str, nn.Parameter]) -> dict[str, Derivative]:
        every = [*self.model.named_parameters(), *self.model.named_buffers()]
        held = {name: value.detach() for name, value in every}
        moving = {name: value.detach() for name, value in parameters.items()}

        def single(moving: dict[str, Tensor], *one: Tensor) -> Tensor:
            alone = tuple(part[None] for part in one)
            # Tied weights go by several names, and all of them must move.
            values = held | {name: moving[self.names[p]] for name, p in tied if self.names[p] in moving}
            if self.forward is None:
                return as_rows(functional_call(self.model, values, alone, strict=False), 1)[0]
            return as_rows(functional_call(_Whole(self.model, self.forward), _prefixed(values), alone), 1)[0]

        tied = [(name, p) for name, p in self.model.named_parameters(remove_duplicate=False) if p in self.names]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a function that is not batched runs one by one
            found = vmap(jacrev(single), (None, *(0 for _ in inputs)))(moving, *inputs)
        return {name: Dense(J.flatten(2)) for name, J in found.items()}

    def _example_by_example(self, inputs: Inputs, parameters: dict[str, nn.Parameter]) -> dict[str, Derivative]:
        rows: dict[str, list[Tensor]] = {name: [] for name in parameters}
        for k in range(len(inputs[0])):
            out = self.output(tuple(part[k : k + 1] for part in inputs))[0]
            for c in range(len(out)):
                gradients = torch.autograd.grad(
                    out[c], list(parameters.values()), retain_graph=True, allow_unused=True
                )
                for (name, parameter), gradient in zip(parameters.items(), gradients, strict=True):
                    rows[name].append(_written(parameter, gradient).flatten())
        return {name: Dense(torch.stack(J).unflatten(0, (len(inputs[0]), -1))) for name, J in rows.items()}


def _joined(taps: list[Tap], deltas: Iterable[list[Tensor]]) -> dict[str, Derivative]:
    """The derivatives by each parameter, over all the places where it enters."""
    found: dict[str, list[Derivative]] = {}
    for tap, parts in zip(taps, deltas, strict=True):
        for name, derivative in tap.derivatives(*parts).items():
            found.setdefault(name, []).append(derivative)
    return {name: together(parts) for name, parts in found.items()}


def _mixed(found: dict[str, Derivative], v: Tensor) -> dict[str, Tensor]:
    """`Σ v_{bc} J_{bc}` of every derivative; those that are written out are one product."""
    dense = {name: part.J.flatten(0, 1) for name, part in found.items() if isinstance(part, Dense)}
    mixed = {name: part.weighted(v) for name, part in found.items() if not isinstance(part, Dense)}
    if dense:
        sizes = [J.shape[1] for J in dense.values()]
        parts = (v.flatten() @ torch.cat(list(dense.values()), 1)).split(sizes)
        mixed |= dict(zip(dense, parts, strict=True))
    return mixed


class _Whole(nn.Module):
    """A model together with how it is called, so that `functional_call` reaches it."""

    def __init__(self, model: nn.Module, forward: Callable[..., Any]) -> None:
        super().__init__()
        self.model, self.how = model, forward

    def forward(self, *inputs: Any) -> Any:
        return self.how(self.model, *inputs)


def _prefixed(values: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"model.{name}": value for name, value in values.items()}


def _written(parameter: Tensor, gradient: Tensor | None) -> Tensor:
    """A gradient as a plain tensor: zeros where there is none, every entry where it is sparse."""
    if gradient is None:
        return torch.zeros_like(parameter)
    return gradient.to_dense() if gradient.is_sparse else gradient


def _deltas(out: Tensor, taps: list[Tap]) -> Iterator[list[Tensor]]:
    """What is kept of `∂f_c/∂z`, (examples, outputs, …), for every output c; examples do not see each other."""
    n, c = out.shape
    if not taps:
        return
    if c > 1 and (out.device.type != "cpu" or c * sum(tap.z.numel() for tap in taps) <= _FEW):
        every = torch.eye(c, dtype=out.dtype, device=out.device)[:, None].expand(c, n, c)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a function that is not batched runs output by output
                found = vmap(lambda v: _pulled(out, taps, v))(every)
        except RuntimeError:  # a function that cannot be batched at all
            found = None
        if found is not None:
            for tap, parts in zip(taps, found, strict=True):
                yield tap.apart(parts, n)
            return
    rows = []
    for k in range(c):
        one = torch.zeros_like(out)
        one[:, k] = 1
        rows.append([*_pulled(out, taps, one)])
    for column, tap in enumerate(taps):
        each = [tap.apart([part[None] for part in row[column]], n) for row in rows]
        for row in rows:
            row[column] = ()
        yield [torch.cat(parts, 1) for parts in zip(*each, strict=True)]


def _pulled(out: Tensor, taps: list[Tap], v: Tensor) -> tuple[tuple[Tensor, ...], ...]:
    """What is kept of the derivatives of `⟨v, out⟩`, zero where there is no way from a place to the outputs.

    Those that are folded are so on the way, and do not wait for the others.
    """
    kept: dict[int, tuple[Tensor, ...]] = {}

    def keep(index: int) -> Callable[[Tensor], None]:
        def fold(d: Tensor) -> None:
            kept[index] = taps[index].kept(d)

        return fold

    hooks = [tap.z.register_hook(keep(k)) for k, tap in enumerate(taps) if tap.fold is not None]
    try:
        _pull(out, {k: tap for k, tap in enumerate(taps) if tap.fold is None}, v, kept)
    finally:
        for hook in hooks:
            hook.remove()
    # What lies before all other places is not on the way to any.
    _pull(out, {k: tap for k, tap in enumerate(taps) if k not in kept}, v, kept)
    return tuple(kept[k] for k in range(len(taps)))


def _pull(out: Tensor, taps: dict[int, Tap], v: Tensor, kept: dict[int, tuple[Tensor, ...]]) -> None:
    zs = [tap.z for tap in taps.values()]
    gradients = torch.autograd.grad(out, zs, v, retain_graph=True, allow_unused=True) if zs else ()
    for (k, tap), z, g in zip(taps.items(), zs, gradients, strict=True):
        kept[k] = tap.kept(torch.zeros_like(z) if g is None else g)


# Numbers in all derivatives at the taps of a block, below which one batched pass is faster than one for each output on a
# processor; on a GPU it always is.
_FEW = 2**24


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
