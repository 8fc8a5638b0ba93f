"""One step of descent: Theorem 1."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np

from ...evidence import Evidence, at_most, within
from ...evidence import figure as fig
from ...theory import pc_bias
from ..instances import generator, slope
from ..padding import pad
from ..sizes import Size


def one_step(scale: Size, key: jax.Array) -> Evidence:
    """One step along the automatic derivative of ½‖WX − Y‖² over examples, against the theorem's map at falling steps.

    Depths 1 to 8, hidden layers wider and narrower than inputs and outputs, one output, fewer examples than inputs,
    layers from 0.3 to 3 times Definition 3's. Steps are counted in the one that would change some layer by its own
    size. What is left over must fall as the square of the step; with one layer nothing is left over.
    """
    rng = generator(key)
    depths, repeats = ((1, 2, 3, 5), 8) if scale == "quick" else ((1, 2, 3, 4, 5, 8), 60)
    fractions = np.geomspace(3e-6, 1e-3, 8)  # above rounding, and where the cube does not show beside the square
    rates, worst_one, curves = {}, 0.0, {}
    for depth in depths:
        members = [_instance(rng, depth) for _ in range(repeats)]
        sizes = [max(m[0][layer] for m in members) for layer in range(depth + 1)]
        n = max(m[2].shape[1] for m in members)
        stacked = [pad([m[1][i] for m in members], (sizes[i + 1], sizes[i])) for i in range(depth)]
        X, Y = pad([m[2] for m in members], (sizes[0], n)), pad([m[3] for m in members], (sizes[-1], n))
        unit, moved = descended(
            tuple(map(jnp.asarray, stacked)), jnp.asarray(X), jnp.asarray(Y), jnp.asarray(fractions)
        )
        left = np.zeros((repeats, len(fractions)))
        for i, (widths, layers, x, y) in enumerate(members):
            for k, fraction in enumerate(fractions):
                forecast = pc_bias.one_step(layers, x @ x.T, y @ x.T, float(fraction * unit[i]))
                gap = np.linalg.norm(np.asarray(moved)[i, k, : widths[-1], : widths[0]] - forecast)
                left[i, k] = gap / np.linalg.norm(forecast)
        if depth == 1:
            worst_one = left.max()
            continue
        rates[depth] = [slope(fractions, row)[0] for row in left]
        curves[depth] = left
    every = np.concatenate(list(rates.values()))
    marks = [fig.measured(fractions, np.median(c, axis=0), f"L = {L}", i) for i, (L, c) in enumerate(curves.items())]
    marks += [fig.band(fractions, c.min(axis=0), c.max(axis=0), "", i) for i, c in enumerate(curves.values())]
    guide = np.median(curves[2], axis=0)[0] * (fractions / fractions[0]) ** 2
    return Evidence(
        checks=[
            within("least slope of the remainder against the step", every.min(), 1.95, 2.05),
            within("largest slope of the remainder against the step", every.max(), 1.95, 2.05),
            at_most("remainder with one layer, relative", worst_one, 1e-12),
        ],
        numbers={f"mean slope at L = {L}": float(np.mean(found)) for L, found in rates.items()},
        settings={"depths": list(depths), "networks each": repeats, "steps": "3e-6 … 1e-3 of a layer's own size"},
        figure=fig.Figure(
            (
                fig.Panel(
                    (*marks, fig.reference(fractions, guide, "slope 2")),
                    "step, of that which moves a layer by its size",
                    "remainder, relative",
                    x_scale="log",
                    y_scale="log",
                ),
            ),
            "What Theorem 1 leaves out of one step falls as the square of the step (bands: all networks).",
            1,
        ),
    )


def _instance(
    rng: np.random.Generator, depth: int
) -> tuple[tuple[int, ...], list[np.ndarray], np.ndarray, np.ndarray]:
    """Widths, layers, inputs (q, n) and outputs (K, n) of one random problem."""
    q, K, n = rng.integers(2, 9), rng.integers(1, 6), rng.integers(3, 20)
    widths = (int(q), *(int(m) for m in rng.integers(2, 17, depth - 1)), int(K))
    size = 10 ** rng.uniform(-0.5, 0.5)
    layers = [size * rng.normal(size=(after, before)) / after**0.5 for before, after in pairwise(widths)]
    X = rng.normal(size=(q, n)) * 10 ** rng.uniform(-1, 1, q)[:, None]
    return widths, layers, X, 10 ** rng.uniform(-1, 1) * rng.normal(size=(K, n))


@jax.jit
def descended(
    layers: tuple[jax.Array, ...], X: jax.Array, Y: jax.Array, fractions: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The unit of each network's step, and its map after one step of each size (network, step, K, q)."""

    def product(layers: tuple[jax.Array, ...]) -> jax.Array:
        W = layers[0]
        for layer in layers[1:]:
            W = layer @ W
        return W

    def one(layers: tuple[jax.Array, ...], x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        gradient = jax.grad(lambda layers: 0.5 * jnp.sum((product(layers) @ x - y) ** 2))(layers)
        ratios = [jnp.linalg.norm(W) / jnp.linalg.norm(g) for W, g in zip(layers, gradient, strict=True)]
        unit = jnp.min(jnp.stack(ratios))
        step = lambda f: product(tuple(W - f * unit * g for W, g in zip(layers, gradient, strict=True)))  # noqa: E731
        return unit, jax.vmap(step)(fractions)

    return jax.vmap(one)(layers, X, Y)
