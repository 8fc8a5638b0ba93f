"""Equations 4 and 10: each principal component of the map converges on its own, at a rate of depth times eigenvalue."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...evidence import Check, Evidence, at_least, at_most, within
from ...evidence import figure as fig
from ...theory import pc_bias
from ..instances import generator, slope
from ..sizes import sizes
from .one_step import descended
from .wide import Grid, Member, Moments, limit_start, moments, steady_step, train_all, two_layers, wide_start

STEPS = 100
AT = np.arange(0, STEPS + 1, 2)
FINER = 25  # so many times more and smaller steps, to be near the flow


class Settings(NamedTuple):
    """What is run at each size.

    Attributes:
        grid: Two-layer networks over the width.
        departures: How many norms of the optimum networks that begin as infinitely wide ones are trained to.
        width: Of the networks whose first rate is measured against depth.
        networks: How many of these.
        norms: Spectral norms of the optimum of the two-layer networks.
        depths: L, for the rate.
        inputs: q.
        outputs: K.
        least: The least eigenvalue; the largest is 1.
    """

    grid: Grid
    departures: int
    width: int
    networks: int = 48
    norms: tuple[float, ...] = (0.03, 0.3, 3.0)
    depths: tuple[int, ...] = (1, 2, 3, 5)
    inputs: int = 8
    outputs: int = 2
    least: float = 0.1


class Wide(NamedTuple):
    """Two-layer networks from Definition 3: maps (norm, width, seed, step, K, q), and the gap to eq. 10 likewise."""

    widths: np.ndarray
    maps: np.ndarray
    gap: np.ndarray

    @property
    def worst(self) -> np.ndarray:
        """The largest gap over time, root mean square of seeds, (norm, width)."""
        return np.sqrt(np.mean(self.gap.max(axis=-1) ** 2, axis=-1))


@sizes(
    quick=Settings(grid=Grid((64, 128, 256, 512, 1024, 2048), seeds=6), departures=8, width=128),
    full=Settings(grid=Grid(tuple(2**k for k in range(6, 16)), seeds=12), departures=20, width=1024),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Trained maps against eq. 10 over width, norm of the optimum, time and depth.

    One layer first, where the statement must be exact: it is with w_j^s on the left. Then two-layer networks from
    Definition 3, for optima of norm 0.03, 0.3 and 3, at rising width; networks that begin as infinitely wide ones do
    (A = B = I, W = 0), for optima of falling norm, at depths 2, 3 and 5; and the rate of convergence of wide networks
    against depth. The gap is the largest over time of |W − eq. 10|, relative to |W_opt − W(0)|.
    """
    rng = generator(key)
    data = moments(rng, settings.inputs, settings.outputs, settings.least)
    corrected, printed = _one_layer(rng, data)
    wide = _widths(rng, data, settings)
    norms = np.geomspace(0.1, 3.0, settings.departures)
    departures = {depth: _departure(rng, data, depth, norms) for depth in (2, 5)}
    rates = _rates(rng, data, settings)
    exact = "one layer is a linear recursion: rounding in float64 × 1000"
    return Evidence(
        checks=[
            at_most("gap of one layer, w at step s", corrected, 1e-12, exact),
            *_gaps_checked(wide, norms, departures),
            within("slope of the rate at the start against depth", slope(settings.depths, rates)[0], 0.9, 1.1,
                   "printed: the rate grows as L, slope 1 ± 10 %"),
            within("rate over μd under Glorot's start, L = 2, wide", _glorot_rate(settings), 3.96, 4.04,
                   "theory: variances of 2/m make A and B twice the identity, and the rate 2 + 2; ± 1 % at m = 10⁶"),
        ],
        printed=[at_most("gap of one layer, w at step s + 1 as printed", printed, 1e-12, exact)],
        correction=r"w_j^{s}=\lambda_j^s w_j^0+(1-\lambda_j^s)\frac{m_j}{d_j}+O(\|W_{\mathrm{opt}}\|^3)"
        r"+O(m^{-1/2}),\quad\lambda_j=1-\mu Ld_j,\quad j\in[q]",
        numbers=_numbers(wide, data, settings)
        | {f"rate at the start over μd, L = {L}": float(rate) for L, rate in zip(settings.depths, rates, strict=True)},
        settings={"steps": STEPS, "norms of the departures": norms.round(3).tolist()},
        protocol={
            "network": f"linear, two layers, m = {settings.grid.widths[0]} … {settings.grid.widths[-1]}; one layer; "
            "two and five layers that begin as infinitely wide ones do",
            "data": f"q = {settings.inputs}, K = {settings.outputs}, eigenvalues 1 … {settings.least:g}, optima of "
            f"norm {', '.join(f'{norm:g}' for norm in settings.norms)}",
            "loss": "square loss",
            "start": "Definition 3",
            "step size": "0.25/(L(1 + |Wopt|²)^½)",
            "time": "from the start through convergence",
        },
        figure=_figure(data, wide, settings, norms, departures),
        remarks=[
            "Eq. 9 begins its products at ν = 1 in place of 0, so that the exponent of eqs. 4 and 10 is one behind; "
            "the components run over j ∈ [q], printed [K]. By hand, s = 0: the print leaves w_j where it was after "
            "one step.",
            "The gap does not fall with width alone: a map of the size of 1 moves A and B away from the identity, and "
            "the network then converges faster than eq. 10 says, along a direction by up to (1 + |Wopt|²)^½ at two "
            "layers.",
        ],
    )  # fmt: skip


