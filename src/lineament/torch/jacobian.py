"""The derivatives of a model's outputs by its parameters, taken block by block and checked against autograd."""

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from .backwards import _FEW, _OUTPUTS, Backwards
from .derivatives import CHECKED, Dense, Derivative, unbounded
from .graph import Graph, UnknownError, graph_of
from .layers import walked
from .otherwise import Inputs, Otherwise, mixed, written_out
from .taps import Places, Tap, Taps


class Sizes(NamedTuple):
    """How many outputs a model has, and for one example the numbers at all places and at the largest."""

    outputs: int
    places: int
    largest: int


class Seen(NamedTuple):
    """What was found out of a model with inputs of some shapes, which holds while it runs the same functions.

    `at_once` says that one batched pass backwards reaches every place; `by_graph` that all of it was found along the
    graph that autograd recorded, and `channels_last` that pictures were laid out so for that.
    """

    sizes: Sizes
    ran: tuple[Any, ...]
    copies: bool
    unknown: frozenset[str]
    at_once: bool
    by_graph: bool = False
    channels_last: bool = False


_SEEN: WeakKeyDictionary[nn.Module, dict[Any, Seen]] = WeakKeyDictionary()
_ROUNDED = 30  # in units of rounding of the terms: by how much a sum may change with the order that it is added in
_KINDS = 8  # shapes of inputs to remember for a model


