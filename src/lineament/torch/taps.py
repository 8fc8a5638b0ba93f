"""Where the parameters of a model enter its forward pass, whatever module does it.

Every call of a linear, convolutional, embedding or normalising function with a parameter is noted while the model runs,
with the tensor z at which its derivatives are to be taken. So is a parameter that is added to or multiplied with
something, or expanded to all examples, as position embeddings, class tokens and layer scales are. Recurrent layers are
run step by step, as they give no place in between.
"""

import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from . import batched, recurrent
from .derivatives import (
    Derivative,
    Found,
    affine,
    at_once,
    by_convolution,
    by_copies,
    by_linear,
    by_lookup,
    by_written,
)
from .recurrent import Layer, Step, gru_step, lstm_step, relu_step, tanh_step

Names = dict[int, str]  # of parameters, by their id: a tensor's own hash is asked for in Python, at every function


class Tap(NamedTuple):
    """A place z, and what the derivatives by parameters are, given δ (examples, outputs, …) there.

    `time_first` says that positions come before examples, as within attention. `early` says that derivatives written
    out take less than δ, or hardly more: then they are, as soon as δ is there. `spare` says that another place stands
    for this one: it has a derivative only where something else sees it too.
    """

    z: Tensor
    derivatives: Found
    time_first: bool = False
    early: bool = False
    spare: bool = False

    def taken(self, d: Tensor, n: int, bounded: bool) -> dict[str, Derivative]:
        """The derivatives by parameters, of δ (outputs, as z), and whether their bounds are wanted."""
        parts = self.derivatives(self._apart(d, n))
        return {name: at_once(part, bounded) for name, part in parts.items()} if self.early else parts

    def _apart(self, d: Tensor, n: int) -> Tensor:
        """δ as (examples, outputs, …)."""
        if self.time_first:
            return d.reshape(len(d), -1, n, d.shape[-1]).permute(2, 0, 1, 3)
        return (d if d.shape[1] == n else d.unflatten(1, (n, -1))).transpose(0, 1)


class Convolution(NamedTuple):
    """A convolution of pictures that was noted: what it gave, of what, and which place that is."""

    z: Tensor
    x: Tensor
    weight: Tensor
    bias: Tensor | None
    how: tuple[Any, ...]
    place: int
    version: int


