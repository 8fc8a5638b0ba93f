"""(a) A hundred depth-3 linear networks by full-batch descent, against PyTorch."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import torch

import lineament as la

from .harness import Row, compare

MEMBERS, DEPTH, EXAMPLES = 100, 3, 500
torch.set_num_threads(1)  # such small products gain nothing from a second thread, and its idle spinning would count


def _data(d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(EXAMPLES, d)).astype(np.float32)
    return X, (X @ rng.normal(size=(d, d)) / np.sqrt(d)).astype(np.float32)


def _ours(d: int, steps: int) -> Callable[[], object]:
    X, Y = _data(d)
    net, problem = la.models.DeepLinear((d,) * (DEPTH + 1)), la.problems.regression(X, Y)
    start = la.ensemble(
        lambda key: la.starts.gaussian(net, key, start_scale=0.1), jax.random.split(jax.random.key(0), MEMBERS)
    )
    start = la.Ensemble(jax.tree.map(lambda leaf: leaf.astype(jnp.float32), start.stacked))
    return lambda: la.descend(net, problem, start, step_size=1e-2, steps=steps, at=[0, steps])


def _torch_layers(d: int, members: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [0.1 ** (1 / DEPTH) / d**0.5 * torch.randn(members, d, d, generator=generator) for _ in range(DEPTH)]


def _torch_loop(d: int, steps: int, members: int) -> Callable[[], object]:
    """What one would write: a loop over networks, a loop over steps, autograd on the data."""
    X, Y = map(torch.from_numpy, _data(d))

    def run() -> None:
        for member in range(members):
            layers = [layer[member].clone().requires_grad_() for layer in _torch_layers(d, members)]
            optimiser = torch.optim.SGD(layers, lr=1e-2)
            for _ in range(steps):
                optimiser.zero_grad()
                output = X
                for layer in layers:
                    output = output @ layer.T
                (0.5 * (output - Y).square().sum(1).mean()).backward()
                optimiser.step()

    return run


def _torch_vmap(d: int, steps: int, moments: bool) -> Callable[[], object]:
    """All networks at once by torch.func, on the data or, as ours does, on second moments."""
    X, Y = map(torch.from_numpy, _data(d))
    sxx, best = X.T @ X / EXAMPLES, torch.linalg.lstsq(X, Y).solution.T

    def loss(layers: list[torch.Tensor]) -> torch.Tensor:
        if moments:
            product = layers[0]
            for layer in layers[1:]:
                product = layer @ product
            error = product - best
            return 0.5 * ((error @ sxx) * error).sum()
        output = X
        for layer in layers:
            output = output @ layer.T
        return 0.5 * (output - Y).square().sum(1).mean()

    gradient = torch.func.vmap(torch.func.grad(loss))

    def run() -> None:
        layers = _torch_layers(d, MEMBERS)
        for _ in range(steps):
            layers = [layer - 1e-2 * g for layer, g in zip(layers, gradient(layers), strict=True)]

    return run


def rows() -> list[Row]:
    """Network-steps per CPU second at widths 10 and 50."""
    found = []
    for d, ours_steps, loop_bar in ((10, 4000, 10.0), (50, 400, 4.0)):
        ours = ("descend, ensemble of 100", _ours(d, ours_steps), float(MEMBERS * ours_steps))
        loop, few = 200, 4
        found.append(compare(f"descent, d = {d}", ours, ("PyTorch loop", _torch_loop(d, loop, few), float(few * loop)),
                             bar=loop_bar, unit="network-steps"))  # fmt: skip
        for moments, name in ((False, "torch.func.vmap"), (True, "torch.func.vmap on moments")):
            bar = 3.0 if d == 10 and not moments else None
            other = (name, _torch_vmap(d, 40, moments), float(MEMBERS * 40))
            found.append(compare(f"descent, d = {d}", ours, other, bar=bar, unit="network-steps"))
    return found
