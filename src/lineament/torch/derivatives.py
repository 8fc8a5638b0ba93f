"""Derivatives of a model's outputs by its parameters, example by example, in the form that costs least.

For a linear layer `z_t = W a_t` (t runs over the positions of a convolution, a sequence, or several calls) the
derivative of output c by W is `Σ_t δ_ct a_tᵀ` with `δ_ct = ∂f_c/∂z_t`. Keeping δ and a apart is what makes the kernel
cheap (Novak et al. 2022, "Fast finite width neural tangent kernel").
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, unfold

_SINGLE = 16  # positions up to which many tiny products of matrices take longer than their terms one by one
_MANY = 2**16  # numbers in δ from which a product for each output is faster than a copy
_LONG = 8  # pixels in a row of a picture from which copying rows is faster than PyTorch's `unfold`
CHECKED = 2  # examples whose derivatives are compared with those by autograd


@dataclass(frozen=True)
class Dense:
    """Derivatives (examples, outputs, parameters), and how to bound their norm had nothing cancelled in them.

    The bound is of the first examples, those that are checked. It is asked for where a derivative differs from
    autograd's, and hardly ever else. There is none where that which it comes from was given up.
    """

    J: Tensor
    bound: Callable[[], Tensor] | None = None

    def first(self, k: int) -> "Dense":
        """The derivatives at the first k examples."""
        return replace(self, J=self.J[:k])

    def dense(self) -> Tensor:
        """The derivatives."""
        return self.J

    def scale(self, v: Tensor) -> Tensor:
        """A bound on the norm of `Σ v_{bc} J_{bc}` over examples and outputs, were nothing to cancel."""
        return v.norm() * (self.J.norm() if self.bound is None else self.bound())


@dataclass(frozen=True)
class Outer:
    """Derivatives `Σ_t δ_ct a_tᵀ`: δ (examples, outputs, groups, positions, out), and inputs that give the a_t.

    `rows` makes a (examples, groups, positions, in) of the inputs: patches are nine times as large as their image.
    `turned` says that the weight is (in, out).
    """

    x: Tensor
    d: Tensor
    rows: Callable[[Tensor], Tensor]
    fan_in: int
    turned: bool = False

    def first(self, k: int) -> "Outer":
        """The derivatives at the first k examples."""
        return replace(self, x=self.x[:k], d=self.d[:k])

    @property
    def a(self) -> Tensor:
        """The inputs at every position, (examples, groups, positions, in)."""
        return self.rows(self.x)

    @property
    def positions(self) -> int:
        """How many terms the sum has."""
        return self.d.shape[3]

    def dense(self) -> Tensor:
        """The derivatives (examples, outputs, parameters)."""
        J = self.some(0, self.d.shape[4])
        return (J[:, :, 0].mT if self.turned else J).flatten(2)

    def some(self, begin: int, end: int, a: Tensor | None = None) -> Tensor:
        """The derivatives by some of each group's rows of the weight: (examples, outputs, groups, rows, in)."""
        a = self.a if a is None else a
        D = self.d[..., begin:end].transpose(-1, -2)
        b, c, g, o, t = D.shape
        if g == 1 and self.fan_in <= self.positions:  # many positions: a copy of δ would take longest
            if self.fan_in < o and D.stride(-2) == 1:
                rows = a[:, 0].expand(c, -1, -1, -1).reshape(c * b, t, -1)
                product = torch.bmm(D.transpose(0, 1).reshape(c * b, o, t), rows)
                return product.view(c, b, 1, o, -1).transpose(0, 1)
            if D.numel() > _MANY:
                return torch.stack([D[:, k, 0] @ a[:, 0] for k in range(c)], 1)[:, :, None]
        D = D.transpose(1, 2)
        return (D.reshape(b, g, c * o, t) @ a).reshape(b, g, c, o, -1).transpose(1, 2)

    def weighted(self, v: Tensor) -> Tensor:
        """`Σ v_{bc} J_{bc}` over examples and outputs."""
        d = self._mixed(v)
        W = d.transpose(0, 1).flatten(1, 2).mT @ self.a.transpose(0, 1).flatten(1, 2)
        return (W[0].T if self.turned else W).flatten()

    def scale(self, v: Tensor) -> Tensor:
        """A bound on the norm of `weighted`, were nothing to cancel."""
        return self._mixed(v).norm() * self.a.norm()

    def _mixed(self, v: Tensor) -> Tensor:
        return (v[:, None] @ self.d.flatten(2)).view(-1, *self.d.shape[2:])


