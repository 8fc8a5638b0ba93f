"""Figure 1 of Hu et al. (2020): a network and its linear twin, here and as a loop that steps both in PyTorch.

d = 50, 20,000 examples, labels by the sign of an erf teacher of width 5, 256 erf neurons in mirrored pairs, both layers
trained by full-batch descent at the step of full size in `hu-f1`; outputs of both are looked at at every step.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from lineament.claims.hu import setting
from lineament.theory import twin

from .harness import Row, compare

D, EXAMPLES, FRESH, WIDTH, ETA, STEPS = 50, 20_000, 2000, 256, 0.2, 20
torch.set_num_threads(1)


def _torch_loop(task: setting.Task) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    """Eqs. 1 and 6 stepped side by side: autograd for the network, the residual on all examples for the twin."""
    X, y, fresh = (torch.from_numpy(a.astype(np.float32)) for a in (task.X, task.y, task.fresh))
    features = twin.feature_map("erf", spread=task.spread)
    psi = torch.from_numpy(features(np.concatenate([task.X, task.fresh])).astype(np.float32))

    def run() -> tuple[np.ndarray, np.ndarray]:
        w, v = setting.mirrored_start(np.random.default_rng(1), D, WIDTH)
        W = torch.from_numpy(np.concatenate([w, w]).astype(np.float32)).requires_grad_()
        V = torch.from_numpy(np.concatenate([v, -v], axis=1).astype(np.float32)).requires_grad_()
        weights = torch.zeros(psi.shape[1])
        optimiser, looks = torch.optim.SGD([W, V], lr=ETA), []
        net = lambda x: (torch.erf(x @ W.T / D**0.5) @ V.T / WIDTH**0.5)[:, 0]  # noqa: E731
        for step in range(STEPS + 1):
            outputs, linear = net(X), psi @ weights
            with torch.no_grad():
                looks.append((torch.cat([outputs, net(fresh)]).numpy(), linear.numpy()))
            if step < STEPS:
                optimiser.zero_grad()
                (torch.sum((outputs - y) ** 2) / (2 * EXAMPLES)).backward()
                optimiser.step()
                weights = weights - ETA / EXAMPLES * (psi[:EXAMPLES].T @ (linear[:EXAMPLES] - y))
        return np.stack([a for a, _ in looks]), np.stack([b for _, b in looks])

    return run


def rows() -> list[Row]:
    """Steps per CPU second, one thread each."""
    task = setting.task(np.random.default_rng(0), D, EXAMPLES, FRESH)

    def ours() -> tuple[np.ndarray, np.ndarray]:
        followed = setting.follow(
            np.random.default_rng(1), [(task, WIDTH)], activation="erf", first=ETA, second=ETA, at=np.arange(STEPS + 1)
        )[0]
        linear = np.concatenate([followed.twin.predict(followed.steps, x) for x in (task.X, task.fresh)], axis=1)
        return np.concatenate([followed.network, followed.network_fresh], axis=1), linear

    loop = _torch_loop(task)
    theirs = loop()
    row = compare(
        f"hu-f1, {WIDTH} erf neurons and the twin, d = {D}, n = {EXAMPLES:,}",
        ("network by descend, twin from its moments", ours, float(STEPS)),
        ("PyTorch loop", loop, float(STEPS)),
        repeats=3,
    )
    gaps = [float(np.max(np.abs(a - b))) for a, b in zip(ours(), theirs, strict=True)]
    if max(gaps) > 1e-3:
        raise RuntimeError(f"outputs of network and twin differ by {gaps}: nothing to compare")
    return [replace(row, note=f"outputs of networks agree to {gaps[0]:.0e}, of twins to {gaps[1]:.0e}; {row.note}")]
