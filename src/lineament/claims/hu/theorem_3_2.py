"""Theorem 3.2: with its first layer training, a network follows its twin up to T = d log d/η, better as d grows."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np

from ... import models
from ...evidence import Evidence
from ...evidence import figure as fig
from ..instances import generator
from ..sizes import sizes
from .rates import (
    EIGHTH,
    EXAMPLES,
    LAWS,
    LEAST_EXAMPLES,
    NARROW,
    Comparisons,
    against,
    along,
    falling,
    flat,
    gaps,
    grown,
    kinds,
    rate,
    sweep,
)


class Settings(NamedTuple):
    """What is run at each size.

    Attributes:
        groups: The dimensions d; those of one group run as one program.
        copies: Networks of each law at each d.
        activations: φ; the first is the one that is drawn.
    """

    groups: tuple[tuple[int, ...], ...]
    copies: int
    activations: tuple[models.activations.Activation, ...]


@sizes(
    quick=Settings(groups=((8, 16, 32), (64,)), copies=2, activations=("relu",)),
    full=Settings(groups=((16,), (32,), (64,), (128,)), copies=6, activations=("relu", "erf", "tanh")),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """ReLU networks (full scale: erf and tanh too) whose first layer trains with η1 = d/8, to T = d log d/η1.

    Three laws of inputs and labels: white Gaussian with a teacher's labels, Gaussian of a skewed covariance with labels
    of non-zero mean, and the hypercube with labels of pure chance. The width is m = 4d^{5/4}, the least the theorem
    allows as α → 1/4; n = 2d^{3/2}. The largest gap up to T on training examples, and on fresh ones truncated at 1, is
    fitted against d with one slope for all three laws.

    Where n = 4d^{5/4} too, the least it may be, labels of chance show what the logarithm in T costs: see the remark.
    """
    rng = generator(key)
    d = flat(settings.groups)
    series = kinds(width=NARROW, examples=EXAMPLES, step_size=EIGHTH)
    least = series[2]._replace(examples=LEAST_EXAMPLES)
    checks, numbers, runs = [], {}, {}
    for activation in settings.activations:
        runs[activation] = sweep(
            rng, settings.groups, (*series, least), activation=activation, trains=(True, False), copies=settings.copies
        )
        further, slopes = falling(activation, d, gaps(runs[activation])[:, :, :3])
        checks, numbers = checks + further, numbers | slopes
    first = runs[settings.activations[0]]
    memorised = gaps(first)[0, :, 3:]
    return Evidence(
        checks=checks,
        numbers=numbers
        | {
            "memorising, largest d: measured over forecast": float(memorised[-1].mean() / _memorised(d)[-1]),
            "least n, labels of chance, training: slope": rate(d, memorised)[0],
        },
        settings={
            "d": d,
            "m": [grown(dimension, *NARROW) for dimension in d],
            "n": [grown(dimension, *EXAMPLES) for dimension in d],
        },
        protocol={
            "inputs": "white Gaussian; Gaussian with eigenvalues of Σ from ½ to 3/2; corners of the cube",
            "labels": "±1: of a teacher, of a teacher with non-zero mean, of pure chance",
            "activation": ", ".join(settings.activations),
            "width": "m = 4d^1.25",
            "examples": "n = 2d^1.5; 4d^1.25 beside it",
            "step size": "η1 = d/8, η2 = 0",
            "time": "t ≤ T = d log d/η1, so c = 1",
        },
        figure=_figure(first, d, settings.activations[0]),
        remarks=[
            "With labels of chance the gap on training examples is what the network memorises of them beyond its "
            "twin, (κ d log d/n)² with κ = E[φ'(g)²] − ζ². At n = 4d^1.25 this part rises until d = e⁴ ≈ 55 and falls "
            "only beyond: d^{−α} has to beat the logarithm in T. So n grows as d^1.5 here, which the theorem allows.",
        ],
    )


def _figure(comparisons: Comparisons, d: Sequence[int], activation: str) -> fig.Figure:
    table = gaps(comparisons)
    tables: dict[str, np.ndarray] = dict(zip(("training", "fresh"), table[:, :, :3], strict=True))
    slopes = " and ".join(f"{rate(d, table)[0]:.2f}" for table in tables.values())
    return fig.Figure(
        (along(comparisons, d, "along the run"), against(d, tables, "all three laws"), _by_law(d, table[0])),
        f"The gap between a {activation} network and its twin up to T falls with d, as d to the {slopes} on training "
        f"and "
        "fresh examples.",
    )


def _memorised(sizes: Sequence[int]) -> np.ndarray:
    """What a ReLU network learns of the labels' noise by T through the diagonal of its kernel, with κ = 1/2 − 1/4."""
    d = np.asarray(sizes, float)
    n = np.array([grown(dimension, *LEAST_EXAMPLES) for dimension in sizes])
    return (1 - np.exp(-0.25 * d * np.log(d) / n)) ** 2


def _by_law(sizes: Sequence[int], table: np.ndarray) -> fig.Panel:
    names = (*LAWS, "chance, least n")
    marks = [fig.measured(np.log2(sizes), table[:, i].mean(axis=1), name, i) for i, name in enumerate(names)]
    limits = (0.5 * float(table.min()), 30 * float(table.max()))
    forecast = fig.theory(np.log2(sizes), _memorised(sizes), "(κ d log d/n)²")
    return fig.Panel((*marks, forecast), "log₂ d", "largest MSE, training", "law by law", "linear", "log", limits)
