"""The empirical neural tangent kernel of a PyTorch module, exact, in blocks of bounded memory."""

from typing import Literal

import torch
from torch import Tensor, nn

from .derivatives import Derivative, Lookup, Outer, nbytes
from .jacobian import Jacobian, output
from .layers import copied, quantised

Inputs = Tensor | tuple[Tensor, ...]
Outputs = Literal["all", "diagonal", "mean"]


def ntk(
    model: nn.Module, x: Inputs, y: Inputs | None = None, *, outputs: Outputs = "all", memory: float = 2**27
) -> Tensor:
    """`Θ_ij(x, y) = Σ_θ ∂f_i(x)/∂θ · ∂f_j(y)/∂θ` over all parameters that require a gradient.

    The derivatives of linear, convolutional, embedding and normalisation layers are contracted in the form the layers
    give them, one layer at a time; the Jacobian of the model is never formed. Every block of them is checked against
    autograd. Other parameters, and layers that the check does not confirm (a weight that is also used elsewhere, a
    layer that mixes the examples), are differentiated one example at a time, and a warning names them.

    Args:
        model: A module whose output has one row per example, in evaluation mode where that matters. It is not changed.
        x: Inputs with examples along the first axis, of any dtype the model takes; a tuple for several inputs.
        y: Further inputs; by default the same as `x`.
        outputs: "all" gives (x, y, outputs, outputs), "diagonal" the entries i = j as (x, y, outputs), "mean" their
            mean as (x, y).
        memory: About how many bytes to use beyond the kernel itself; at least one example is always held.
    """
    if outputs not in ("all", "diagonal", "mean"):
        raise ValueError(f"outputs must be one of 'all', 'diagonal', 'mean'; got {outputs!r}")
    if not 0 < memory < float("inf"):
        raise ValueError(f"memory must be positive and finite; got {memory!r}")
    model = copied(model)
    _refuse(model)
    rows = _tuple("x", x)
    columns = rows if y is None else _tuple("y", y)
    jacobian = Jacobian(model)
    C, block, blocks = _plan(jacobian, rows, memory)
    n, m = len(rows[0]), len(columns[0])
    like = next(jacobian.parameters())
    shape = {"all": (n, m, C, C), "diagonal": (n, m, C), "mean": (n, m)}[outputs]
    kernel = torch.zeros(shape, dtype=like.dtype, device=like.device)
    at = lambda parts, i: tuple(part[i : i + block] for part in parts)  # noqa: E731
    for begin in range(0, n, blocks * block):
        held = {i: jacobian(at(rows, i)) for i in range(begin, min(n, begin + blocks * block), block)}
        for j in range(begin if y is None else 0, m, block):
            right = held[j] if y is None and j in held else jacobian(at(columns, j))
            for i in (i for i in held if y is not None or i <= j):
                tile = kernel[i : i + block, j : j + block]
                for name in held[i].keys() & right.keys():
                    tile += _contract(held[i][name], right[name], outputs)
                if y is None and i < j:
                    kernel[j : j + block, i : i + block] = _transposed(tile)
    return kernel / C if outputs == "mean" else kernel


def _transposed(tile: Tensor) -> Tensor:
    return tile.permute(1, 0, 3, 2) if tile.ndim == 4 else tile.transpose(0, 1)


def _contract(p: Derivative, q: Derivative, outputs: Outputs) -> Tensor:
    if isinstance(p, Outer) and isinstance(q, Outer) and p.single and q.single:
        inner = p.a.flatten(1) @ q.a.flatten(1).T
        return _gram(p.d.flatten(2), q.d.flatten(2), outputs) * inner.reshape(*inner.shape, *_ones(outputs))
    if isinstance(p, Lookup) and isinstance(q, Lookup):
        return torch.stack([_lookup(p.index[k], p.d[k], q, outputs) for k in range(len(p.d))])
    return _gram(p.dense(), q.dense(), outputs)


