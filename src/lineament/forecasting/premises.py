"""Which assumptions of the papers the data and the start meet, each with the number that says so."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lineament.theory import assumptions, certificates, layers

from .moments import Moments

Array = NDArray[np.float64]

EXACT = 1e-8
"""What may remain, relative to the whole, of something that an exact solution needs to vanish."""


class Premise(NamedTuple):
    """An assumption, whether it is met, the number that was compared, and what follows."""

    name: str
    source: str
    met: bool
    value: float
    meaning: str


def premises(
    W0: Array, target: Array, d: Array, syx: Array, depth: int, moments: Moments, whitening: Array | None
) -> tuple[Premise, ...]:
    """Compare data and start with what the papers assume.

    Args:
        W0: the map at the start in principal components, (outputs, component).
        target: W*, likewise.
        d: the variance of every component.
        syx: covariance of outputs and components, (outputs, component).
        depth: N ≥ 1.
        moments: of the table.
        whitening: what the network sees in place of the features, (columns, component), if anything.
    """
    rows, columns = moments.rows, len(moments.features)
    sample = moments.sample if whitening is None else moments.sample @ whitening
    return (
        _full_rank(d, rows, columns),
        _whitened(d),
        _commuting(d, syx),
        _balanced(W0, depth),
        _margin(W0, target, d),
        _typical(sample),
    )


def _full_rank(d: Array, rows: int, columns: int) -> Premise:
    met = len(d) == columns
    says = (
        "the best map is unique, and its error on new data can be estimated"
        if met and rows - 1 > columns
        else "many maps fit equally well; training picks the one in the span of the data, as the start lies in it"
    )
    return Premise("covariance of full rank", "Cohen & Razin, §1", met, len(d) / columns, f"rank/columns: {says}")


def _whitened(d: Array) -> Premise:
    off = float(np.max(np.abs(d - 1)))
    says = (
        "every singular mode of the target moves on its own, in closed form"
        if off <= EXACT
        else "components are learnt in the order of their variance as well as of their weight in the target"
    )
    source = "Saxe et al. 2014; Gissin et al., Thm. 4"
    return Premise("whitened inputs", source, off <= EXACT, off, f"largest |eigenvalue of Σxx − 1|: {says}")


def _commuting(d: Array, syx: Array) -> Premise:
    """Whether Σxx and ΣxyΣyx share their eigenvectors; in principal components the commutator is (d_i − d_j) A_ij."""
    A = syx.T @ syx
    off = float(np.linalg.norm((d[:, None] - d[None, :]) * A) / (d.max() * np.linalg.norm(A)))
    says = (
        "modes stay uncoupled from an aligned start"
        if off <= EXACT
        else "modes are coupled: the path is integrated, not summed from closed forms"
    )
    return Premise("commuting moments", "Saxe et al. 2014", off <= EXACT, off, f"relative commutator: {says}")


def _balanced(W0: Array, depth: int) -> Premise:
    width = min(W0.shape)
    chain = layers.balanced(W0, [W0.shape[1], *[width] * (depth - 1), W0.shape[0]])
    off = layers.unbalancedness(chain) / max(float(np.sum(W**2)) for W in chain)
    says = "the map moves by an equation without layers; hidden widths beyond its rank change nothing"
    return Premise(
        "balanced start", "Cohen & Razin, Assumption 1", off <= EXACT, off, f"relative unbalancedness: {says}"
    )


def _margin(W0: Array, target: Array, d: Array) -> Premise:
    excess = 0.5 * float(np.sum((W0 - target) ** 2 @ d))
    margin = certificates.margin_from_excess(excess, target, float(d.min()))
    says = (
        "convergence at an exponential rate is guaranteed from this start"
        if margin > 0
        else "no guarantee of convergence follows from this start, though it may well converge"
    )
    return Premise("deficiency margin", "Cohen & Razin, Thm. 2", margin > 0, margin, f"margin: {says}")


def _typical(sample: Array) -> Premise:
    """Assumption 3.1 of Hu et al. on the examples that were kept, by its worst line."""
    report = assumptions.check(sample)
    worst = max(report.lines, key=lambda line: abs(line.value - line.reference) / abs(line.allowed - line.reference))
    says = (
        "norms and overlaps are those of subgaussian inputs, so that early training of a wide network is linear"
        if report.holds
        else f"{worst.name} is {worst.value:.3g}, and at most {worst.allowed:.3g} is allowed: "
        "the theorem on a wide network's early, linear phase does not cover this data"
    )
    met = sum(line.holds for line in report.lines)
    name = "concentrated inputs"
    return Premise(name, "Hu et al., Assumption 3.1", report.holds, met / len(report.lines), f"share of tests: {says}")