@dataclass(frozen=True)
class Lookup:
    """Derivatives by a table of embeddings: indices (examples, positions), δ (examples, outputs, positions, width)."""

    index: Tensor
    d: Tensor
    rows: int

    def first(self, k: int) -> "Lookup":
        """The derivatives at the first k examples."""
        return replace(self, index=self.index[:k], d=self.d[:k])

    def dense(self) -> Tensor:
        """The derivatives (examples, outputs, parameters)."""
        b, c, t, o = self.d.shape
        J = self.d.new_zeros(b, c, self.rows, o)
        return J.scatter_add_(2, self.index[:, None, :, None].expand(b, c, t, o), self.d).flatten(2)

    def weighted(self, v: Tensor) -> Tensor:
        """`Σ v_{bc} J_{bc}` over examples and outputs."""
        rows = self._mixed(v)
        return self.d.new_zeros(self.rows, rows.shape[1]).index_add_(0, self.index.flatten(), rows).flatten()

    def scale(self, v: Tensor) -> Tensor:
        """A bound on the norm of `weighted`, were nothing to cancel."""
        rows = self._mixed(v)
        return len(rows) ** 0.5 * rows.norm()

    def _mixed(self, v: Tensor) -> Tensor:
        return torch.einsum("bc,bcto->bto", v, self.d).flatten(0, 1)


Derivative = Dense | Outer | Lookup
Found = Callable[..., dict[str, Derivative]]


def nbytes(derivative: Derivative) -> int:
    """The memory a derivative takes."""
    return sum(value.nbytes for value in vars(derivative).values() if isinstance(value, Tensor))


def written(derivative: Derivative) -> Dense:
    """The derivative written out."""
    if isinstance(derivative, Dense):
        return derivative
    return Dense(derivative.dense())


def at_once(derivative: Derivative, bounded: bool) -> Dense:
    """The derivative written out, with nothing held of what it came from: its bound is taken now if it is asked for."""
    if not bounded:
        return Dense(derivative.dense())
    bound = _size(derivative)
    return Dense(derivative.dense(), lambda: bound)


def joined(parts: list[Derivative], axis: int, bounded: bool = False) -> Derivative:
    """Derivatives by one parameter at several blocks of examples (axis 0) or of several outputs (axis 1) as one."""
    p = parts[0]
    if len(parts) == 1:
        return p
    if isinstance(p, Dense):
        whole = torch.cat([part.dense() for part in parts], axis)
        return Dense(whole, (lambda: torch.stack([_size(part) for part in parts]).norm()) if bounded else None)
    d = torch.cat([part.d for part in parts], axis)  # type: ignore[union-attr]
    name = "x" if isinstance(p, Outer) else "index"
    inputs = getattr(p, name) if axis else torch.cat([getattr(part, name) for part in parts])
    return replace(p, d=d, **{name: inputs})


def by_linear(a: Tensor, weight: str, bias: str, turned: bool = False) -> Found:
    """A dense layer with inputs (examples, positions, in)."""

    def found(d: Tensor) -> dict[str, Derivative]:
        n = a.shape[0]
        flat = d.reshape(n, d.shape[1], -1, d.shape[-1]) if n else d[:, :, None]
        parts: dict[str, Derivative] = {}
        if weight and flat.shape[2] == a.shape[1]:
            parts[weight] = Outer(a.to(flat.dtype), flat[:, :, None], _sequence, a.shape[2], turned)
        return parts | ({bias: _summed(flat, 2)} if bias else {})

    return found