def _gaps_checked(wide: Wide, norms: np.ndarray, departures: dict[int, np.ndarray]) -> list[Check]:
    """How the gap to eq. 10 goes with the width and with the norm of the optimum."""
    small = norms <= 0.45
    bends = [slope(norms[small], gap[small])[0] for gap in departures.values()]
    bar = (1.8, 2.2, "theory: A and B leave I by |W|², slope 2 ± 10 %")
    return [
        within("slope of the gap against the width, |Wopt| = 0.03", slope(wide.widths, wide.worst[0])[0], -0.65, -0.35,
               "theory: slope −½ ± 30 %, with few seeds at each width"),
        within("least slope against |Wopt| of the gap at infinite width", min(bends), *bar),
        within("largest slope against |Wopt| of the gap at infinite width", max(bends), *bar),
        at_least("gap at the largest width over that at the least, |Wopt| = 3", wide.worst[-1, -1] / wide.worst[-1, 0],
                 0.7, "theory: the limit is not eq. 10, so that the gap stays: 1, − 30 % for noise"),
    ]  # fmt: skip


def _numbers(wide: Wide, data: Moments, settings: Settings) -> dict[str, float]:
    peak = AT[np.argmax(np.sqrt(np.mean(wide.gap[-1, -1] ** 2, axis=0)))]
    gaps = zip(settings.norms, wide.worst, strict=True)
    return {f"gap at m = {wide.widths[-1]}, |Wopt| = {norm:g}": float(gap[-1]) for norm, gap in gaps} | {
        "step of the largest gap, |Wopt| = 3": float(peak),
        "late rate over μLd of the slowest component, |Wopt| = 3": _late_rate(wide, data, settings.norms[-1]),
    }


def _glorot_rate(settings: Settings) -> float:
    """Σ_l α_l β_l of two layers from Glorot's start, a million units wide."""
    widths = (settings.inputs, 10**6, settings.outputs)
    alpha, beta = pc_bias.scale_means(widths, pc_bias.glorot_variances(widths))
    return float(np.sum(alpha * beta))


def _one_layer(rng: np.random.Generator, data: Moments) -> tuple[float, float]:
    """The gap of eq. 10 with w at step s, and with w at step s + 1 on the left as printed."""
    q, K = len(data.d), len(data.direction)
    start, step_size = rng.normal(size=(K, q)), 0.3
    run = train_all(data, [Member([start], 1.0, step_size)], STEPS, np.arange(STEPS + 1), ("end_to_end",))
    maps = run.end_to_end.values[0]
    moment = data.direction * data.d
    forecast = pc_bias.convergence(np.arange(STEPS + 1), data.d, start, moment, step_size, 1.0)
    distance = np.linalg.norm(start - data.direction)
    gap = lambda run, theory: float(np.linalg.norm(run - theory, axis=(1, 2)).max() / distance)  # noqa: E731
    return gap(maps, forecast), gap(maps[1:], forecast[:-1])


def _gaps(data: Moments, maps: np.ndarray, norm: float, step_size: float, depth: int) -> np.ndarray:
    """The relative gap of a run (step, K, q) to eq. 10 from its own start."""
    forecast = pc_bias.convergence(AT, data.d, maps[0], norm * data.direction * data.d, step_size, depth)
    return np.linalg.norm(maps - forecast, axis=(1, 2)) / np.linalg.norm(norm * data.direction - maps[0])


def _widths(rng: np.random.Generator, data: Moments, settings: Settings) -> Wide:
    members = two_layers(rng, data, settings.norms, settings.grid)
    maps = train_all(data, members, STEPS, AT, ("end_to_end",)).end_to_end.values
    gaps = [_gaps(data, run, member.norm, member.step_size, 2) for run, member in zip(maps, members, strict=True)]
    shape = (len(settings.norms), len(settings.grid.widths), settings.grid.seeds, len(AT))
    return Wide(np.array(settings.grid.widths), maps.reshape(*shape, *maps.shape[-2:]), np.reshape(gaps, shape))