class Jacobian(Otherwise):
    """Derivatives of a model's outputs by its parameters, block by block."""

    def __init__(
        self,
        model: nn.Module,
        forward: Callable[..., Any] | None = None,
        modules: list[tuple[str, nn.Module]] | None = None,
    ):
        super().__init__(model, forward, walked(model) if modules is None else modules)
        self.at_once = self.by_graph = self.channels_last = False
        self.kept = Sizes(1, 1, 1)
        self.checked: Any = None  # the functions and shapes of the block that was checked last
        self.copies = False  # whether what follows a place works on a copy of it, as it does so in place
        self.outputs = 0  # known from the first block on
        self.untouched: tuple[Inputs, Tensor] | None = None  # inputs and outputs of a pass that nothing was done to
        self.company: Inputs = ()  # one example of another kind than the first block's, where that has but one

    def __call__(self, inputs: Inputs) -> dict[str, Derivative]:
        """The derivatives at a block of examples, by the name of the parameter; those that vanish may be left out.

        The first block is checked against autograd, unless the same functions were when the model was seen before.
        """
        found = self._along_graph(inputs) if self.by_graph else None
        return self._by_places(inputs) if found is None else found

    def _along_graph(self, inputs: Inputs) -> dict[str, Derivative] | None:
        """The same along the graph that autograd records of a plain pass; None where that is not sure to be right."""
        with torch.enable_grad():
            out = self._plain_output(inputs)
        self.outputs, whole = out.shape[1], out.detach()
        try:
            graph = graph_of(out, self.names)
            del out
            kind = graph.key, tuple(part.shape[1:] for part in inputs)
            if kind != self.checked:
                self._recall(inputs, kind)
            if kind == self.checked:
                return graph.derivatives(self._several(whole))
            if not graph.of_one_type(self.dtype):
                raise UnknownError("several types")
            found = graph.derivatives(self._several(whole), rough=True)
        except torch.OutOfMemoryError:
            raise
        except Exception:  # UnknownError, or whatever another version of PyTorch keeps otherwise
            self.by_graph = False
            return None
        with torch.enable_grad():
            if self._laid_out_otherwise(inputs, whole):
                return self._along_graph(inputs)
            if self._unconfirmed(inputs, found, whole):
                self.by_graph = False
                return None
        self.checked, self.untouched = kind, None
        self._remember(inputs, Seen(self.kept, kind[0], False, frozenset(), False, True, self.channels_last))
        return found

    def _plain_output(self, inputs: Inputs) -> Tensor:
        """The outputs of a pass in which every function runs as it is, on pictures in the layout that suits it."""
        if self.channels_last:
            try:
                return self.output(tuple(map(_channels_last, inputs)))
            except RuntimeError:  # of a view that wants channels first
                self.channels_last = False
        return self.output(inputs)

    def _laid_out_otherwise(self, inputs: Inputs, among: Tensor) -> bool:
        """Whether the layout of pictures changed the outputs; then it is given up."""
        if not self.channels_last:
            return False
        if self.untouched is None:
            first = tuple(part[:CHECKED] for part in inputs)
            self.untouched = first, self.output(first)
        whole = self.untouched[1].detach()
        k = min(len(whole), len(among))
        gap = float((whole[:k] - among[:k]).abs().max())
        self.channels_last = gap <= self.eps**0.5 * float(whole.abs().max())
        return not self.channels_last

    def _several(self, out: Tensor) -> int:
        """How many outputs to differentiate in one pass."""
        return max(1, min(_OUTPUTS, _FEW // max(1, len(out) * self.kept.largest)))

    def _by_places(self, inputs: Inputs) -> dict[str, Derivative]:
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
            self.copies, self.by_graph, self.channels_last = seen.copies, seen.by_graph, seen.channels_last
            self.kept = seen.sizes
            return seen.sizes
        few = tuple(part[:CHECKED] for part in inputs)
        with torch.enable_grad():
            out = self.output(few)
        if not out.requires_grad:
            raise ValueError("model must have outputs that depend on its parameters; autograd sees no dependence")
        self.untouched = few, out
        try:
            if out.device.type != "cpu":
                raise UnknownError("whether this is faster elsewhere has not been measured")
            graph = graph_of(out, self.names)
            self.kept = _sizes_of(graph)
            self.by_graph, self.channels_last = True, graph.channels_alone
            return self.kept
        except (UnknownError, AttributeError):
            pass
        with torch.no_grad(), Places(self.names) as places:
            self.output(few)
        each = [size // len(out) for size in places.sizes] or [0]
        return Sizes(out.shape[1], sum(each), max(each))

    def _recall(self, inputs: Inputs, kind: Any) -> None:
        """What was found out when the model was seen to run these functions before, if it was."""
        seen = self._recalled(inputs)
        if seen is not None and seen.ran == kind[0] and seen.by_graph == self.by_graph:
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
        sums = mixed({name: part.first(k) for name, part in found.items()}, v)
        pairs, names, wrong = [], [], []
        for (name, parameter), given in zip(self.held.items(), truth, strict=True):
            gradient = written_out(parameter, given).to(self.dtype)
            if name not in found:
                wrong += [] if given is None else [name]  # a gradient that vanishes here may not for other examples
            elif sums[name].shape == (gradient.numel(),):
                pairs.append((sums[name], gradient.flatten()))
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

    def _bounded(self, inputs: Inputs) -> dict[str, Derivative]:
        """The derivatives at a few examples, with a bound on each."""
        if self.by_graph:
            return graph_of(self.output(inputs), self.names).derivatives(self.outputs, bounded=True)
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
        return sum(
            float((parameter.detach() * written_out(parameter, given)).abs().sum()) for parameter, given in pairs
        )


def _channels_last(part: Any) -> Any:
    """A picture with its channels last in memory, as convolutions of each channel by itself run fastest."""
    picture = isinstance(part, Tensor) and part.ndim == 4 and part.is_floating_point()
    return part.contiguous(memory_format=torch.channels_last) if picture else part


def _sizes_of(graph: Graph) -> Sizes:
    n, c = graph.shape
    each = [size // n for size in graph.sizes()] or [0]
    return Sizes(c, sum(each), max(each))


def _sizes(taps: list[Tap], out: Tensor) -> Sizes:
    each = [tap.z.numel() // len(out) for tap in taps if not tap.spare] or [0]
    return Sizes(out.shape[1], sum(each), max(each))
