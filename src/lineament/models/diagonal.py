"""Diagonal linear networks: every feature has a chain of weights of its own.

The map is `x ↦ ⟨σ, x⟩`, and depth N enters feature by feature:

- shared, `σ = w^N`: the toy model of Gissin et al. (2020, eq. 1), N real;
- separate layers, `σ = w_1 ∘ ··· ∘ w_N` (Gunasekar et al. 2018);
- signed, the difference of two such halves, as `σ = w₊^N − w₋^N` (Woodworth et al. 2019; Gissin et al., Appendix D).
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from ..core import checks


@dataclass(frozen=True)
class Diagonal:
    """A diagonal network with one output. Its parameters are one array of shape `parameter_shape`.

    On the loss `½‖σ − σ*‖²` a half that starts evenly obeys `σ̇ = N² σ^{2−2/N}(σ* − σ)` when shared and the same with N
    in place of N² when not. A shared half of depth ≥ 2 keeps its sign, since w = 0 is stationary.

    Attributes:
        features: The number of inputs.
        depth: N ≥ 1; any real number where weights are shared (non-negative ones, unless N is an integer).
        shared: Whether the N layers have the same weights.
        signed: Whether σ is a difference of two halves, w₊ before w₋ along the first axis of the parameters.
    """

    features: int
    depth: float
    shared: bool = True
    signed: bool = False

    def __post_init__(self) -> None:
        if int(self.features) != self.features or self.features < 1:
            raise ValueError(f"features must be a positive integer; got {self.features}")
        if not (np.isfinite(self.depth) and self.depth >= 1):
            raise ValueError(f"depth must be a finite number of at least 1; got {self.depth}")
        whole = int(self.depth) == self.depth
        if not (self.shared or whole):
            raise ValueError(f"depth must be an integer unless weights are shared; got {self.depth}")
        if whole:  # integer powers are defined for negative weights too
            object.__setattr__(self, "depth", int(self.depth))

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and inputs."""
        return 1, self.features

    @property
    def parameter_shape(self) -> tuple[int, ...]:
        """([2 halves,] [N layers,] features)."""
        return (2,) * self.signed + (() if self.shared else (int(self.depth),)) + (self.features,)

    def end_to_end(self, w: Float[Array, "..."]) -> Float[Array, "1 features"]:
        """The row vector σᵀ."""
        half = w**self.depth if self.shared else jnp.prod(w, axis=-2)
        return (half[0] - half[1] if self.signed else half)[None, :]

    def start(self, scale: float | ArrayLike) -> Float[Array, "..."]:
        """Every weight `scale^{1/N}` (Gissin et al. 2020, eq. 3): σ = scale, or 0 for the signed form.

        Args:
            scale: σ0 > 0, one number or one for each feature.
        """
        checks.positive("scale", scale)
        return jnp.broadcast_to(jnp.asarray(scale, float) ** (1 / self.depth), self.parameter_shape)

    def check(self, w: Float[Array, "..."], members: bool = False) -> None:
        """Refuse parameters that are not this network's."""
        shape = jax.tree.map(lambda leaf: leaf.shape[members:], w)
        if shape != self.parameter_shape:
            raise ValueError(f"start has shape {shape}; {self} has parameters of shape {self.parameter_shape}")
