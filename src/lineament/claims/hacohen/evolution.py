"""How the map converges along principal components: equations 4 and 10."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...evidence import Evidence, at_least, at_most, within
from ...evidence import figure as fig
from ...theory import pc_bias
from ..instances import generator, slope
from ..sizes import Size
from .one_step import descended
from .setting import Task, limit_start, steady_step, task, train_all, two_layers, wide_start

STEPS = 100
AT = np.arange(0, STEPS + 1, 2)
SIZES = (0.03, 0.3, 3.0)
DEPTHS = (1, 2, 3, 5)


class Wide(NamedTuple):
    """Two-layer networks from Definition 3: maps (size, width, seed, step, K, q), and the gap to eq. 10 likewise."""

    widths: np.ndarray
    maps: np.ndarray
    gap: np.ndarray


def evolution(scale: Size, key: jax.Array) -> Evidence:
    """Trained maps against eq. 10 over width, norm of the optimum, time and depth.

    One layer first, where the statement must be exact: it is with w_j^s on the left. Then two-layer networks from
    Definition 3, for optima of norm 0.03, 0.3 and 3, at rising width; networks that begin as infinitely wide ones do
    (A = B = I, W = 0), for optima of falling norm, at depths 2, 3 and 5; and the rate of convergence of wide networks
    against depth. The gap is the largest over time of |W − eq. 10|, relative to |W_opt − W(0)|.
    """
    rng = generator(key)
    q, K = 8, 2
    the_task = task(rng, q, K, 0.1)
    corrected, printed = _one_layer(rng, the_task)
    wide = _widths(rng, the_task, scale)
    worst = np.sqrt(np.mean(wide.gap.max(axis=-1) ** 2, axis=-1))  # (size, width)
    sizes = np.geomspace(0.1, 3.0, 8 if scale == "quick" else 20)
    departures = {depth: _departure(rng, the_task, depth, sizes) for depth in (2, 5)}
    small = sizes <= 0.45
    bends = [slope(sizes[small], gap[small])[0] for gap in departures.values()]
    rates = _rates(rng, the_task, scale)
    late = _late_rate(wide, the_task)
    alpha, beta = pc_bias.scale_means((q, 10**6, K), pc_bias.glorot_variances((q, 10**6, K)))
    peak = AT[np.argmax(np.sqrt(np.mean(wide.gap[-1, -1] ** 2, axis=0)))]
    return Evidence(
        checks=[
            at_most("gap of one layer, w at step s", corrected, 1e-12),
            within("slope of the gap against the width, |Wopt| = 0.03", slope(wide.widths, worst[0])[0], -0.65, -0.35),
            within("least slope against |Wopt| of the gap at infinite width", min(bends), 1.8, 2.2),
            within("largest slope against |Wopt| of the gap at infinite width", max(bends), 1.8, 2.2),
            within("slope of the rate at the start against depth", slope(DEPTHS, rates)[0], 0.9, 1.1),
            at_least("gap at the largest width over that at the least, |Wopt| = 3", worst[2, -1] / worst[2, 0], 0.7),
        ],
        printed=[at_most("gap of one layer, w at step s + 1 as printed", printed, 1e-12)],
        correction=r"w_j^{s}=\lambda_j^s w_j^0+(1-\lambda_j^s)\frac{m_j}{d_j}+O(\|W_{\mathrm{opt}}\|^3)"
        r"+O(m^{-1/2}),\quad\lambda_j=1-\mu Ld_j,\quad j\in[q]",
        numbers={
            **{
                f"gap at m = {wide.widths[-1]}, |Wopt| = {s:g}": float(g[-1])
                for s, g in zip(SIZES, worst, strict=True)
            },
            "step of the largest gap, |Wopt| = 3": float(peak),
            **{f"rate at the start over μd, L = {L}": float(rate) for L, rate in zip(DEPTHS, rates, strict=True)},
            "rate over μd under Glorot's start, L = 2, wide": float(np.sum(alpha * beta)),
            "late rate over μLd of the slowest component, |Wopt| = 3": late,
        },
        settings={
            "q, K": (q, K),
            "d": "1 … 0.1",
            "widths": [int(m) for m in wide.widths],
            "steps": STEPS,
            "norms of the optimum": list(SIZES),
            "depths": list(DEPTHS),
        },
        figure=_figure(the_task, wide, worst, sizes, departures),
        remarks=[
            "Eq. 9 begins its products at ν = 1 in place of 0, so that the exponent of eqs. 4 and 10 is one behind; the "
            "components run over j ∈ [q], printed [K].",
            "The gap does not fall with width alone: a map of the size of 1 moves A and B away from the identity, and "
            "the network then converges faster than eq. 10 says, along a direction by up to (1 + |Wopt|²)^½ at two "
            "layers.",
        ],
    )


def _one_layer(rng: np.random.Generator, the_task: Task) -> tuple[float, float]:
    """The gap of eq. 10 with w at step s, and with w at step s + 1 on the left as printed."""
    q, K = len(the_task.d), len(the_task.direction)
    start, step = rng.normal(size=(K, q)), 0.3
    run = train_all(the_task, [([start], 1.0, step)], STEPS, np.arange(STEPS + 1), ("end_to_end",))
    maps = run.end_to_end.values[0]
    moment = the_task.direction * the_task.d
    forecast = pc_bias.convergence(np.arange(STEPS + 1), the_task.d, start, moment, step, 1.0)
    size = np.linalg.norm(start - the_task.direction)
    gap = lambda run, theory: float(np.linalg.norm(run - theory, axis=(1, 2)).max() / size)  # noqa: E731
    return gap(maps, forecast), gap(maps[1:], forecast[:-1])


def _gaps(the_task: Task, maps: np.ndarray, size: float, step: float, depth: int) -> np.ndarray:
    """The relative gap of a run (step, K, q) to eq. 10 from its own start."""
    forecast = pc_bias.convergence(AT, the_task.d, maps[0], size * the_task.direction * the_task.d, step, depth)
    return np.linalg.norm(maps - forecast, axis=(1, 2)) / np.linalg.norm(size * the_task.direction - maps[0])


def _widths(rng: np.random.Generator, the_task: Task, scale: Size) -> Wide:
    widths, seeds, members = two_layers(rng, the_task, SIZES, scale)
    maps = train_all(the_task, members, STEPS, AT, ("end_to_end",)).end_to_end.values
    gaps = [_gaps(the_task, run, size, mu, 2) for run, (_, size, mu) in zip(maps, members, strict=True)]
    shape = (len(SIZES), len(widths), seeds, len(AT))
    return Wide(widths, maps.reshape(*shape, *maps.shape[-2:]), np.reshape(gaps, shape))


def _departure(rng: np.random.Generator, the_task: Task, depth: int, sizes: np.ndarray) -> np.ndarray:
    """The largest gap to eq. 10 over time, from the start of an infinitely wide network; steps small, as in flow."""
    layers = limit_start(rng, len(the_task.d), len(the_task.direction), depth)
    members = [(layers, float(size), steady_step(size, depth) / 25) for size in sizes]
    run = train_all(the_task, members, 25 * STEPS, 25 * AT, ("end_to_end",))
    gaps = []
    for maps, (_, size, step) in zip(run.end_to_end.values, members, strict=True):
        forecast = pc_bias.convergence(
            25 * AT, the_task.d, maps[0], size * the_task.direction * the_task.d, step, depth
        )
        gaps.append(np.linalg.norm(maps - forecast, axis=(1, 2)).max() / np.linalg.norm(size * the_task.direction))
    return np.array(gaps)


def _rates(rng: np.random.Generator, the_task: Task, scale: Size) -> np.ndarray:
    """The L that fits the first step of wide networks best, `ΔW = −μL(W − W_opt)D`, at each depth.

    The optimum is large beside W(0), so that what pulls does not depend on the layers it pulls.
    """
    q, K = len(the_task.d), len(the_task.direction)
    best = 10 * the_task.direction
    width, seeds = (128, 48) if scale == "quick" else (1024, 48)
    X = np.sqrt(the_task.d) * np.eye(q)
    inputs, outputs = (jnp.asarray(np.broadcast_to(of, (seeds, *of.shape))) for of in (X, best @ X))
    found = []
    for depth in DEPTHS:
        starts = [wide_start(rng, q, K, width, depth) for _ in range(seeds)]
        layers = tuple(jnp.asarray(np.stack(each)) for each in zip(*starts, strict=True))
        unit, maps = descended(layers, inputs, outputs, jnp.array([0.0, 1e-6]))
        before, moved = np.asarray(maps)[:, 0], np.asarray(maps[:, 1] - maps[:, 0]) / (1e-6 * unit[:, None, None])
        pull = (best - before) * the_task.d
        found.append(np.sum(moved * pull) / np.sum(pull**2))
    return np.array(found)


def _late_rate(wide: Wide, the_task: Task) -> float:
    """How fast the slowest component ends its way to a large optimum in the widest networks, over μLd."""
    left = np.linalg.norm(wide.maps[-1, -1, :, :, :, -1] - SIZES[-1] * the_task.direction[:, -1], axis=-1).mean(axis=0)
    half = len(AT) // 2
    decay = np.log(left[half] / left[-1]) / (AT[-1] - AT[half])
    return float(decay / (steady_step(SIZES[-1], 2) * 2 * the_task.d[-1]))


def _share(maps: np.ndarray, best: np.ndarray, j: int) -> np.ndarray:
    """How far component j is from its optimum, over the optimum's size."""
    return np.linalg.norm(maps[..., j] - best[:, j], axis=-1) / np.linalg.norm(best[:, j])


