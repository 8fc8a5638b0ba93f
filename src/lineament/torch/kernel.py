"""The empirical neural tangent kernel of a PyTorch module, exact, in blocks of bounded memory."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, get_args

import torch
from torch import Tensor, nn

from lineament.core import arguments

from .contract import Outputs, Tile, by_pairs
from .derivatives import Derivative, Outer, nbytes, written
from .jacobian import Jacobian
from .layers import checked, quantised
from .precision import differentiable, full_precision

Inputs = Tensor | tuple[Tensor, ...]
Derivatives = dict[str, Derivative]
_EXAMPLES = 64  # at most in one block


def ntk(
    model: nn.Module,
    x: Inputs,
    y: Inputs | None = None,
    *,
    outputs: Outputs = "all",
    memory: float = 2**28,
    forward: Callable[..., Any] | None = None,
) -> Tensor:
    """`Θ_ij(x, y) = Σ_θ ∂f_i(x)/∂θ · ∂f_j(y)/∂θ` over all parameters that require a gradient.

    Wherever a parameter enters a linear, convolutional, embedding or normalising function, or is added, multiplied or
    expanded, its derivatives are kept in the form which that gives them, and contracted by the cheapest route; the
    Jacobian of the model is never formed. What is found so is checked against autograd. Other parameters, and those
    that the check does not confirm, are differentiated by `torch.func`; one example at a time if that fails, and a
    warning names them.

    Args:
        model: A module whose output has one row per example, in evaluation mode where that matters. It is not changed.
        x: Inputs with examples along the first axis, of any dtype the model takes; a tuple for several inputs.
        y: Further inputs; by default the same as `x`.
        outputs: "all" gives (x, y, outputs, outputs), "diagonal" the entries i = j as (x, y, outputs), "mean" their
            mean as (x, y).
        memory: About how many bytes to use beyond the kernel itself; at least one example is always held. What fits is
            differentiated once; what does not is differentiated again for every stripe of examples that does.
        forward: How to get outputs from the model and the inputs, such as `lambda model, x: model(x)[0]`; by default
            the model is called, and its tensor or `logits` taken.
    """
    arguments.one_of("outputs", outputs, get_args(Outputs))
    forward = None if forward is None else arguments.function("forward", forward)
    memory = arguments.number("memory", memory, above=0)
    _refuse(checked(model))
    rows = _tuple("x", x)
    columns = rows if y is None else _tuple("y", y)
    with _buffers_kept(model), full_precision(), differentiable(model):
        return _kernel(Jacobian(model, forward), rows, columns, y is None, outputs, memory)


@contextmanager
def _buffers_kept(model: nn.Module) -> Iterator[None]:
    """Afterwards the buffers have the values they had, whatever the model does when it runs."""
    before = [(buffer, buffer.clone()) for buffer in model.buffers()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, value in before:
                buffer.copy_(value)


def _kernel(
    jacobian: Jacobian,
    rows: tuple[Tensor, ...],
    columns: tuple[Tensor, ...],
    same: bool,
    outputs: Outputs,
    memory: float,
) -> Tensor:
    n, m = len(rows[0]), len(columns[0])
    plan = _plan(jacobian, rows, columns, outputs, memory)
    like = next(jacobian.parameters())
    shape = {"all": (n, m, plan.outputs, plan.outputs), "diagonal": (n, m, plan.outputs), "mean": (n, m)}[outputs]
    kernel = torch.zeros(shape, dtype=like.dtype, device=like.device)
    block = plan.block
    at = lambda parts, i: plan.settled(jacobian(tuple(part[i : i + block] for part in parts)))  # noqa: E731
    for begin in range(0, n, plan.held * block):
        held = {i: at(rows, i) for i in range(begin, min(n, begin + plan.held * block), block)}
        for j in range(begin if same else 0, m, block):
            right = held[j] if same and j in held else at(columns, j)
            for i in (i for i in held if not same or i <= j):
                sizes = len(rows[0][i : i + block]), len(columns[0][j : j + block])
                blank = Tile(*sizes, plan.outputs, outputs, like, held[i] is right)
                tile = _tile(held[i], right, blank, m, memory)
                kernel[i : i + block, j : j + block] = tile
                if same and i < j:
                    kernel[j : j + block, i : i + block] = _transposed(tile)
    return kernel.div_(plan.outputs) if outputs == "mean" else kernel


def _transposed(tile: Tensor) -> Tensor:
    return tile.permute(1, 0, 3, 2) if tile.ndim == 4 else tile.transpose(0, 1)


def _tile(left: Derivatives, right: Derivatives, tile: Tile, m: int, memory: float) -> Tensor:
    """One block of the kernel, against one of m examples in all; a derivative that vanishes may be left out."""
    for name in left.keys() & right.keys():
        tile.add(left[name], right[name], m, memory / 4)
    return tile.result()


class _Plan(NamedTuple):
    """How many outputs there are, how many examples a block has, how many blocks to hold, and what to write out."""

    outputs: int
    block: int
    held: int
    dense: frozenset[str]

    def settled(self, found: Derivatives) -> Derivatives:
        """The form to keep each derivative in."""
        return {name: written(part) if name in self.dense else part for name, part in found.items()}


def _plan(
    jacobian: Jacobian, inputs: tuple[Tensor, ...], columns: tuple[Tensor, ...], outputs: Outputs, memory: float
) -> _Plan:
    """Look at few examples and choose.

    A derivative that is contracted as a sum over positions is best written out once and held, as far as the memory
    goes for all examples; the rest stays in the form that takes less.
    """
    n, m = len(inputs[0]), len(columns[0])
    c, size = jacobian.outputs(inputs), next(jacobian.parameters()).element_size()
    whole = n * c * size * sum(map(torch.numel, jacobian.parameters()))
    # Nothing to plan where all of the Jacobian would fit, and the activations of a network so much wider than its input.
    if n <= _EXAMPLES and max(whole, 64 * c * sum(part.nbytes for part in inputs)) <= memory:
        return _Plan(c, n, 1, frozenset())
    taps, blank = jacobian.sketch(tuple(part[:1] for part in inputs))
    # What a block needs in passing: δ at all taps for every output, and what the forward pass keeps.
    passing = (c + 4) * taps
    if n <= _EXAMPLES and n * passing <= memory:
        return _Plan(c, n, 1, frozenset())
    least, extra, dense = 0.0, {}, set()
    for name, part in blank().items():
        size = nbytes(part)
        if isinstance(part, Outer) and not by_pairs(part, outputs, m):
            whole = part.d.element_size() * part.d.shape[1] * part.d.shape[2] * part.d.shape[4] * part.fan_in
            least += min(size, whole)
            if whole <= size:
                dense.add(name)
            else:
                extra[name] = whole - size
        else:
            least += size
    for name, more in sorted(extra.items(), key=lambda item: item[1]):
        if n * (least + more) <= memory / 2:
            least, dense = least + more, dense | {name}
    block = max(1, min(n, _EXAMPLES, int(memory / (2 * passing + 1))))
    return _Plan(c, block, max(1, int(memory / 2 / (block * least + 1))), frozenset(dense))


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
