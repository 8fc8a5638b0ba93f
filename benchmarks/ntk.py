"""The empirical tangent kernel of a 4-layer CNN on 8×8×3 images, against whole Jacobians in JAX and in PyTorch."""

import functools
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np

from lineament import starts
from lineament.measure import kernels
from lineament.models import ConvNet

from .harness import Row, compare, cpu_seconds

CHANNELS, EXAMPLES, BAR, LIMIT = 64, 1000, 3.0, 2.0
NET = ConvNet((8, 8, 3), (CHANNELS,) * 4)


def _case() -> tuple:
    # Images on the sphere ‖x‖² = d, single precision, as networks on images are trained.
    X = np.random.default_rng(0).normal(size=(EXAMPLES, NET.shape[1])).astype(np.float32)
    X *= (NET.shape[1] / (X**2).sum(axis=1, keepdims=True)) ** 0.5
    return starts.gaussian(NET, 0, deviation=1.0, dtype=jnp.float32), jnp.asarray(X)


def _layer_by_layer() -> Callable[[], np.ndarray]:
    params, X = _case()
    return lambda: kernels.empirical(NET, params, X)


def _whole_jacobian() -> Callable[[], np.ndarray]:
    """`vmap(jacrev)` and one einsum for each layer, compiled as one program."""
    params, X = _case()

    def kernel(params, X):
        J = jax.vmap(jax.jacrev(lambda p, x: NET.apply(p, x[None])[0]), (None, 0))(params, X)
        return sum(jnp.einsum("nkab,mlab->nmkl", leaf, leaf) for leaf in J.layers)

    compiled = jax.jit(kernel)
    return lambda: np.asarray(compiled(params, X))[:, :, 0, 0]


def _torch_func() -> Callable[[], np.ndarray]:
    """The recipe of PyTorch's documentation: `vmap(jacrev(functional_call))`, then einsum."""
    import torch
    from torch.func import functional_call, jacrev, vmap

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            channels = (3, *NET.filters)
            self.convolutions = torch.nn.ModuleList(
                torch.nn.Conv2d(a, b, 3, padding="same", bias=False) for a, b in pairwise(channels)
            )
            self.readout = torch.nn.Linear(64 * CHANNELS, 1, bias=False)

        def forward(self, x):
            for convolution in self.convolutions:
                x = torch.erf(convolution(x) / (9 * x.shape[1]) ** 0.5)
            return self.readout(x.permute(0, 2, 3, 1).flatten(1)) / (64 * CHANNELS) ** 0.5

    params, X = _case()
    net = Net()
    weights = dict(net.named_parameters())
    with torch.no_grad():
        for weight, W in zip(weights.values(), params.layers, strict=True):
            matrix = torch.from_numpy(np.array(W))
            if weight.ndim == 4:
                matrix = matrix.reshape(W.shape[0], 3, 3, -1).permute(0, 3, 1, 2)
            weight.copy_(matrix)
    detached = {name: weight.detach() for name, weight in weights.items()}
    images = torch.from_numpy(np.array(X)).reshape(-1, 8, 8, 3).permute(0, 3, 1, 2)
    jacobian = vmap(jacrev(lambda w, x: functional_call(net, w, (x[None],))[0]), (None, 0))

    def kernel() -> np.ndarray:
        J = [leaf.flatten(2) for leaf in jacobian(detached, images).values()]
        whole = functools.reduce(torch.add, (torch.einsum("nkp,mlp->nmkl", leaf, leaf) for leaf in J))
        return whole[:, :, 0, 0].numpy()

    return kernel


ROUTES = {"layers": _layer_by_layer, "jacrev": _whole_jacobian, "torch": _torch_func}


def peak(route: str) -> float:
    """GiB that a process of its own holds at most while it computes the kernel once by the given route."""
    program = f"from benchmarks import ntk; import resource; ntk.ROUTES[{route!r}]()(); "
    program += "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return float(found.stdout)


def least_seconds() -> float:
    """CPU seconds of the products of the layers' Jacobians with themselves, symmetry used: no exact route is faster."""
    sizes = [rows * columns for rows, columns in NET.layer_shapes if rows > 1]
    G = np.random.default_rng(0).normal(size=(EXAMPLES, max(sizes))).astype(np.float32)
    _ = G @ G.T  # the first product also starts the threads
    return sum(cpu_seconds(lambda size=size: G[:, :size] @ G[:, :size].T) for size in sizes)


def rows() -> list[Row]:
    """Kernels of 1000 images per CPU second, and the peak memory of each route."""
    found, ours, least = [], _layer_by_layer(), least_seconds()
    reference, held = ours(), peak("layers")
    for route, name, bar in (("jacrev", "vmap(jacrev) + einsum", BAR), ("torch", "torch.func jacrev + vmap", None)):
        other = ROUTES[route]()
        gap = np.abs(other() - reference).max() / np.abs(reference).max()
        if gap > 1e-4:
            raise RuntimeError(f"{name} and kernels.empirical differ by {gap:.1e}: nothing to compare")
        note = (
            f"gap {gap:.0e}; peak {held:.2f} GiB (limit {LIMIT:g} {'✓' if held <= LIMIT else '✗'}) "
            f"against {peak(route):.2f} GiB"
        )
        row = compare(
            f"tangent kernel, n = {EXAMPLES}, CNN of 4 × {CHANNELS} channels",
            ("layer by layer", ours, 1.0),
            (name, other, 1.0),
            bar=bar,
            unit="kernels",
            repeats=3,
            note=note,
        )
        bound = f"no exact kernel could be more than {1 / row.other_per_second / least:.1f} times as fast"
        found.append(replace(row, note=f"{row.note}; {bound}"))
    return found
