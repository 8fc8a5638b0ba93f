"""The derivatives of a model's outputs by its parameters, taken block by block and checked against autograd."""

import warnings
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

from .backwards import Backwards
from .batches import outputs as tensor_in
from .batches import own
from .derivatives import CHECKED, Dense, Derivative, unbounded
from .layers import walked
from .taps import Names, Places, Tap, Taps

Inputs = tuple[Any, ...]


class Sizes(NamedTuple):
    """How many outputs a model has, and for one example the numbers at all places and at the largest."""

    outputs: int
    places: int
    largest: int


class Seen(NamedTuple):
    """What was found out of a model with inputs of some shapes, which holds while it runs the same functions.

    `at_once` says that one batched pass backwards reaches every place.
    """

    sizes: Sizes
    ran: tuple[Any, ...]
    copies: bool
    unknown: frozenset[str]
    at_once: bool


_SEEN: WeakKeyDictionary[nn.Module, dict[Any, Seen]] = WeakKeyDictionary()
_ROUNDED = 30  # in units of rounding of the terms: by how much a sum may change with the order that it is added in
_KINDS = 8  # shapes of inputs to remember for a model


class Jacobian:
    """Derivatives of a model's outputs by its parameters, block by block."""

    def __init__(self, model: nn.Module, forward: Callable[..., Any] | None = None):
        self.model, self.forward = model, forward
        self.names: Names = {}
        self.held: dict[str, nn.Parameter] = {}
        self.kinds: dict[str, str] = {}
        modes = []
        for path, module in walked(model):
            modes.append(module.training)
            for name, parameter in module._parameters.items():
                if parameter is not None and parameter.requires_grad and id(parameter) not in self.names:
                    whole = f"{path}.{name}" if path else name
                    self.names[id(parameter)], self.held[whole] = whole, parameter
                    self.kinds[whole] = type(module).__name__
        if not self.names:
            raise ValueError("model must have parameters that require a gradient; it has none")
        self.unknown: frozenset[str] = frozenset()  # what no tap gives
        self.one_by_one = self.at_once = False
        self.checked: Any = None  # the functions and shapes of the block that was checked last
        self.copies = False  # whether what follows a place works on a copy of it, as it does so in place
        self.state = tuple(self.held), tuple(modes)
        # Where layers have numbers of several types, derivatives are of the widest; the coarsest says what rounding is.
        self.dtype = reduce(torch.promote_types, {parameter.dtype for parameter in self.parameters()})
        self.eps = torch.finfo(self.dtype).eps
        self.outputs = 0  # known from the first block on
        self.untouched: tuple[Inputs, Tensor] | None = None  # inputs and outputs of a pass that nothing was done to
        self.company: Inputs = ()  # one example of another kind than the first block's, where that has but one

    def parameters(self) -> Iterator[nn.Parameter]:
        """The parameters that require a gradient."""
        return iter(self.held.values())

    def output(self, inputs: Inputs) -> Tensor:
        """The model's outputs as (examples, outputs)."""
        inputs = tuple(map(own, inputs))  # the model may work on them in place
        found = self.model(*inputs) if self.forward is None else self.forward(self.model, *inputs)
        return as_rows(found, len(inputs[0]))

    def __call__(self, inputs: Inputs) -> dict[str, Derivative]:
        """The derivatives at a block of examples, by the name of the parameter; those that vanish may be left out.

        The first block is checked against autograd, unless the same functions were when the model was seen before.
        """
        with torch.enable_grad():
            run, out = self._forward(inputs)
            kind = tuple(run.ran), tuple(part.shape[1:] for part in inputs)
            if kind != self.checked:  # other functions, or other shapes, may have other places
                self._recall(inputs, kind)
            self.outputs = out.shape[1]
            self.dtype = torch.promote_types(self.dtype, out.dtype)
            self.eps = max(torch.finfo(dtype).eps for dtype in {out.dtype, *(tap.z.dtype for tap in run.found)})
            # A block that runs other functions than the first may need a second pass.
            backwards = Backwards(out, run.found, self.dtype, free=self.at_once and kind == self.checked)
            derivatives = backwards.derivatives()
            if kind != self.checked:
                self.unknown = frozenset(run.elsewhere.union(self._unconfirmed(inputs, derivatives, out.detach())))
                self.at_once, self.checked = backwards.at_once, kind
                sizes = _sizes(run.found, out)
                self._remember(inputs, Seen(sizes, kind[0], self.copies, self.unknown, self.at_once))
            self.untouched = None
            del run, out, backwards
        known = {name: part for name, part in derivatives.items() if name not in self.unknown}
        if self.unknown:
            with torch.enable_grad():
                known |= self._otherwise(inputs)
        return {
            name: Dense(part.J.to(self.dtype)) if isinstance(part, Dense) else part for name, part in known.items()
        }

    def sizes(self, inputs: Inputs) -> Sizes:
        """How many outputs there are, and how much one example takes: recalled, or from a forward pass of two.

        That pass is what derivatives are checked against later on.
        """
        seen = self._recalled(inputs)
        if seen is not None:
            self.copies = seen.copies
            return seen.sizes
        few = tuple(part[:CHECKED] for part in inputs)
        with torch.enable_grad(), Places(self.names) as places:
            out = self.output(few)
        if not out.requires_grad:
            raise ValueError("model must have outputs that depend on its parameters; autograd sees no dependence")
        self.untouched = few, out
        each = [size // len(out) for size in places.sizes] or [0]
        return Sizes(out.shape[1], sum(each), max(each))

    def _recall(self, inputs: Inputs, kind: Any) -> None:
        """What was found out when the model was seen to run these functions before, if it was."""
        seen = self._recalled(inputs)
        if seen is not None and seen.ran == kind[0]:
            self.unknown, self.at_once, self.checked = seen.unknown, seen.at_once, kind

    def _forward(self, inputs: Inputs) -> tuple[Taps, Tensor]:
        with Taps(self.names, len(inputs[0]), self.copies) as taps:
            out = self.output(inputs)
        if not taps.lost:
            taps.forget()
            return taps, out
        self.copies = True
        return self._forward(inputs)

    def _key(self, inputs: Inputs) -> tuple[Any, ...]:
        shapes = tuple((part.shape[1:], part.dtype, part.device) for part in inputs)
        return shapes, self.state

    def _recalled(self, inputs: Inputs) -> Seen | None:
        """What was found out before; nothing where the user says how to call the model, as another way may follow."""
        if self.forward is not None:
            return None
        return _SEEN.get(self.model, {}).get(self._key(inputs))

    def _remember(self, inputs: Inputs, seen: Seen) -> None:
        if self.forward is None:
            known = _SEEN.setdefault(self.model, {})
            while len(known) >= _KINDS:
                del known[next(iter(known))]
            known[self._key(inputs)] = seen

    def _unconfirmed(self, inputs: Inputs, found: dict[str, Derivative], among: Tensor) -> list[str]:
        """Parameters whose derivatives are unknown, or disagree with autograd; refuse a model whose outputs are random.

        A random combination of the outputs of two examples is differentiated in a pass of their own. `among` has the
        outputs that examples had among all of the block. Examples that see each other have other outputs in other
        company, and a model of such is refused: what one alone gives, as `_otherwise` asks, is not what it computes.
        """
        first = tuple(part[:CHECKED] for part in inputs)
        if self.untouched is None:
            self.untouched = first, self.output(first)
        (first, whole), k = self.untouched, min(CHECKED, len(inputs[0]))
        out = whole[:k]
        eps = self.eps
        self._refuse_dependent(first, whole, among)
        if len(among) == len(whole):  # these two saw nobody else
            self._refuse_dependent(first, whole, self._in_other_company(first))
        v, truth = self._combined(out)
        mixed = _mixed({name: part.first(k) for name, part in found.items()}, v)
        pairs, names, wrong = [], [], []
        for (name, parameter), given in zip(self.held.items(), truth, strict=True):
            gradient = _written(parameter, given).to(self.dtype)
            if name not in found:
                wrong += [] if given is None else [name]  # a gradient that vanishes here may not for other examples
            elif mixed[name].shape == (gradient.numel(),):
                pairs.append((mixed[name], gradient.flatten()))
                names.append(name)
            else:
                wrong.append(name)
        if not pairs:
            return self._not_of_company(wrong, first, whole)
        theirs = [gradient for _, gradient in pairs]
        apart: Any = torch  # its functions for lists, as its optimisers use them: one call instead of one a parameter
        gaps = torch.stack(apart._foreach_norm(apart._foreach_sub([ours for ours, _ in pairs], theirs)))
        over = (gaps - eps**0.5 * torch.stack(apart._foreach_norm(theirs))).tolist()
        doubtful = {name: more for name, more in zip(names, over, strict=True) if not more <= 0}
        if any(unbounded(found[name]) for name in doubtful):
            found = self._bounded(tuple(part[:k] for part in first))
        # What is left of numbers that cancel may be rounding alone.
        wrong += [
            name
            for name, more in doubtful.items()
            if name not in found or not more <= 100 * eps * float(found[name].first(k).scale(v))
        ]
        return self._not_of_company(wrong, first, whole)

    def _combined(self, out: Tensor) -> tuple[Tensor, tuple[Tensor | None, ...]]:
        """A random combination of outputs, and its gradients by all parameters, as autograd finds them."""
        v = torch.randn(out.shape, generator=torch.Generator().manual_seed(0)).to(out)
        held = list(self.held.values())
        return v.to(self.dtype), torch.autograd.grad((out * v).sum(), held, retain_graph=True, allow_unused=True)

    def _bounded(self, inputs: Inputs) -> dict[str, Derivative]:
        """The derivatives at a few examples, with a bound on each."""
        run, out = self._forward(inputs)
        return Backwards(out, run.found, self.dtype, free=False, bounded=True).derivatives()

    def _not_of_company(self, wrong: list[str], first: Inputs, whole: Tensor) -> list[str]:
        """The parameters that no place explains, unless that is because the two examples see no others but each other."""
        if wrong:
            self._refuse_dependent(first, whole, self._in_other_company(first))
        return wrong

    def _in_other_company(self, first: Inputs) -> Tensor:
        """The outputs of the first example without the second; where there is but one, beside one of the other inputs."""
        alone = tuple(part[:1] for part in first)
        if len(first[0]) == 1 and [part.shape[1:] for part in self.company] == [part.shape[1:] for part in alone]:
            alone = tuple(torch.cat(pair) for pair in zip(alone, self.company, strict=True))
        try:
            return self.output(alone).detach()
        except Exception as error:  # whatever a model raises, with its own traceback
            raise ValueError(
                f"model must take its examples in any number; given {len(alone[0])} it raised {type(error).__name__}: "
                f"{error}"
            ) from error

    def _refuse_dependent(self, first: Inputs, whole: Tensor, otherwise: Tensor) -> None:
        """Refuse outputs that were others in other company: they are random, or examples see each other."""
        if not bool(torch.isfinite(whole).all()):
            raise ValueError("model must give finite outputs; some for the first examples are not")
        k = min(len(whole), len(otherwise))
        gap = float((whole[:k] - otherwise[:k]).detach().abs().max())
        bar = self.eps**0.5 * float(whole.detach().abs().max())
        if gap <= bar or gap <= min(self.eps**0.5, _ROUNDED * self.eps) * self._terms(whole):
            return
        if not torch.equal(self.output(first), whole):
            raise ValueError(
                "model must give the same output for the same input; two calls in a row differed: call .eval()"
            )
        raise ValueError(
            "model must give an example the same output whatever others are beside it; this one mixes examples, as a "
            "softmax, a mean or a normalisation over the first axis does: its kernel has no entry for two examples alone"
        )

    def _terms(self, out: Tensor) -> float:
        """How large what outputs are sums of is: those of a mirrored network cancel, and what is left is rounding."""
        pairs = zip(self.held.values(), self._combined(out)[1], strict=True)
        return sum(float((parameter.detach() * _written(parameter, given)).abs().sum()) for parameter, given in pairs)

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
                    stacklevel=6,
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
            name: _written(parameter, given).flatten().to(self.dtype)
            for (name, parameter), given in zip(self.held.items(), truth, strict=True)
        }
        mixed = _mixed({name: part.first(len(out)) for name, part in found.items()}, v)
        # Its square is what rounding leaves of a kernel. A derivative of one parameter may vanish but for rounding.
        bar = self.eps**0.5 * torch.cat(list(gradients.values())).norm()
        for name, ours in mixed.items():
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
                    rows[name].append(_written(parameter, gradient).flatten())
        return {name: Dense(torch.stack(J).unflatten(0, (len(inputs[0]), -1))) for name, J in rows.items()}


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


def _sizes(taps: list[Tap], out: Tensor) -> Sizes:
    each = [tap.z.numel() // len(out) for tap in taps if not tap.spare] or [0]
    return Sizes(out.shape[1], sum(each), max(each))


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
