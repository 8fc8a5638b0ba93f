"""The components of a forecast: what each is made of, what it explains, when it is learnt, and what comes next."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lineament.theory import phases

from .moments import Moments
from .paths import DONE, MATTERS, Progress, first_passage
from .result import Component, Phase
from .task import Modes, strengths

Array = NDArray[np.float64]

BEGUN, HALF = 0.1, 0.5
"""Shares at which a component has begun to be learnt, and is half learnt."""

NAMED = 3
"""Features and outputs that are named for each component."""


def components(
    moments: Moments, path: Progress, V: Array, d: Array, target: Array, modes: Modes | None
) -> tuple[Component, ...]:
    """Every component, or every mode of the target where inputs are whitened.

    Args:
        moments: of the table.
        path: what is learnt over time.
        V: from features to components, (columns, component).
        d: the variance of every component.
        target: the best map on components.
        modes: of the target, where inputs are whitened.
    """
    if modes is None:
        loadings, effects, variances = V, target, d
    else:
        kept = len(strengths(modes))
        loadings, effects = V @ modes.Vt[:kept].T, modes.U[:, :kept] * modes.s[:kept]
        # A mode and its negative are the same: the one whose largest weight is positive is told, as for components.
        largest = loadings[np.argmax(np.abs(loadings), axis=0), np.arange(kept)]
        size = np.sign(largest) * np.linalg.norm(loadings, axis=0)
        loadings, effects, variances = loadings / size, effects * np.sign(largest), np.ones(kept)
    strength = np.linalg.norm(effects, axis=0)
    explained = variances * strength**2 / np.trace(moments.syy)
    begins, half, ends = (first_passage(path, share) for share in (BEGUN, HALF, DONE))
    return tuple(
        Component(
            number=j + 1,
            variance=float(variances[j]),
            strength=float(strength[j]),
            explained=float(explained[j]),
            begins=float(begins[j]),
            half=float(half[j]),
            ends=float(ends[j]),
            features=_largest(moments.features, loadings[:, j]),
            outputs=_largest(moments.outputs, effects[:, j]),
        )
        for j in range(len(strength))
    )


def phases_of(parts: tuple[Component, ...], depth: int, whiten: bool) -> tuple[Phase, ...]:
    """Whether components that matter are learnt one after the other (Gissin et al. 2020, Definition 1)."""
    learnable = sum(part.explained for part in parts)
    mattering = [part for part in parts if part.explained >= MATTERS * learnable and np.isfinite(part.half)]
    ordered = sorted(mattering, key=lambda part: part.half)
    return tuple(_phase(first, second, depth, whiten) for first, second in pairwise(ordered))


def _phase(first: Component, second: Component, depth: int, whiten: bool) -> Phase:
    threshold = None
    if whiten and first.strength > second.strength:
        ratio = first.strength / second.strength
        threshold = float(phases.threshold(depth, ratio, BEGUN, DONE, second.strength))
    pause = second.begins - first.ends
    return Phase(first.number, second.number, bool(pause >= 0), float(pause), threshold)


def _largest(names: tuple[str, ...], weights: Array) -> tuple[tuple[str, float], ...]:
    order = np.argsort(-np.abs(weights), kind="stable")[:NAMED]
    return tuple((names[j], float(weights[j])) for j in order)
