"""Coefficients and outputs of linearised training at any step, from kernels and the outputs at the start."""

from dataclasses import dataclass, field

import numpy as np

from ..theory import kernel_modes, kernel_steps, spectral_filters
from ..theory.kernel_modes import Modes
from ..theory.kernel_shapes import Shapes
from . import batches
from .losses import Loss
from .recursion import Trail, advance
from .response import Optimiser
from .tangents import Array


@dataclass(frozen=True, eq=False)
class Solution:
    """Linearised training of one network.

    Attributes:
        given: kernel, cross kernel and targets as matrices.
        loss: which loss is trained.
        start: outputs at the start on training points, (n, k).
        start_test: on test points, (m, k).
        step_size: η.
        momentum: μ.
        ridge: ρ.
        weight_decay: λ.
        origin: what θ₀ itself is to the tangent, Jθ₀, on training points, (n, k), and on test points; needed for λ > 0.
    """

    given: Shapes
    loss: Loss
    start: Array
    start_test: Array
    step_size: float
    momentum: float
    ridge: float
    weight_decay: float = 0.0
    origin: tuple[Array, Array] | None = None
    _kept: dict[float, tuple[Modes, Array | None]] = field(default_factory=dict, repr=False)

    @property
    def optimiser(self) -> Optimiser:
        """η, μ, and the decay of what has been moved."""
        return Optimiser(self.step_size, self.momentum, self.ridge / self.given.n + self.weight_decay)

    def coefficients(self, steps: Array) -> Array:
        """c, (step, n, k): the parameters have moved by Jᵀc, and by `drift` times θ₀."""
        if self.weight_decay:
            return self._decayed(steps)[0]
        if self.loss == "square":
            found, _, learnt = self._learnt(steps)
            return self.given.folded(found.combine(found.basis, learnt), self.given.n)
        at, back = np.unique(steps.astype(np.int64), return_inverse=True)
        given = self.given
        c = kernel_steps.cross_entropy(
            given.kernel, given.folded(given.y, given.n), self.start, self.step_size, self.momentum, self.ridge, at
        )
        return c[back]

    def outputs(self, steps: Array) -> tuple[Array, Array]:
        """Outputs on training and test points, (step, n, k) and (step, m, k)."""
        given = self.given
        if self.loss == "square" and not self.weight_decay:
            found, seen, learnt = self._learnt(steps)
            training = found.combine(found.basis, learnt * found.values)
            test = None if seen is None else found.combine(seen, learnt)
        else:
            c = given.flat(self.coefficients(steps))
            training = given.kernel @ c
            test = None if given.cross is None else given.cross @ c
        here = self.start + given.folded(training, given.n) + self._drifted(steps, 0)
        if test is None:
            return here, np.zeros((len(steps), 0, given.outputs))
        return here, self.start_test + given.folded(test, given.others) + self._drifted(steps, 1)

    def drift(self, steps: Array) -> Array:
        """The share of θ₀ by which weight decay has moved the parameters, (step,): −1 would be all of it."""
        return self._decayed(steps)[1] if self.weight_decay else np.zeros(len(steps))

    def spread(self, y_test: Array | None, at: np.ndarray, batch_size: int, seed: int) -> Array:
        """Training and test loss, (2, run, step), over orders of the examples; not-a-number without test targets."""
        given, optimiser = self.given, self.optimiser
        drawn = batches.draw(given.n, batch_size, max(int(at[-1]), 1), seed)
        pulled = self.weight_decay * np.array(self.origin[0]) if self.origin else 0.0
        training = batches.Points(given.kernel, given.folded(given.y, given.n), pulled - optimiser.decay * self.start)
        test = batches.Points(np.zeros((0, given.kernel.shape[1])), *[np.zeros((0, given.outputs))] * 2)
        there = np.zeros((0, given.outputs))
        if y_test is not None:
            assert given.cross is not None
            there = self.start_test
            pulled = self.weight_decay * np.array(self.origin[1]) if self.origin else 0.0
            test = batches.Points(given.cross, y_test, pulled - optimiser.decay * there)
        return batches.carry(batches.at_rest(self.start, there), training, test, optimiser, self.loss, drawn, at)[1]

    def _decayed(self, steps: Array) -> tuple[Array, Array]:
        """Coefficients and drift with weight decay, which has no closed form here: step by step."""
        assert self.origin is not None
        at, back = np.unique(steps.astype(np.int64), return_inverse=True)
        found: Trail = advance(
            self.given.kernel, self.given.folded(self.given.y, self.given.n), self.start, self.origin[0][None],
            np.zeros((1, 2)), np.array([self.weight_decay]), self.optimiser, self.loss, at,
        )  # fmt: skip
        return found.coefficients[back], found.weights[back, 0, 0]

    def _drifted(self, steps: Array, which: int) -> Array | float:
        if not self.weight_decay:
            return 0.0
        assert self.origin is not None
        return self.drift(steps)[:, None, None] * self.origin[which]

    def _learnt(self, steps: Array) -> tuple[Modes, Array | None, Array]:
        """Modes that serve up to the last of the steps, the test points seen from them, and how far each has come."""
        last = float(np.max(steps))
        horizon = min((known for known in self._kept if known >= last), default=None)
        if horizon is None:
            residual = self.given.y - self.given.flat(self.start)
            found = kernel_modes.modes(self.given.kernel, residual, self._filter(np.array(last)))
            seen = None if self.given.cross is None else found.seen_from(self.given.cross)
            self._kept[last] = found, seen
            horizon = last
        found, seen = self._kept[horizon]
        return found, seen, found.sound(self._filter(steps)(found.values))

    def _filter(self, steps: Array) -> kernel_modes.Filter:
        n, eta, mu, rho = self.given.n, self.step_size, self.momentum, self.ridge
        return lambda values: spectral_filters.descent(np.asarray(steps, float), (values + rho) / n, n, eta, mu)
