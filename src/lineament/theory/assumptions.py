r"""Do given inputs satisfy Assumption 3.1 of Hu et al. (2020)? Their first and second moments, norms and overlaps.

The assumption: mean 0, TrΣ = d, ‖Σ‖ = O(1), and x = Σ^{1/2}x̄ with independent subgaussian entries. Claim 3.1 draws
from it that ‖x‖²/d = 1 ± O(√(log n/d)) and |⟨x, x′⟩|/d = O(√(log n/d)) for all examples and pairs. That form of x cannot
be seen in a sample, but what it would do to norms and overlaps can: for a Gaussian of the measured covariance

.. math:: \operatorname{sd}\left(\|x\|^2/d\right) = \sqrt{2\operatorname{Tr}Σ^2}/d, \qquad
          \operatorname{sd}\left(⟨x, x'⟩/d\right) = \sqrt{\operatorname{Tr}Σ^2}/d,

and the largest of N such deviations is near √(2 log 2N) of them. Every line of the report gives the measured value and
the one to compare it with. O(1) is read as the bars below.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array

SCALE_BAR = 0.1
"""How far TrΣ/d may lie from 1."""

MEAN_BAR = 0.1
"""What ‖mean‖² may be beyond its sampling error, as a multiple of TrΣ/d, the variance in an average direction."""

COVARIANCE_BAR = 10.0
"""What ‖Σ‖ may be at most, as a multiple of TrΣ/d."""

RATIO_BAR = 2.0
"""How many times its Gaussian value a squared mean, a spread or a largest deviation may be."""

BLOCK = 4096
"""Examples converted to float64 at a time."""


class Line(NamedTuple):
    """One measured quantity beside what it is compared with.

    Attributes:
        name: what it is.
        value: as measured.
        reference: the value the assumption asks for, or that a Gaussian of the same covariance would show.
        allowed: the largest value that passes.
        holds: whether it passes.
    """

    name: str
    value: float
    reference: float
    allowed: float
    holds: bool


class Report(NamedTuple):
    """What the inputs look like in the terms of Assumption 3.1 and Claim 3.1.

    Attributes:
        examples: n.
        dimension: d.
        pairs: how many pairs the overlaps were taken over.
        trace: TrΣ/d.
        spread: TrΣ²/d.
        largest: ‖Σ‖.
        least: the least eigenvalue of Σ; Corollary 3.3 asks that it be of order 1.
        gram: ‖XXᵀ‖/n, which Claim 3.1 says is of order 1.
        norm_constant: max |‖x‖²/d − 1| over √(log n/d).
        overlap_constant: max |⟨x, x′⟩|/d over √(log n/d), over the pairs taken.
        lines: the comparisons.
    """

    examples: int
    dimension: int
    pairs: int
    trace: float
    spread: float
    largest: float
    least: float
    gram: float
    norm_constant: float
    overlap_constant: float
    lines: tuple[Line, ...]

    @property
    def holds(self) -> bool:
        """Whether every line passes."""
        return all(line.holds for line in self.lines)

    def __str__(self) -> str:
        """A table, one line for each comparison."""
        head = (
            f"Assumption 3.1 on {self.examples} examples of dimension {self.dimension} ({self.pairs} pairs): "
            f"{'holds' if self.holds else 'does not hold'}"
        )
        rows = [f"{'':<28}{'measured':>12}{'reference':>12}{'allowed':>12}"]
        rows += [
            f"{line.name:<28}{line.value:>12.4g}{line.reference:>12.4g}{line.allowed:>12.4g}"
            f"  {'yes' if line.holds else 'no'}"
            for line in self.lines
        ]
        rows += [
            f"least eigenvalue of Σ {self.least:.4g}, ‖XXᵀ‖/n {self.gram:.4g}, in units of √(log n/d): "
            f"norms {self.norm_constant:.3g}, overlaps {self.overlap_constant:.3g}"
        ]
        return "\n".join([head, *rows])


def check(x: ArrayLike, *, pairs: int = 200_000, seed: int = 0) -> Report:
    """Compare inputs with Assumption 3.1, in memory of the order of d² + BLOCK·d beside x itself.

    Args:
        x: inputs, ``(n, d)``, n ≥ 2, of any real type.
        pairs: the overlaps are taken over all pairs if there are no more than this, else over so many drawn ones.
        seed: of the draw.
    """
    X = arguments.examples("x", x, least=2)
    pairs, seed = arguments.count("pairs", pairs), arguments.count("seed", seed, 0)
    n, d = X.shape
    mean, second, squares = _moments(X)
    covariance = (second - np.outer(mean, mean)) * (n / (n - 1))
    eigenvalues = np.linalg.eigvalsh(covariance)
    trace, largest = float(np.sum(eigenvalues)) / d, float(eigenvalues[-1])
    if not trace > 0:
        raise ValueError("x must be examples that differ; got equal ones")
    # The plug-in TrΣ̂² is too large by (TrΣ)²/n, what it counts of every example with itself. Never below (TrΣ)²/d.
    spread = max(float(np.sum(eigenvalues**2)) - d**2 * trace**2 / n, float(np.sum(eigenvalues)) ** 2 / d) / d
    overlaps = _overlaps(X, pairs, seed) / d

    norms = squares / d
    norm_sd, overlap_sd = np.sqrt(2 * spread / d), np.sqrt(spread / d)
    extreme_norm, extreme_overlap = np.sqrt(2 * np.log(2 * np.array([n, len(overlaps)])))
    widest, strongest = float(np.max(np.abs(norms - 1))), float(np.max(np.abs(overlaps)))
    offset = float(mean @ mean) / trace
    log_unit = np.sqrt(np.log(n) / d)
    lines = (
        Line("‖mean‖²·d/TrΣ", offset, d / n, RATIO_BAR * d / n + MEAN_BAR, offset <= RATIO_BAR * d / n + MEAN_BAR),
        Line("TrΣ/d", trace, 1.0, 1 + SCALE_BAR, abs(trace - 1) <= SCALE_BAR),
        Line("‖Σ‖·d/TrΣ", largest / trace, 1.0, COVARIANCE_BAR, largest <= COVARIANCE_BAR * trace),
        _within("sd of ‖x‖²/d", float(np.std(norms)), norm_sd),
        _within("max |‖x‖²/d − 1|", widest, norm_sd * extreme_norm),
        _within("rms of ⟨x, x′⟩/d", float(np.sqrt(np.mean(overlaps**2))), overlap_sd),
        _within("max |⟨x, x′⟩|/d", strongest, overlap_sd * extreme_overlap),
    )
    gram = float(np.linalg.eigvalsh(second)[-1])
    constants = (float(widest / log_unit), float(strongest / log_unit))
    return Report(n, d, len(overlaps), trace, spread, largest, float(eigenvalues[0]), gram, *constants, lines)


def _within(name: str, value: float, reference: float) -> Line:
    allowed = RATIO_BAR * float(reference)
    return Line(name, value, float(reference), allowed, value <= allowed)


def _moments(X: np.ndarray) -> tuple[Array, Array, Array]:
    """Mean, second moment and every ‖x‖², from blocks of examples."""
    n, d = X.shape
    total, second, squares = np.zeros(d), np.zeros((d, d)), np.empty(n)
    for begin in range(0, n, BLOCK):
        block = X[begin : begin + BLOCK].astype(np.float64)
        if not np.isfinite(block).all():
            raise ValueError(f"x must be finite; got a value that is not in rows {begin} to {begin + len(block) - 1}")
        total += block.sum(axis=0)
        second += block.T @ block
        squares[begin : begin + BLOCK] = np.einsum("ij,ij->i", block, block)
    return total / n, second / n, squares


def _overlaps(X: np.ndarray, pairs: int, seed: int) -> Array:
    """⟨x, x′⟩ over all pairs of different examples, or over drawn ones."""
    n = len(X)
    if n * (n - 1) // 2 <= pairs:
        first, second = np.triu_indices(n, 1)
    else:
        rng = np.random.default_rng(seed)
        first = rng.integers(n, size=pairs)
        second = (first + rng.integers(1, n, size=pairs)) % n
    overlaps = np.empty(len(first))
    for begin in range(0, len(first), BLOCK):
        part = slice(begin, begin + BLOCK)
        left, right = X[first[part]].astype(np.float64), X[second[part]].astype(np.float64)
        overlaps[part] = np.einsum("ij,ij->i", left, right)
    return overlaps
