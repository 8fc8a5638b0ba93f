"""Exercise 1: with one output, the gradient along the map counts n-fold."""

from typing import NamedTuple

import jax
import numpy as np

from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ...theory import end_to_end
from ..instances import generator
from ..sizes import sizes
from .networks import balanced_layers

BAR, ORIGIN = 1e-10, "float64 rounding 2e-16, times the dimension (≤ 50) and ten thousand for powers of ‖w‖ = 1e±6"


class Settings(NamedTuple):
    """What is run at each size."""

    instances: int
    deepest: int = 8
    inputs: int = 50


@sizes(quick=Settings(instances=200), full=Settings(instances=5000))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """The simplified field against the general one of Theorem 1, and against the product rule on balanced layers.

    Random maps and gradients, ‖w‖ from 1e-6 to 1e6; errors relative to the field.
    """
    rng = generator(key)
    general, ruled, speeds = [], [], []
    for _ in range(settings.instances):
        n, d = int(rng.integers(1, settings.deepest + 1)), int(rng.integers(1, settings.inputs + 1))
        w, g = 10 ** rng.uniform(-6, 6) * rng.normal(size=d), rng.normal(size=d)
        field = end_to_end.field_one_output(w, g, n)
        norm = np.linalg.norm(field)
        general.append(np.linalg.norm(field - end_to_end.field(w[None], g[None], n)[0]) / norm)
        layers = balanced_layers(rng, w[None], (d, *rng.integers(1, 6, n - 1).tolist(), 1))
        velocity = _product_rule(layers, g[None])[0]
        ruled.append(np.linalg.norm(field - velocity) / norm)
        cosine = float(w @ g / (np.linalg.norm(w) * np.linalg.norm(g)))
        speeds.append((n, cosine, np.linalg.norm(velocity) / np.linalg.norm(g) / np.linalg.norm(w) ** (2 - 2 / n)))
    return Evidence(
        checks=[
            at_most("worst relative gap to the general field", np.max(general), BAR, ORIGIN),
            at_most("worst relative gap to the product rule on layers", np.max(ruled), BAR, ORIGIN),
        ],
        protocol={
            "map": f"random, one output, 1 … {settings.inputs} inputs, ‖w‖ from 1e-6 to 1e6",
            "network": f"depths 1 … {settings.deepest}, balanced",
            "gradient": "random",
        },
        figure=_figure(np.array(speeds)),
    )


def _figure(speeds: np.ndarray) -> fig.Figure:
    """The speed of the map against the angle between map and gradient, at several depths."""
    marks, cosines = [], np.linspace(-1, 1, 201)
    for i, n in enumerate((1, 2, 4, 8)):
        at_depth = speeds[speeds[:, 0] == n]
        marks.append(fig.points(at_depth[:, 1], at_depth[:, 2], f"n = {n}", i))
        marks.append(fig.theory(cosines, np.sqrt(1 + (n * n - 1) * cosines**2), "Exercise 1" if n == 1 else ""))
    return fig.Figure(
        (fig.Panel(tuple(marks), "cos ∠(w, ∇ℓ)", "speed of w (across w: 1)"),),
        "Layers move the map n times as fast along itself as across: depth favours directions already taken.",
        1,
    )


def _product_rule(layers: tuple[np.ndarray, ...], G: np.ndarray) -> np.ndarray:
    """The velocity of the product when each layer follows its own gradient."""
    total = np.zeros_like(G)
    for j in range(len(layers)):
        below, above = np.eye(G.shape[1]), np.eye(G.shape[0])
        for W in layers[:j]:
            below = W @ below
        for W in layers[:j:-1]:
            above = above @ W
        total -= above @ (above.T @ G @ below.T) @ below
    return total
