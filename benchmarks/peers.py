"""Kernels and truncations beside other tools, on the models of `benchmarks.models`: `python -m benchmarks.peers`.

Peers: torch.func (vmap of jacrev, then einsum), nngeometry (`GramMatrix`), curvlinops
(`TransposedJacobianLinearOperator`), tensorly-torch (`FactorizedConv`). All kernels of one model are computed in one
process, in turn, on one core; seconds are CPU seconds, the median of several rounds, and memory is the most that
PyTorch's allocator held at once. The bound is torch.func's time over what no exact kernel can do without: one forward
pass, the derivatives of all outputs down to the first layer's output, and the products of the layers' Jacobians, each
layer by the cheaper of two routes, half of it by symmetry.
"""

import argparse
import contextlib
import copy
import functools
import gc
import importlib
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap
from torch.profiler import ProfilerActivity, profile

from lineament.torch import ntk, truncate
from lineament.torch.derivatives import Outer
from lineament.torch.jacobian import Jacobian
from lineament.torch.taps import Taps

from .models import Case, cases, gap, outputs

PAGE = Path("docs/peers.md")
GPU = "## On a GPU"
HELD = 5e8  # bytes of a Jacobian that torch.func may hold, which says how many inputs a model gets
SLOW = ("nngeometry", "curvlinops")  # timed once, on few inputs: they take up to thirty times as long
SMALL, FEW = 1e5, 4  # a model up to so many parameters is small; how many inputs slow tools get of others
CONVOLUTIONAL = ("ResNet", "MobileNet", "mobilenet", "resnet", "efficientnet", "ConvNeXt", "convnext")


def by_torch_func(model: nn.Module, x: Tensor) -> Tensor:
    """The recipe of PyTorch's documentation."""
    held = {name: parameter.detach() for name, parameter in model.named_parameters()}
    single = lambda some, one: outputs(functional_call(model, some, (one[None],))).reshape(-1)  # noqa: E731
    rows = vmap(jacrev(single), (None, 0))(held, x)
    return functools.reduce(
        torch.add, (torch.einsum("xcp,ydp->xycd", J.flatten(2), J.flatten(2)) for J in rows.values())
    )


def by_nngeometry(model: nn.Module, x: Tensor) -> Tensor:
    """Gram matrix of the Jacobian, by hooks at the layers it knows."""
    gram: Any = importlib.import_module("nngeometry.gram")
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, torch.zeros(len(x))), len(x))
    found = gram.GramMatrix(model, loader, function=lambda *batch: outputs(model(batch[0]))).data
    return found.permute(1, 3, 0, 2)


def by_curvlinops(model: nn.Module, x: Tensor) -> Tensor:
    """The transposed Jacobian as an operator, times all unit vectors, times its own transpose."""
    curvlinops: Any = importlib.import_module("curvlinops")

    class Bare(nn.Module):  # it wants a tensor
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, x: Tensor) -> Tensor:
            return outputs(self.inner(x))

    with torch.no_grad():
        c = outputs(model(x[:2])).shape[1]
    operator = curvlinops.TransposedJacobianLinearOperator(
        Bare(), list(model.parameters()), [(x, torch.zeros(len(x)))], check_deterministic=False
    )
    J = operator @ torch.eye(len(x) * c)
    return (J.T @ J).reshape(len(x), c, len(x), c).transpose(1, 2)


Reasons = dict[str, dict[str, set[str]]]  # by tool, what it said, and of which models
PEERS = {"torch.func": by_torch_func, "nngeometry": by_nngeometry, "curvlinops": by_curvlinops}


def peak(work: Callable[[], object]) -> float:
    """The most bytes that PyTorch held at once, beyond those before."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        work()
    results: Any = seen.profiler
    events = sorted(
        (event.start_ns(), event.nbytes()) for event in results.kineto_results.events() if event.name() == "[memory]"
    )
    return float(np.cumsum([size for _, size in events]).max(initial=0))


def apart(K: Tensor, other: Tensor) -> float:
    """The relative distance of two kernels on the diagonal, its median over examples.

    Rounding may move a unit of an example across the kink of its activation, and so change what concerns that example.
    """
    if K.shape != other.shape:
        return float("inf")
    return float(np.median([gap(K[i, i], other[i, i]) for i in range(len(K))]))


class Least(NamedTuple):
    """CPU seconds that no exact kernel can do without: the model's own pass, the way back, products of Jacobians."""

    forward: float
    backward: float
    products: float


