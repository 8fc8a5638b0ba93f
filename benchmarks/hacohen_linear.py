"""Ten linear networks of Hacohen & Weinshall (2022) on images, as one program and as a plain PyTorch loop.

Figure 10 and Appendix D.2: two layers, 1024 hidden units, Glorot's uniform start, dropout 0.5 before the output, batches
of 100, plain SGD. The images are drawn here, of the size and with the falling spectrum of CIFAR's: time asks no more.
"""

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

import lineament as la
from lineament.train.epochs import Watched

from .harness import Row, compare

PIXELS, HIDDEN, CLASSES, EXAMPLES, BATCH, MEMBERS, ETA, STEPS = 3072, 1024, 2, 2500, 100, 10, 5e-4, 25


def _images() -> tuple[np.ndarray, np.ndarray]:
    """Two classes told apart along a large component and along small ones; a component's deviation falls as 1/j."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(EXAMPLES, PIXELS)) * (28 / np.arange(1, PIXELS + 1))  # 28² ≈ CIFAR's top eigenvalue
    return scores.astype(np.float32), (scores[:, 1] + scores[:, 30:60].sum(axis=1) > 0).astype(np.int64)


def _losses(logits: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The mean cross-entropy of each member from its outputs (member, example, class)."""
    shifted = logits - logits.max(axis=2, keepdims=True)
    chosen = np.take_along_axis(shifted, y[None, :, None], axis=2)[..., 0]
    return np.mean(np.log(np.exp(shifted).sum(axis=2)) - chosen, axis=1)


def _torch_loop(X: np.ndarray, y: np.ndarray) -> Callable[[], np.ndarray]:
    """What one writes first: a loop over networks, over epochs and batches; the last losses without dropout."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    images, labels = torch.from_numpy(X), torch.from_numpy(y)

    def run() -> np.ndarray:
        torch.manual_seed(0)
        outputs = []
        for _ in range(MEMBERS):
            first, last = nn.Linear(PIXELS, HIDDEN), nn.Linear(HIDDEN, CLASSES)
            net = nn.Sequential(first, nn.Dropout(0.5), last)
            for layer in (first, last):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)
            optimiser = torch.optim.SGD(net.parameters(), lr=ETA)
            for batch in torch.randperm(EXAMPLES)[: STEPS * BATCH].split(BATCH):
                optimiser.zero_grad()
                nn.functional.cross_entropy(net(images[batch]), labels[batch]).backward()
                optimiser.step()
            with torch.no_grad():
                outputs.append(net.eval()(images).numpy())
        return _losses(np.stack(outputs), y)

    return run


def rows() -> list[Row]:
    """Network-steps per CPU second over one epoch, one thread each; both end at the same mean loss."""
    X, y = _images()
    model = la.models.MLP((PIXELS, HIDDEN, CLASSES), "linear", "standard", True, 0.5)
    problem = Watched(jnp.asarray(X), jnp.asarray(y), CLASSES)
    draw = lambda key: la.starts.glorot(model, key, dtype=jnp.float32)  # noqa: E731
    start = la.ensemble(draw, jax.random.split(jax.random.key(0), MEMBERS))
    outputs = la.Record("outputs", lambda model, problem, p: model.apply(p, problem.inputs), ("example", "class"))

    def ours() -> np.ndarray:
        run = la.descend(
            model, problem, start, step_size=ETA, steps=STEPS, at=[STEPS], record=(outputs,), batch_size=BATCH, key=1
        )
        return _losses(run.outputs.values[:, -1], y)

    loop = _torch_loop(X, y)
    theirs, work = loop(), float(MEMBERS * STEPS)
    row = compare(
        f"{MEMBERS} linear networks {PIXELS}–{HIDDEN}–{CLASSES} with dropout, batch {BATCH}",
        ("descend, all at once", ours, work),
        ("PyTorch loop", loop, work),
        unit="network-steps",
        repeats=3,
    )
    ends = ours()
    apart = float((ends.mean() - theirs.mean()) / np.sqrt((ends.var(ddof=1) + theirs.var(ddof=1)) / MEMBERS))
    if abs(apart) > 4:
        raise RuntimeError(f"mean losses differ by {apart:.1f} standard errors: nothing to compare")
    note = f"mean losses {ends.mean():.3f} and {theirs.mean():.3f}, {abs(apart):.1f} standard errors apart; {row.note}"
    return [replace(row, note=note)]
