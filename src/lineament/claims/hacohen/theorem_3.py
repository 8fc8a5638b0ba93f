"""Theorem 3 and Corollary 3.1: at a random start the gradient scale matrices are multiples of I in the mean."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np
from scipy import special

from ...evidence import Evidence, at_most, within
from ...evidence import figure as fig
from ...theory import pc_bias
from ..instances import generator, slope
from ..sizes import sizes
from .scales import LAWS, draw, scales_of


class Settings(NamedTuple):
    """What is run at each size.

    Attributes:
        draws: Starts of each shape and law.
        shapes: Widths (q, m_1, …, K).
        grid: Hidden widths m for Corollary 3.1.
        chance: How often the largest of all deviations may be exceeded by chance.
    """

    draws: int
    shapes: tuple[tuple[int, ...], ...] = ((5, 12, 3), (4, 9, 15, 2), (3, 20, 7, 11, 4), (2, 8, 12, 6, 9, 3))
    grid: tuple[int, ...] = (8, 16, 32, 64, 128, 256, 512, 1024)
    chance: float = 1e-3


class Means(NamedTuple):
    """Of all entries the deviation in standard errors and whether it is random at all; of all scales mean and theory."""

    deviations: np.ndarray
    random: np.ndarray
    measured: np.ndarray
    expected: np.ndarray


@sizes(quick=Settings(draws=4000), full=Settings(draws=200_000))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Monte Carlo means of every entry of every A_l and B_l, against the theorem, in units of their standard error.

    Unequal widths, variances from a quarter to four times 1/m, entries that are normal, uniform, signs, or skewed. The
    largest of all those deviations must stay below the one that chance exceeds once in a thousand such experiments.
    Under Definition 3 with hidden widths m and m + 4, the means must differ from 1 by O(1/m). Appendix A prints
    B = QQᵀ for a Q of shape (m_{l−1}, m_0): its mean diagonal is measured too, against the same β_l.
    """
    rng = generator(key)
    means = _means(rng, settings)
    z = means.deviations
    bar = float(-special.ndtri(0.5 * (1 - (1 - settings.chance) ** (1 / z.size))))
    spread = float(np.sqrt(np.mean(z[means.random] ** 2)))
    return Evidence(
        checks=[
            at_most("largest deviation of an entry's mean, in standard errors", np.abs(z).max(), bar,
                    "standard errors: chance exceeds this once in a thousand such experiments"),
            within("root mean square deviation, in standard errors", spread, 0.85, 1.15, "chance alone gives 1, ± 15 %"),
            within("slope of the mean's distance from 1 against m, Definition 3", _distance_rate(settings), -1.15, -0.85,
                   "theory: slope −1 ± 15 %"),
        ],
        printed=[
            at_most("B = QQᵀ as in Appendix A: largest deviation of its mean diagonal from β, in standard errors",
                    _as_printed(rng, settings), bar, "standard errors: the same as for QᵀQ"),
        ],
        correction=r"B^l=\mathbf{Q}^{l\top}\mathbf{Q}^l\in\mathbb{R}^{m_0\times m_0}:\quad\mathbb{E}\,B^l=\beta_lI,\ "
        r"\beta_l=\prod_{n<l}m_n\sigma_n^2\qquad\left(\mathbb{E}\,\mathbf{Q}^l\mathbf{Q}^{l\top}=\prod_{n<l}m_{n-1}\sigma_n^2\,I\right)",
        numbers={
            "entries": float(z.size),
            "worst relative gap of a mean scale": float(np.abs(means.measured / means.expected - 1).max()),
        },
        settings={"laws": list(LAWS)},
        protocol={
            "network": "linear, two to five layers of unequal widths",
            "start": "independent entries of mean 0: normal, uniform, signs and skewed; variances from a quarter to "
            "four times 1/m; Definition 3 for Corollary 3.1",
            "measure": f"means over {settings.draws} starts of every entry of every A_l and B_l",
        },
        figure=_figure(means),
        remarks=[
            "The appendix prints B = QQᵀ, which is not (m₀ × m₀), and whose mean is ∏ m_{n−1}σ_n² I; its proof and "
            "eq. 7 use QᵀQ. By hand: Q = (±1, ±1), one row of two signs, has QQᵀ = 2, a number, where m₁σ² = 1; QᵀQ "
            "is 2 × 2 and I in the mean.",
        ],
    )  # fmt: skip


