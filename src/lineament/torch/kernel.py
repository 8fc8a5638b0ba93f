"""The empirical neural tangent kernel of a PyTorch module, exact, in blocks of bounded memory."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast, get_args

import torch
from torch import Tensor, nn

from lineament.core import arguments

from .contract import Outputs, Tile, by_pairs
from .derivatives import Dense, Derivative, Outer, joined, nbytes, written
from .jacobian import Jacobian, Sizes
from .layers import checked, quantised, walked
from .precision import differentiable, full_precision

Inputs = Tensor | tuple[Tensor, ...]
Derivatives = dict[str, Derivative]
Modules = list[tuple[str, nn.Module]]
_EXAMPLES = 64  # at most in one block
_MUCH = 2**26  # bytes; no less is asked for
_AT_ONCE = 2**22  # numbers in the derivatives of all outputs at the largest place of a block, on a processor


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
    Jacobian of the model is never formed. What is found so is checked against autograd when a model is first seen, and
    again when it runs other functions or takes inputs of other shapes. Other parameters, and those that the check does
    not confirm, are differentiated by `torch.func`; one example at a time if that fails, or does not agree with autograd
    either, and a warning names them.

    Args:
        model: A module whose output has one row per example, in evaluation mode where that matters. It is not changed.
        x: Inputs with examples along the first axis, of any dtype the model takes; a tuple for several inputs.
        y: Further inputs; by default the same as `x`.
        outputs: "all" gives (x, y, outputs, outputs), "diagonal" the entries i = j as (x, y, outputs), "mean" their
            mean as (x, y).
        memory: About how many bytes to use beyond the kernel itself; at least one example is always held. What fits is
            differentiated once; what does not is differentiated again for every stripe of examples that does. Less is
            used where half of the whole Jacobian is less.
        forward: How to get outputs from the model and the inputs, such as `lambda model, x: model(x)[0]`; by default
            the model is called, and its tensor or `logits` taken.
    """
    arguments.one_of("outputs", outputs, get_args(Outputs))
    forward = None if forward is None else arguments.function("forward", forward)
    memory = arguments.number("memory", memory, above=0)
    modules = walked(checked(model))
    _refuse(modules)
    rows = _tuple("x", x)
    columns = rows if y is None else _tuple("y", y)
    with (
        torch.inference_mode(False),
        _buffers_kept(modules),
        _gradients_as_they_are(modules),
        full_precision(),
        differentiable(model, modules),
    ):
        rows, columns = _differentiable(rows), _differentiable(columns)
        jacobian = Jacobian(model, forward, modules)
        jacobian.company = tuple(part[:1] for part in columns) if len(rows[0]) == 1 else ()
        return _kernel(jacobian, rows, columns, y is None, outputs, memory)


