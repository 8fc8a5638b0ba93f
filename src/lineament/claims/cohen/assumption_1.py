"""Assumption 1: every map has a balanced factorisation of any depth and admissible widths."""

from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, starts
from ...core import ensembles
from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ..instances import generator
from ..sizes import sizes

BAR, ORIGIN = 1e-12, "float64 rounding 2e-16, times the dimension (≤ 80) and a few dozen operations"


class Settings(NamedTuple):
    """What is run at each size; shapes are (outputs, inputs)."""

    shapes: tuple[tuple[int, int], ...]
    maps: int
    depths: tuple[int, ...] = (1, 2, 3, 6)


@sizes(
    quick=Settings(((1, 1), (4, 4), (6, 3), (2, 5)), maps=8),
    full=Settings(((1, 1), (4, 4), (6, 3), (2, 5), (30, 30), (40, 25)), maps=40),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Random maps, square and rectangular, of full and deficient rank, sizes from 1e-6 to 1e6, split at several depths.

    Hidden widths run from the least admissible to twice that. Products and Gram matrices are recomputed in NumPy.
    """
    rng = generator(key)
    products, balances = [], []
    for d_out, d_in in settings.shapes:
        for depth in settings.depths:
            hidden = map(int, rng.integers(min(d_in, d_out), 2 * min(d_in, d_out) + 1, depth - 1))
            model = models.DeepLinear((d_in, *hidden, d_out))
            maps = np.stack([_random_map(rng, d_out, d_in) for _ in range(settings.maps)])
            split = ensembles.ensemble(
                lambda key, W, model=model: starts.balanced(model, key, map=W),
                jax.random.split(key, settings.maps),
                jnp.asarray(maps),
            )
            layers = [np.asarray(layer) for layer in split.stacked]
            products.append(_product_error(maps, layers))
            balances.append(_balance_error(layers))
    product, balance = np.max(products, axis=1), np.max(balances, axis=1)
    return Evidence(
        checks=[
            at_most("worst relative error of the product", product.max(), BAR, ORIGIN),
            at_most("worst relative unbalancedness", balance.max(), BAR, ORIGIN),
        ],
        settings={"maps in all": settings.maps * len(products)},
        protocol={
            "map": "random, square and rectangular, of every rank, sizes 1e-6 … 1e6",
            "network": f"depths {', '.join(map(str, settings.depths))}; hidden widths min(d₀, d_n) … twice that",
            "construction": "the singular value decomposition, split evenly (Procedure 1 of Arora et al. 2019a)",
        },
        figure=_figure(np.tile(settings.depths, len(settings.shapes)), product, balance),
    )


def _figure(depths: np.ndarray, product: np.ndarray, balance: np.ndarray) -> fig.Figure:
    marks = (
        fig.points(depths, np.maximum(product, 1e-18), "product", 0),
        fig.points(depths, np.maximum(balance, 1e-18), "balance", 1),
        fig.reference([depths.min(), depths.max()], [BAR, BAR], "bar"),
    )
    caption = "The even split of a singular value decomposition is balanced and exact to rounding."
    return fig.Figure((fig.Panel(marks, "depth n", "worst relative error", y_scale="log"),), caption, 1)


def _random_map(rng: np.random.Generator, d_out: int, d_in: int) -> np.ndarray:
    rank = rng.integers(1, min(d_out, d_in) + 1)
    W = rng.normal(size=(d_out, rank)) @ rng.normal(size=(rank, d_in))
    return 10 ** rng.uniform(-6, 6) * W


def _product_error(maps: np.ndarray, layers: list[np.ndarray]) -> np.ndarray:
    product = layers[0]
    for layer in layers[1:]:
        product = layer @ product
    return np.linalg.norm(product - maps, axis=(1, 2)) / np.linalg.norm(maps, axis=(1, 2))


def _balance_error(layers: list[np.ndarray]) -> np.ndarray:
    """The largest `‖W_{j+1}ᵀW_{j+1} − W_jW_jᵀ‖` against the largest `‖W_jW_jᵀ‖`; zero for one layer."""
    error, largest = np.zeros(len(layers[0])), np.linalg.norm(layers[0] @ layers[0].swapaxes(1, 2), axis=(1, 2))
    for before, after in pairwise(layers):
        gram = before @ before.swapaxes(1, 2)
        error = np.maximum(error, np.linalg.norm(after.swapaxes(1, 2) @ after - gram, axis=(1, 2)))
        largest = np.maximum(largest, np.linalg.norm(gram, axis=(1, 2)))
    return error / largest