def least_seconds(model: nn.Module, x: Tensor) -> Least:
    """What any exact kernel must compute, at the least that it takes here."""
    still = copy.deepcopy(model).requires_grad_(False)
    with torch.no_grad():
        forward = min(quickest(lambda: still(x)), quickest(lambda: in_our_forms(still, x)))
    return Least(forward, least_backward(still, x), least_products(model, x))


def in_our_forms(model: nn.Module, x: Tensor) -> Tensor:
    """The outputs by the functions that the kernel puts in the place of some: where they are quicker, they bound."""
    with Taps({}, len(x), copies=False):
        return outputs(model(x))


def least_backward(model: nn.Module, x: Tensor) -> float:
    """From every output down to what the first layer gives, by the cheapest of three ways; no parameter's gradient.

    One pass for each output, one that is batched over them, or one through inputs repeated for each, whose own forward
    pass is not counted.
    """
    first: list[Tensor] = []

    def fresh(value: Tensor) -> Tensor:
        first.append(value.detach().requires_grad_())
        return first[0].clone()  # as what follows may work in place

    def begin(_: nn.Module, __: Any, out: Any) -> Any:
        return out if first else fresh(out)

    def begin_before(_: nn.Module, given: Any) -> Any:
        return given if first else (fresh(given[0]), *given[1:])

    layers = [module for module in model.modules() if next(module.parameters(recurse=False), None) is not None]

    def begun(run: Callable[[nn.Module, Tensor], Tensor], x: Tensor) -> tuple[Tensor, Tensor]:
        first.clear()
        # A recurrent layer has its gates within: what it is given stands for them.
        hooks = [
            layer.register_forward_pre_hook(begin_before)
            if isinstance(layer, nn.RNNBase)
            else layer.register_forward_hook(begin)
            for layer in layers
        ]
        try:
            out = run(model, x)
        finally:
            for hook in hooks:
                hook.remove()
        return out.reshape(len(x), -1), first[0]

    return min(
        seconds
        for run in (lambda model, x: outputs(model(x)), in_our_forms)
        for seconds in ways_back(functools.partial(begun, run), x)
    )


def ways_back(begun: Callable[[Tensor], tuple[Tensor, Tensor]], x: Tensor) -> list[float]:
    """Seconds of the three ways, given outputs (example, output) and what the first layer gives."""
    out, z = begun(x)
    n, c = out.shape
    every = torch.eye(c)[:, None].expand(c, n, c)
    pull = functools.partial(torch.autograd.grad, out, z, retain_graph=True)
    spent = [quickest(lambda pull=pull: [pull(v) for v in every])]
    with contextlib.suppress(RuntimeError):  # of a function that cannot be batched
        spent.append(quickest(functools.partial(pull, every, is_grads_batched=True)))
    del out, z, pull
    out, z = begun(x.repeat(c, *(1 for _ in x.shape[1:])))
    again = functools.partial(torch.autograd.grad, out, z, every.flatten(0, 1), retain_graph=True)
    return [*spent, quickest(again)]


def least_products(model: nn.Module, x: Tensor) -> float:
    """Products of the layers' Jacobians, by the cheaper of two routes for each, symmetry used.

    Written out, at the rate that a product of matrices of that many rows has here; or by pairs of positions, at the
    rate of large matrices, as is the writing.
    """
    parts = Jacobian(model)((x[:2],))
    n, c = len(x), outputs(model(x[:2])).shape[1]
    A, B = torch.randn(n * c, 8192), torch.randn(1024, 1024)
    each = quickest(lambda: A @ A.T) / (8192 * (n * c) ** 2)
    large = min(each, quickest(lambda: B @ B) / 1024**3)
    spent = 0.0
    for part in parts.values():
        if isinstance(part, Outer):
            _, _, g, t, o = part.d.shape
            i = part.fan_in
            written = n * n / 2 * c * c * o * i * each + n * c * t * o * i * large
            pairs = t * t * i + min(
                t * t * c * c * o, c * t * o * (t + c)
            )  # all pairs, or first sums over one of them
            spent += g * min(written, n * n / 2 * pairs * large)
        else:
            spent += n * n / 2 * c * c * part.dense().shape[2] * each
    return spent


def quickest(work: Callable[[], Any]) -> float:
    """CPU seconds of a call, the least of two after one that is not counted."""
    return min([cpu_seconds(work)[0] for _ in range(3)][1:])


def cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a call, and what it returned."""
    gc.collect()
    begun = time.process_time()
    found = work()
    return time.process_time() - begun, found


def kernel_rows(case: Case, reasons: Reasons) -> list[dict[str, str]]:
    """A line for each number of inputs; why a tool did not take the model is added to the reasons."""
    torch.manual_seed(0)
    model = case.make().eval()
    size = sum(parameter.numel() for parameter in model.parameters())
    c = outputs(model(case.inputs())).shape[1]
    most = int(min(64, max(8, HELD / (4 * c * size)))) // 2 * 2
    return [kernel_row(case, model, n, reasons) for n in sorted({16 if size <= SMALL else FEW, most})]


def kernel_row(case: Case, model: nn.Module, n: int, reasons: Reasons) -> dict[str, str]:
    """Our kernel and those of all peers, in turn."""
    x = torch.cat([case.inputs() for _ in range(n // 2)])
    ways: dict[str, Callable[[], Tensor]] = {"ours": lambda: ntk(model, x)}
    # Copies, as a tool that gives up may leave hooks behind.
    size = sum(parameter.numel() for parameter in model.parameters())
    asked = {name: way for name, way in PEERS.items() if name not in SLOW or n <= (16 if size <= SMALL else FEW)}
    ways |= {name: functools.partial(way, copy.deepcopy(model), x) for name, way in asked.items()}
    kernels, refused, times = {}, dict.fromkeys(PEERS.keys() - asked.keys(), "–"), {}
    for name, way in ways.items():
        try:
            spent, kernel = cpu_seconds(way)
            kernels[name], times[name] = kernel.detach(), [spent]
        except Exception as error:  # whatever a tool says of a model it does not know
            refused[name] = "no"
            said = " ".join(str(error).split("\n")[0].split())
            reasons.setdefault(name, {}).setdefault(f"{type(error).__name__}: {said[:120]}", set()).add(case.name)
    truth = kernels.get("torch.func")
    wrong = {name for name, K in kernels.items() if truth is not None and not apart(K, truth) <= 1e-3}
    if "ours" in wrong or "ours" not in kernels:
        raise RuntimeError(f"no kernel of {case.name} to compare: {refused.get('ours', 'it differs from torch.func')}")
    refused |= dict.fromkeys(wrong, "no")
    for name in wrong:
        told = "gives another kernel"
        reasons.setdefault(name, {}).setdefault(told, set()).add(case.name)
    rounds = 7 if n * size < 1e6 else 3
    for name in ("ours", "torch.func") * rounds:
        if name in times:
            times[name].append(cpu_seconds(ways[name])[0])
    # The first call of each looks things up that later ones find; peers that are slow have no other.
    middle = {name: float(np.median(spent[1:] or spent)) for name, spent in times.items() if name not in wrong}
    unseen = [copy.deepcopy(model) for _ in range(rounds)]
    first = float(np.median([cpu_seconds(functools.partial(ntk, new, x))[0] for new in unseen]))
    held = {name: peak(ways[name]) for name in ("ours", "torch.func") if name in middle}
    least = least_seconds(model, x)
    row = {"model": case.name, "inputs": str(n), "ours, s": f"{middle['ours']:.3g}"}
    for name in PEERS:
        row[name] = f"{middle[name] / middle['ours']:.2f}×" if name in middle else refused[name]
    them = middle.get("torch.func")
    bound = them / sum(least) if them else float("nan")
    row["of a first call"] = f"{them / first:.2f}×" if them else "–"
    bar = min(3.0, 0.7 * bound) if any(part in case.name for part in CONVOLUTIONAL) else 1.0
    row |= {
        "bar": "–" if not them else f"≥ {bar:.2g} {'✓' if them / middle['ours'] >= bar else '✗'}",
        "bound": "–" if not them else f"{bound:.1f}×",
        "its parts, ms": " + ".join(f"{1e3 * part:.2g}" if part < 0.1 else f"{1e3 * part:.0f}" for part in least),
        "gap": "–" if truth is None else f"{apart(kernels['ours'], truth):.0e}",
        "memory, MB": f"{held['ours'] / 1e6:.0f}",
        "torch.func's": "–" if not them else f"{held['torch.func'] / 1e6:.0f}",
    }
    return row


def truncation_row(case: Case) -> dict[str, str]:
    """A model cut to half of its convolutions' parameters: singular values here, Tucker's form by tensorly-torch."""
    torch.manual_seed(0)
    model, x = case.make().eval(), case.inputs()
    count = lambda net: sum(p.numel() for p in net.parameters())  # noqa: E731
    with torch.no_grad():
        reference = outputs(model(x))
    theirs_seconds, theirs = cpu_seconds(lambda: by_tensorly(copy.deepcopy(model)))
    seconds, (ours, _) = cpu_seconds(lambda: truncate(model, parameters=0.5))
    found = {
        "truncation, random weights": case.name,
        "seconds": f"{seconds:.1f}",
        "share of parameters": f"{count(ours) / count(model):.0%}",
        "outputs moved": f"{moved(ours, x, reference):.0%}",
    }
    if theirs is None:
        return found | {"tensorly-torch": "no: every convolution has groups, or one pixel"}
    return found | {
        "tensorly-torch": f"{theirs_seconds:.1f} s, {count(theirs) / count(model):.0%}, "
        f"{moved(theirs, x, reference):.0%} moved"
    }


def moved(model: nn.Module, x: Tensor, reference: Tensor) -> float:
    """By how much outputs differ from those of reference."""
    with torch.no_grad():
        return gap(outputs(model(x)), reference)


def by_tensorly(model: nn.Module) -> nn.Module | None:
    """The model with Tucker's form of each convolution that tensorly-torch can write so; None if there is none."""
    tltorch: Any = importlib.import_module("tltorch")
    places = [
        (name, layer)
        for name, layer in model.named_modules()
        if isinstance(layer, nn.Conv2d) and layer.kernel_size != (1, 1) and layer.in_channels > 3 and layer.groups == 1
    ]
    for name, layer in places:
        path, _, last = name.rpartition(".")
        factored = tltorch.FactorizedConv.from_conv(
            layer, rank=0.5, factorization="tucker", implementation="factorized", decompose_weights=True
        )
        setattr(model.get_submodule(path), last, factored)
    return model.eval() if places else None