def _figure(
    the_task: Task, wide: Wide, worst: np.ndarray, sizes: np.ndarray, departures: dict[int, np.ndarray]
) -> fig.Figure:
    """Components over time for a small and a large optimum; the gap against width and norm; the rate against depth."""
    panels = []
    for i in (1, 2):
        size, run = SIZES[i], wide.maps[i, -1, 0]
        best, step = size * the_task.direction, steady_step(size, 2)
        forecast = pc_bias.convergence(AT, the_task.d, run[0], best * the_task.d, step, 2)
        marks = []
        for group, j in enumerate((0, 3, 7)):
            marks += [
                fig.measured(AT, _share(run, best, j), f"j = {j + 1}", group),
                fig.theory(AT, _share(forecast, best, j), "eq. 10"),
            ]
        title = f"m = {wide.widths[-1]}, |Wopt| = {size:g}"
        panels.append(
            fig.Panel(tuple(marks), "step s", "|wⱼ − opt| / |opt|", title, y_scale="log", y_limits=(3e-5, 3))
        )
    marks = [
        fig.points(wide.widths, g, f"|Wopt| = {s:g}", i) for i, (s, g) in enumerate(zip(SIZES, worst, strict=True))
    ]
    marks.append(fig.reference(wide.widths, worst[0, 0] * (wide.widths / wide.widths[0]) ** -0.5, "slope −1/2"))
    panels.append(fig.Panel(tuple(marks), "width m", "gap to eq. 10", "L = 2", "log", "log", (8e-3, 2.0)))
    marks = [fig.points(sizes, gap, f"L = {L}", i + 3) for i, (L, gap) in enumerate(departures.items())]
    marks.append(fig.reference(sizes, departures[2][0] * (sizes / sizes[0]) ** 2, "slope 2"))
    panels.append(fig.Panel(tuple(marks), "|Wopt|", "gap to eq. 10", "begun as at m = ∞", "log", "log"))
    return fig.Figure(
        tuple(panels),
        "Wide networks follow eq. 10 to small optima; to large ones they leave it, however wide they are.",
        2,
    )