def _departure(rng: np.random.Generator, data: Moments, depth: int, norms: np.ndarray) -> np.ndarray:
    """The largest gap to eq. 10 over time, from the start of an infinitely wide network; steps small, as in flow."""
    layers = limit_start(rng, len(data.d), len(data.direction), depth)
    members = [Member(layers, float(norm), steady_step(norm, depth) / FINER) for norm in norms]
    run = train_all(data, members, FINER * STEPS, FINER * AT, ("end_to_end",))
    gaps = []
    for maps, member in zip(run.end_to_end.values, members, strict=True):
        best = member.norm * data.direction
        forecast = pc_bias.convergence(FINER * AT, data.d, maps[0], best * data.d, member.step_size, depth)
        gaps.append(np.linalg.norm(maps - forecast, axis=(1, 2)).max() / np.linalg.norm(best))
    return np.array(gaps)


def _rates(rng: np.random.Generator, data: Moments, settings: Settings) -> np.ndarray:
    """The L that fits the first step of wide networks best, `ΔW = −μL(W − W_opt)D`, at each depth.

    The optimum is large beside W(0), so that what pulls does not depend on the layers it pulls.
    """
    q, K = len(data.d), len(data.direction)
    best = 10 * data.direction
    count = settings.networks
    X = np.sqrt(data.d) * np.eye(q)
    inputs, outputs = (jnp.asarray(np.broadcast_to(of, (count, *of.shape))) for of in (X, best @ X))
    rates = []
    for depth in settings.depths:
        starts = [wide_start(rng, q, K, settings.width, depth) for _ in range(count)]
        layers = tuple(jnp.asarray(np.stack(copies)) for copies in zip(*starts, strict=True))
        unit, maps = descended(layers, inputs, outputs, jnp.array([0.0, 1e-6]))
        before, moved = np.asarray(maps)[:, 0], np.asarray(maps[:, 1] - maps[:, 0]) / (1e-6 * unit[:, None, None])
        pull = (best - before) * data.d
        rates.append(np.sum(moved * pull) / np.sum(pull**2))
    return np.array(rates)


def _late_rate(wide: Wide, data: Moments, norm: float) -> float:
    """How fast the slowest component ends its way to a large optimum in the widest networks, over μLd."""
    left = np.linalg.norm(wide.maps[-1, -1, :, :, :, -1] - norm * data.direction[:, -1], axis=-1).mean(axis=0)
    half = len(AT) // 2
    decay = np.log(left[half] / left[-1]) / (AT[-1] - AT[half])
    return float(decay / (steady_step(norm, 2) * 2 * data.d[-1]))


def _share(maps: np.ndarray, best: np.ndarray, j: int) -> np.ndarray:
    """How far component j is from its optimum, over the optimum's size."""
    return np.linalg.norm(maps[..., j] - best[:, j], axis=-1) / np.linalg.norm(best[:, j])


def _figure(
    data: Moments, wide: Wide, settings: Settings, norms: np.ndarray, departures: dict[int, np.ndarray]
) -> fig.Figure:
    """Components over time for a small and a large optimum; the gap against the width and against the norm."""
    panels = []
    for i in (1, 2):
        norm, run = settings.norms[i], wide.maps[i, -1, 0]
        best, step_size = norm * data.direction, steady_step(norm, 2)
        forecast = pc_bias.convergence(AT, data.d, run[0], best * data.d, step_size, 2)
        marks = []
        for group, j in enumerate((0, 3, 7)):
            marks += [
                fig.measured(AT, _share(run, best, j), f"j = {j + 1}", group),
                fig.theory(AT, _share(forecast, best, j), "eq. 10"),
            ]
        title = f"m = {wide.widths[-1]}, |Wopt| = {norm:g}"
        panels.append(
            fig.Panel(tuple(marks), "step s", "|wⱼ − opt| / |opt|", title, y_scale="log", y_limits=(3e-5, 3))
        )
    marks = [
        fig.points(wide.widths, g, f"|Wopt| = {s:g}", i)
        for i, (s, g) in enumerate(zip(settings.norms, wide.worst, strict=True))
    ]
    marks.append(fig.reference(wide.widths, wide.worst[0, 0] * (wide.widths / wide.widths[0]) ** -0.5, "slope −1/2"))
    panels.append(fig.Panel(tuple(marks), "width m", "gap to eq. 10", "L = 2", "log", "log", (8e-3, 2.0)))
    marks = [fig.points(norms, gap, f"L = {L}", i + 3) for i, (L, gap) in enumerate(departures.items())]
    marks.append(fig.reference(norms, departures[2][0] * (norms / norms[0]) ** 2, "slope 2"))
    panels.append(fig.Panel(tuple(marks), "|Wopt|", "gap to eq. 10", "begun as at m = ∞", "log", "log"))
    return fig.Figure(
        tuple(panels),
        f"Networks of width {wide.widths[-1]} follow eq. 10 to small optima, within {100 * wide.worst[0, -1]:.0f} %; "
        f"to large ones they leave it, by {100 * wide.worst[-1, -1]:.0f} %, however wide they are.",
        2,
    )
