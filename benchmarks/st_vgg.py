"""Ten st-VGG networks on images of 32×32×3, batch 100: one program, against ten networks in eager PyTorch in turn."""

import time
from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from lineament import models, starts, train
from lineament.core import ensembles
from lineament.core.precision import Precision, products
from lineament.train.epochs import Watched

from .harness import Row, compare, wall_seconds

MEMBERS, EXAMPLES, BATCH, CLASSES = 10, 2500, 100, 5
NET = models.st_vgg(CLASSES, dropout=False)
FLOPS = 2.7e8  # of one image, forwards and backwards: three times two operations for each of 45 million products
PRECISIONS: tuple[Precision, ...] = ("tf32", "bf16", "float32")


def _ours(X: np.ndarray, y: np.ndarray, steps: int, precision: Precision = "tf32") -> Callable[[], object]:
    problem = Watched(jnp.asarray(X), jnp.asarray(y), CLASSES)
    begin = start(0)
    return lambda: train.descend(
        NET,
        problem,
        begin,
        step_size=0.01,
        steps=steps,
        at=[steps],
        batch_size=BATCH,
        key=jax.random.key(1),
        precision=precision,
    )


def start(seed: int) -> ensembles.Ensemble:
    """The parameters to begin with, of all networks."""
    keys = jax.random.split(jax.random.key(seed), MEMBERS)
    return ensembles.ensemble(lambda key: starts.glorot(NET, key, dtype=jnp.float32), keys)


def eager(X: np.ndarray, y: np.ndarray, steps: int, bf16: bool = False) -> Callable[[], object]:
    """What one writes first in PyTorch: `Sequential`, SGD, a loop over steps and networks. The data are on the device."""
    import torch
    from torch import nn

    device = "cuda" if torch.cuda.is_available() else "cpu"

    def network() -> nn.Module:
        layers, channels = [], 3
        for layer, (filters, kernel) in enumerate(zip(NET.filters, NET.sides, strict=True)):
            layers += [nn.Conv2d(channels, filters, kernel, padding="same"), nn.ELU()]
            layers += [nn.MaxPool2d(2)] if layer in NET.pooled else []
            channels = filters
        head = [nn.Flatten(), nn.Linear(NET.features, NET.dense[0]), nn.ELU(), nn.Linear(NET.dense[0], NET.dense[1])]
        return nn.Sequential(*layers, *head).to(device)

    images = torch.from_numpy(X.reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2).copy()).to(device)
    labels = torch.from_numpy(y).to(device)
    networks = [network() for _ in range(MEMBERS)]
    optimisers = [torch.optim.SGD(each.parameters(), lr=0.01) for each in networks]

    def run() -> None:
        for _ in range(steps):
            for each, optimiser in zip(networks, optimisers, strict=True):
                batch = torch.randint(EXAMPLES, (BATCH,), device=device)
                optimiser.zero_grad()
                with torch.autocast(device, torch.bfloat16, enabled=bf16):
                    loss = nn.functional.cross_entropy(each(images[batch]), labels[batch])
                loss.backward()
                optimiser.step()
        if device == "cuda":
            torch.cuda.synchronize()

    run()
    return run


def matmul_rate(size: int = 8192, times: int = 20, precision: Precision = "tf32") -> float:
    """Operations per second of large float32 products at the precision given."""
    A = jnp.ones((size, size), jnp.float32)
    with products(precision):
        many = jax.jit(lambda A: jax.lax.fori_loop(0, times, lambda _, B: (B @ A) / size, A))
        many(A).block_until_ready()
        begun = time.perf_counter()
        many(A).block_until_ready()
    return times * 2 * size**3 / (time.perf_counter() - begun)


def rows() -> list[Row]:
    """Images per second of wall-clock time; on a GPU at least 4 times PyTorch, on a CPU at least two thirds of it."""
    on_gpu = jax.default_backend() == "gpu"
    steps = 200 if on_gpu else 6  # beside fewer, looking at the loss at both ends would count
    rng = np.random.default_rng(0)
    X = rng.normal(size=(EXAMPLES, 3072)).astype(np.float32)
    y = rng.integers(CLASSES, size=EXAMPLES)
    images = float(MEMBERS * BATCH * steps)
    found = []
    for precision in PRECISIONS[:2] if on_gpu else PRECISIONS[:1]:
        row = compare(
            f"{MEMBERS} st-VGG networks, batch {BATCH}, on {jax.devices()[0].device_kind}",
            (f"train.descend in {precision}" if on_gpu else "train.descend", _ours(X, y, steps, precision), images),
            ("eager PyTorch" + ", autocast" * (precision == "bf16"), eager(X, y, steps, precision == "bf16"), images),
            bar=4.0 if on_gpu else 1 / 1.5, unit="images", repeats=3 if on_gpu else 2, seconds=wall_seconds,
        )  # fmt: skip
        rate = matmul_rate(precision=precision) if on_gpu else matmul_rate(2048, 5)
        share = f"{row.ours_per_second * FLOPS / rate:.0%} of the device's rate on large products of that precision"
        found.append(replace(row, note=f"wall-clock time; {share}; {row.note}"))
    return found