def _gram(J: Tensor, K: Tensor, outputs: Outputs) -> Tensor:
    """Inner products over parameters of (x, outputs, parameters) with (y, outputs, parameters)."""
    if outputs == "mean":  # the sum, which is divided once for all
        return J.flatten(1) @ K.flatten(1).T
    if outputs == "diagonal":
        return (J.transpose(0, 1) @ K.permute(1, 2, 0)).permute(1, 2, 0)
    product = J.flatten(0, 1) @ K.flatten(0, 1).T
    return product.reshape(len(J), J.shape[1], len(K), K.shape[1]).transpose(1, 2)


def _lookup(index: Tensor, d: Tensor, q: Lookup, outputs: Outputs) -> Tensor:
    """One example against a block: positions meet where they look up the same row."""
    same = (index[:, None, None] == q.index).to(d)
    if outputs == "all":
        return torch.einsum("cto,tys,yeso->yce", d, same, q.d)
    diagonal = torch.einsum("cto,tys,ycso->yc", d, same, q.d)
    return diagonal.sum(1) if outputs == "mean" else diagonal


def _ones(outputs: Outputs) -> tuple[int, ...]:
    return {"all": (1, 1), "diagonal": (1,), "mean": ()}[outputs]


def _plan(jacobian: Jacobian, inputs: tuple[Tensor, ...], memory: float) -> tuple[int, int, int]:
    """How many outputs there are, how many examples to take at a time, and how many such blocks to hold.

    Each stripe of held blocks goes through all further inputs once, so their derivatives are computed anew for every
    stripe: small blocks and many of them are faster than a few large ones, and need less besides.
    """
    one = tuple(part[:1] for part in inputs)
    with torch.no_grad():
        first, second = output(jacobian.model, one), output(jacobian.model, one)
    if not torch.equal(first, second):
        raise ValueError(
            "model must give the same output for the same input; two calls in a row differed: call .eval()"
        )
    found = jacobian(one).values()
    held = sum(map(nbytes, found))
    # What a block needs in passing: δ and inputs of all layers with their copies, and what is written out for a product.
    written = max((p.dense().nbytes for p in found if isinstance(p, Outer) and not p.single), default=0)
    passing = 3 * jacobian.passing + 2 * written
    block = max(1, min(32, int(memory / (2 * passing + 1))))
    return first.shape[1], block, max(1, int((memory - block * passing) / (block * held + 1)))


def _tuple(name: str, value: Inputs) -> tuple[Tensor, ...]:
    parts = value if isinstance(value, tuple) else (value,)
    if not parts or not all(isinstance(part, Tensor) and part.ndim for part in parts):
        kinds = ", ".join(type(part).__name__ for part in parts)
        raise ValueError(
            f"{name} must be a tensor with examples along its first axis, or a tuple of such; got ({kinds})"
        )
    lengths = {len(part) for part in parts}
    if len(lengths) > 1 or not len(parts[0]):
        raise ValueError(f"{name} must hold equally many examples in every part, at least one; got {sorted(lengths)}")
    return parts


def _refuse(model: nn.Module) -> None:
    """Refuse what would make an output random, dependent on other examples, or not differentiable."""
    for name, module in model.named_modules():
        what = f"{name!r} ({type(module).__name__})"
        dropout = isinstance(module, nn.modules.dropout._DropoutNd) and module.training and module.p > 0
        batch = isinstance(module, nn.modules.batchnorm._BatchNorm) and (
            module.training or module.running_mean is None
        )
        if dropout or batch:
            raise ValueError(
                f"model must be in evaluation mode, with statistics of its own: {what} would make an example's output "
                "random or dependent on the others; call model.eval() first"
            )
        if quantised(module):
            raise ValueError(f"model must be differentiable: {what} is quantised, not supported")
        if isinstance(module, nn.Embedding) and module.max_norm is not None:
            raise ValueError(f"model must not change as it runs: {what} has max_norm, not supported")
