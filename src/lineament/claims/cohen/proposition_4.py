"""Proposition 4: the end-to-end matrix has an analytic singular value decomposition along the flow."""

from typing import NamedTuple

import jax
import numpy as np
from scipy.fft import dct
from scipy.linalg import block_diag

from ... import models, problems, train
from ...core import ensembles
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...theory import analytic_svd
from ..instances import generator, rotation
from ..sizes import sizes
from .networks import balanced_ensemble


class Settings(NamedTuple):
    """What is run at each size."""

    networks: int
    depths: tuple[int, ...]
    samples: int
    until: float = 1.5
    rtol: float = 1e-11


class Branches(NamedTuple):
    """Singular values and vectors of one run, tracked, and the sorted values of a library beside them."""

    W: np.ndarray
    times: np.ndarray
    U: np.ndarray
    s: np.ndarray
    V: np.ndarray
    library: np.ndarray

    @property
    def residual(self) -> float:
        """How far U S Vᵀ is from W."""
        product = (self.U * self.s[:, None]) @ np.swapaxes(self.V, 1, 2)
        return float(np.linalg.norm(product - self.W, axis=(1, 2)).max() / np.abs(self.W).max())

    @property
    def crossings(self) -> int:
        """How often the order of the tracked values changes."""
        return int(np.sum(np.diff(np.argsort(-np.abs(self.s), axis=1), axis=0).any(axis=1)))

    @property
    def vector_tail(self) -> float:
        """The tail of the tracked vectors."""
        return max(float(_tail(X.reshape(len(X), -1)).max()) for X in (self.U, self.V))


@sizes(
    quick=Settings(networks=4, depths=(3,), samples=193),
    full=Settings(networks=16, depths=(2, 3, 4, 5), samples=257),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Networks whose singular values cross on the way, sampled at Chebyshev points, where analyticity can be seen.

    The coefficients of an analytic function fall geometrically, those of one with kinks as k⁻². Branches tracked by
    their vectors, values and vectors alike, are held against the sorted values that a library returns. Start and
    target consist of two blocks in common, turned bases, so that values cross rather than avoid each other.
    """
    rng = generator(key)
    branches = [branch for n in settings.depths for branch in _tracked(rng, n, settings)]
    library = min(float(_tail(branch.library).max()) for branch in branches)
    last = f"the last quarter of {settings.samples} coefficients: the solver's accuracy 1e-11 times 100,000"
    kinks = "theory: kinks leave a share of order k⁻², here about 1e-4; the bar on analytic branches"
    return Evidence(
        checks=[
            at_most("largest tail of the tracked values", max(_tail(b.s).max() for b in branches), 1e-6, last),
            at_most("largest tail of the tracked vectors", max(b.vector_tail for b in branches), 1e-6, last),
            at_most("worst relative residual of U S Vᵀ", max(b.residual for b in branches), 1e-12,
                    "float64 rounding 2e-16, times a few thousand operations"),
            at_least("least number of crossings in a run", min(b.crossings for b in branches), 1,
                     "the control needs a crossing in every run"),
            at_least("least tail of the sorted values, which have kinks", library, 1e-6, kinks),
        ],
        numbers={"crossings in all": float(sum(b.crossings for b in branches))},
        protocol={
            "loss": "square loss on whitened inputs",
            "network": f"depths {', '.join(map(str, settings.depths))}, maps 4×5",
            "start": "balanced, two blocks whose values cross on the way",
            "training": f"gradient flow until t = {settings.until:g}",
        },
        figure=_figure(branches[0]),
        remarks=("At two or more layers crossings are exceptional: without a symmetry values avoid each other.",),
    )  # fmt: skip


def _tracked(rng: np.random.Generator, n: int, settings: Settings) -> list[Branches]:
    """Train networks of depth n and track their singular values and vectors."""
    widths = (5, *[5] * (n - 1), 4)
    times = settings.until * (1 - np.cos(np.linspace(0, np.pi, settings.samples))) / 2
    turned = [_two_blocks(rng, (rotation(rng, 4), rotation(rng, 5))) for _ in range(settings.networks)]
    run = train.flow(models.DeepLinear(widths), ensembles.stack([problems.whitened(T) for _, T in turned]),
                     balanced_ensemble(rng, [W for W, _ in turned], widths), times=times, record=("end_to_end",),
                     rtol=settings.rtol, tolerance=0.0)  # fmt: skip
    return [
        Branches(W, times, *analytic_svd.track(W, times), np.linalg.svd(W, compute_uv=False))
        for W in run.end_to_end.values
    ]


def _two_blocks(rng: np.random.Generator, turns: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Start and target of two blocks in common turned bases: one rises from below the other to above it.

    Within a block directions turn as they please, but the blocks never mix, so that their singular values truly cross.
    """
    blocks = []
    for shape, first, last in (((2, 2), [0.35, 0.2], [3.0, 2.0]), ((2, 3), [1.3, 0.8], [0.9, 0.5])):
        U, V, angle = rotation(rng, 2), rotation(rng, shape[1])[:, :2], rng.uniform(0.2, 0.6)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        blocks.append(((U * first) @ V.T, (turn @ U * last) @ V.T))
    return tuple(turns[0] @ block_diag(*pair) @ turns[1].T for pair in zip(*blocks, strict=True))  # type: ignore[return-value]


def _coefficients(samples: np.ndarray) -> np.ndarray:
    """Sizes of the Chebyshev coefficients of functions sampled at Chebyshev points along axis 0."""
    return np.abs(np.asarray(dct(samples, type=1, axis=0))) / len(samples)


def _tail(samples: np.ndarray) -> np.ndarray:
    """The largest of the last quarter of Chebyshev coefficients over the largest of all, for samples along axis 0."""
    coefficients = _coefficients(samples)
    return coefficients[-len(samples) // 4 :].max(axis=0) / coefficients.max()


def _figure(branch: Branches) -> fig.Figure:
    times, s, U, library = branch.times, branch.s, branch.U, branch.library
    branches = [fig.measured(times, column, "" if r else "branches", r) for r, column in enumerate(s.T)]
    sorted_values = fig.theory(times, library[:, 1], "second largest")
    vectors = [fig.measured(times, U[:, 0, r], "", r) for r in range(s.shape[1])]
    k = np.arange(1, len(times))
    decay = [np.maximum(_coefficients(x).max(axis=1)[1:], 1e-16) for x in (s, U[:, 0], library)]
    names = ("tracked values", "tracked vectors", "sorted values")
    spectra = [fig.measured(k, y, name, i) for i, (y, name) in enumerate(zip(decay, names, strict=True))]
    return fig.Figure(
        (
            fig.Panel((*branches, sorted_values), "time t", "singular values", "tracked through crossings"),
            fig.Panel(tuple(vectors), "time t", "first entries of uᵣ", "their vectors"),
            fig.Panel(tuple(spectra), "index k", "Chebyshev coefficient", "smoothness", "log", "log"),
        ),
        "Tracked branches pass through crossings analytically; sorted values have kinks there.",
    )
