"""All that `lineament.torch` does, tried and timed on one device: `python -m benchmarks.device --device cuda --out FILE`.

Models of a size that people train, random weights. In single precision `expand`, `collapse` and `ntk` must give what the
model gives, to 1e-5; in half precision what the type can hold: the bar is how far the model's own outputs go when nothing
but their type changes. `truncate` is given data, and a `Recorder` must leave model and random numbers as they were.
Kernels are timed against torch.func in turn: the median of several rounds, the device's clock waited for, and the most
memory that the allocator handed out meanwhile. A model that fails is told with its traceback, and the next one follows.
"""

import argparse
import copy
import gc
import json
import platform
import statistics
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from lineament.torch import Recorder, collapse, expand, ntk, truncate
from lineament.torch.precision import differentiable

from .models import gap, installed, outputs
from .peers import by_torch_func, table

HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}
BAR = 1e-5
LOST = 0.5  # own rounding of a model whose outputs a type cannot hold: there is nothing to compare


class Case(NamedTuple):
    """A model, how many inputs it gets, and some of them."""

    name: str
    make: Callable[[], nn.Module]
    inputs: Callable[[int], Tensor]
    examples: int


class Sequences(nn.Module):
    """An LSTM of two layers with a head."""

    def __init__(self, wide: int) -> None:
        super().__init__()
        self.cells, self.head = nn.LSTM(wide, 2 * wide, 2, batch_first=True), nn.Linear(2 * wide, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (example, class)."""
        return self.head(self.cells(x)[0][:, -1])


def cases(tiny: bool) -> list[Case]:
    """Every model that can be built here; tiny ones to see that all of this runs."""
    n, side = (4, 32) if tiny else (32, 64)
    pictures = lambda count: torch.randn(count, 3, side, side)  # noqa: E731
    tokens = lambda count: torch.randint(1, 100, (count, 8 if tiny else 64))  # noqa: E731
    wide, deep, heads = (16, 1, 2) if tiny else (256, 6, 4)
    found = []
    vision = installed("torchvision.models")
    if vision is not None:
        vit = {"image_size": side, "patch_size": 8, "num_layers": deep, "num_heads": heads, "hidden_dim": wide}
        makes: dict[str, Callable[[], nn.Module]] = {
            "ResNet-18": lambda: vision.resnet18(num_classes=10),
            "MobileNet-v2": lambda: vision.mobilenet_v2(num_classes=10),
            "MobileNet-v3": lambda: vision.mobilenet_v3_small(num_classes=10),
            "ViT": lambda: with_head(vision.VisionTransformer(**vit, mlp_dim=4 * wide, num_classes=10)),
        }
        found += [Case(name, make, pictures, n) for name, make in makes.items()]
    t = installed("transformers")
    if t is not None:
        some: dict[str, Any] = {"vocab_size": 100, "num_labels": 10}
        gpt = {"n_positions": 64, "n_embd": wide, "n_layer": deep, "n_head": heads}
        bert = {
            "hidden_size": wide, "num_hidden_layers": deep, "num_attention_heads": heads, "intermediate_size": 4 * wide,
            "max_position_embeddings": 64,
        }  # fmt: skip
        ends = dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"), 0)
        found += [
            Case("GPT-2", lambda: t.GPT2ForSequenceClassification(t.GPT2Config(**gpt, **some, **ends)), tokens, n),
            Case("BERT", lambda: t.BertForSequenceClassification(t.BertConfig(**bert, **some)), tokens, n),
        ]
    length = 8 if tiny else 16  # short, so that all models end in their time
    return [*found, Case("LSTM", lambda: Sequences(wide), lambda count: torch.randn(count, length, wide), 2 * n)]


def with_head(model: Any) -> nn.Module:
    """The model with a last layer that is not zero, as torchvision starts it: it would hide all the others."""
    nn.init.normal_(model.heads.head.weight, std=0.05)
    return model


def ask(model: nn.Module, x: Tensor) -> Tensor:
    """The outputs."""
    with torch.no_grad():
        return outputs(model(x))


def by_autograd(model: nn.Module, x: Tensor) -> Tensor:
    """The kernel from the gradients of single outputs, summed in double precision."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    with differentiable(model):
        values = outputs(model(x)).reshape(len(x), -1)
        rows = []
        for value in values.flatten():
            slopes = torch.autograd.grad(value, parameters, retain_graph=True, allow_unused=True)
            rows.append(torch.cat([s.flatten() for s in slopes if s is not None]).double())
    J = torch.stack(rows).reshape(*values.shape, -1)
    return torch.einsum("xip,yjp->xyij", J, J)


def same_after_recording(model: nn.Module, x: Tensor) -> bool:
    """Whether a recorder finds the model's outputs, and leaves its state and the random numbers as they were."""
    before, randomness = copy.deepcopy(model.state_dict()), states(x.device)
    recorder = Recorder(x, torch.arange(len(x)) % 10, forward=lambda m, x: outputs(m(x)))
    model.train()
    recorder(model, 0)
    recorder(model, 1)
    trained = all(module.training for module in model.modules())
    model.eval()
    now = model.state_dict()
    kept = all(torch.equal(value, now[name]) for name, value in before.items())
    alike = all(map(torch.equal, randomness, states(x.device)))
    recorded = recorder.recording.outputs
    if recorded is None:
        return False
    return trained and kept and alike and gap(torch.as_tensor(recorded[-1]), ask(model, x).float().cpu()) <= BAR


def states(device: torch.device) -> list[Tensor]:
    """The states of all random generators that a model on the device may use."""
    return [torch.get_rng_state(), *([torch.cuda.get_rng_state(device)] if device.type == "cuda" else [])]


def operations(case: Case, device: torch.device) -> dict[str, Any]:
    """What every operation does to the model: relative distances of its outputs."""
    torch.manual_seed(0)
    model, x = case.make().eval().to(device), case.inputs(4).to(device)
    reference = ask(model, x)
    seconds, (expanded, report) = timed(lambda: expand(model, 2), device)
    found: dict[str, Any] = {
        "model": case.name,
        "parameters": sum(p.numel() for p in model.parameters()),
        "layers expanded": f"{len(report.done)} of {len(report.done) + len(report.skipped)}",
        "expand, s": seconds,
        "expand": gap(ask(expanded, x), reference),
        "collapse": gap(ask(collapse(expanded), x), reference),
    }
    data = [case.inputs(8) for _ in range(2)]
    seconds, (small, cut) = timed(lambda: truncate(model, parameters=0.5, calibration=data, data=data), device)
    if cut.measured is None or cut.cost is None or cut.estimated_error is None:
        raise RuntimeError("truncate was given data and measured nothing")
    found |= {
        "truncate, s": seconds,
        "truncate": gap(ask(small, x), reference),
        "estimated": cut.estimated_error,
        "latency": cut.cost.seconds / cut.cost.truncated_seconds,
        "ntk": gap(ntk(model, x[:2]), by_autograd(model, x[:2])),
        "recorder": same_after_recording(model, x),
    }
    kernel = ntk(model, x)
    for name, dtype in HALVES.items():
        half, given = copy.deepcopy(model).to(dtype), x.to(dtype) if x.is_floating_point() else x
        own = ask(half, given)
        found |= {
            f"own rounding, {name}": gap(own, reference),
            f"expand, {name}": gap(ask(expand(half, 2)[0], given), own),
            f"ntk, {name}": gap(ntk(half, given), kernel),
        }
    return found


def passed(found: dict[str, Any]) -> list[str]:
    """What does not meet its bar, in words."""
    wrong = [name for name in ("expand", "collapse", "ntk") if not found[name] <= BAR]
    for name in HALVES:
        own = found[f"own rounding, {name}"]
        if own > LOST:  # outputs of MobileNets at their start are too small for float16
            continue
        wrong += [f"expand, {name}"] if not found[f"expand, {name}"] <= max(3 * own, 0.01) else []
    return wrong + ([] if found["recorder"] else ["recorder"])


def timed(work: Callable[[], Any], device: torch.device) -> tuple[float, Any]:
    """Seconds until the device has done it, and what was returned."""
    wait(device)
    begun = time.perf_counter()
    found = work()
    wait(device)
    return time.perf_counter() - begun, found


def wait(device: torch.device) -> None:
    """Until the device has done what it was told."""
    if device.type in ("cuda", "mps"):
        getattr(torch, device.type).synchronize()


def held(work: Callable[[], Any], device: torch.device) -> float:
    """The most bytes that the device handed out during a call, beyond those before; NaN where it does not say."""
    if device.type != "cuda":
        return float("nan")
    gc.collect()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    work()
    return float(torch.cuda.max_memory_allocated(device) - before)


def kernels(case: Case, device: torch.device, rounds: int = 5) -> dict[str, Any]:
    """Our kernel and that of torch.func, in turn."""
    torch.manual_seed(0)
    model, x = case.make().eval().to(device), case.inputs(case.examples).to(device)
    ways: dict[str, Callable[[], Tensor]] = {
        "ours": lambda: ntk(model, x, memory=2**32),
        "torch.func": lambda: by_torch_func(model, x),
    }
    found: dict[str, Any] = {"model": case.name, "inputs": len(x)}
    results, times = {}, {}
    with differentiable(model):  # torch.func would be refused a recurrent layer
        for name, way in ways.items():
            try:
                results[name], times[name] = way().detach(), []
            except Exception as error:  # whatever a tool says of a model it does not know
                found[f"{name} says"] = f"{type(error).__name__}: {str(error).splitlines()[0][:80]}"
                if name == "ours":
                    raise
        for name in [*times] * rounds:
            times[name].append(timed(ways[name], device)[0])
        for name, spent in times.items():
            found |= {f"{name}, s": statistics.median(spent), f"{name}, bytes": held(ways[name], device)}
    if "torch.func" in results:
        found["gap"] = gap(results["ours"], results["torch.func"])
        found["ratio"] = found["torch.func, s"] / found["ours, s"]
        found["memory"] = found["ours, bytes"] / found["torch.func, bytes"]
    return found


def described(device: torch.device) -> dict[str, str]:
    """The machine."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or device.type
    return {"device": name, "torch": torch.__version__, "python": platform.python_version()}


def cell(value: Any) -> str:
    """A value as it stands in a table."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def cells(rows: list[dict[str, Any]]) -> str:
    """Rows as Markdown, with a dash where one has nothing to say."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return table([{name: cell(row.get(name, "–")) for name in names} for row in rows]) if rows else ""


def main() -> None:
    """Run everything, print tables, and keep the numbers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.device", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="model", help="models to run; default: all")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="tiny models, to see that all of this runs")
    parser.add_argument("--seconds", type=float, default=150.0, help="begin no model after that")
    parser.add_argument("--out", type=Path, help="a JSON file for the numbers")
    asked = parser.parse_args()
    device, begun = torch.device(asked.device), time.perf_counter()
    warnings.simplefilter("ignore")
    # Both sides compute in full: convolutions would keep ten bits by default.
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    found: dict[str, Any] = {
        "machine": described(device),
        "operations": [],
        "kernels": [],
        "failed": [],
        "left out": [],
    }
    for case in cases(asked.tiny):
        for part, work in {"operations": operations, "kernels": kernels}.items():
            if asked.names and case.name not in asked.names:
                continue
            if time.perf_counter() - begun > asked.seconds:
                found["left out"].append(f"{case.name}, {part}")
                continue
            try:
                row = work(case, device)
                found[part].append(row)
                if part == "operations" and (wrong := passed(row)):
                    found["failed"].append(f"{case.name}: {', '.join(wrong)}")
                print(f"{time.perf_counter() - begun:.0f} s", row, flush=True)
            except Exception as error:  # the next model is asked all the same
                found["failed"].append(f"{case.name}, {part}: {type(error).__name__}")
                print(f"{case.name}, {part}:", traceback.format_exc(), flush=True)
            gc.collect()
            if asked.out is not None:
                asked.out.write_text(json.dumps(found, indent=1), encoding="utf-8")
    print(found["machine"], cells(found["operations"]), cells(found["kernels"]), sep="\n")
    print("failed:", found["failed"] or "nothing", "left out:", found["left out"] or "nothing")


if __name__ == "__main__":
    main()
