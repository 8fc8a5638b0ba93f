"""Inner products of derivatives over parameters, by the route that costs least.

A layer with P positions contributes `Σ_{t,t'} ⟨a_t, a'_t'⟩⟨δ_t, δ'_t'⟩ = ⟨G, G'⟩` with `G = Σ_t δ_t a_tᵀ`. The left
form, pairs of positions, costs P²·in for a pair of examples with C outputs, then P²·C·out to add up the δ' of all
positions for each t, and P·C²·out for products with δ_t; the right one C²·in·out, and C·P·in·out for each example once.
The left one is for dense layers of few positions: groups of a convolution would each be a product of its own.
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
_COLUMNS, _COLUMNS_OF_GPU = (512, 2048), 2**17  # at least, for many rows, and at most, for few
_PIECE = 2**16  # numbers in between, rows times columns
_ADDED = 2**19  # numbers to round up to double precision at once
_ENTRY = 400  # multiplications within a product that take as long as what is done entry by entry, which moves memory
_SMALL = 1.5  # how much longer a multiplication takes in small products, as those of pairs of positions are
_CACHED = 2**22  # bytes that a processor's cache holds
_HALVED = 64  # rows from which a symmetric product takes less time than a whole one


def by_pairs(derivative: Outer, outputs: Outputs, others: int) -> bool:
    """Whether pairs of positions cost less than the sum over positions written out, against `others` examples."""
    _, c, g, t, o = derivative.d.shape
    if g > 1:
        return False
    i = derivative.fan_in
    pairs = {
        "all": t * t * i + c * t * o * (t + c),
        "diagonal": t * t * (i + c * (o + _ENTRY)),
        "mean": t * t * (i + c * o + _ENTRY),
    }[outputs]
    return _SMALL * pairs <= o * i * ((c * c if outputs == "all" else c) + c * t / max(1, others))


class Tile:
    """A block of the kernel, (x, y, outputs, outputs) or less of it, that contributions are added to.

    Sums are kept in double precision where the device has it: a contribution is rounded to its own size, not to that
    of what was added before.
    """

    def __init__(self, rows: int, columns: int, c: int, outputs: Outputs, like: Tensor, same: bool) -> None:
        self.outputs: Outputs = outputs
        self.same, self.like = same, like
        least, most = _COLUMNS
        fitting = min(most, max(least, _PIECE // (rows * c)))
        self.columns = fitting if like.device.type == "cpu" else _COLUMNS_OF_GPU
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
            left, right = (part[:, :, begin : begin + self.columns] for part in (J, K))
            if self.outputs == "diagonal":
                self.sum += (left.transpose(0, 1) @ right.permute(1, 2, 0)).permute(1, 2, 0)
                continue
            # The mean is a sum over parameters and outputs, divided once for all.
            axes = (1, 2) if self.outputs == "mean" else (0, 1)
            product = _product(left.flatten(*axes), right.flatten(*axes), self.same)
            self._add(product.view(self.sum.shape))

    def _add(self, product: Tensor) -> None:
        """Add to the sum, some examples at a time: PyTorch makes a copy of all that it rounds up."""
        step = -(-_ADDED // product[0].numel())
        for begin in range(0, product.shape[0], step):
            self.sum[begin : begin + step] += product[begin : begin + step]

    def _slices(self, p: Outer, q: Outer, memory: float) -> None:
        """By sums over positions, written out for some rows of the weight at a time."""
        a, other = p.a, (q.a if p is not q else None)
        b, c, g, _, o = p.d.shape
        each = (b + len(q.d)) * c * g * p.fan_in * p.d.element_size()
        most = max(1, min(o, int(memory / each), self.columns // (g * p.fan_in)))
        step = -(-o // -(-o // most))  # parts of equal size, each one product
        for begin in range(0, o, step):
            J = p.some(begin, begin + step, a).flatten(2)
            K = J if other is None else q.some(begin, begin + step, other).flatten(2)
            self.gram(J, K)

    def _pairs(self, p: Outer, q: Outer, memory: float) -> None:
        """By pairs of positions, for some examples at a time."""
        a, other = p.a[:, 0], q.a[:, 0]
        if a.shape[1] == other.shape[1] == 1:
            self._pair(_product(a[:, 0], other[:, 0], self.same), p.d[:, :, 0, 0], q.d[:, :, 0, 0])
            return
        inner = lambda x, y: torch.einsum("xti,ysi->xtys", a[x], other[y])  # noqa: E731
        self._meet(inner, p.d[:, :, 0], q.d[:, :, 0], memory)

    def _pair(self, inner: Tensor, d: Tensor, other: Tensor) -> None:
        """`inner ⟨δ, δ'⟩` for inner (x, y) and δ (x, outputs, out): one position each, and products of whole matrices."""
        if self.outputs == "diagonal":
            self.sum += (d.transpose(0, 1) @ other.permute(1, 2, 0)).permute(1, 2, 0) * inner[:, :, None]
            return
        axes = (1, 2) if self.outputs == "mean" else (0, 1)
        product = _product(d.flatten(*axes), other.flatten(*axes), self.same).view(self.sum.shape)
        self._add(product.mul_(inner if self.outputs == "mean" else inner[:, None, :, None]))

    def _lookups(self, p: Lookup, q: Lookup, memory: float) -> None:
        """By pairs of positions, which meet where they look up the same row, or by the rows that occur."""
        occurring, places = torch.unique(torch.cat([p.index.flatten(), q.index.flatten()]), return_inverse=True)
        (t, o), s = p.d.shape[2:], q.d.shape[2]
        if t * s * (o + _ENTRY) <= len(occurring) * o:
            inner = lambda x, y: (p.index[x][:, :, None, None] == q.index[y]).to(p.d)  # noqa: E731
            self._meet(inner, p.d, q.d, memory)
            return
        mine, theirs = places[: p.index.numel()].view_as(p.index), places[p.index.numel() :].view_as(q.index)
        few = -(-self.columns // len(occurring))  # numbers of each row to write out at a time
        for begin in range(0, o, few):
            numbers = slice(begin, begin + few)
            J = replace(p, index=mine, d=p.d[..., numbers], rows=len(occurring)).dense()
            K = J if p is q else replace(q, index=theirs, d=q.d[..., numbers], rows=len(occurring)).dense()
            self.gram(J, K)

    def _meet(self, inner: Callable[[slice, slice], Tensor], d: Tensor, other: Tensor, memory: float) -> None:
        """`Σ_{t,s} inner_ts ⟨δ_t, δ'_s⟩` for δ (x, outputs, positions, out), some examples x at a time.

        Of a block with itself only what is on the diagonal or above, and the rest by symmetry.
        """
        c, t, o = d.shape[1:]
        y, _, s, _ = other.shape
        whole = self.outputs == "all" and t * s > 1  # of one position the products are as few as the sums
        each = t * y * (c * o + s if whole else s * {"all": c * c + 1, "diagonal": c + 1, "mean": 2}[self.outputs])
        room = memory / 3
        if d.device.type == "cpu":
            room = min(room, _CACHED)
        step = max(1, min(len(d), int(room / (each * d.element_size()))))
        for k in range(0, len(d), step):
            x, y = slice(k, k + step), slice(k if self.same else 0, None)
            found = (_summed_first if whole else _crossed[self.outputs])(inner(x, y), d[x], other[y])
            if self.outputs == "all":
                self.sum[x, :, y] += found
                if self.same:
                    self.sum[k + step :, :, x] += found[:, :, step:].permute(2, 3, 0, 1)
            else:
                self.sum[x, y] += found
                if self.same:
                    self.sum[k + step :, x] += found[:, step:].transpose(0, 1)


def _summed_first(weight: Tensor, d: Tensor, other: Tensor) -> Tensor:
    """`Σ_{t,s} w_ts ⟨δ_t, δ'_s⟩` as (x, outputs, y, outputs): sums over s, then products; w (x, t, y, s)."""
    (x, c, t, o), (y, e, s, _) = d.shape, other.shape
    rows = weight.permute(2, 0, 1, 3).reshape(y, 1, x * t, s).expand(y, e, x * t, s)
    sums = torch.bmm(rows.reshape(y * e, x * t, s), other.reshape(y * e, s, o)).view(y * e, x, t * o)
    return torch.bmm(d.reshape(x, c, t * o), sums.permute(1, 2, 0)).view(x, c, y, e)


# The same by products of all pairs of positions, which are then weighted and added up.
_crossed: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "all": lambda w, d, e: torch.einsum("xcto,yeso->xctyes", d, e).mul_(w[:, None, :, :, None]).sum((2, 5)),
    "diagonal": lambda w, d, e: torch.einsum("xcto,ycso->cxtys", d, e).mul_(w).sum((2, 4)).permute(1, 2, 0),
    "mean": lambda w, d, e: torch.einsum("xcto,ycso->xtys", d, e).mul_(w).sum((1, 3)),
}


def _product(A: Tensor, B: Tensor, same: bool) -> Tensor:
    """`ABᵀ`; half the work for a matrix with itself on a processor, where NumPy hands it to a routine for that."""
    if same and A.device.type == "cpu" and A.dtype in (torch.float32, torch.float64) and A.shape[0] >= _HALVED:
        rows = A.numpy()
        return torch.from_numpy(rows @ rows.T)
    return A @ B.T
