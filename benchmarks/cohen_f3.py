"""Figure 3 of Cohen & Razin's notes: deep matrix completion by one program, and by the authors' loop in PyTorch.

The authors' experiment (Arora et al. 2019b): 100×100 matrices of rank 5, 2000 entries seen, scaled identities, plain
descent on the mean squared error, ten singular values looked at every hundred steps.
"""

from collections.abc import Callable
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import torch

import lineament as la

from .harness import Row, compare

SIDE, RANK, SEEN, START, ETA = 100, 5, 2000, 1e-3, 0.1
STEPS = {2: 6000, 3: 9000}  # the first values have risen by then
EVERY = 100
torch.set_num_threads(1)


def _task() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(SIDE, RANK)) @ rng.normal(size=(RANK, SIDE))
    rows, columns = np.divmod(rng.permutation(SIDE * SIDE)[:SEEN], SIDE)
    return truth * SIDE / np.linalg.norm(truth), rows, columns


def _torch_loop(depth: int, truth: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> Callable[[], np.ndarray]:
    """What the authors wrote: factors multiplied in turn, autograd, SGD, singular values now and then."""
    values = torch.from_numpy(truth[rows, columns].astype(np.float32))
    i, j = torch.from_numpy(rows), torch.from_numpy(columns)

    def run() -> np.ndarray:
        factors = [(START ** (1 / depth) * torch.eye(SIDE)).requires_grad_() for _ in range(depth)]
        optimiser, looks = torch.optim.SGD(factors, lr=ETA), []
        for step in range(STEPS[depth] + 1):
            W = factors[0]
            for factor in factors[1:]:
                W = factor @ W
            if step % EVERY == 0:
                looks.append(torch.linalg.svdvals(W.detach())[:10].numpy())
            optimiser.zero_grad()
            torch.mean((W[i, j] - values) ** 2).backward()
            optimiser.step()
        return np.stack(looks)

    return run


def _compare(depth: int, truth: np.ndarray, i: np.ndarray, j: np.ndarray) -> Row:
    steps, model = STEPS[depth], la.models.DeepLinear((SIDE,) * (depth + 1))
    problem = la.problems.completion(i, j, jnp.asarray(truth[i, j], jnp.float32), (SIDE, SIDE))
    start = tuple(layer.astype(jnp.float32) for layer in la.starts.identity(model, START))
    # Twice the step: the authors' mean squared error has no half before it.
    settings = {"step_size": 2 * ETA, "steps": steps, "every": EVERY, "record": ("singular_values",)}
    ours = lambda: la.descend(model, problem, start, **settings).singular_values.values[:, :10]  # noqa: E731
    loop = _torch_loop(depth, truth, i, j)
    theirs = loop()
    row = compare(
        f"cohen-f3, completion of {SIDE}×{SIDE}, depth {depth}, {steps:,} steps",
        ("descend", ours, float(steps)),
        ("PyTorch loop", loop, float(steps)),
        repeats=3,
    )
    gap = float(np.max(np.abs(ours() - theirs)) / theirs.max())
    if gap > 1e-2:
        raise RuntimeError(f"singular values differ by {gap:.1e} of the largest: nothing to compare")
    return replace(row, note=f"singular values up to {theirs.max():.0f} agree to {gap:.0e} of that; {row.note}")


def rows() -> list[Row]:
    """Steps per CPU second at depths 2 and 3, both sides in float32 and on one thread."""
    task = _task()
    return [_compare(depth, *task) for depth in STEPS]
