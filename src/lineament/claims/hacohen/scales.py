"""The gradient scale matrices at the start: their means (Theorem 3) and their spread (Theorem 4)."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import jax
import numpy as np
from scipy.stats import norm

from ...evidence import Evidence, at_most, within
from ...evidence import figure as fig
from ...theory import pc_bias
from ..instances import generator, slope
from ..sizes import Size

# Laws of an entry: mean 0, variance 1; the kurtosis beside each. The last is skewed.
LAWS: dict[str, tuple[Callable[..., np.ndarray], float]] = {
    "normal": (lambda rng, shape: rng.standard_normal(shape), 3.0),
    "uniform": (lambda rng, shape: rng.uniform(-(3**0.5), 3**0.5, shape), 1.8),
    "sign": (lambda rng, shape: rng.choice([-1.0, 1.0], shape), 1.0),
    "exponential": (lambda rng, shape: rng.standard_exponential(shape) - 1, 9.0),
}


def draw(rng: np.random.Generator, widths: Sequence[int], variances: np.ndarray, law: str, count: int) -> list:
    """Many starts: for each layer an array (count, m_l, m_{l−1}) of independent entries."""
    sample = LAWS[law][0]
    return [
        np.sqrt(v) * sample(rng, (count, d_out, d_in))
        for v, (d_in, d_out) in zip(variances, pairwise(widths), strict=True)
    ]


def scales_of(layers: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """A (layer, count, K, K) and B (layer, count, q, q) of many networks, by multiplying out the definition (eq. 7)."""
    right = [np.broadcast_to(np.eye(layers[0].shape[2]), (len(layers[0]), *(layers[0].shape[2],) * 2))]
    left = [np.broadcast_to(np.eye(layers[-1].shape[1]), (len(layers[0]), *(layers[-1].shape[1],) * 2))]
    for before, after in zip(layers[:-1], layers[:0:-1], strict=True):
        right.append(before @ right[-1])
        left.append(left[-1] @ after)
    A = np.stack([P @ P.swapaxes(1, 2) for P in left[::-1]])
    return A, np.stack([Q.swapaxes(1, 2) @ Q for Q in right])


def means(scale: Size, key: jax.Array) -> Evidence:
    """Monte Carlo means of every entry of every A_l and B_l, against the theorem, in units of their standard error.

    Unequal widths, variances from a quarter to four times 1/m, entries that are normal, uniform, signs, or skewed. The
    largest of all those deviations must stay below the one that chance exceeds once in a thousand such experiments.
    Under Definition 3 with hidden widths m and m + 4, the means must differ from 1 by O(1/m).
    """
    rng = generator(key)
    shapes = [(5, 12, 3), (4, 9, 15, 2), (3, 20, 7, 11, 4), (2, 8, 12, 6, 9, 3)]
    count = 4000 if scale == "quick" else 200_000
    deviations, random, found, expected = [], [], [], []
    for widths in shapes:
        for law in LAWS:
            variances = 4 ** rng.uniform(-1, 1, len(widths) - 1) / np.array(widths[1:])
            alpha, beta = pc_bias.scale_means(widths, variances)
            sums = [_mean_and_error(rng, widths, variances, law, count, side) for side in (0, 1)]
            for (mean, error), factor, trivial in zip(sums, (alpha, beta), (-1, 0), strict=True):
                kept = np.delete(np.arange(len(factor)), trivial)  # the identity itself
                target = factor[kept, None, None] * np.eye(mean.shape[-1])
                deviations.append(((mean[kept] - target) / error[kept]).ravel())
                random.append((error[kept] > 1e-9 * np.abs(target).max()).ravel())
                diagonal = np.einsum("lii->li", mean[kept])
                found.append(diagonal.mean(axis=1))
                expected.append(factor[kept])
    z, random = np.concatenate(deviations), np.concatenate(random)
    bar = float(norm.isf(0.5 * (1 - (1 - 1e-3) ** (1 / z.size))))
    grid = 2 ** np.arange(3, 11)
    away = [
        max(np.abs(np.concatenate(pc_bias.scale_means(w, pc_bias.isometric_variances(w))) - 1))
        for w in [(7, m, m + 4, m, m + 4, 3) for m in map(int, grid)]
    ]
    found, expected = np.concatenate(found), np.concatenate(expected)
    edges, ends = np.linspace(-4.5, 4.5, 28), [expected.min(), expected.max()]
    return Evidence(
        checks=[
            at_most("largest deviation of an entry's mean, in standard errors", np.abs(z).max(), bar),
            within(
                "root mean square deviation, in standard errors", float(np.sqrt(np.mean(z[random] ** 2))), 0.85, 1.15
            ),
            within("slope of the mean's distance from 1 against m, Definition 3", slope(grid, away)[0], -1.15, -0.85),
        ],
        numbers={
            "entries": float(z.size),
            "worst relative gap of a mean scale": float(np.abs(found / expected - 1).max()),
        },
        settings={"widths": shapes, "laws": list(LAWS), "draws each": count},
        figure=fig.Figure(
            (
                fig.Panel(
                    (fig.points(expected, found, "Monte Carlo"), fig.theory(ends, ends, "theorem")),
                    "αₗ or βₗ",
                    "mean diagonal entry",
                    x_scale="log",
                    y_scale="log",
                ),
                fig.Panel(
                    (
                        fig.bars(edges, np.histogram(z[random], edges, density=True)[0], "all entries"),
                        fig.theory(np.linspace(-4, 4, 80), norm.pdf(np.linspace(-4, 4, 80)), "chance alone"),
                    ),
                    "deviation, standard errors",
                    "density",
                    y_limits=(0.0, 0.5),
                ),
            ),
            "Means of A and B lie on Theorem 3, and no entry is off by more than chance.",
            2,
        ),
        remarks=["The appendix prints B = QQᵀ, which is not (m₀ × m₀); the proof and eq. 7 use QᵀQ."],
    )


def _mean_and_error(
    rng: np.random.Generator, widths: Sequence[int], variances: np.ndarray, law: str, count: int, side: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard error of every entry of A (side 0) or B (side 1), (layer, size, size), in bounded memory."""
    total = squares = np.zeros(1)
    for begin in range(0, count, 4000):
        some = scales_of(draw(rng, widths, variances, law, min(4000, count - begin)))[side]
        total = total + some.sum(axis=1)
        squares = squares + (some**2).sum(axis=1)
    mean = total / count
    spread = np.maximum(squares / count - mean**2, 0.0)
    # A sign squares to 1, so that a Gram matrix of signs has a diagonal without spread: its mean is exact.
    return mean, np.sqrt(np.maximum(spread, 1e-20 * mean**2 + 1e-300) / count)


