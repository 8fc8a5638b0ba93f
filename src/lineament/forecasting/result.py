"""A forecast: what will be learnt, when, and what was assumed."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lineament.core import arguments

from . import words
from .moments import Moments
from .paths import Progress
from .premises import Premise
from .shown import Shown
from .stopping import Stopping

Array = NDArray[np.float64]


class Component(NamedTuple):
    """A principal component of the inputs, or a mode of the target where inputs are whitened.

    Attributes:
        number: from 1, in falling variance (strength, for modes).
        variance: of the inputs along it.
        strength: the length of the target's weights on it.
        explained: the share of the target's variance that it explains.
        begins: the time at which a tenth of it is learnt; infinity if not in the range of the forecast.
        half: the same for a half.
        ends: the same for nine tenths.
        features: the features that weigh most in it, with their weights.
        outputs: the outputs that it moves most, with their weights.
    """

    number: int
    variance: float
    strength: float
    explained: float
    begins: float
    half: float
    ends: float
    features: tuple[tuple[str, float], ...]
    outputs: tuple[tuple[str, float], ...]


class Phase(NamedTuple):
    """Two components that are learnt one after the other.

    Attributes:
        first: the number of the earlier component.
        second: that of the later.
        separated: whether the second has not begun (10 %) when the first is learnt (90 %).
        pause: the time from the end of the first to the beginning of the second; negative if they overlap.
        threshold: the largest start from which they separate, known where inputs are whitened.
    """

    first: int
    second: int
    separated: bool
    pause: float
    threshold: float | None


@dataclass(frozen=True, eq=False)
class Forecast(Shown):
    """A forecast of training; made by :func:`forecast`.

    Attributes:
        name: the table.
        moments: what is known of it.
        depth: N.
        start_scale: each of the singular values of the map at the start.
        seed: of the start.
        whiten: whether inputs are whitened.
        step_size: η, given or recommended.
        steps: the number of steps in the range of the forecast.
        largest_stable: 2/λmax at the balanced optimum; beyond it the forecast ends.
        settles_below: 2/λmax at the flattest optimum that scaling the layers leads to; up to it descent can still settle.
        recommended: a twentieth of that, or of the same at the start where that is sharper.
        directions: from a feature vector to the inputs of components, (columns, component); orthonormal columns, or
            those divided by standard deviations where inputs are whitened.
        variances: of the components that the network sees, in falling order.
        target: the best map on components, (outputs, component).
        W0: the map at the start on components.
        path: what is learnt over time. Where inputs are whitened, of modes instead of components.
        floor: the least loss that a linear map can have.
        components: every component or mode, with when it is learnt.
        phases: components that matter, in the order in which they are learnt, in pairs.
        stopping: when to stop, or None where the noise cannot be estimated.
        premises: assumptions of the papers.
        notices: what a reader should know about the data and the settings.
    """

    name: str
    moments: Moments
    depth: int
    start_scale: float
    seed: int
    whiten: bool
    step_size: float
    steps: int
    largest_stable: float
    settles_below: float
    recommended: float
    directions: Array
    variances: Array
    target: Array
    W0: Array
    path: Progress
    floor: float
    components: tuple[Component, ...]
    phases: tuple[Phase, ...]
    stopping: Stopping | None
    premises: tuple[Premise, ...]
    notices: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Forecast({words.brief(self)})"

    @property
    def _made(self) -> "Forecast":
        return self

    @property
    def time(self) -> Array:
        """The times of the forecast: step size times steps."""
        return self.path.time

    @property
    def loss(self) -> Array:
        """The predicted training loss ½ mean‖Wx − y‖² at these times."""
        return self.floor + self.path.left

    @property
    def r2(self) -> float:
        """The share of the target's variance that the best linear map explains on the training data."""
        return float(1 - 2 * self.floor / np.trace(self.moments.syy))

    @property
    def learnt(self) -> float:
        """The share of what can be learnt that is learnt at the end of the range."""
        return float(1 - self.path.left[-1] / self.path.left[0])

    def step_of(self, time: float) -> float:
        """The number of steps after which a time is reached."""
        return arguments.number("time", time, infinite=True) / self.step_size
