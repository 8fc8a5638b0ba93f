"""What linearised training asks of a network at its start, whatever the framework: outputs, kernels, a few products.

Points and outputs travel as NumPy arrays, changes of the parameters as whatever the framework likes best.
"""

import abc
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .losses import Loss

Array = NDArray[np.float64]
Kernel = Literal["all", "mean"]
Progress = Callable[[float], None]


class AbstractTangents(abc.ABC):
    """A network at its start θ₀, and the tangent J of its outputs there."""

    @abc.abstractmethod
    def outputs(self, X: Any, change: Any = None) -> Array:
        """Outputs (n, k) at θ₀, or at θ₀ + change."""

    @abc.abstractmethod
    def gradient(self, X: Any, y: Array, loss: Loss, change: Any) -> tuple[Array, Any]:
        """Outputs at θ₀ + change, and the gradient of the mean loss there."""

    @abc.abstractmethod
    def kernel(self, X: Any, Y: Any, outputs: Kernel) -> np.ndarray:
        """The tangent kernel of X against Y (X again for None): (n, m, k, k) of all outputs, or their mean (n, m)."""

    @abc.abstractmethod
    def pull_back(self, X: Any, coefficients: Array) -> Any:
        """`Jᵀc`, the change of parameters that coefficients (n, k) make."""

    @abc.abstractmethod
    def push_forward(self, X: Any, change: Any) -> Array:
        """`J change`, (n, k)."""

    @abc.abstractmethod
    def combine(self, weights: Sequence[float], changes: Sequence[Any]) -> Any:
        """`Σ weight · change`."""

    @abc.abstractmethod
    def moved(self, change: Any) -> "AbstractTangents":
        """The network at θ₀ + change."""

    @property
    @abc.abstractmethod
    def origin(self) -> Any:
        """θ₀ itself, as a change of parameters."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """How many parameters there are."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The network in a few words."""
