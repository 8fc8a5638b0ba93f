"""Random starts of many linear networks, and their gradient scale matrices by the definition (eq. 7)."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

# Laws of an entry: mean 0, variance 1; the kurtosis beside each. The last is skewed.
LAWS: dict[str, tuple[Callable[..., np.ndarray], float]] = {
    "normal": (lambda rng, shape: rng.standard_normal(shape), 3.0),
    "uniform": (lambda rng, shape: rng.uniform(-(3**0.5), 3**0.5, shape), 1.8),
    "sign": (lambda rng, shape: rng.choice([-1.0, 1.0], shape), 1.0),
    "exponential": (lambda rng, shape: rng.standard_exponential(shape) - 1, 9.0),
}


def draw(rng: np.random.Generator, widths: Sequence[int], variances: np.ndarray, law: str, count: int) -> list:
    """Many starts: for each layer an array (count, m_l, m_{l−1}) of independent entries."""
    sample = LAWS[law][0]
    return [
        np.sqrt(v) * sample(rng, (count, d_out, d_in))
        for v, (d_in, d_out) in zip(variances, pairwise(widths), strict=True)
    ]


def scales_of(layers: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """A (layer, count, K, K) and B (layer, count, q, q) of many networks, by multiplying out the definition (eq. 7)."""
    right = [np.broadcast_to(np.eye(layers[0].shape[2]), (len(layers[0]), *(layers[0].shape[2],) * 2))]
    left = [np.broadcast_to(np.eye(layers[-1].shape[1]), (len(layers[0]), *(layers[-1].shape[1],) * 2))]
    for before, after in zip(layers[:-1], layers[:0:-1], strict=True):
        right.append(before @ right[-1])
        left.append(left[-1] @ after)
    A = np.stack([P @ P.swapaxes(1, 2) for P in left[::-1]])
    return A, np.stack([Q.swapaxes(1, 2) @ Q for Q in right])