def spreads(scale: Size, key: jax.Array) -> Evidence:
    """Variances of the entries of A_l and B_l over many starts of Definition 3 at rising width, on and off the diagonal.

    Hidden widths m, m + 3, m + 1, …, depths 2, 3 and 5, normal and uniform entries. The slope against the least width m
    must be −1, and the variances must agree with the exact ones, which theory finds by a recursion of fourth moments.
    """
    rng = generator(key)
    grid = [16, 32, 64, 128, 256] if scale == "quick" else [16, 32, 64, 128, 256, 512, 1024]
    depths = (2, 3, 5)
    steps, q, K = (0, 3, 1, 2), 6, 4
    rates, gaps, curves = [], [], {}
    for depth in depths:
        for law in ("normal", "uniform"):
            measured, exact = [], []
            for m in grid:
                widths = (q, *(m + steps[i] for i in range(depth - 1)), K)
                variances = pc_bias.isometric_variances(widths)
                count = int(min(1200, 1.3e6 / m**1.5)) if scale == "quick" else int(min(4000, 1.3e7 / m**1.5))
                A, B = _chunked(rng, widths, variances, law, count)
                measured.append([*_spread(A[:-1]), *_spread(B[1:])])
                found = pc_bias.scale_variances(widths, variances, LAWS[law][1])
                exact.append([found.A_diagonal[:-1], found.A_off[:-1], found.B_diagonal[1:], found.B_off[1:]])
            measured, exact = np.array(measured), np.array(exact)  # (width, kind, layer)
            rates += [slope(grid, measured[:, i, j])[0] for i in range(4) for j in range(depth - 1)]
            gaps.append(np.abs(measured / exact - 1).max(axis=(0, 2)))
            if law == "normal":
                curves[depth] = measured
    panels = tuple(_spread_panel(grid, curves[depth], depth, q, K) for depth in depths)
    return Evidence(
        checks=[
            within("least slope of a variance against the width", min(rates), -1.15, -0.85),
            within("largest slope of a variance against the width", max(rates), -1.15, -0.85),
            at_most("worst relative gap to the exact variance", float(np.max(gaps)), 0.2),
        ],
        numbers={"mean slope": float(np.mean(rates)), "median relative gap": float(np.median(gaps))},
        settings={"widths": grid, "depths": list(depths), "q, K": (q, K), "laws": ["normal", "uniform"]},
        figure=fig.Figure(
            panels,
            "Variances of the entries of A and B fall as 1/m, with a constant that grows with the number of factors.",
            3,
        ),
    )


def _chunked(
    rng: np.random.Generator, widths: Sequence[int], variances: np.ndarray, law: str, count: int
) -> tuple[np.ndarray, np.ndarray]:
    chunk = max(1, int(4e6 / max(widths) ** 2))
    parts = [
        scales_of(draw(rng, widths, variances, law, min(chunk, count - begin))) for begin in range(0, count, chunk)
    ]
    return np.concatenate([p[0] for p in parts], axis=1), np.concatenate([p[1] for p in parts], axis=1)


def _spread(scales: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean variance over starts of the entries on the diagonal, and off it, each (layer,)."""
    variance = scales.var(axis=1, ddof=1)
    on = np.eye(variance.shape[-1], dtype=bool)
    return variance[:, on].mean(axis=1), variance[:, ~on].mean(axis=1)


def _spread_panel(grid: Sequence[int], measured: np.ndarray, depth: int, q: int, K: int) -> fig.Panel:
    """The variances of A₁ and of the last B, which have most factors, and the exact ones for equal widths."""
    names = ("A₁ diagonal", "A₁ off diagonal", "last B diagonal", "last B off diagonal")
    marks = [fig.points(grid, measured[:, i, 0 if i < 2 else -1], names[i], i) for i in range(4)]
    fine = np.unique(np.geomspace(9, 1.4 * grid[-1], 40).astype(int))
    exact = []
    for m in map(int, fine):
        widths = (q, *(m,) * (depth - 1), K)
        exact.append(pc_bias.scale_variances(widths, pc_bias.isometric_variances(widths)))
    lines = [[e.A_diagonal[0] for e in exact], [e.A_off[0] for e in exact]]
    marks += [fig.theory(fine, line, "exact, equal widths") for line in lines]
    return fig.Panel(tuple(marks), "width m", "variance of an entry", f"L = {depth}", "log", "log")
