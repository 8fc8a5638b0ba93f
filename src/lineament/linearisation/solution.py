"""Coefficients and outputs of linearised training at any step, from kernels and the outputs at the start."""

from dataclasses import dataclass, field

import numpy as np

from ..theory import kernel_modes, kernel_steps, spectral_filters
from ..theory.kernel_modes import Modes
from ..theory.kernel_shapes import Shapes
from .losses import Loss
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
    """

    given: Shapes
    loss: Loss
    start: Array
    start_test: Array
    step_size: float
    momentum: float
    ridge: float
    _kept: dict[float, tuple[Modes, Array | None]] = field(default_factory=dict, repr=False)

    def coefficients(self, steps: Array) -> Array:
        """c, (step, n, k): the parameters have moved by Jᵀc."""
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
        if self.loss == "square":
            found, seen, learnt = self._learnt(steps)
            training = found.combine(found.basis, learnt * found.values)
            test = None if seen is None else found.combine(seen, learnt)
        else:
            c = given.flat(self.coefficients(steps))
            training = given.kernel @ c
            test = None if given.cross is None else given.cross @ c
        here = self.start + given.folded(training, given.n)
        if test is None:
            return here, np.zeros((len(steps), 0, given.outputs))
        return here, self.start_test + given.folded(test, given.others)

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
        return found, seen, self._filter(steps)(found.values)

    def _filter(self, steps: Array) -> kernel_modes.Filter:
        n, eta, mu, rho = self.given.n, self.step_size, self.momentum, self.ridge
        return lambda values: spectral_filters.descent(np.asarray(steps, float), (values + rho) / n, n, eta, mu)
