"""Derivatives of a model's outputs by each of its parameters, example by example, in the form the layer gives them.

For a linear layer `z_t = W a_t` (t runs over the positions of a convolution, a sequence, or several calls) the
derivative of output c by W is `Σ_t δ_ct a_tᵀ` with `δ_ct = ∂f_c/∂z_t`. Keeping δ and a apart is what makes the kernel
cheap (Novak et al. 2022, "Fast finite width neural tangent kernel").
"""

from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import pad, unfold


@dataclass(frozen=True)
class Dense:
    """Derivatives (examples, outputs, parameters), and a bound on their norm had nothing cancelled in them."""

    J: Tensor
    bound: Tensor

    def dense(self) -> Tensor:
        """The derivatives."""
        return self.J

    def weighted(self, v: Tensor) -> tuple[Tensor, Tensor]:
        """`Σ v_{bc} J_{bc}` over examples and outputs, and a bound on its norm were nothing to cancel."""
        return torch.einsum("bc,bcp->p", v, self.J), v.norm() * self.bound


@dataclass(frozen=True)
class Outer:
    """Derivatives `Σ_t δ_ct a_tᵀ`: a (examples, groups, positions, in), δ (examples, outputs, groups, positions, out)."""

    a: Tensor
    d: Tensor

    @property
    def single(self) -> bool:
        """Whether there is one position, so that inner products need no derivative written out."""
        return self.a.shape[1] == self.a.shape[2] == 1

    def dense(self) -> Tensor:
        """The derivatives (examples, outputs, parameters)."""
        D = self.d.transpose(-1, -2).transpose(1, 2)
        b, g, c, o, t = D.shape
        return (D.reshape(b, g, c * o, t) @ self.a).reshape(b, g, c, o, -1).transpose(1, 2).flatten(2)

    def weighted(self, v: Tensor) -> tuple[Tensor, Tensor]:
        """`Σ v_{bc} J_{bc}` over examples and outputs, and a bound on its norm were nothing to cancel."""
        d = torch.einsum("bc,bcgto->bgto", v, self.d)
        return torch.einsum("bgto,bgti->goi", d, self.a).flatten(), d.norm() * self.a.norm()


@dataclass(frozen=True)
class Lookup:
    """Derivatives by a table of embeddings: indices (examples, positions), δ (examples, outputs, positions, width)."""

    index: Tensor
    d: Tensor
    rows: int

    def dense(self) -> Tensor:
        """The derivatives (examples, outputs, parameters)."""
        b, c, t, o = self.d.shape
        J = self.d.new_zeros(b, c, self.rows, o)
        return J.scatter_add_(2, self.index[:, None, :, None].expand(b, c, t, o), self.d).flatten(2)

    def weighted(self, v: Tensor) -> tuple[Tensor, Tensor]:
        """`Σ v_{bc} J_{bc}` over examples and outputs, and a bound on its norm were nothing to cancel."""
        rows = torch.einsum("bc,bcto->bto", v, self.d).flatten(0, 1)
        table = self.d.new_zeros(self.rows, rows.shape[1]).index_add_(0, self.index.flatten(), rows)
        return table.flatten(), len(rows) ** 0.5 * rows.norm()


Derivative = Dense | Outer | Lookup


def nbytes(derivative: Derivative) -> int:
    """The memory a derivative takes."""
    return sum(value.nbytes for value in vars(derivative).values() if isinstance(value, Tensor))


def settled(derivative: Derivative) -> Derivative:
    """The form to keep: sums over positions written out, unless that takes much more memory."""
    if isinstance(derivative, Outer) and not derivative.single:
        size = derivative.d.shape[1] * derivative.d.shape[-1] * derivative.a.shape[1] * derivative.a.shape[-1]
        if size * len(derivative.a) <= 4 * (derivative.a.numel() + derivative.d.numel()):
            return Dense(derivative.dense(), derivative.a.norm() * derivative.d.norm())
    return derivative


def _summed(terms: Tensor) -> Dense:
    """The derivative whose terms (examples, outputs, parameters, positions) add up."""
    return Dense(terms.sum(3), terms.shape[3] ** 0.5 * terms.norm())


