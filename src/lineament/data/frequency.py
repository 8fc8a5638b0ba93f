"""The frequency data set: points in the plane, separated by a sum of waves (Hacohen & Weinshall, eq. 11, D.3)."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import arguments
from .images import Images

FREQUENCIES = tuple(range(10))
PHASES = (0.0, 3.46, 5.08, 0.45, 2.10, 1.4, 5.36, 0.85, 5.9, 5.16)
Rule = Literal["graph", "sign"]


class Points(NamedTuple):
    """Training and test points (n, 2) and their classes 0 and 1."""

    points: NDArray[np.float64]
    labels: NDArray[np.int64]
    test_points: NDArray[np.float64]
    test_labels: NDArray[np.int64]


def partial_sums(
    z: ArrayLike, frequencies: ArrayLike = FREQUENCIES, phases: ArrayLike = PHASES
) -> NDArray[np.float64]:
    """`λ_j(z) = Σ_{i≤j} sin(2π κ_i z + φ_i)` for j = 1 … m (eq. 11, §5.2), (m, n); the last row is λ itself."""
    given = {"frequencies": frequencies, "phases": phases, "z": z}
    kappa, phi, position = (arguments.real(name, value) for name, value in given.items())
    if kappa.ndim != 1 or kappa.size == 0 or kappa.shape != phi.shape or not (np.diff(kappa) > 0).all():
        raise ValueError(f"frequencies must rise, with one of the phases for each; got {frequencies} and {phases}")
    if position.ndim != 1:
        raise ValueError(f"z must be a vector of positions; got shape {position.shape}")
    return np.cumsum(np.sin(2 * np.pi * kappa[:, None] * position + phi[:, None]), axis=0)


def partial_labels(
    points: ArrayLike, rule: Rule = "graph", frequencies: ArrayLike = FREQUENCIES, phases: ArrayLike = PHASES
) -> NDArray[np.int64]:
    """The class that the first j waves give each point, (m, n): what `critical_frequency` reads.

    Args:
        points: (n, 2).
        rule: "graph" separates points above the graph of λ from those below, so the second dimension counts; "sign"
            is the printed rule `λ(z) ≤ 0` on the first dimension alone.
        frequencies: κ.
        phases: φ.
    """
    array = arguments.real("points", points)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"points must be (n, 2); got shape {array.shape}")
    arguments.one_of("rule", rule, ("graph", "sign"))
    height = array[:, 1] if rule == "graph" else 0.0
    return (partial_sums(array[:, 0], frequencies, phases) > height).astype(np.int64)


def frequency_points(train: int = 10_000, test: int = 1000, *, rule: Rule = "graph", seed: int = 0) -> Points:
    """Points uniform on [−1, 1] × [−2π, 2π], labelled by all ten waves.

    Args:
        train: How many training points.
        test: How many test points.
        rule: How λ separates them; see `partial_labels`.
        seed: Of the points.
    """
    train, test = arguments.count("train", train), arguments.count("test", test)
    arguments.held("train and test", train + test, len(FREQUENCIES))
    rng = np.random.default_rng(arguments.count("seed", seed, 0))
    points = rng.uniform([-1, -2 * np.pi], [1, 2 * np.pi], (train + test, 2))
    labels = partial_labels(points, rule)[-1]
    return Points(points[:train], labels[:train], points[train:], labels[train:])


def frequency_images(train: int = 10_000, test: int = 1000, *, rule: Rule = "graph", seed: int = 0) -> Images:
    """The same as images of one pixel with two channels, so that whatever takes images takes them."""
    data = frequency_points(train, test, rule=rule, seed=seed)
    pixels = [points[:, None, None, :].astype(np.float32) for points in (data.points, data.test_points)]
    names = ("λ below", "λ above")
    return Images(pixels[0], data.labels, pixels[1], data.test_labels, names, "frequency data")
