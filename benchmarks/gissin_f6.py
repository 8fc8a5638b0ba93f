"""(e) Deep diagonal classifiers of Figure 6 of Gissin et al. (2020), as one program and in a plain PyTorch loop."""

from collections.abc import Callable
from dataclasses import replace

import jax
import numpy as np
import torch

from lineament.claims.gissin import classification
from lineament.claims.gissin.classification import STOP, Settings

from .harness import Row, compare

DEPTH, START, MEMBERS, SAMPLE = 3, 1e-2, 100, 2
torch.set_num_threads(1)  # such small products gain nothing from a second thread, and its idle spinning would count


def _torch_loop(X: np.ndarray, y: np.ndarray, settings: Settings) -> Callable[[], np.ndarray]:
    """What one would write: a loop over networks, a loop over steps, autograd."""

    def run() -> np.ndarray:
        found = []
        for inputs, labels in zip(*(torch.from_numpy(a.astype(np.float32)) for a in (X, y)), strict=True):
            w = torch.full((2, inputs.shape[1]), START ** (1 / DEPTH), requires_grad=True)
            optimiser = torch.optim.SGD([w], lr=settings.step_size)
            for _ in range(settings.steps):
                optimiser.zero_grad()
                sigma = w[0] ** DEPTH - w[1] ** DEPTH
                loss = torch.exp(-labels * (inputs @ sigma)).mean()
                if loss <= STOP:
                    break
                loss.backward()
                optimiser.step()
            found.append((w[0] ** DEPTH - w[1] ** DEPTH).detach().numpy())
        return np.stack(found)

    return run


def rows() -> list[Row]:
    """Networks per CPU second at depth 3 from σ0 = 0.01: all repeats of the figure at once, and a sample one by one."""
    settings = Settings((DEPTH,), (START,), MEMBERS, 1e-2, 100_000)
    truth = classification.sparse_truth()
    X, y = classification.examples(np.random.default_rng(0), truth, MEMBERS)
    ours = lambda: classification.descend(*classification.diagonal(DEPTH), X, y, settings, jax.random.key(0))  # noqa: E731
    loop = _torch_loop(X[:SAMPLE], y[:SAMPLE], settings)
    row = compare(
        "gissin-f6, diagonal classifiers, depth 3",
        (f"{MEMBERS} as one program", ours, float(MEMBERS)),
        ("PyTorch loop", loop, float(SAMPLE)),
        bar=20.0,
        unit="networks",
    )
    found = loop()
    theirs = found @ truth / np.linalg.norm(found, axis=1)
    gap = float(np.max(np.abs(ours().correlation(truth)[0, :SAMPLE] - theirs)))
    if gap > 1e-3:
        raise RuntimeError(f"the two end at correlations that differ by {gap:.1e}: nothing to compare")
    return [replace(row, note=f"correlations agree to {gap:.0e}; {row.note}")]
