"""How far a network and its linear twin agree along a run (NumPy, outside any compiled loop).

Outputs are arrays (time, example) or (time, example, output), from any framework.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array as Floats


class Split(NamedTuple):
    """The part of some values in a subspace of the examples' space, and the part orthogonal to it."""

    linear: Floats
    rest: Floats


class LinearPhase(NamedTuple):
    """When a network leaves its twin, and how much that depends on the threshold.

    Attributes:
        end: The first step at which the gap exceeds the threshold, interpolated linearly between the recorded steps;
            infinite where it never does.
        at_half: The same for half the threshold.
        at_double: The same for twice the threshold.
        gap: The gap at every recorded step.
    """

    end: float
    at_half: float
    at_double: float
    gap: Floats

    @property
    def sensitivity(self) -> float:
        """`log₂(at_double/at_half)/2`: about which power of the threshold the end moves with; NaN without ends."""
        if not (np.isfinite(self.at_double) and self.at_half > 0):
            return float("nan")
        return float(np.log2(self.at_double / self.at_half) / 2)


def relative_mse(network: ArrayLike, twin: ArrayLike, scale: float | None = None) -> Floats:
    """The mean square of `network − twin` at each time, relative to that of the twin (Hu et al. 2020, Fig. 3c).

    Early on the twin's output is tiny, and a relative error shows mostly the noise of finite width; `scale` divides by
    a fixed number instead, such as E[y²]. Where both are zero, as at a mirrored start, the relative error is zero.

    Args:
        network: Outputs (time, example) or (time, example, output).
        twin: The twin's outputs, of the same shape.
        scale: What to divide by; the twin's mean square at that time by default.
    """
    f, g = _outputs(network, twin)
    if scale is not None:
        return _mean_square(f - g) / arguments.number("scale", scale, above=0)
    f, g = _in_units(f, g, tuple(range(1, g.ndim)))
    gap = _mean_square(f - g)
    twin_mse = _mean_square(g)
    return np.divide(gap, twin_mse, out=np.where(gap > 0, np.inf, 0.0), where=twin_mse > 0)


def split(values: ArrayLike, features: ArrayLike) -> Split:
    """Project residuals or predictions on V_lin, the column space of the features, and on its complement.

    Hu et al. (2020, Section 4.2): V_lin ⊂ R^n is spanned by the features of a linear model on n examples.

    Args:
        values: (time, example) or (time, example, output); a vector is one time.
        features: (example, feature), of any rank.
    """
    values, features = arguments.real("values", values), arguments.matrix("features", features)
    if values.ndim not in (1, 2, 3) or values.shape[min(1, values.ndim - 1)] != len(features):
        raise ValueError(
            "values must be (time, example) or (time, example, output) of as many examples as features, "
            f"{len(features)}; got shape {values.shape}"
        )
    U, s, _ = np.linalg.svd(features, full_matrices=False)
    basis = U[:, s > max(features.shape) * np.finfo(float).eps * s.max(initial=0)]
    if values.ndim == 3:
        linear = basis @ (basis.T @ values)
    else:
        linear = (values @ basis) @ basis.T
    return Split(linear, values - linear)


def split_mse(values: ArrayLike, features: ArrayLike) -> Split:
    """Mean squares, at each time, of the parts of (time, example[, output]) values on V_lin and on its complement."""
    parts = split(np.atleast_2d(arguments.real("values", values)), features)
    return Split(_mean_square(parts.linear), _mean_square(parts.rest))


def linear_phase(
    steps: ArrayLike, network: ArrayLike, twin: ArrayLike, *, threshold: float = 0.02, scale: float | None = None
) -> LinearPhase:
    """The step at which a network leaves its twin.

    The gap is the mean square of `network − twin`, relative to one fixed scale so that a tiny twin early on does not
    end the phase before it begins. The phase ends where the gap first exceeds the threshold.

    Args:
        steps: The recorded steps (or times), rising.
        network: Outputs (time, example) or (time, example, output).
        twin: The twin's outputs, of the same shape.
        threshold: The gap at which they count as parted; 2 % by default.
        scale: What the gap is relative to, such as E[y²]; by default the largest mean square of the twin's output.
    """
    f, g = _outputs(network, twin)
    s = arguments.rising("steps", steps, len(f))
    threshold = arguments.number("threshold", threshold, above=0)
    if scale is None:
        f, g = _in_units(f, g, None)
    fixed = _mean_square(g).max() if scale is None else arguments.number("scale", scale, above=0)
    if fixed == 0:
        raise ValueError("scale must be given where the twin's outputs are all zero; got none")
    gap = relative_mse(f, g, fixed)
    end, half, double = (_crossing(s, gap, level) for level in (threshold, threshold / 2, 2 * threshold))
    return LinearPhase(end, half, double, gap)


def _crossing(s: Floats, gap: Floats, level: float) -> float:
    above = np.flatnonzero(gap > level)
    if not above.size:
        return float("inf")
    i = int(above[0])
    if i == 0:
        return float(s[0])
    return float(s[i - 1] + (s[i] - s[i - 1]) * (level - gap[i - 1]) / (gap[i] - gap[i - 1]))


def _in_units(f: Floats, g: Floats, axes: tuple[int, ...] | None) -> tuple[Floats, Floats]:
    """Both in units of the largest of g along some axes, so that no square of g overflows or vanishes."""
    largest = np.max(np.abs(g), axis=axes, keepdims=True)
    unit = np.where(largest > 0, largest, 1.0)
    with np.errstate(over="ignore"):  # beside a tiny twin a network may be infinitely large
        return f / unit, g / unit


def _mean_square(values: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.mean(values**2, axis=tuple(range(1, values.ndim)))


def _outputs(network: ArrayLike, twin: ArrayLike) -> tuple[Floats, Floats]:
    f, g = arguments.real("network", network), arguments.real("twin", twin)
    if f.ndim not in (2, 3) or f.size == 0:
        raise ValueError(f"network must be (time, example) or (time, example, output); got shape {f.shape}")
    if f.shape != g.shape:
        raise ValueError(f"twin must be of the shape {f.shape} of network; got {g.shape}")
    return f, g
