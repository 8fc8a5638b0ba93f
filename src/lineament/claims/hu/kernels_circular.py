"""The tangent kernel of a circular convolutional network against that of the data: Proposition 4.1."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import binom

from ... import models
from ...evidence import Evidence, at_least, at_most, within
from ...evidence import figure as fig
from ...measure import kernels as measured_kernels
from ...theory import kernels, twin
from ..instances import generator, slope
from ..sizes import Size
from .spectral import spectral_norm

FILTERED = {"quick": (16, 24, 32, 48, 64, 96, 128), "full": (16, 24, 32, 48, 64, 96, 128, 192, 256, 384)}
ALPHAS = (0.1, 0.2)
"""In Proposition 4.1, n = d^{1+α}."""

FIXED = 3
"""A filter that does not grow."""


class Distances(NamedTuple):
    """‖Θ − 2ζ²XXᵀ/d‖ over d: measured and forecast in units of n/d, and measured in units of ‖XXᵀ‖/d."""

    measured: np.ndarray
    forecast: np.ndarray
    over_data: np.ndarray


def circular_kernel(scale: Size, key: jax.Array) -> Evidence:
    r"""The infinite-width kernel on random corners of the cube, n = d^{1+α}, filters q = d^{1/2+2α}, 4d^α and 3, over d.

    On the cube the kernel is a mean over positions of g(ρ), ρ the overlap of patches, and its part linear in the inputs
    is known exactly: q E[ρg(ρ)] XXᵀ/d with ρ a mean of q random signs. In high dimension what is left is nearly diagonal,
    which forecasts the distance from 2ζ²XXᵀ/d as κ(‖XXᵀ‖/d − 1) + g(1) − 2ζ², κ = q E[ρg(ρ)] − 2ζ². The kernel itself is
    compared with kernels of finite random networks, whose distance must fall as the number of channels to the −1/2.
    """
    rng = generator(key)
    d = np.array(FILTERED[scale])
    channels, gaps = _finite_networks(key, rng, 64 if scale == "quick" else 256)
    off, panels, checks, numbers = [], [], [], {}
    for alpha in ALPHAS:
        n = np.round(d ** (1 + alpha)).astype(int)
        laws = {
            "q = d^(1/2 + 2α)": np.ceil(d ** (0.5 + 2 * alpha)).astype(int),
            "q = 4 d^α": np.ceil(4 * d**alpha).astype(int),
            f"q = {FIXED}": np.full(d.shape, FIXED),
        }
        tables = {name: _distances(rng, d, n, q) for name, q in laws.items()}
        off += [np.abs(table.measured / table.forecast - 1) for table in tables.values()]
        slopes = {name: slope(d, table.measured) for name, table in tables.items()}
        asked, stuck = slopes["q = d^(1/2 + 2α)"], tables[f"q = {FIXED}"].over_data
        fixed = slope(d, stuck)
        checks += [
            at_most(f"slope at α = {alpha}, q = d^(1/2 + 2α), upper end", asked[0] + 2 * asked[1], -alpha),
            at_least(
                f"slope over ‖XXᵀ‖/d at α = {alpha}, q = {FIXED}, lower end", fixed[0] - 2 * fixed[1], -alpha / 2
            ),
            at_least(f"least distance at q = {FIXED} over κ‖XXᵀ‖/d, α = {alpha}", stuck.min() / _excess(FIXED), 0.9),
        ]
        numbers |= {f"slope, α = {alpha}, {name}": value[0] for name, value in slopes.items()}
        numbers |= {f"standard error, α = {alpha}, {name}": value[1] for name, value in slopes.items()}
        panels.append(_distance_panel(alpha, d, tables))
    late = np.array(off)[:, len(d) // 2 :]
    return Evidence(
        checks=[
            *checks,
            at_most("worst relative gap of the distance to its forecast, larger half of d", late.max(), 0.1),
            within("slope of finite networks' gap in channels", slope(channels, gaps)[0], -0.6, -0.4),
        ],
        numbers=numbers
        | {
            "worst relative gap to the forecast, all d": float(np.max(off)),
            f"gap at {channels[-1]} channels, relative": float(gaps[-1]),
        },
        settings={"d": d.tolist(), "α": ALPHAS, "n": "d^(1 + α)", "channels": channels.tolist()},
        figure=fig.Figure(
            (
                *panels,
                fig.Panel(
                    (
                        fig.points(channels, gaps, group=4),
                        fig.theory(channels, gaps[0] * np.sqrt(channels[0] / channels)),
                    ),
                    "channels", "gap to infinite width", "finite networks, channels^(−1/2)", "log", "log",
                ),
            ),
            "The distance falls faster than d^(−α) with the filter asked for, as forecast, and not at all with a fixed "
            "one.",
            3,
        ),
        remarks=[
            "The condition on the filter is more than the cube needs: the linear part misses 2ζ² by κ ≈ 32/(27πq), so "
            "that q ≳ d^α is enough."
        ],
    )  # fmt: skip


def _distances(rng: np.random.Generator, d: np.ndarray, n: np.ndarray, q: np.ndarray) -> Distances:
    """Means over draws, more of them in small dimensions."""
    rows = []
    zeta = twin.constants("erf").zeta
    for size, count, width in zip(map(int, d), map(int, n), map(int, q), strict=True):
        draws = []
        for _ in range(max(1, min(16, 128 // size))):
            X = rng.choice([-1.0, 1.0], (count, size))
            gram = X @ X.T / size
            kernel = kernels.circular_cnn(X, filter_size=width, activation="erf").ntk
            distance, scale = spectral_norm(kernel - 2 * zeta**2 * gram), spectral_norm(gram)
            forecast = _excess(width) * (scale - 1) + float(_profile(np.array(1.0))) - 2 * zeta**2
            draws.append([distance * size / count, forecast * size / count, distance / scale])
        rows.append(np.mean(draws, axis=0))
    return Distances(*np.array(rows).T)


def _profile(rho: np.ndarray) -> np.ndarray:
    """g(ρ) = (4/π)ρ/√(9 − 4ρ²) + (2/π) arcsin(2ρ/3): the kernel of patches with overlap ρ."""
    return 4 / np.pi * rho / np.sqrt(9 - 4 * rho**2) + 2 / np.pi * np.arcsin(2 * rho / 3)


def _excess(q: int) -> float:
    """κ = q E[ρg(ρ)] − 2ζ², ρ the mean of q random signs: what the linear part has beyond 2ζ²."""
    heads = np.arange(q + 1)
    rho = (2 * heads - q) / q
    return float(q * np.sum(binom.pmf(heads, q, 0.5) * rho * _profile(rho))) - 2 * twin.constants("erf").zeta ** 2


def _finite_networks(key: jax.Array, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Root mean square distance to infinite width over the number of channels.

    The kernel of a network is a mean over its channels, so that the mean over several networks is that of one with all
    their channels.
    """
    n, d, q, each = 16, 12, 5, 64
    X = rng.choice([-1.0, 1.0], (n, d))
    limit = kernels.circular_cnn(X, filter_size=q, activation="erf").ntk
    net = models.ConvNet((d, 1, 1), (each,), (1,), ((q, 1),), padding="circular")
    starts = [net.start(one, jnp.dtype("float64")) for one in jax.random.split(key, count)]
    found = np.array([measured_kernels.empirical(net, start, X) for start in starts])
    groups = 2 ** np.arange(int(np.log2(count)) - 1)
    gaps = [found.reshape(-1, group, n, n).mean(axis=1) - limit for group in groups]
    size = np.linalg.norm(limit)
    return each * groups, np.array([np.sqrt(np.mean(np.sum(gap**2, axis=(1, 2)))) / size for gap in gaps])


def _distance_panel(alpha: float, d: np.ndarray, tables: dict[str, Distances]) -> fig.Panel:
    x = np.log2(d)
    marks = [fig.points(x, table.measured, name, group) for group, (name, table) in enumerate(tables.items())]
    marks += [fig.theory(x, table.forecast, "forecast") for table in tables.values()]
    first = next(iter(tables.values())).measured[0]
    marks.append(fig.reference(x, 0.7 * first * (d / d[0]) ** -alpha, "slope −α"))
    return fig.Panel(tuple(marks), "log₂ d", "distance over n/d", f"α = {alpha}", y_scale="log")