_TRAILING = (nn.LayerNorm, nn.RMSNorm)
_CHANNELS_FIRST = (
    nn.BatchNorm1d,
    nn.BatchNorm2d,
    nn.BatchNorm3d,
    nn.InstanceNorm1d,
    nn.InstanceNorm2d,
    nn.InstanceNorm3d,
    nn.GroupNorm,
)
# Of exactly these types: a subclass may compute something of its own.
KNOWN = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Embedding, *_CHANNELS_FIRST, *_TRAILING)


def of_call(module: nn.Module, x: Tensor, d: Tensor) -> dict[str, Derivative]:
    """The derivatives by the parameters of one call of a module, from its input and δ (examples, outputs, …).

    Examples are assumed to lie along the first axis; who calls this checks the result against autograd.
    """
    if isinstance(module, nn.Linear):
        flat = d.reshape(*d.shape[:2], 1, -1, d.shape[-1])
        return {"weight": Outer(x.reshape(len(x), 1, -1, x.shape[-1]), flat), "bias": _summed(flat[:, :, 0].mT)}
    if isinstance(module, nn.Conv1d | nn.Conv2d):
        g = module.groups
        split = d.reshape(*d.shape[:2], g, d.shape[2] // g, -1).transpose(-1, -2)
        return {"weight": Outer(_patches(module, x), split), "bias": _summed(d.flatten(3))}
    if isinstance(module, nn.Embedding):
        d = d.reshape(*d.shape[:2], -1, d.shape[-1])
        index = x.reshape(len(x), -1)
        if module.padding_idx is not None:
            d = d * (index != module.padding_idx)[:, None, :, None]
        return {"weight": Lookup(index, d, module.num_embeddings)}
    own = dict(module.named_parameters(recurse=False))
    if "weight" not in own:
        return {}
    neutral = {"weight": torch.ones_like, "bias": torch.zeros_like}
    with torch.no_grad():
        normal = functional_call(module, {name: neutral[name](value) for name, value in own.items()}, (x,))
    by_weight = d * normal[:, None]
    if isinstance(module, _CHANNELS_FIRST):
        reduce = lambda D: _summed(D.reshape(*D.shape[:3], -1))  # noqa: E731
    else:
        size = own["weight"].numel()
        reduce = lambda D: _summed(D.reshape(*D.shape[:2], -1, size).mT)  # noqa: E731
    return {"weight": reduce(by_weight), "bias": reduce(d)}


def _patches(conv: nn.Conv1d | nn.Conv2d, x: Tensor) -> Tensor:
    """The inputs that each output position of a convolution sees: (examples, groups, positions, in × kernel)."""
    pads = conv._reversed_padding_repeated_twice
    if any(pads):
        x = pad(x, pads, mode="constant" if conv.padding_mode == "zeros" else conv.padding_mode)
    kernel, stride, dilation = conv.kernel_size, conv.stride, conv.dilation
    if isinstance(conv, nn.Conv1d):
        x, kernel, stride, dilation = x[:, :, None], (1, *kernel), (1, *stride), (1, *dilation)
    columns = unfold(x, kernel, dilation=dilation, stride=stride)
    return columns.reshape(len(x), conv.groups, -1, columns.shape[-1]).transpose(-1, -2)


def together(parts: list[Derivative]) -> Derivative:
    """The derivative by a parameter that several calls use."""
    return reduce(_both, parts)


def _both(p: Derivative, q: Derivative) -> Derivative:
    """The derivative by a parameter that two calls use: positions side by side where their forms agree, else the sum."""
    if isinstance(p, Outer) and isinstance(q, Outer):
        return Outer(torch.cat([p.a, q.a], 2), torch.cat([p.d, q.d], 3))
    if isinstance(p, Lookup) and isinstance(q, Lookup):
        return Lookup(torch.cat([p.index, q.index], 1), torch.cat([p.d, q.d], 2), p.rows)
    left, right = _written(p), _written(q)
    return Dense(left.J + right.J, left.bound + right.bound)


def _written(part: Derivative) -> Dense:
    return part if isinstance(part, Dense) else Dense(J := part.dense(), J.norm())