def _differentiable(parts: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Tensors that were made in inference mode cannot be; copies can."""
    return tuple(part.clone() if part.is_inference() else part for part in parts)


@contextmanager
def _gradients_as_they_are(modules: Modules) -> Iterator[None]:
    """Inside, hooks on gradients of parameters and modules wait: they are for training, and may change what they see."""
    waiting: list[tuple[Any, str, Any]] = []
    for _, module in modules:
        for kind in ("_backward_hooks", "_backward_pre_hooks"):
            if hooks := getattr(module, kind):
                waiting.append((module, kind, hooks))
        for parameter in module._parameters.values():
            if parameter is not None and parameter._backward_hooks:
                waiting.append((parameter, "_backward_hooks", parameter._backward_hooks))
    try:
        for owner, kind, hooks in waiting:
            setattr(owner, kind, type(hooks)() if isinstance(owner, nn.Module) else None)
        yield
    finally:
        for owner, kind, hooks in waiting:
            setattr(owner, kind, hooks)


@contextmanager
def _buffers_kept(modules: Modules) -> Iterator[None]:
    """Afterwards the buffers have the values they had, whatever the model does when it runs."""
    held = [buffer for _, module in modules for buffer in module._buffers.values() if buffer is not None]
    kinds: dict[Any, list[Tensor]] = {}
    for buffer in {id(buffer): buffer for buffer in held}.values():
        plain = type(buffer) in (Tensor, nn.Buffer) and buffer.layout == torch.strided and not buffer.is_quantized
        kinds.setdefault((buffer.dtype, buffer.device) if plain else id(buffer), []).append(buffer)
    before = [_side_by_side(buffers) for buffers in kinds.values()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffers, values in zip(kinds.values(), before, strict=True):
                if len(buffers) == 1:
                    buffers[0].copy_(values)
                elif not torch.equal(_side_by_side(buffers), values):
                    for buffer, own in zip(buffers, values.split([part.numel() for part in buffers]), strict=True):
                        buffer.copy_(own.view(buffer.shape))


@torch.no_grad()
def _side_by_side(buffers: list[Tensor]) -> Tensor:
    """A copy of tensors of one type: of many it takes one call, not one for each."""
    return buffers[0].clone() if len(buffers) == 1 else torch.cat([buffer.reshape(-1) for buffer in buffers])


def _kernel(
    jacobian: Jacobian,
    rows: tuple[Tensor, ...],
    columns: tuple[Tensor, ...],
    same: bool,
    outputs: Outputs,
    memory: float,
) -> Tensor:
    n, m = len(rows[0]), len(columns[0])
    like = next(jacobian.parameters()).detach().new_empty(0, dtype=jacobian.dtype)
    sizes = jacobian.sizes(rows)
    # What others would hold is the whole Jacobian: half of it is plenty where that is much.
    whole = n * sizes.outputs * like.element_size() * sum(map(torch.numel, jacobian.parameters()))
    memory = min(memory, max(_MUCH, whole / 2))
    block = _block(sizes, n, memory, like)
    at = lambda parts, i: jacobian(tuple(part[i : i + block] for part in parts))  # noqa: E731
    first = at(rows, 0)
    plan = _plan(first, block, n, m, outputs, memory)
    c = jacobian.outputs
    kernel = torch.empty(0)
    for begin in range(0, n, plan.stripe):
        end = min(n, begin + plan.stripe)
        places = range(begin, end, block)
        blocks = [plan.settled(at(rows, i) if i else first) for i in places]
        first, left = {}, _joined(blocks, [len(rows[0][i : i + block]) for i in places])
        against = [*([begin] if same else []), *range(end if same else 0, m, block)]
        for j in against:
            itself = same and j == begin
            right = left if itself else plan.settled(at(columns, j))
            width = end - begin if itself else len(columns[0][j : j + block])
            blank = Tile(end - begin, width, c, outputs, like, itself)
            tile = _tile(left, right, blank, m, memory, j == against[-1])
            if tile.shape[:2] == (n, m):
                kernel = tile
                break
            if not kernel.numel():
                kernel = torch.zeros(n, m, *tile.shape[2:], dtype=like.dtype, device=like.device)
            kernel[begin:end, j : j + width] = tile
            if same and not itself:
                kernel[j : j + width, begin:end] = _transposed(tile)
            del tile, blank, right  # not to be held beside those of the next
    return kernel.div_(c) if outputs == "mean" else kernel


def _joined(blocks: list[Derivatives], sizes: list[int]) -> Derivatives:
    """The derivatives at several blocks of examples as one; where one vanishes it may have been left out."""
    if len(blocks) == 1:
        return blocks[0]
    whole: Derivatives = {}
    for name in dict.fromkeys(name for block in blocks for name in block):
        parts = [block.pop(name, None) for block in blocks]
        if any(part is None for part in parts):
            J = next(part for part in parts if part is not None).dense()
            zeros = [J.new_zeros(()).expand(size, *J.shape[1:]) for size in sizes]
            parts = [
                Dense(nothing) if part is None else written(part) for part, nothing in zip(parts, zeros, strict=True)
            ]
        elif len({type(part) for part in parts}) > 1:  # as blocks that ran other functions may give them
            parts = [written(part) for part in parts if part is not None]
        whole[name] = joined(cast(list[Derivative], parts), 0)
    return whole


def _transposed(tile: Tensor) -> Tensor:
    return tile.permute(1, 0, 3, 2) if tile.ndim == 4 else tile.transpose(0, 1)


def _tile(left: Derivatives, right: Derivatives, tile: Tile, m: int, memory: float, last: bool) -> Tensor:
    """One block of the kernel, against one of m examples in all; a derivative that vanishes may be left out.

    Derivatives on the right are given up when they are used, those on the left if this is the last use.
    """
    for name in [name for name in left if name in right]:
        p = left.pop(name) if last else left[name]
        tile.add(p, p if left is right else right.pop(name), m, memory / 4)
    return tile.result()


def _block(sizes: Sizes, n: int, memory: float, like: Tensor) -> int:
    """How many examples to differentiate at once.

    In passing they need what the forward pass keeps of every place, and some derivatives of all outputs at the largest.
    On a processor memory that fits its caches is used again.
    """
    passing = 2 * sizes.places + 4 * sizes.outputs * sizes.largest
    most = min(n, _EXAMPLES, int(memory / (like.element_size() * passing + 1)))
    if like.device.type == "cpu":
        most = min(most, _AT_ONCE // (sizes.outputs * sizes.largest + 1))
    most = max(1, most)
    return -(-n // -(-n // most))  # blocks of equal size, but for the last


class _Plan(NamedTuple):
    """How many examples to hold derivatives at, and what to write out."""

    stripe: int
    dense: frozenset[str]

    def settled(self, found: Derivatives) -> Derivatives:
        """The form to keep each derivative in."""
        return {name: written(part) if name in self.dense else part for name, part in found.items()}


def _plan(found: Derivatives, block: int, n: int, m: int, outputs: Outputs, memory: float) -> _Plan:
    """Look at the derivatives of a block and choose.

    A derivative that is contracted as a sum over positions is best written out once and held, where it will be
    contracted more than once, as far as the memory goes for all examples; the rest stays in the form that takes less.
    """
    least, extra, dense = 0.0, {}, set()
    for name, part in found.items():
        size = nbytes(part) / block
        if isinstance(part, Outer) and not by_pairs(part, outputs, m):
            whole = part.d.element_size() * part.d.shape[1] * part.d.shape[2] * part.d.shape[4] * part.fan_in
            least += min(size, whole)
            if whole <= size:
                dense.add(name)
            else:
                extra[name] = whole - size
        else:
            least += size
    if n * least > memory / 2 or m > n:
        for name, more in sorted(extra.items(), key=lambda item: item[1]):
            if n * (least + more) <= memory / 2:
                least, dense = least + more, dense | {name}
    return _Plan(block * max(1, int(memory / 2 / (block * least + 1))), frozenset(dense))


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
    if not all(bool(torch.isfinite(part).all()) for part in parts if part.is_floating_point()):
        raise ValueError(f"{name} must be finite; some of its numbers are not")
    return parts


def _refuse(modules: Modules) -> None:
    """Refuse what would make an output random, dependent on other examples, or not differentiable."""
    for name, module in modules:
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
