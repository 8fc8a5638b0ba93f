"""Random losses that are sums of ridge functions, convex and not, with their derivatives."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Link = tuple[Callable, Callable, Callable]  # g, g', g''
LINKS: dict[str, Link] = {
    "square": (lambda z: z**2 / 2, lambda z: z, np.ones_like),
    "quartic": (lambda z: z**4 / 4, lambda z: z**3, lambda z: 3 * z**2),
    "cosine": (lambda z: -np.cos(z), np.sin, np.cos),
    "logistic": (lambda z: np.logaddexp(0, z), lambda z: 1 / (1 + np.exp(-z)), lambda z: 0.25 / np.cosh(z / 2) ** 2),
    "log cosh": (lambda z: np.log(np.cosh(z)), np.tanh, lambda z: 1 / np.cosh(z) ** 2),
    "cubic": (lambda z: z**3, lambda z: 3 * z**2, lambda z: 6 * z),
    # The next have no slope at z = 0 and are lower elsewhere: 0 is a maximum, or a local minimum only.
    "two wells": (lambda z: z**4 / 4 - z**2 / 2, lambda z: z**3 - z, lambda z: 3 * z**2 - 1),
    "side well": (lambda z: z**2 / 2 - z**3 + z**4 / 4, lambda z: z - 3 * z**2 + z**3, lambda z: 1 - 6 * z + 3 * z**2),
}
EPS = np.finfo(float).eps


class Loss(NamedTuple):
    """ℓ(W) = Σ_k s_k g(⟨A_k, W⟩ + b_k) with its derivatives: convex or not as g and the signs s are."""

    name: str
    A: np.ndarray
    b: np.ndarray
    signs: np.ndarray

    def value(self, W: np.ndarray) -> float:
        """ℓ(W)."""
        return float(self.signs @ LINKS[self.name][0](self._inner(W) + self.b))

    def gradient(self, W: np.ndarray) -> np.ndarray:
        """∇ℓ(W)."""
        return np.tensordot(self.signs * LINKS[self.name][1](self._inner(W) + self.b), self.A, 1)

    def hvp(self, W: np.ndarray, D: np.ndarray) -> np.ndarray:
        """∇²ℓ(W)[D]."""
        return np.tensordot(self.signs * LINKS[self.name][2](self._inner(W) + self.b) * self._inner(D), self.A, 1)

    def rounding(self, W: np.ndarray) -> float:
        """What rounding can add to the value."""
        z = self._inner(W) + self.b
        return EPS * float(np.sum(np.abs(LINKS[self.name][0](z)) + np.abs(LINKS[self.name][1](z) * z)))

    def _inner(self, W: np.ndarray) -> np.ndarray:
        return np.tensordot(self.A, W, 2)


def random_loss(rng: np.random.Generator, name: str, shape: tuple[int, int], offset: float = 1.0) -> Loss:
    """ℓ(W) = Σ_k g(⟨A_k, W⟩ + b_k) with the named g, a random number of terms, Gaussian A, and b of size `offset`."""
    m = int(rng.integers(1, 2 * shape[0] * shape[1] + 1))
    return Loss(name, rng.normal(size=(m, *shape)), offset * rng.normal(size=m), np.ones(m))
