"""Theorem 1: one step of descent moves the map by the scaled error, up to the square of the step."""

from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...evidence import Evidence, at_most, within
from ...evidence import figure as fig
from ...theory import pc_bias
from ..instances import generator, slope
from ..padding import pad
from ..sizes import sizes
from .one_step import descended


class Settings(NamedTuple):
    """What is run at each size.

    Attributes:
        depths: L.
        networks: Of each depth.
        fractions: The least and the largest step size, over that which moves a layer by its own size: above rounding,
            and where the cube does not show beside the square.
        looks: Step sizes between them.
    """

    depths: tuple[int, ...]
    networks: int
    fractions: tuple[float, float] = (3e-6, 1e-3)
    looks: int = 8


class Instance(NamedTuple):
    """Widths, layers, inputs (q, n) and outputs (K, n) of one random problem."""

    widths: tuple[int, ...]
    layers: list[np.ndarray]
    X: np.ndarray
    Y: np.ndarray


@sizes(quick=Settings(depths=(1, 2, 3, 5), networks=8), full=Settings(depths=(1, 2, 3, 4, 5, 8), networks=60))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """One step along the automatic derivative of ½‖WX − Y‖² over examples, against the theorem's map at falling steps.

    Depths 1 to 8, hidden layers wider and narrower than inputs and outputs, one output, fewer examples than inputs,
    layers from 0.3 to 3 times Definition 3's. Steps are counted in the one that would change some layer by its own
    size. What is left over must fall as the square of the step; with one layer nothing is left over.
    """
    rng = generator(key)
    fractions = np.geomspace(*settings.fractions, settings.looks)
    left = {depth: _remainders(rng, depth, settings.networks, fractions) for depth in settings.depths}
    rates = {depth: [slope(fractions, row)[0] for row in rows] for depth, rows in left.items() if depth > 1}
    slopes = np.concatenate(list(rates.values()))
    bar = (1.95, 2.05, "theory: slope 2 ± 2.5 %")
    return Evidence(
        checks=[
            within("least slope of the remainder against the step size", slopes.min(), *bar),
            within("largest slope of the remainder against the step size", slopes.max(), *bar),
            at_most("remainder with one layer, relative", left[1].max(), 1e-12, "rounding in float64 × 1000"),
        ],
        numbers={f"mean slope at L = {L}": float(np.mean(slopes)) for L, slopes in rates.items()},
        settings={"networks in all": slopes.size},
        protocol={
            "network": f"linear, L = {', '.join(map(str, settings.depths))}, hidden widths 2 to 16",
            "data": "Gaussian inputs with variances over two decades, 2 to 8 inputs, 1 to 5 outputs, 3 to 19 examples",
            "loss": "½‖WX − Y‖²",
            "step size": f"{settings.fractions[0]:g} … {settings.fractions[1]:g} of what moves a layer by its size",
            "start": "normal entries, layers from 0.3 to 3 times Definition 3's",
        },
        figure=_figure(fractions, {depth: rows for depth, rows in left.items() if depth > 1}),
    )


def _remainders(rng: np.random.Generator, depth: int, count: int, fractions: np.ndarray) -> np.ndarray:
    """What the theorem leaves out of one step, relative to the map, (network, step size)."""
    members = [_instance(rng, depth) for _ in range(count)]
    widths = [max(member.widths[layer] for member in members) for layer in range(depth + 1)]
    n = max(member.X.shape[1] for member in members)
    layers = [pad([member.layers[i] for member in members], (widths[i + 1], widths[i])) for i in range(depth)]
    X = pad([member.X for member in members], (widths[0], n))
    Y = pad([member.Y for member in members], (widths[-1], n))
    unit, moved = map(
        np.asarray, descended(tuple(map(jnp.asarray, layers)), jnp.asarray(X), jnp.asarray(Y), jnp.asarray(fractions))
    )
    left = np.zeros((count, len(fractions)))
    for i, member in enumerate(members):
        moments = member.X @ member.X.T, member.Y @ member.X.T
        for k, fraction in enumerate(fractions):
            forecast = pc_bias.one_step(member.layers, *moments, float(fraction * unit[i]))
            gap = np.linalg.norm(moved[i, k, : member.widths[-1], : member.widths[0]] - forecast)
            left[i, k] = gap / np.linalg.norm(forecast)
    return left


def _instance(rng: np.random.Generator, depth: int) -> Instance:
    q, K, n = rng.integers(2, 9), rng.integers(1, 6), rng.integers(3, 20)
    widths = (int(q), *(int(m) for m in rng.integers(2, 17, depth - 1)), int(K))
    scale = 10 ** rng.uniform(-0.5, 0.5)
    layers = [scale * rng.normal(size=(after, before)) / after**0.5 for before, after in pairwise(widths)]
    X = rng.normal(size=(q, n)) * 10 ** rng.uniform(-1, 1, q)[:, None]
    return Instance(widths, layers, X, 10 ** rng.uniform(-1, 1) * rng.normal(size=(K, n)))


def _figure(fractions: np.ndarray, curves: dict[int, np.ndarray]) -> fig.Figure:
    marks = [fig.measured(fractions, np.median(c, axis=0), f"L = {L}", i) for i, (L, c) in enumerate(curves.items())]
    marks += [fig.band(fractions, c.min(axis=0), c.max(axis=0), "", i) for i, c in enumerate(curves.values())]
    guide = np.median(next(iter(curves.values())), axis=0)[0] * (fractions / fractions[0]) ** 2
    return fig.Figure(
        (
            fig.Panel(
                (*marks, fig.reference(fractions, guide, "slope 2")),
                "step size, of that which moves a layer by its size",
                "remainder, relative",
                x_scale="log",
                y_scale="log",
            ),
        ),
        "What Theorem 1 leaves out of one step falls as the square of the step size (bands: all networks).",
        1,
    )
