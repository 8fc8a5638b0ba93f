"""Label noise of Varre et al. (2023): an ensemble as one program, and a loop in NumPy with the gradients written out.

The poster leaves sizes open: 20 examples of 40 inputs, 50 hidden neurons, one output; its start is `W1 = √(2γ)P, W2 = 0`.
"""

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

import lineament as la

from .harness import Row, compare

EXAMPLES, INPUTS, HIDDEN, GAMMA, ETA, STEPS = 20, 40, 50, 0.5, 1e-3, 2000
MEMBERS, SAMPLE = 100, 10  # networks at once, and in the loop one by one
IMBALANCE = la.Record("imbalance", lambda model, problem, layers: jnp.sum(layers[0] ** 2) - jnp.sum(layers[1] ** 2))


def _numpy_loop(X: np.ndarray, y: np.ndarray, noise: float) -> Callable[[], np.ndarray]:
    """A loop over networks and steps of `W1 −= ηXᵀrW2ᵀ, W2 −= ηW1ᵀXᵀr`, r the misfit of noisy labels."""

    def run() -> np.ndarray:
        rng, ends = np.random.default_rng(0), []
        for _ in range(SAMPLE):
            W1 = np.sqrt(2 * GAMMA) * np.linalg.qr(rng.normal(size=(HIDDEN, INPUTS)))[0].T
            W2 = np.zeros((HIDDEN, 1))
            for _ in range(STEPS):
                residual = X @ (W1 @ W2) - y - noise * rng.normal(size=y.shape)
                pull = ETA * (X.T @ residual)
                W1, W2 = W1 - pull @ W2.T, W2 - W1.T @ pull
            ends.append(np.sum(W1**2) - np.sum(W2**2))
        return np.array(ends)

    return run


def rows() -> list[Row]:
    """Network-steps per CPU second; both end at the same mean of `‖W1‖² − ‖W2‖²`, which the noise moves."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(EXAMPLES, INPUTS)) / np.sqrt(INPUTS)
    y = X @ rng.normal(size=(INPUTS, 1))
    noise = ETA**-0.5
    model, problem = la.models.DeepLinear((INPUTS, HIDDEN, 1)), la.problems.regression(X, y)
    keys = jax.random.split(jax.random.key(0), MEMBERS)
    start = la.ensemble(lambda key: la.starts.shaped(model, key, GAMMA), keys)

    def ours() -> np.ndarray:
        run = la.train.noisy_descend(
            model, problem, start, step_size=EXAMPLES * ETA, steps=STEPS, noise=noise, key=1, at=[STEPS],
            record=(IMBALANCE,),
        )  # fmt: skip  # a step n times as long on the mean over examples is one on the sum
        return run.imbalance.values[:, -1]

    loop = _numpy_loop(X, y, noise)
    theirs = loop()
    row = compare(
        f"label noise, {EXAMPLES} examples, {INPUTS}–{HIDDEN}–1, {STEPS} steps",
        (f"{MEMBERS} networks as one program", ours, float(MEMBERS * STEPS)),
        ("NumPy loop", loop, float(SAMPLE * STEPS)),
        unit="network-steps",
    )
    ends = ours()
    apart = float((ends.mean() - theirs.mean()) / np.sqrt(ends.var(ddof=1) / len(ends) + theirs.var(ddof=1) / SAMPLE))
    if abs(apart) > 4:
        raise RuntimeError(f"mean imbalances differ by {apart:.1f} standard errors: nothing to compare")
    moved = ends.mean() / (2 * GAMMA * INPUTS) - 1  # the flow without noise keeps it
    note = f"mean imbalances, {moved:+.0%} by noise, {abs(apart):.1f} standard errors apart; {row.note}"
    return [replace(row, note=note)]
