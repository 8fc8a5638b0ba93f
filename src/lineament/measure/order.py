"""In which order examples are learnt (Hacohen & Weinshall, §4; Hacohen et al. 2020).

Everything here takes plain arrays of what networks predicted, from any framework, and runs in NumPy outside any
compiled loop.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import arguments
from .neighbours import neighbours

Vector = NDArray[np.float64]

MOST_RESAMPLES = 10**6
"""Of a bootstrap, all of which are kept."""


def accessibility(correct: ArrayLike) -> Vector:
    """How early each example is learnt: its accuracy averaged over networks and epochs, in [0, 1] (§4).

    Args:
        correct: Whether each network was right after each epoch about each example, boolean (member, epoch, example).
    """
    array = _booleans("correct", correct)
    if array.ndim != 3 or array.shape[2] == 0:
        raise ValueError(f"correct must be (member, epoch, example); got shape {array.shape}")
    return Accessibility(array.shape[2]).add(array).value


class Accessibility:
    """Computes `accessibility` as predictions come, for ensembles too large to hold: memory for one number an example.

    Add every network and epoch once, in any order and grouping; `merge` joins those of several workers.
    """

    def __init__(self, examples: int) -> None:
        self.right = np.zeros(arguments.held("examples", arguments.count("examples", examples)), np.int64)
        self.seen = 0

    def add(self, correct: ArrayLike) -> "Accessibility":
        """Add booleans (…, example): one epoch of one network, or any stack of them."""
        array = _booleans("correct", correct)
        if array.ndim < 1 or array.shape[-1] != self.right.size:
            raise ValueError(
                f"correct must be of {self.right.size} examples on its last axis; got shape {array.shape}"
            )
        rows = array.reshape(-1, self.right.size)
        self.right += np.count_nonzero(rows, axis=0)
        self.seen += len(rows)
        return self

    def merge(self, other: "Accessibility") -> "Accessibility":
        """Add what another `Accessibility` of the same examples has seen."""
        if arguments.instance("other", other, Accessibility).right.size != self.right.size:
            raise ValueError(f"other must be of {self.right.size} examples; got {other.right.size}")
        self.right += other.right
        self.seen += other.seen
        return self

    @property
    def value(self) -> Vector:
        """Accessibility of each example so far."""
        if self.seen == 0:
            raise ValueError("no predictions were added yet; accessibility is a mean over at least one")
        return self.right / self.seen


class Constancy(NamedTuple):
    """Correlations between two learning orders, each with an interval (low, high)."""

    pearson: float
    pearson_interval: tuple[float, float]
    spearman: float
    spearman_interval: tuple[float, float]


def constancy(
    a: ArrayLike,
    b: ArrayLike,
    *,
    confidence: float = 0.95,
    method: Literal["fisher", "bootstrap"] = "fisher",
    resamples: int = 1000,
    seed: int = 0,
) -> Constancy:
    """How two scores of the same examples correlate: the constancy of the order of learning (§4).

    Args:
        a: Scores of the examples, such as the accessibility in one ensemble.
        b: Scores of the same examples, such as the accessibility in another.
        confidence: What share of intervals covers the truth.
        method: "fisher" takes the inverse hyperbolic tangent of r as normal with variance 1/(n − 3), for Spearman
            (1 + r²/2)/(n − 3) (Bonett & Wright 2000); "bootstrap" takes quantiles over resampled examples and assumes
            no distribution. Both count examples as independent and the ensembles as given.
        resamples: How often the bootstrap resamples.
        seed: Of the bootstrap.
    """
    x, y = _scores("a", a), _scores("b", b)
    if x.shape != y.shape or x.size < 4:
        raise ValueError(f"a and b must be scores of the same examples, at least four; got {x.shape} and {y.shape}")
    confidence = arguments.number("confidence", confidence, above=0, below=1)
    arguments.one_of("method", method, ("fisher", "bootstrap"))
    resamples, seed = arguments.count("resamples", resamples, most=MOST_RESAMPLES), arguments.count("seed", seed, 0)
    for name, score in (("a", x), ("b", y)):
        if np.ptp(score) == 0:
            raise ValueError(f"{name} must be scores that differ, or there is no order; got {score[0]:g} for all")
    pearson, spearman = _pearson(x, y), _pearson(_ranks(x), _ranks(y))
    if method == "fisher":
        return Constancy(
            pearson,
            _fisher(pearson, 1 / (x.size - 3), confidence),
            spearman,
            _fisher(spearman, (1 + spearman**2 / 2) / (x.size - 3), confidence),
        )
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.nanquantile(_resampled(x, y, resamples, seed), tails, axis=0)
    return Constancy(pearson, (float(low[0]), float(high[0])), spearman, (float(low[1]), float(high[1])))


def discriminability(features: ArrayLike, labels: ArrayLike, k: int = 10) -> Vector:
    """The share of an example's k nearest other examples that are of its class, in [0, 1] (§5.3).

    Neighbours are exact in the space given, by Euclidean distance: raw pixels, or a network's penultimate layer. The
    paper does not state its k.

    Args:
        features: Examples (n, …) in that space.
        labels: Their classes.
        k: How many neighbours.
    """
    near, y = neighbours(features, k), arguments.classes("labels", labels)
    if y.shape != (len(near),):
        raise ValueError(f"labels must be one for each of {len(near)} examples; got shape {y.shape}")
    return np.mean(y[near] == y[:, None], axis=1)


def fastest(score: ArrayLike, share: float) -> NDArray[np.int64]:
    """The examples of highest score that make up a share of all, at least one, in their own order (Figure 7: 20 %).

    Choose by one ensemble and correlate others: a choice by the mean of two ensembles correlates them by itself.
    """
    values = _scores("score", score)
    number = max(1, round(arguments.number("share", share, above=0, most=1) * values.size))
    return np.sort(np.argsort(-values, kind="stable")[:number])


class Groups(NamedTuple):
    """Means of a score over the examples that share a value, in rising order of the value."""

    values: Vector
    means: Vector
    errors: Vector
    counts: NDArray[np.int64]


def group_means(score: ArrayLike, by: ArrayLike) -> Groups:
    """Mean score, its standard error and the number of examples for each value of `by` (Figures 6b and 8).

    Examples where `by` is not a number are left out. The error of a single example is not a number.
    """
    values, keys = _scores("score", score), arguments.numeric("by", by).astype(np.float64)
    if keys.shape != values.shape:
        raise ValueError(f"by must be of the shape {values.shape} of score; got {keys.shape}")
    known = ~np.isnan(keys)
    if not known.any():
        raise ValueError("by must be a number for some example; got none")
    distinct, group = np.unique(keys[known], return_inverse=True)
    counts = np.bincount(group)
    means = np.bincount(group, values[known]) / counts
    squares = np.bincount(group, (values[known] - means[group]) ** 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.sqrt(squares / (counts - 1) / counts)
    return Groups(distinct, means, np.where(counts > 1, errors, np.nan), counts)


def moving_average(values: ArrayLike, width: int) -> Vector:
    """Means over each run of `width` neighbours, `len(values) − width + 1` of them (Figure 6b: width 10)."""
    array = _scores("values", values)
    width = arguments.count("width", width, 1, array.size)
    return np.convolve(array, np.full(width, 1 / width), mode="valid")


def _scores(name: str, value: ArrayLike) -> Vector:
    return arguments.vector(name, value)


def _booleans(name: str, value: ArrayLike) -> NDArray[np.bool_]:
    array = arguments.classes(name, value)
    if array.dtype != np.bool_:
        raise ValueError(f"{name} must be boolean, such as predictions == labels; got {array.dtype}")
    return array


def _ranks(x: Vector) -> Vector:
    from scipy.stats import rankdata

    return rankdata(x)


def _pearson(x: Vector, y: Vector) -> float:
    x, y = _centred(x), _centred(y)
    with np.errstate(divide="ignore", invalid="ignore"):  # a resample may hold one value only: not a number
        return float(np.clip((x @ y) / np.sqrt((x @ x) * (y @ y)), -1, 1))


def _centred(x: Vector) -> Vector:
    """Deviations from the mean in units of the largest, so that no square of them overflows or vanishes."""
    x = x / np.abs(x).max() if x.any() else x
    x = x - x.mean()
    return x / np.abs(x).max() if x.any() else x


def _fisher(r: float, variance: float, confidence: float) -> tuple[float, float]:
    from scipy.special import ndtri

    if abs(r) == 1:
        return r, r
    half = float(ndtri((1 + confidence) / 2)) * np.sqrt(variance)
    return float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half))


def _resampled(x: Vector, y: Vector, resamples: int, seed: int) -> Vector:
    rng = np.random.default_rng(seed)
    correlations = np.empty((resamples, 2))
    for i in range(resamples):
        chosen = rng.integers(0, x.size, x.size)
        correlations[i] = _pearson(x[chosen], y[chosen]), _pearson(_ranks(x[chosen]), _ranks(y[chosen]))
    return correlations