class Places(TorchFunctionMode):
    """Counts the numbers at all places of a pass in which every function runs as it is."""

    def __init__(self, names: Names) -> None:
        super().__init__()
        self.names = names
        self.sizes: list[int] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run one function, and count what it gives if it takes a parameter."""
        kwargs = kwargs or {}
        if func is functional.multi_head_attention_forward:
            with self:  # its projections are calls of their own
                return _ATTENTION(*args, **kwargs)
        out = func(*args, **kwargs)
        if func in _RULES and func not in _VIEWS:
            self.sizes += self._sizes(out, [*args, *kwargs.values()])
        return out

    def _sizes(self, out: Any, given: list[Any]) -> list[int]:
        if isinstance(out, Tensor):
            return [out.numel()] if any(id(value) in self.names for value in given) else []
        # Recurrent layers give outputs first, and have gates at all steps for each matrix of recurrent weights.
        lists = (value for value in given if isinstance(value, (list, tuple)))  # an LSTM's two states are one too
        weights = next((value for value in lists if any(id(W) in self.names for W in value)), ())
        steps = out[0].numel() // out[0].shape[-1]
        return [steps * W.shape[0] for W in weights[1::2] if W.ndim == 2 and id(W) in self.names]


class Taps(TorchFunctionMode):
    """Notes where parameters enter; `found` has the places.

    A function that works in place would take a place away: `lost` says whether one did. With `copies` what follows
    works on a copy of each place. `ran` has the functions that ran, in their order. `elsewhere` names the parameters
    that functions without a place took: what these give may vanish for some examples and not for others.
    """

    def __init__(self, names: Names, examples: int, copies: bool) -> None:
        super().__init__()
        self.names, self.n, self.copies = names, examples, copies
        self.found: list[Tap] = []
        self.versions: list[tuple[Tensor, int]] = []
        self.attending = False
        self.views: dict[int, tuple[Tensor, str, nn.Parameter]] = {}
        self.convolved: dict[int, Convolution] = {}
        self.ran: list[Any] = []
        self.elsewhere: set[str] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run one function, and note it if it takes a parameter."""
        kwargs = kwargs or {}
        self.ran.append(func)
        rule = _RULES.get(func)
        if func is functional.multi_head_attention_forward:
            before, self.attending = self.attending, True
            try:
                with self:  # its projections are calls of their own
                    return _ATTENTION(*args, **kwargs)
            finally:
                self.attending = before
        places = len(self.found)
        out = func(*args, **kwargs) if rule is None else rule(self, func, *args, **kwargs)
        if len(self.found) == places and func not in _VIEWS:
            self._see(out, args, kwargs)
        return out

    def _see(self, out: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """Keep the names of parameters that had a part in what a function gave, of which no place was noted."""
        if not any(isinstance(value, Tensor) and value.requires_grad for value in _flat((out,))):
            return
        for value in _flat((*args, *kwargs.values())):
            source = _source(self, value)
            if source is not None:
                self.elsewhere.add(source[0])

    def name(self, value: Any) -> str:
        """The name of a parameter; empty for anything else."""
        return self.names.get(id(value), "")

    def note(self, z: Any, derivatives: Found, early: bool = False) -> Any:
        """Note a place if its derivative can be taken, and give what to go on with."""
        if not isinstance(z, Tensor) or not z.requires_grad or z.ndim < 2:
            return z
        if len(z) % self.n and not (self.attending and z[..., 0].numel() % self.n == 0):
            return z
        self.found.append(Tap(z, derivatives, self.attending, early))
        if self.copies:
            return z.clone()
        self.versions.append((z, z._version))
        return z

    @property
    def lost(self) -> bool:
        """Whether a place was changed after it was noted."""
        return any(z._version != version for z, version in self.versions)

    def forget(self) -> None:
        """Give up what was held to find places."""
        self.versions.clear()
        self.views.clear()
        self.convolved.clear()

    def note_layers(self, z: Tensor, layers: list[Layer]) -> Tensor:
        """Note the place where dense layers are added up, whose inputs are (examples, …, in)."""
        n, named = self.n, [(layer, (self.name(layer.weight), self.name(layer.bias))) for layer in layers]
        if not any(name for _, names in named for name in names):
            return z

        def found(d: Tensor) -> dict[str, Derivative]:  # without a reference to all that is noted
            parts: dict[str, Derivative] = {}
            for layer, names in named:
                a = layer.inputs().detach()
                parts |= by_linear(a.reshape(n, -1, a.shape[-1]), *names)(d)
            return parts

        return self.note(z if z.requires_grad else z.requires_grad_(), found)


# Arguments are named as PyTorch names them: a model may give them by name.


def _linear(taps: Taps, func: Any, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    z = func(input, weight, bias)
    names = taps.name(weight), taps.name(bias)
    return _dense(taps, z, input, *names) if any(names) else z


def _dense(taps: Taps, z: Any, input: Tensor, weight: str, bias: str, turned: bool = False) -> Any:
    a = _rows(input, taps)
    return taps.note(z, by_linear(a, weight, bias, turned), early=a.shape[2] <= a.shape[1])


def _addmm(taps: Taps, func: Any, input: Tensor, mat1: Tensor, mat2: Tensor, **rest: Any) -> Any:
    z = func(input, mat1, mat2, **rest)
    names = taps.name(mat2), taps.name(input)
    return _dense(taps, z, mat1, *names, turned=True) if any(names) and not rest else z


def _matmul(taps: Taps, func: Any, input: Any, other: Any, **rest: Any) -> Any:
    z = func(input, other, **rest)
    name = taps.name(other)
    return _dense(taps, z, input, name, "", turned=True) if name and other.ndim == 2 else z


def _convolution(
    taps: Taps, func: Any, input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    names = taps.name(weight), taps.name(bias)
    how = stride, padding, dilation, groups
    pictured = _pictured(taps, input, weight, bias, *how)
    z = (
        func(input, weight, bias, *how)
        if pictured is None
        else batched.Convolved.apply(input, weight, bias, *pictured)
    )
    if not any(names) or input.ndim != weight.ndim or input.shape[0] != taps.n:
        return z
    found = by_convolution(input.detach(), weight.shape[2:], *how, *names)
    place = len(taps.found)
    out = taps.note(z, found, early=groups > 1 or weight[0].numel() <= z[0, 0].numel())
    if pictured is not None and names[0] and out is z and len(taps.found) > place:
        taps.convolved[id(z)] = Convolution(z, input, weight, bias, pictured, place, z._version)
    return out


def _pictured(
    taps: Taps, input: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """How to convolve in the form that is differentiated for all outputs at once; None where there is none."""
    pair = lambda value: (value, value) if isinstance(value, int) else tuple(value)  # noqa: E731
    if input.ndim != 4 or weight.ndim != 4 or isinstance(padding, str) or input.device.type != "cpu":
        return None
    # What a weight is made of gets its derivatives through it, which this form does not give.
    if any(isinstance(value, Tensor) and value.requires_grad and not taps.name(value) for value in (weight, bias)):
        return None
    return pair(stride), pair(padding), pair(dilation), groups


def _embedding(taps: Taps, func: Any, input: Tensor, weight: Tensor, padding_idx: int | None = None, *rest: Any,
               **named: Any) -> Any:  # fmt: skip
    z = func(input, weight, padding_idx, *rest, **named)
    name = taps.name(weight)
    if not name or not input.ndim:
        return z
    if len(input) == 1 < taps.n:  # the same rows for every example: give each its own
        input, z = input.expand(taps.n, *input.shape[1:]), z.expand(taps.n, *z.shape[1:])
    if len(input) != taps.n:
        return z
    skipped = None if padding_idx is None else padding_idx % len(weight)
    return taps.note(z, by_lookup(input, len(weight), skipped, name))


def _normalisation(place: int, per_channel: bool) -> Callable[..., Any]:
    """A function that normalises, then scales by `weight` and adds `bias`, arguments `place` and the next."""

    def rule(taps: Taps, func: Any, input: Tensor, *args: Any, run: Any = None, **kwargs: Any) -> Any:
        z = func(input, *args, **kwargs) if run is None else run(taps, func, input, *args, **kwargs)
        given = [*args[place : place + 2], None, None][:2]
        weight = kwargs.get("weight", given[0])
        bias = kwargs.get("bias", given[1]) if func is not functional.rms_norm else None
        names = taps.name(weight), taps.name(bias)
        if not any(names) or len(input) != taps.n:
            return z
        held = [*args]
        for j in (place, place + 1):
            if j < len(held) and (j == place or func is not functional.rms_norm):
                held[j] = None

        def normal() -> Tensor:
            with torch.no_grad():
                return func(input.detach(), *held, **{k: v for k, v in kwargs.items() if k not in ("weight", "bias")})

        size = weight.numel() if weight is not None else bias.numel()  # type: ignore[union-attr]
        return taps.note(z, affine(normal, per_channel, size, *names), early=True)

    return rule


def _layer_norm(taps: Taps, func: Any, input: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Layer normalisation; along the last axis in the form that is differentiated for all outputs at once."""
    return _ALONG(taps, func, input, *args, run=_standardised, **kwargs)


def _standardised(
    taps: Taps, func: Any, x: Tensor, shape: Any, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    made = any(value is not None and value.requires_grad and not taps.name(value) for value in (weight, bias))
    if made or len(shape) != 1 or x.dtype not in (torch.float32, torch.float64):
        return func(x, shape, weight, bias, eps)
    return batched.Standardised.apply(x, weight, bias, eps)


def _batch_norm(
    taps: Taps, func: Any, input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Any = None,
    bias: Any = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """A scale and a shift of each channel, where statistics are the layer's own."""
    names = taps.name(weight), taps.name(bias)
    if training or running_mean is None or running_var is None or input.shape[0] != taps.n:
        return func(input, running_mean, running_var, weight, bias, training, momentum, eps)
    before = taps.convolved.get(id(input))
    if before is not None and before.z is input and input._version == before.version and all(names):
        return _normed(taps, before, running_mean, running_var, weight, bias, eps)
    z = batched.batch_norm(input, running_mean, running_var, weight, bias, eps)
    if not any(names):
        return z
    normal = lambda: batched.normalised(input.detach(), running_mean, running_var, eps)  # noqa: E731
    found = affine(normal, True, input.shape[1], *names)
    return taps.note(z if z.requires_grad else z.requires_grad_(), found, early=True)


def _normed(
    taps: Taps, before: Convolution, mean: Tensor, variance: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> Any:
    """Batch normalisation of what a convolution gave: one place for the parameters of both."""
    z, kernel = before.z.detach(), before.weight.detach()
    scale, shift = batched.by_running(mean, variance, weight, bias, eps)
    out = batched.Normed.apply(before.x, z, before.weight, scale, shift, before.how)
    tap = taps.found[before.place]
    taps.found[before.place] = tap._replace(spare=True)
    names = taps.name(before.weight), taps.name(before.bias), taps.name(weight), taps.name(bias)
    if tap.early:
        shift = -mean if before.bias is None else before.bias.detach() - mean
        found = by_written(tap.derivatives, kernel, scale, torch.rsqrt(variance + eps), shift, *names)
    else:
        normal = affine(lambda: batched.normalised(z, mean, variance, eps), True, z.shape[1], *names[2:])
        found = lambda d: tap.derivatives(d * scale.view(-1, 1, 1)) | normal(d)  # noqa: E731
    return taps.note(out, found, early=tap.early)


def _hardtanh(
    taps: Taps, func: Any, input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Any:
    return batched.Clipped.apply(input, min_val, max_val)  # not in place, which would take a place away


def _relu6(taps: Taps, func: Any, input: Tensor, inplace: bool = False) -> Any:
    return _hardtanh(taps, func, input, 0.0, 6.0, inplace)


def _bent(taps: Taps, func: Any, input: Tensor, inplace: bool = False) -> Any:
    """An activation whose derivative PyTorch takes one output at a time; not in place, which would take a place."""
    return batched.Bent.apply(input, func, _SLOPES[func])


def _gelu(taps: Taps, func: Any, input: Tensor, approximate: str = "none") -> Any:
    slope = lambda one, x: torch.ops.aten.gelu_backward(one, x, approximate=approximate)  # noqa: E731
    return batched.Bent.apply(input, lambda x: func(x, approximate=approximate), slope)


def _unplaced(taps: Taps, func: Any, input: Tensor, *args: Any, inplace: bool = False, **kwargs: Any) -> Any:
    """A function that need not work in place."""
    return func(input, *args, **kwargs)


def _attention(taps: Taps, func: Any, query: Tensor, key: Tensor, *rest: Any, **named: Any) -> Any:
    return batched.attention(func, query, key, *rest, **named)


def _recurrent(step: Step) -> Callable[..., Any]:
    """All steps of a recurrent network, of `torch.lstm` and its like."""

    def rule(taps: Taps, func: Any, *args: Any, **kwargs: Any) -> Any:
        # What is given by name, a packed batch, whose weights stand one place further, projections of the hidden state
        # and random dropout are left to PyTorch.
        if len(args) != 9:
            return func(*args, **kwargs)
        input, hx, weights, biased, layers, dropout, training, both, batch_first = args
        x = input if batch_first else input.transpose(0, 1)
        directions = 2 if both else 1
        whole = len(weights) == layers * directions * (4 if biased else 2)
        if not whole or (training and dropout) or len(x) != taps.n or not any(map(taps.name, weights)):
            return func(*args)
        states = hx if isinstance(hx, tuple) else (hx,)
        out, ends = recurrent.run(step, taps.note_layers, x, states, list(weights), biased, directions)
        return (out if batch_first else out.transpose(0, 1), *ends)

    return rule


def _cell(step: Step) -> Callable[..., Any]:
    """One step of a cell, of `torch.lstm_cell` and its like."""

    def rule(taps: Taps, func: Any, input: Tensor, hx: Any, *weights: Any) -> Any:
        if len(weights) != 4 or len(input) != taps.n or not any(map(taps.name, weights)):
            return func(input, hx, *weights)
        states = tuple(hx) if isinstance(hx, (list, tuple)) else (hx,)
        ends = recurrent.cell(step, taps.note_layers, input, states, list(weights))
        return ends if len(ends) > 1 else next(iter(ends))

    return rule


def _broadcast(taps: Taps, func: Any, input: Any, other: Any, **rest: Any) -> Any:
    """A sum or product of a parameter with something: the parameter gets a copy for each example."""
    for value, partner, first in ((input, other, True), (other, input, False)):
        source = _source(taps, value)
        if source is None or not isinstance(partner, Tensor) or _source(taps, partner) is not None:
            continue
        shape = _broadcast_shape(value, partner)
        if not shape or shape[0] != taps.n or (value.ndim == len(shape) and value.shape[0] != 1):
            continue
        copies = value.expand(shape)
        taps.found.append(Tap(copies, by_copies(value, *source)))
        return func(copies, partner, **rest) if first else func(partner, copies, **rest)
    return func(input, other, **rest)


def _broadcast_shape(value: Tensor, partner: Tensor) -> tuple[int, ...]:
    try:
        return tuple(torch.broadcast_shapes(value.shape, partner.shape))
    except RuntimeError:  # the function itself will say what is wrong
        return ()


def _expanded(taps: Taps, func: Any, value: Tensor, *sizes: Any) -> Any:
    out = func(value, *sizes)
    source = _source(taps, value)
    if source is not None and out.ndim == value.ndim and out.shape[0] == taps.n and value.shape[0] == 1:
        taps.found.append(Tap(out, by_copies(value, *source)))
    return out


def _viewed(taps: Taps, func: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        out = func(value, *args, **kwargs)
    except RuntimeError:  # channels come last in memory where a convolution was given another form
        if func is not T.view:
            raise
        out = func(value.contiguous(), *args, **kwargs)
    source = _source(taps, value)
    if source is not None and isinstance(out, Tensor):
        taps.views[id(out)] = (out, *source)
    return out


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    """Values, and those in lists and tuples among them."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value


def _source(taps: Taps, value: Any) -> tuple[str, nn.Parameter] | None:
    """The parameter that a tensor is, or is a view of."""
    if name := taps.name(value):
        return name, value
    held = taps.views.get(id(value))
    return None if held is None or held[0] is not value else held[1:]


def _rows(x: Tensor, taps: Taps) -> Tensor:
    """Inputs of a dense layer as (examples, positions, in); examples and positions may have been flattened into one."""
    x, n = x.detach(), taps.n
    if taps.attending and x[..., 0].numel() % n == 0:
        return x.reshape(-1, n, x.shape[-1]).transpose(0, 1)
    return x.reshape(n, -1, x.shape[-1]) if x.shape[0] % n == 0 else x[:0]


T = Tensor
_ALONG = _normalisation(1, per_channel=False)
_RULES: dict[Any, Callable[..., Any]] = {
    functional.linear: _linear,
    torch.addmm: _addmm,
    functional.embedding: _embedding,
    functional.layer_norm: _layer_norm,
    functional.rms_norm: _ALONG,
    functional.batch_norm: _batch_norm,
    functional.instance_norm: _normalisation(2, per_channel=True),
    functional.group_norm: _normalisation(1, per_channel=True),
    functional.hardtanh: _hardtanh,
    functional.relu6: _relu6,
    functional.scaled_dot_product_attention: _attention,
}


def _all(rule: Callable[..., Any], functions: Iterable[Any]) -> None:
    _RULES.update(dict.fromkeys(functions, rule))


_SLOPES = {
    functional.silu: torch.ops.aten.silu_backward,
    functional.hardswish: torch.ops.aten.hardswish_backward,
    functional.mish: torch.ops.aten.mish_backward,
}
_all(_bent, _SLOPES)
_all(_gelu, (functional.gelu,))
_all(_unplaced, (functional.relu, functional.leaky_relu, functional.elu, functional.dropout))
_all(_convolution, (torch.conv1d, torch.conv2d, torch.conv3d))
_all(_matmul, (torch.matmul, T.matmul, T.__matmul__))
_all(_broadcast, (torch.add, T.add, T.__add__, T.__radd__, torch.mul, T.mul, T.__mul__, T.__rmul__, T.sub, T.__sub__))
_all(_expanded, (T.expand,))
_VIEWS = (T.reshape, T.view, T.unsqueeze, T.__getitem__, T.transpose, T.permute, T.flatten, T.squeeze, T.to)
_all(_viewed, _VIEWS)
for name, step in {"lstm": lstm_step, "gru": gru_step, "rnn_tanh": tanh_step, "rnn_relu": relu_step}.items():
    _RULES[getattr(torch, name)] = _recurrent(step)
    _RULES[getattr(torch, f"{name}_cell")] = _cell(step)
# The function itself, but for its first lines, which would hand it to this mode again.
_ATTENTION = types.FunctionType(
    functional.multi_head_attention_forward.__code__,
    functional.multi_head_attention_forward.__globals__ | {"has_torch_function": lambda *_: False},
    "multi_head_attention_forward",
    functional.multi_head_attention_forward.__defaults__,
)
_ATTENTION.__kwdefaults__ = functional.multi_head_attention_forward.__kwdefaults__
