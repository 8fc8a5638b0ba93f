"""The mirrored start: two copies of a network, one subtracted, so that training begins at the zero function."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import Array, Float

from ..core import arguments
from ..core.layered import AbstractLayered
from ..core.model import AbstractModel


class Pair(NamedTuple):
    """Parameters of the copy that is added and of the copy that is subtracted."""

    added: Any
    subtracted: Any


class Mirrored(AbstractLayered):
    """`f(x) = (g(θ₁; x) − g(θ₂; x))/√2`, with θ₁ = θ₂ at the start.

    Its output is then exactly zero, and its tangent kernel `½(K_g(θ₁) + K_g(θ₂))` is that of the plain network g, with
    no other change to the linearised dynamics (Chizat et al. 2019). Where g has two layers and m/2 neurons in NTK
    parameterisation, this *is* the network of m neurons `m^{−1/2} Σ v_r φ(w_r·x/√d)` with the start of Hu et al. (2020,
    eq. 3), pairs (w, v) and (w, −v): the 1/√2 makes 1/√(m/2) into 1/√m, and the subtracted copy stores v with its sign
    changed, which no gradient step notices. Deeper networks become two that share no neuron.

    Attributes:
        plain: The plain network g, any model whose maps are functions of examples. The mirrored one can be tapped if
            the plain one can.
    """

    plain: AbstractModel = eqx.field(static=True)

    def __check_init__(self) -> None:
        arguments.instance("plain", self.plain, AbstractModel)

    @property
    def shape(self) -> tuple[int, ...]:
        """Outputs and inputs."""
        return self.plain.shape

    def layout(self) -> Pair:
        """The layout of the plain network, twice."""
        return Pair(self.plain.layout(), self.plain.layout())

    def apply(self, parameters: Pair, X: Float[Array, "n in"]) -> Float[Array, "n out"]:
        """The outputs on the rows of X."""
        added, subtracted = (self._function(half)(X) for half in parameters)
        return 0.5**0.5 * (added - subtracted)

    @property
    def tap_shapes(self) -> tuple[tuple[int, int], ...]:
        """Positions and outputs at the taps of both copies; a network without taps has none."""
        return 2 * self.plain.tap_shapes if isinstance(self.plain, AbstractLayered) else ()

    def tapped(
        self, parameters: Pair, X: Float[Array, "n in"], taps: Sequence[Array]
    ) -> tuple[Float[Array, "n out"], tuple[Array, ...]]:
        """The outputs when taps are added to the products of both copies, and the inputs of those products."""
        half, plain = len(taps) // 2, self._tappable
        added, first = plain.tapped(parameters.added, X, taps[:half])
        subtracted, second = plain.tapped(parameters.subtracted, X, taps[half:])
        return 0.5**0.5 * (added - subtracted), (*first, *second)

    def rows(self, layer: int, inputs: Array) -> Float[Array, "n p in1"]:
        """What the parameters of a layer of either copy are multiplied by, from the layer's input."""
        return self._tappable.rows(layer % len(self._tappable.tap_shapes), inputs)

    @property
    def _tappable(self) -> AbstractLayered:
        if not isinstance(self.plain, AbstractLayered):
            raise ValueError(f"plain must be a network whose layers can be tapped; got {self.plain}")
        return self.plain

    def _function(self, parameters: Any) -> Any:
        map = self.plain.end_to_end(parameters)
        if not callable(map):
            raise ValueError(f"plain must be a model whose maps are functions of examples; got {self.plain}")
        return map