def by_convolution(
    x: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int, weight: str, bias: str
) -> Found:
    """A convolution of inputs (examples, channels, …)."""
    axes = len(kernel)
    every = lambda value: (value,) * axes if isinstance(value, int) else tuple(value)  # noqa: E731
    steps, spread = every(stride), every(dilation)
    if isinstance(padding, str):
        total = [spread[k] * (kernel[k] - 1) if padding == "same" else 0 for k in range(axes)]
        pads = [part for size in reversed(total) for part in (size // 2, size - size // 2)]
    else:
        pads = [part for size in reversed(every(padding)) for part in (size, size)]

    padded = lambda x: pad(x, pads) if any(pads) else x  # noqa: E731

    def patches(x: Tensor) -> Tensor:
        """What the kernel meets at every place, (examples, channels, places…, kernel…), as a view of the padded image."""
        for axis in range(axes):
            wide = spread[axis] * (kernel[axis] - 1) + 1
            x = x.unfold(axis + 2, wide, steps[axis])[..., :: spread[axis]]
        return x

    def rows(x: Tensor) -> Tensor:
        if set(kernel) == set(steps) == {1} and not any(pads):
            return x.reshape(x.shape[0], groups, x.shape[1] // groups, -1).transpose(-1, -2)
        x = padded(x)
        if axes == 1:
            columns = unfold(x[:, :, None], (1, *kernel), dilation=(1, *spread), stride=(1, *steps))
        elif axes == 2 and _unfolded(x.shape[3], kernel[1], steps[1], spread):
            columns = unfold(x, tuple(kernel), dilation=spread, stride=steps)
        else:
            seen = patches(x.contiguous())
            columns = seen.movedim(tuple(range(2, 2 + axes)), tuple(range(-axes, 0))).flatten(-axes)
        return columns.reshape(x.shape[0], groups, -1, columns.shape[-1]).transpose(-1, -2)

    fan_in = x.shape[1] // groups * prod(kernel)

    def single(d: Tensor) -> Derivative:
        """Of a convolution of each channel by itself: sums of products of single numbers, channels side by side.

        Each channel alone would be a product of very small matrices.
        """
        # (examples, positions, in, channels)
        a = patches(padded(x.to(d.dtype))).movedim(1, -1).flatten(axes + 1, -2).flatten(1, axes)
        d = d.flatten(3).transpose(2, 3).contiguous()
        J = d[:, :, 0, None] * a[:, None, 0]
        for t in range(1, d.shape[2]):
            J.addcmul_(d[:, :, t, None], a[:, None, t])
        return Dense(J.transpose(2, 3).flatten(2), lambda: d[:CHECKED].norm() * a[:CHECKED].norm())

    def found(d: Tensor) -> dict[str, Derivative]:
        if weight and groups == d.shape[2] == x.shape[1] and d[0, 0, 0].numel() <= _SINGLE:
            return {weight: single(d)} | ({bias: _summed(d.flatten(3), 3)} if bias else {})
        split = d.reshape(*d.shape[:2], groups, d.shape[2] // groups, -1).transpose(-1, -2)
        parts: dict[str, Derivative] = {weight: Outer(x.to(d.dtype), split, rows, fan_in)} if weight else {}
        return parts | ({bias: _summed(d.flatten(3), 3)} if bias else {})

    return found


def _unfolded(size: int, kernel: int, step: int, spread: tuple[int, ...]) -> bool:
    """Whether patches of a picture with rows of some size are copied sooner by PyTorch than row by row."""
    return spread != (1, 1) or (size - kernel) // step + 1 < _LONG


def by_lookup(index: Tensor, rows: int, skipped: int | None, weight: str) -> Found:
    """A table of embeddings."""

    def found(d: Tensor) -> dict[str, Derivative]:
        d = d.reshape(*d.shape[:2], -1, d.shape[-1])
        flat = index.reshape(len(index), -1)
        if skipped is not None:
            d = d * (flat != skipped)[:, None, :, None]
        return {weight: Lookup(flat, d, rows)}

    return found


def affine(normal: Callable[[], Tensor], per_channel: bool, size: int, weight: str, bias: str) -> Found:
    """A scale and a shift of what `normal` gives, along the second axis or the last ones, by `size` numbers."""

    def found(d: Tensor) -> dict[str, Derivative]:
        n, shape = len(d), ((size, -1) if per_channel else (-1, size))
        d, axis = d.reshape(n, d.shape[1], *shape), (3 if per_channel else 2)
        parts: dict[str, Derivative] = {}
        if weight:
            parts[weight] = _summed(d * normal().reshape(n, 1, *shape), axis)
        return parts | ({bias: _summed(d, axis)} if bias else {})

    return found


def by_written(
    convolution: Found, W: Tensor, scale: Tensor, over: Tensor, shift: Tensor, weight: str, bias: str, gain: str,
    offset: str,
) -> Found:  # fmt: skip
    """A convolution whose outputs z, without its bias, become `(z + shift)·over·γ + β`, all in all scaled by `scale`.

    With δ at what comes of it, `Σ_t δ_t z_t = ⟨Σ_t δ_t a_tᵀ, W⟩`: the derivatives by the weight, written out, give those
    by γ too, and no product is taken at every position.
    """

    def found(d: Tensor) -> dict[str, Derivative]:
        outer = convolution(d)[weight]
        J = outer.dense().unflatten(2, (W.shape[0], -1))
        S = _summed(d.flatten(3), 3)
        wide = lambda: _size(outer) * scale.abs().max()  # noqa: E731
        parts: dict[str, Derivative] = {
            weight: Dense((J * scale[:, None]).flatten(2), wide),
            gain: Dense(torch.addcmul((J * W.flatten(1)).sum(3) * over, S.J, over * shift), lambda: _gained(outer, S)),
            offset: S,
        }
        return parts | ({bias: Dense(S.J * scale, lambda: _size(S) * scale.abs().max())} if bias else {})

    def _gained(outer: Derivative, S: Dense) -> Tensor:
        return (_size(outer) * W.norm() + _size(S) * shift.abs().max()) * over.max()

    return found


def by_copies(value: Tensor, name: str, parameter: nn.Parameter) -> Found:
    """A parameter, or a view `value` of it, of which every example had a copy, broadcast to some shape."""

    def found(d: Tensor) -> dict[str, Derivative]:
        b, c = d.shape[:2]
        ones = (1,) * (d.ndim - 1 - value.ndim)
        shape = (*ones, *value.shape)[1:]  # without the axis of examples
        extra = [axis + 2 for axis, size in enumerate(shape) if size == 1 and d.shape[axis + 2] != 1]
        J = d.sum(extra, keepdim=True) if extra else d
        terms = d[0, 0].numel() / max(1, J[0, 0].numel())
        J = J.reshape(b, c, -1)
        if value is not parameter:
            each = J.reshape(b * c, *value.shape).to(value.dtype)
            (J,) = torch.autograd.grad(value, parameter, each, retain_graph=True, is_grads_batched=True)
        return {name: Dense(J.reshape(b, c, -1).to(d.dtype), lambda: terms**0.5 * d[:CHECKED].norm())}

    return found


def _sequence(a: Tensor) -> Tensor:
    return a[:, None]


def _summed(terms: Tensor, axis: int) -> Dense:
    """The derivative whose terms (examples, outputs, parameters and positions) add up along an axis."""
    return Dense(terms.sum(axis), lambda: terms.shape[axis] ** 0.5 * terms[:CHECKED].norm())


def together(parts: list[Derivative]) -> Derivative:
    """The derivative by a parameter that several calls use: positions side by side where forms agree, else the sum."""
    p = parts[0]
    if len(parts) == 1:
        return p
    if isinstance(p, Outer) and all(_alike(p, q) for q in parts):
        return replace(p, x=torch.cat([q.x for q in parts], 1), d=torch.cat([q.d for q in parts], 3))  # type: ignore[union-attr]
    if all(isinstance(q, Lookup) for q in parts):
        return replace(p, index=torch.cat([q.index for q in parts], 1), d=torch.cat([q.d for q in parts], 2))  # type: ignore[union-attr]
    return reduce(_sum, parts)


def _alike(p: Outer, q: Derivative) -> bool:
    return isinstance(q, Outer) and p.rows is q.rows is _sequence and p.turned == q.turned


def _sum(p: Derivative, q: Derivative) -> Dense:
    return Dense(p.dense() + q.dense(), None if unbounded(p) or unbounded(q) else lambda: _size(p) + _size(q))


def unbounded(derivative: Derivative) -> bool:
    """Whether nothing bounds what a derivative is the sum of."""
    return isinstance(derivative, Dense) and derivative.bound is None


def _size(derivative: Derivative) -> Tensor:
    """A bound on the norm of the derivatives at the examples that are checked, had nothing cancelled in them."""
    few = derivative.first(CHECKED)
    if isinstance(few, Outer):
        return few.d.norm() * few.a.norm()
    if isinstance(few, Lookup):
        return few.index.numel() ** 0.5 * few.d.norm()
    return few.J.norm() if few.bound is None else few.bound()
