"""Descent of a network with hidden layers, against what one writes in JAX: a compiled step, called in a loop."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import lineament as la

from .harness import Row, compare

WIDTHS, EXAMPLES, STEPS, ETA = (10, 32, 32, 1), 200, 2000, 0.05
MEMBERS = 20


def _plain(start: Any, X: jax.Array, y: jax.Array, *, members: bool) -> Callable[[], Any]:
    """`jit(grad)` of a loss written out, a Python loop over steps; with `members` all networks by `vmap`."""

    def loss(layers: list[tuple[jax.Array, jax.Array]]) -> jax.Array:
        h = X
        for W, b in layers[:-1]:
            h = jnp.tanh(h @ W.T + b)
        W, b = layers[-1]
        return jnp.mean(jnp.sum((h @ W.T + b - y) ** 2, axis=1)) / 2

    def step(layers: list[tuple[jax.Array, jax.Array]]) -> list[tuple[jax.Array, jax.Array]]:
        return jax.tree.map(lambda p, g: p - ETA * g, layers, jax.grad(loss)(layers))

    compiled = jax.jit(jax.vmap(step) if members else step)

    def run() -> Any:
        layers = start
        for _ in range(STEPS):
            layers = compiled(layers)
        return jax.block_until_ready(layers)

    run()
    return run


def _layers(parameters: Any) -> list[tuple[jax.Array, jax.Array]]:
    """Pairs of a matrix and its bias, of one network or of all members."""
    parameters = parameters.stacked if isinstance(parameters, la.Ensemble) else parameters
    return list(zip(parameters.layers, parameters.biases, strict=True))


def rows() -> list[Row]:
    """Network-steps per CPU second, of one network and of twenty at once."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(EXAMPLES, WIDTHS[0]))
    y = np.sin(X @ rng.normal(size=(WIDTHS[0], 1)))
    net, problem = la.models.MLP(WIDTHS, "tanh", "standard", True), la.problems.regression(X, y)
    one = la.starts.glorot(net, jax.random.key(0))
    many = la.ensemble(lambda key: la.starts.glorot(net, key), jax.random.split(jax.random.key(0), MEMBERS))
    found = []
    for members, start in ((1, one), (MEMBERS, many)):
        ours = partial(la.descend, net, problem, start, step_size=ETA, steps=STEPS, at=[0, STEPS])
        plain = _plain(_layers(start), jnp.asarray(X), jnp.asarray(y), members=members > 1)
        gap = max(
            float(jnp.abs(a - b).max())
            for a, b in zip(jax.tree.leaves(_layers(ours().final)), jax.tree.leaves(plain()), strict=True)
        )
        work = float(members * STEPS)
        found.append(
            compare(
                f"{members} tanh network{'s' if members > 1 else ''} {'–'.join(map(str, WIDTHS))}, {EXAMPLES} examples",
                ("descend", ours, work),
                ("plain JAX loop", plain, work),
                unit="network-steps",
                note=f"weights agree to {gap:.0e} after {STEPS} steps",
            )
        )
    return found
