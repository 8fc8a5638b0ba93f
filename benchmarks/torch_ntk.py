"""The tangent kernel of a small MNIST CNN: peak memory for 2000 inputs, and speed against contracting whole Jacobians."""

import functools
import json
import subprocess
import sys
import time

from .harness import Row, compare

INPUTS, FEW, LIMIT = 2000, 100, 2 * 2**30


def cnn():
    """Two convolutions and two dense layers, 80,202 parameters, as one would train on MNIST."""
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 10),
    ).eval()  # fmt: skip


def images(n: int):
    import torch

    return torch.rand(n, 1, 28, 28, generator=torch.Generator().manual_seed(0))


def child(outputs: str) -> None:
    """In a process of its own: the kernel, then seconds and peak bytes on the last line."""
    import resource

    import torch

    from lineament.torch import ntk

    torch.manual_seed(0)
    torch.set_num_threads(1)  # threads that wait for each other would count as work
    model, x = cnn(), images(INPUTS)
    begun, wall = time.process_time(), time.perf_counter()
    kernel = ntk(model, x, outputs=outputs)  # type: ignore[arg-type]
    spent = time.process_time() - begun, time.perf_counter() - wall
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if not torch.allclose(kernel[5, 1500], kernel[1500, 5].mT if outputs == "all" else kernel[1500, 5]):
        raise RuntimeError("the kernel is not symmetric: nothing to measure")
    print(json.dumps({"cpu": spent[0], "wall": spent[1], "peak": peak}))


def _memory(outputs: str, what: str) -> Row:
    command = [sys.executable, "-c", f"from benchmarks.torch_ntk import child; child({outputs!r})"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    ratio, rate = LIMIT / found["peak"], INPUTS**2 / found["cpu"]
    note = f"peak {found['peak'] / 2**30:.2f} GiB of the process, {found['cpu']:.0f} CPU s, {found['wall']:.0f} s"
    return Row(
        f"NTK of {INPUTS} inputs, {what}", "torch.ntk", "a limit of 2 GiB", ratio, ratio, ratio, 1.0, "entries", rate,
        rate, note,
    )  # fmt: skip


def _jacobians(model, x):
    """What one would otherwise do: Jacobians of all examples by vmap and jacrev, contracted parameter by parameter."""
    import torch
    from torch.func import functional_call, jacrev, vmap

    held = {name: parameter.detach() for name, parameter in model.named_parameters()}
    single = lambda parameters, one: functional_call(model, parameters, (one[None],))[0]  # noqa: E731
    rows = vmap(jacrev(single), (None, 0))(held, x)
    return functools.reduce(
        torch.add, (torch.einsum("xcp,ydp->xycd", J.flatten(2), J.flatten(2)) for J in rows.values())
    )


def attention(vocabulary: int):
    """A transformer over tokens, or over patches of an image if there is no vocabulary, with positions of its own."""
    import torch
    from torch import nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            width = 32 if vocabulary else 96
            self.embed = nn.Embedding(vocabulary, width) if vocabulary else nn.Conv2d(3, width, 8, 8)
            self.places = nn.Parameter(0.02 * torch.randn(12 if vocabulary else 16, width))
            layer = nn.TransformerEncoderLayer(width, 4, 2 * width, 0.0, batch_first=True)
            self.body = nn.TransformerEncoder(layer, 2 if vocabulary else 4, enable_nested_tensor=False)
            self.head = nn.Linear(width, 5)

        def forward(self, x):
            x = self.embed(x)
            x = x if vocabulary else x.flatten(2).mT
            return self.head(self.body(x + self.places).mean(1))

    return Reader().eval()


def _attending() -> list[Row]:
    """Models of attention, where nothing but the order of the products can be saved."""
    import torch

    from lineament.torch import ntk

    cases = {
        "tokens": (attention(50), torch.randint(50, (64, 12))),
        "patches": (attention(0), torch.randn(24, 3, 32, 32)),
    }
    found = []
    for name, (model, x) in cases.items():
        gap = float((ntk(model, x) - _jacobians(model, x)).norm() / _jacobians(model, x).norm())
        found.append(compare(
            f"NTK of {len(x)} inputs, attention over {name}", ("torch.ntk", lambda m=model, x=x: ntk(m, x), len(x) ** 2),
            ("vmap of jacrev, whole Jacobians", lambda m=model, x=x: _jacobians(m, x), len(x) ** 2), bar=1.0,
            unit="entries", repeats=5, note=f"gap {gap:.0e}",
        ))  # fmt: skip
    return found


def rows() -> list[Row]:
    """Peak memory for all outputs and for their mean; speed on inputs few enough for whole Jacobians."""
    import torch

    from lineament.torch import ntk

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, x = cnn(), images(FEW)
    ours, truth = ntk(model, x), _jacobians(model, x)
    gap = float((ours - truth).norm() / truth.norm())
    if gap > 1e-4:
        raise RuntimeError(f"torch.ntk and whole Jacobians differ by {gap:.1e}: nothing to compare")
    speed = compare(
        f"NTK of {FEW} inputs, all outputs", ("torch.ntk", lambda: ntk(model, x), FEW**2),
        ("vmap of jacrev, whole Jacobians", lambda: _jacobians(model, x), FEW**2), unit="entries", repeats=3,
        note=f"gap {gap:.0e}",
    )  # fmt: skip
    return [_memory("mean", "mean over outputs"), _memory("all", "10 × 10 outputs"), speed, *_attending()]