def table(rows: list[dict[str, str]]) -> str:
    """Rows as Markdown."""
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "| " + " | ".join("---" for _ in names) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row[name] for name in names) + " |" for row in rows]) + "\n"


HEAD = """# Kernels and truncations beside other tools

Written by `python -m benchmarks.peers`, on the models of {doc}`models`: random weights, single precision, one core. Each
line is one run, in which all tools take turns; columns with a × say how many times as long another tool takes as
`lineament.torch.ntk`. Seconds are of the processor. Memory is the most that PyTorch's allocator held at once; ours is
asked to stay within 256 MB (`memory=2**28`, the default). The first call of each tool is not counted: ours checks its
derivatives against autograd then, and not again while the model runs the same functions on inputs of the same shape.
"Of a first call" is torch.func's time over that of our call on a model never seen before, the median of several copies.

The bound is by how much any exact kernel could beat torch.func: it must run the model once, take the derivatives of all
outputs by what the layers give, down to the first, and multiply the layers' Jacobians by the cheaper of two routes. The
three parts are measured in the same run, the derivatives by the cheapest of three ways (one pass for each output, a
batched one, inputs repeated for each output), in PyTorch's own functions or in those that our kernel puts in their place.
The bar is one; for convolutional networks three, or 70 % of the bound where that is less. Gap is the relative distance
from torch.func's kernel, the median over inputs (rounding may move a unit of one input across the kink of its
activation). "No" is what a tool says to a model that it does not know, with the reason below the table; those that take
far longer than the others are asked for few inputs, once. Ratios of the shortest lines vary by a tenth or two from run
to run, and more where the machine has other work.

"""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="model", help="models to run; default: all")
    parser.add_argument("--out", type=Path, default=PAGE)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    known = {case.name: case for case in cases()}
    rows: list[dict[str, str]] = []
    reasons: Reasons = {}
    rest = on_gpu(asked.out)
    for name in asked.names or known:
        more = kernel_rows(known[name], reasons)
        rows += more
        print(*more, sep="\n", flush=True)
        asked.out.write_text(HEAD + table(rows) + said(reasons) + rest, encoding="utf-8")
    cut = [truncation_row(known[name]) for name in asked.names or known if any(part in name for part in CONVOLUTIONAL)]
    print(*cut, sep="\n")
    asked.out.write_text(HEAD + table(rows) + said(reasons) + (table(cut) if cut else "") + rest, encoding="utf-8")


def on_gpu(page: Path) -> str:
    """What the page says of a GPU, which is measured elsewhere (`benchmarks.device`) and stays as it is."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    return "\n" + text[text.index(GPU) :] if GPU in text else ""


def said(reasons: Reasons) -> str:
    """Why tools did not take models."""
    lines = [
        f"- {tool}, of {', '.join(sorted(models))}: {reason.replace('|', '/').rstrip('.')}."
        for tool, each in sorted(reasons.items())
        for reason, models in each.items()
    ]
    return "\n" + "\n".join(lines) + "\n\n" if lines else "\n"


if __name__ == "__main__":
    main()
