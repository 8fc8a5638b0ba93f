"""Diagonal linear networks: every feature has a chain of weights of its own.

The map is `x ↦ ⟨σ, x⟩`, and depth N enters feature by feature:

- shared, `σ = w^N`: the toy model of Gissin et al. (2020, eq. 1), N real;
- separate layers, `σ = w_1 ∘ ··· ∘ w_N` (Gunasekar et al. 2018);
- signed, the difference of two such halves, as `σ = w₊^N − w₋^N` (Woodworth et al. 2019; Gissin et al., Appendix D).
"""

from functools import partial

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import arguments, checks
from ..core.model import AbstractModel, Parameter


def _depth(depth: float) -> float:
    """Whole depths as integers: integer powers are defined for negative weights too."""
    number = arguments.number("depth", depth, least=1)
    return int(number) if number.is_integer() else number


class Diagonal(AbstractModel):
    """A diagonal network with one output. Its parameters are one array of shape `parameter_shape`.

    On the loss `½‖σ − σ*‖²` a half that starts evenly obeys `σ̇ = N² σ^{2−2/N}(σ* − σ)` when shared and the same with N
    in place of N² when not. A shared half of depth ≥ 2 keeps its sign, since w = 0 is stationary.

    Attributes:
        features: The number of inputs.
        depth: N ≥ 1; any real number where weights are shared (non-negative ones, unless N is an integer).
        shared: Whether the N layers have the same weights.
        signed: Whether σ is a difference of two halves, w₊ before w₋ along the first axis of the parameters.
    """

    features: int = eqx.field(static=True, converter=partial(checks.whole, "features"))
    depth: float = eqx.field(static=True, converter=_depth)
    shared: bool = eqx.field(static=True, default=True, converter=partial(arguments.truth, "shared"))
    signed: bool = eqx.field(static=True, default=False, converter=partial(arguments.truth, "signed"))

    def __check_init__(self) -> None:
        if not (self.shared or isinstance(self.depth, int)):
            raise ValueError(f"depth must be an integer unless weights are shared; got {self.depth}")

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and inputs."""
        return 1, self.features

    @property
    def parameter_shape(self) -> tuple[int, ...]:
        """([2 halves,] [N layers,] features)."""
        return (2,) * self.signed + (() if self.shared else (int(self.depth),)) + (self.features,)

    def layout(self) -> Parameter:
        """One array; every weight has one input and one output."""
        return Parameter(self.parameter_shape, fan_in=1, fan_out=1)

    def end_to_end(self, parameters: Float[Array, "..."]) -> Float[Array, "1 features"]:
        """The row vector σᵀ."""
        half = parameters**self.depth if self.shared else jnp.prod(parameters, axis=-2)
        return (half[0] - half[1] if self.signed else half)[None, :]
