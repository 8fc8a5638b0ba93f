r"""PC-bias of what a network learns: along which principal components of the inputs its outputs move first.

Hacohen & Weinshall (§3) show that a linear network learns the direction of the j-th principal component at a rate set by
its variance. Of any network, the part of its outputs along component j is, with the coordinate `c_j` of variance `λ_j`,

.. math:: p_j(t) = \frac1n \sum_x \frac{c_j(x)}{\sqrt{λ_j}}\, f_t(x),

the coefficients of the affine map nearest to it on the probe inputs, one number per output.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lineament.core import arguments
from lineament.data.components import Components

from .recording import Recording

Floats = NDArray[np.float64]


class PCBias(NamedTuple):
    """How far the outputs have come along each of the first principal components of the probe inputs.

    Attributes:
        variances: Of the inputs along each component.
        learnt: `‖p_j(T) − p_j(0)‖²`: how much was learnt along each by the end, as a mean square of outputs.
        progress: The part of that way gone at each record (step, component), 0 at the first and 1 at the last; NaN for
            a component along which nothing was learnt.
        half: The step at which half the way was first gone, between records by linear interpolation.
        spearman: Rank correlation of the number of the component with `half`: positive if components of high variance
            come first. NaN for fewer than three components.
    """

    variances: Floats
    learnt: Floats
    progress: Floats
    half: Floats
    spearman: float


def pc_bias(recording: Recording, components: int = 10) -> PCBias:
    """How fast the outputs move along the principal components of the probe inputs, relative to where they end.

    Args:
        recording: With outputs and inputs, at least two records.
        components: How many of the first components to look at; all if there are fewer.
    """
    arguments.instance("recording", recording, Recording)
    components = arguments.count("components", components)
    sound = recording.sound
    f = learnt_outputs(sound)
    principal = sound.components
    P = min(components, principal.count)
    parts = np.einsum("nj,tnk->tjk", unit_coordinates(sound, principal)[:, :P], f, optimize=True) / sound.examples
    learnt = np.sum(parts[-1] ** 2, axis=1)
    along = np.sum(parts * parts[-1], axis=2)
    progress = np.divide(along, learnt, out=np.full_like(along, np.nan), where=learnt > 0)
    half = np.array([_first(sound.steps, course) for course in progress.T])
    return PCBias(principal.variances[:P], learnt, progress, half, _spearman(half))


def learnt_outputs(recording: Recording) -> Floats:
    """What the outputs changed by since the first record, (step, example, output)."""
    if recording.outputs is None:
        raise ValueError(
            "all outputs must have been recorded; the largest, or predicted classes, do not say how far they moved"
        )
    if len(recording) < 2:
        raise ValueError(f"at least two sound records are needed to see a change; got {len(recording)}")
    return recording.outputs.astype(np.float64) - recording.outputs[0].astype(np.float64)


def unit_coordinates(recording: Recording, components: Components) -> Floats:
    """Coordinates `c_j/√λ_j` (example, component), of mean 0 and mean square 1 and orthogonal over the examples."""
    rows = np.asarray(recording.inputs, np.float64).reshape(recording.examples, -1)
    return components.coordinates(rows) / np.sqrt(components.variances)


def _first(steps: Floats, course: Floats) -> float:
    above = np.flatnonzero(course >= 0.5)
    if not above.size:
        return float("nan")
    i = int(above[0])
    return float(np.interp(0.5, course[i - 1 : i + 1], steps[i - 1 : i + 1])) if i else float(steps[0])


def _spearman(half: Floats) -> float:
    from scipy.stats import spearmanr

    known = np.isfinite(half)
    if np.count_nonzero(known) < 3 or np.ptp(half[known]) == 0:
        return float("nan")
    return float(spearmanr(np.arange(half.size)[known], half[known])[0])  # type: ignore[arg-type]
