"""Inner products of derivatives over parameters, by the route that costs least.

A layer with P positions contributes `Σ_{t,t'} ⟨a_t, a'_t'⟩⟨δ_t, δ'_t'⟩ = ⟨G, G'⟩` with `G = Σ_t δ_t a_tᵀ`. The left
form, pairs of positions, costs P²(in + C²·out + C²) for a pair of examples with C outputs, the right one C²·in·out, and
C·P·in·out for each example once. The left one is for dense layers of few positions: groups of a convolution would each be
a product of its own.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from .derivatives import Derivative, Lookup, Outer

Outputs = Literal["all", "diagonal", "mean"]
# Columns of a Jacobian in one product. On a processor sums of more products in single precision lose digits, and memory
# that fits a cache is used again; a GPU adds up in a tree, and waits for whoever gives it little to do.
_COLUMNS, _COLUMNS_OF_GPU = 2048, 2**17
_ENTRY = 400  # multiplications within a product that take as long as what is done entry by entry, which moves memory
_HALVED = 64  # rows from which a symmetric product takes less time than a whole one


def by_pairs(derivative: Outer, outputs: Outputs, others: int) -> bool:
    """Whether pairs of positions cost less than the sum over positions written out, against `others` examples."""
    _, c, g, t, o = derivative.d.shape
    i = derivative.fan_in
    pairs = c * c if outputs == "all" else c
    entries = {"all": c * c, "diagonal": c, "mean": 1}[outputs]
    return g == 1 and t * t * (i + pairs * o + _ENTRY * entries) <= o * i * (pairs + c * t / max(1, others))


class Tile:
    """A block of the kernel, (x, y, outputs, outputs) or less of it, that contributions are added to.

    Sums are kept in double precision where the device has it: a contribution is rounded to its own size, not to that
    of what was added before.
    """

    def __init__(self, rows: int, columns: int, c: int, outputs: Outputs, like: Tensor, same: bool) -> None:
        self.outputs: Outputs = outputs
        self.same, self.like = same, like
        self.columns = _COLUMNS if like.device.type == "cpu" else _COLUMNS_OF_GPU
        self.waiting: list[tuple[Tensor, Tensor]] = []
        # All outputs as a product of Jacobians has them, (x, outputs, y, outputs), and turned once at the end.
        shape = {"all": (rows, c, columns, c), "diagonal": (rows, columns, c), "mean": (rows, columns)}[outputs]
        dtype = like.dtype if like.device.type == "mps" else torch.float64
        self.sum = torch.zeros(shape, dtype=dtype, device=like.device)

    def result(self) -> Tensor:
        """The block in the dtype of the derivatives."""
        self._catch_up()
        total = self.sum.to(self.like.dtype)
        return total.transpose(1, 2) if self.outputs == "all" else total

    def add(self, p: Derivative, q: Derivative, others: int, memory: float) -> None:
        """Add the inner products of two derivatives by one parameter."""
        if isinstance(p, Outer) and isinstance(q, Outer):
            if by_pairs(p, self.outputs, others):
                self._pairs(p, q, memory)
            else:
                self._slices(p, q, memory)
        elif isinstance(p, Lookup) and isinstance(q, Lookup):
            self._lookups(p, q, memory)
        else:
            self.gram(p.dense(), q.dense())

    def gram(self, J: Tensor, K: Tensor) -> None:
        """Add inner products of (x, outputs, parameters) with (y, outputs, parameters), or put off those of few."""
        if J.shape[2] >= self.columns // 2:
            self._multiply(J, K)
            return
        self.waiting.append((J, K))
        if sum(left.shape[2] for left, _ in self.waiting) >= self.columns:
            self._catch_up()

    def _catch_up(self) -> None:
        """Add what was put off, side by side: one product of matrices instead of many."""
        if self.waiting:
            left, right = zip(*self.waiting, strict=True)
            J = torch.cat(left, 2)
            self._multiply(J, J if self.same else torch.cat(right, 2))
            self.waiting.clear()

    def _multiply(self, J: Tensor, K: Tensor) -> None:
        for begin in range(0, J.shape[2], self.columns):
            left, right = J[:, :, begin : begin + self.columns], K[:, :, begin : begin + self.columns]
            if self.outputs == "diagonal":
                self.sum += (left.transpose(0, 1) @ right.permute(1, 2, 0)).permute(1, 2, 0)
                continue
            if self.outputs == "mean":  # the sum, which is divided once for all
                self.sum += _product(left.flatten(1), right.flatten(1), self.same)
                continue
            product = _product(left.flatten(0, 1), right.flatten(0, 1), self.same)
            self.sum += product.view(self.sum.shape)

    def _slices(self, p: Outer, q: Outer, memory: float) -> None:
        """By sums over positions, written out for some rows of the weight at a time."""
        a, other = p.a, (q.a if p is not q else None)
        b, c, g, _, o = p.d.shape
        each = (b + len(q.d)) * c * g * p.fan_in * p.d.element_size()
        step = max(1, min(o, int(memory / each), -(-self.columns // (g * p.fan_in))))
        for begin in range(0, o, step):
            J = p.some(begin, begin + step, a).flatten(2)
            K = J if other is None else q.some(begin, begin + step, other).flatten(2)
            self.gram(J, K)

    def _pairs(self, p: Outer, q: Outer, memory: float) -> None:
        """By pairs of positions, for some examples at a time."""
        a, other = p.a[:, 0], q.a[:, 0]
        self._meet(lambda some: torch.einsum("xti,ysi->xtys", a[some], other), p.d[:, :, 0], q.d[:, :, 0], memory)

    def _lookups(self, p: Lookup, q: Lookup, memory: float) -> None:
        """By pairs of positions, which meet where they look up the same row, or by the rows that occur."""
        occurring, places = torch.unique(torch.cat([p.index.flatten(), q.index.flatten()]), return_inverse=True)
        (t, o), s = p.d.shape[2:], q.d.shape[2]
        if t * s * (o + _ENTRY) <= len(occurring) * o:
            self._meet(lambda some: (p.index[some][:, :, None, None] == q.index).to(p.d), p.d, q.d, memory)
            return
        mine, theirs = places[: p.index.numel()].view_as(p.index), places[p.index.numel() :].view_as(q.index)
        J = replace(p, index=mine, rows=len(occurring)).dense()
        self.gram(J, J if p is q else replace(q, index=theirs, rows=len(occurring)).dense())

    def _meet(self, inner: Callable[[slice], Tensor], d: Tensor, other: Tensor, memory: float) -> None:
        """`Σ_{t,s} inner_ts ⟨δ_t, δ'_s⟩` for δ (x, outputs, positions, out), some examples x at a time."""
        c, t = d.shape[1:3]
        y, _, s, _ = other.shape
        pairs = {"all": c * c, "diagonal": c, "mean": 1}[self.outputs]
        step = max(1, min(len(d), int(memory / (3 * y * t * s * (pairs + 1) * d.element_size()))))
        for k in range(0, len(d), step):
            some = slice(k, k + step)
            weight, mine = inner(some), d[some]
            if self.outputs == "all":
                cross = torch.einsum("xcto,yeso->xctyes", mine, other)
                self.sum[some] += cross.mul_(weight[:, None, :, :, None]).sum((2, 5))
            elif self.outputs == "diagonal":
                cross = torch.einsum("xcto,ycso->cxtys", mine, other)
                self.sum[some] += cross.mul_(weight).sum((2, 4)).permute(1, 2, 0)
            else:
                cross = torch.einsum("xcto,ycso->xtys", mine, other)
                self.sum[some] += cross.mul_(weight).sum((1, 3))


def _product(A: Tensor, B: Tensor, same: bool) -> Tensor:
    """`ABᵀ`; half the work for a matrix with itself on a processor, where NumPy hands it to a routine for that."""
    if same and A.device.type == "cpu" and A.dtype in (torch.float32, torch.float64) and len(A) >= _HALVED:
        rows = A.numpy()
        return torch.from_numpy(rows @ rows.T)
    return A @ B.T