def _means(rng: np.random.Generator, settings: Settings) -> Means:
    """Every entry of every A_l and B_l that is not the identity by definition."""
    deviations, random, measured, expected = [], [], [], []
    for widths in settings.shapes:
        for law in LAWS:
            variances = 4 ** rng.uniform(-1, 1, len(widths) - 1) / np.array(widths[1:])
            sums = [_mean_and_error(rng, widths, variances, law, settings.draws, side) for side in (0, 1)]
            factors = pc_bias.scale_means(widths, variances)
            for (mean, error), factor, trivial in zip(sums, factors, (-1, 0), strict=True):
                kept = np.delete(np.arange(len(factor)), trivial)  # the identity itself
                target = factor[kept, None, None] * np.eye(mean.shape[-1])
                deviations.append(((mean[kept] - target) / error[kept]).ravel())
                random.append((error[kept] > 1e-9 * np.abs(target).max()).ravel())
                measured.append(np.einsum("lii->li", mean[kept]).mean(axis=1))
                expected.append(factor[kept])
    return Means(*map(np.concatenate, (deviations, random, measured, expected)))


def _mean_and_error(
    rng: np.random.Generator, widths: Sequence[int], variances: np.ndarray, law: str, count: int, side: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard error of every entry of A (side 0) or B (side 1), (layer, size, size), in bounded memory."""
    total = squares = np.zeros(1)
    for begin in range(0, count, 4000):
        matrices = scales_of(draw(rng, widths, variances, law, min(4000, count - begin)))[side]
        total = total + matrices.sum(axis=1)
        squares = squares + (matrices**2).sum(axis=1)
    mean = total / count
    spread = np.maximum(squares / count - mean**2, 0.0)
    # A sign squares to 1, so that a Gram matrix of signs has a diagonal without spread: its mean is exact.
    return mean, np.sqrt(np.maximum(spread, 1e-20 * mean**2 + 1e-300) / count)


def _as_printed(rng: np.random.Generator, settings: Settings) -> float:
    """The largest deviation of the mean diagonal of QQᵀ from β_l, in standard errors, normal entries."""
    deviations = []
    for widths in settings.shapes:
        variances = 1 / np.array(widths[1:])
        beta = pc_bias.scale_means(widths, variances).B
        Q = np.broadcast_to(np.eye(widths[0]), (settings.draws, widths[0], widths[0]))
        for layer, W in enumerate(draw(rng, widths, variances, "normal", settings.draws)[:-1], start=1):
            Q = W @ Q
            diagonal = np.einsum("nij,nij->ni", Q, Q).mean(axis=1)
            deviations.append((diagonal.mean() - beta[layer]) / (diagonal.std() / settings.draws**0.5))
    return float(np.abs(deviations).max())


def _distance_rate(settings: Settings) -> float:
    """Corollary 3.1: how fast the mean scales near 1, with hidden widths m and m + 4."""
    away = []
    for m in settings.grid:
        widths = (7, m, m + 4, m, m + 4, 3)
        away.append(max(np.abs(np.concatenate(pc_bias.scale_means(widths, pc_bias.isometric_variances(widths))) - 1)))
    return slope(settings.grid, away)[0]


def _figure(means: Means) -> fig.Figure:
    edges, ends = np.linspace(-4.5, 4.5, 28), [means.expected.min(), means.expected.max()]
    heights = np.histogram(means.deviations[means.random], edges, density=True)[0]
    fine = np.linspace(-4, 4, 80)
    bell = np.exp(-(fine**2) / 2) / np.sqrt(2 * np.pi)
    return fig.Figure(
        (
            fig.Panel(
                (fig.points(means.expected, means.measured, "Monte Carlo"), fig.theory(ends, ends, "theorem")),
                "αₗ or βₗ",
                "mean diagonal entry",
                x_scale="log",
                y_scale="log",
            ),
            fig.Panel(
                (fig.bars(edges, heights, "all entries"), fig.theory(fine, bell, "chance alone")),
                "deviation, standard errors",
                "density",
                y_limits=(0.0, 0.5),
            ),
        ),
        f"Means of A and B lie on Theorem 3: of {means.deviations.size} entries none is off by more than "
        f"{np.abs(means.deviations).max():.1f} standard errors.",
        2,
    )
