"""Proposition 1: the overparameterised objective is non-convex unless the loss is constant."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from ...evidence import Evidence, at_least
from ...evidence import figure as fig
from ...theory import landscape
from ..instances import generator
from ..sizes import sizes
from .losses import Loss, random_loss
from .networks import random_widths

Shape = tuple[int, int]
Draw = Callable[[np.random.Generator, int, Shape], tuple[Loss, np.ndarray]]
SLOPING = ("square", "quartic", "logistic", "cosine")
LEVEL = ("two wells", "side well", "hill")  # no slope at z = 0, and lower elsewhere; a hill is −(−cos)
EVEN = ("square", "quartic", "cosine", "log cosh")  # least at z = 0


class Settings(NamedTuple):
    """What is run at each size."""

    losses: int
    depths: tuple[int, int] = (2, 6)
    largest: int = 5


class Certified(NamedTuple):
    """A segment: its loss, the gap over the chord in units of rounding, and φ − chord along it over the gap."""

    name: str
    gap: float
    profile: Callable[[float], float]


@sizes(quick=Settings(losses=200), full=Settings(losses=5000))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """For random losses, convex and not, an explicit segment whose midpoint lies above its chord, beyond rounding.

    Three kinds of loss, many of each: with a slope at 0; without one and yet lower elsewhere, where 0 is a maximum or
    a local minimum only; and those that are least at 0, the case the proposition leaves out. The gap over the chord
    is recomputed from the layers and set against rounding.
    """
    rng = generator(key)
    draws: dict[str, Draw] = {
        "ℓ slopes at 0": _sloping,
        "∇ℓ(0) = 0, ℓ lower elsewhere": _level,
        "ℓ least at 0": _least_at_zero,
    }
    certified = {kind: [_one(rng, draw, k, settings) for k in range(settings.losses)] for kind, draw in draws.items()}
    origin = "a hundred times the rounding error of the three values of φ"
    return Evidence(
        checks=[
            at_least(f"least gap over the chord, in units of rounding: {kind}", min(c.gap for c in segments), 1e2,
                     origin)
            for kind, segments in certified.items()
        ],
        protocol={
            "loss": f"{settings.losses} of each kind: with a slope at 0 ({', '.join(SLOPING)}), without one but lower "
            f"elsewhere ({', '.join(LEVEL)}), and least at 0 ({', '.join(EVEN)})",
            "network": f"depths {settings.depths[0]} … {settings.depths[1]}, maps 1×1 … "
            f"{settings.largest}×{settings.largest}, random admissible widths",
        },
        figure=_figure(certified),
        remarks=(
            "The case the proposition leaves out is settled: for n ≥ 2 φ is convex if and only if ℓ is constant. If "
            "ℓ(W) > ℓ(0), rescaling two layers against each other gives two points with product W/c², c > 1, whose "
            "midpoint has product W; already ½‖W₂W₁‖² is not convex.",
            "The smallest example: ℓ(w) = ½w² with two scalar layers, φ = ½(w₂w₁)². At (2, ½) and (½, 2) φ = ½, at "
            "their midpoint (5/4, 5/4) φ = 1.22.",
        ),
    )  # fmt: skip


def _one(rng: np.random.Generator, draw: Draw, k: int, settings: Settings) -> Certified:
    """The k-th loss of a kind, and a certified segment of it."""
    shape = (int(rng.integers(1, settings.largest + 1)), int(rng.integers(1, settings.largest + 1)))
    n = int(rng.integers(settings.depths[0], settings.depths[1] + 1))
    loss, W = draw(rng, k, shape)
    widths = random_widths(rng, n, shape)
    return _certified(loss, landscape.nonconvexity_segment(loss.value, W, n, widths=widths))


def _sloping(rng: np.random.Generator, k: int, shape: Shape) -> tuple[Loss, np.ndarray]:
    """A loss with a gradient at 0, and a map a little down that slope."""
    loss = random_loss(rng, SLOPING[k % len(SLOPING)], shape)
    G = loss.gradient(np.zeros(shape))
    W = -0.1 * G / np.linalg.norm(G)
    while not loss.value(W) < loss.value(np.zeros(shape)):
        W /= 2
    return loss, W


def _level(rng: np.random.Generator, k: int, shape: Shape) -> tuple[Loss, np.ndarray]:
    """A loss with ∇ℓ(0) = 0 whose minimum is elsewhere, and the lowest of many random maps."""
    name = LEVEL[k % len(LEVEL)]
    loss = random_loss(rng, "cosine" if name == "hill" else name, shape, offset=0.0)
    # One term each, so that a lower place lies along it, whatever the shape.
    loss = loss._replace(A=loss.A[:1], b=loss.b[:1], signs=loss.signs[:1] * (-1 if name == "hill" else 1))
    along = loss.A[0] / np.sum(loss.A[0] ** 2)
    maps = [z * along for z in np.linspace(0.2, 3, 15)]
    return loss, min(maps, key=loss.value)


def _least_at_zero(rng: np.random.Generator, k: int, shape: Shape) -> tuple[Loss, np.ndarray]:
    """A loss that is least at 0, and any map."""
    return random_loss(rng, EVEN[k % len(EVEN)], shape, offset=0.0), rng.normal(size=shape)


def _certified(loss: Loss, segment: landscape.Segment) -> Certified:
    """The gap over the chord, recomputed from the layers of the segment."""

    def at(s: float) -> np.ndarray:
        W = np.eye(segment.start[0].shape[1])
        for a, b in zip(segment.start, segment.end, strict=True):
            W = ((1 - s) * a + s * b) @ W
        return W

    ends = [loss.value(at(s)) for s in (0.0, 1.0)]
    gap = loss.value(at(0.5)) - sum(ends) / 2
    rounding = sum(loss.rounding(at(s)) for s in (0.0, 0.5, 1.0))
    name = "hill" if loss.name == "cosine" and loss.signs[0] < 0 else loss.name
    return Certified(name, gap / rounding, lambda s: (loss.value(at(s)) - (1 - s) * ends[0] - s * ends[1]) / gap)


def _figure(certified: dict[str, list[Certified]]) -> fig.Figure:
    """φ less its chord along some segments of each kind, and the gaps of all."""
    s, panels = np.linspace(0, 1, 101), []
    for kind, segments in certified.items():
        shown = {segment.name: segment for segment in segments[:4]}
        marks = [
            fig.measured(s, [segment.profile(x) for x in s], name, i)
            for i, (name, segment) in enumerate(shown.items())
        ]
        marks.append(fig.reference([0, 1], [0, 0], "chord"))
        panels.append(fig.Panel(tuple(marks), "place on the segment", "(φ − chord) / gap", kind))
    excess = [np.log10(np.clip([segment.gap for segment in segments], 1e-3, None)) for segments in certified.values()]
    edges = np.linspace(min(map(np.min, excess)), max(map(np.max, excess)), 30)
    bars = [
        fig.bars(edges, np.histogram(row, edges)[0], kind, 4 + i)
        for i, (kind, row) in enumerate(zip(certified, excess, strict=True))
    ]
    panels.append(fig.Panel(tuple(bars), "log₁₀ gap / rounding", "segments", "all losses"))
    caption = "On every segment φ rises above its chord by far more than rounding, whatever ℓ does at 0."
    return fig.Figure(tuple(panels), caption, 2)
