"""The toy model's learning curves at four depths from two starts: Figure 2."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems, starts, train
from ...core import ensembles
from ...evidence import Evidence, at_most, within
from ...evidence import figure as fig
from ...theory import modes, units
from ..instances import slope
from ..sizes import sizes
from .readings import overlaps


class Settings(NamedTuple):
    """The targets, depths and starts of the figure, and how many steps descent takes to the end of it."""

    targets: tuple[float, ...]
    depths: tuple[int, ...]
    start_scales: tuple[float, ...]
    steps: tuple[int, ...]


QUICK = Settings((12.0, 6.0, 4.0, 3.0), (1, 2, 3, 4), (0.1, 0.001), (16_000, 32_000, 64_000))


@sizes(quick=QUICK, full=QUICK._replace(steps=(128_000, 256_000, 512_000)))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Gradient descent on diagonal deep networks, with the closed solution over it, in the paper's eight panels.

    Descent follows the flow up to an error proportional to its step, so the gap is measured at three step sizes and
    must fall in proportion. What the figure shows is measured too: at depth 1 all values reach half of their targets
    at one time, and the deeper the network and the smaller the start, the more of the next value is still to come when
    a value reaches three quarters of its own.
    """
    targets, scales = np.array(settings.targets), np.array(settings.start_scales)
    problem = problems.whitened(np.diag(targets))
    panels, gaps = [], np.zeros((len(settings.depths), len(settings.steps)))
    next_value = np.zeros((len(settings.depths), len(scales)))
    for row, depth in enumerate(settings.depths):
        model = models.DeepLinear((len(targets),) * (depth + 1))
        start = ensembles.ensemble(lambda s, model=model: starts.identity(model, s), jnp.asarray(scales))
        end = modes.time_to(0.99 * targets.min(), targets.min(), scales, depth)
        time = end[:, None] * np.linspace(0, 1, 401)
        forecast = modes.trajectory(time[..., None], targets, scales[:, None, None], depth)
        curves = []
        for steps in settings.steps:
            step_size = end / steps / units.clock_rate(depth)
            run = train.descend(
                model, problem, start, step_size=step_size, steps=steps, every=steps // 400, record=(_diagonal,)
            )
            curves.append(run.diagonal.values)
        gaps[row] = [np.max(np.abs(curve - forecast) / targets) for curve in curves]
        next_value[row] = [np.mean(overlaps(curve, targets, 0.75)) for curve in curves[-1]]
        panels += [_panel(time[m], curves[-1][m], forecast[m], depth, scales[m]) for m in range(len(scales))]
    rates = [slope(1 / np.array(settings.steps), gap)[0] for gap in gaps]
    deeper, smaller = np.diff(next_value, axis=0).max(), np.diff(next_value[1:], axis=1).max()
    rate = "theory: descent of step η leaves the flow by O(η), slope 1 ± 15 %"
    line = "the width of a drawn line, 1 % of the axis"
    falls = "the figure: deeper and from a smaller start, phases are more distinct"
    return Evidence(
        checks=[
            at_most("worst gap at the smallest step, as a share of σ*", gaps[:, -1].max(), 0.01, line),
            within("least slope of the gap against the step", min(rates), 0.85, 1.15, rate),
            within("largest slope of the gap against the step", max(rates), 0.85, 1.15, rate),
            at_most("largest change of the overlap from one depth to the next", deeper, 0.0, falls),
            at_most("largest change of the overlap to the smaller start, N ≥ 2", smaller, 0.0, falls),
        ],
        numbers={f"gap at N = {n}": float(gap[-1]) for n, gap in zip(settings.depths, gaps, strict=True)}
        | {
            f"share of the next value at ¾ of a value, N = {n}, σ₀ = {s:g}": float(share)
            for n, shares in zip(settings.depths, next_value, strict=True)
            for s, share in zip(scales, shares, strict=True)
        },
        protocol={
            "model": "deep linear network of diagonal layers, from a multiple of the identity",
            "targets": "12, 6, 4, 3",
            "depth": "1, 2, 3, 4",
            "start": "σ0 = 0.1 and 0.001",
            "what is drawn": "gradient descent at three step sizes, and the closed solutions over it",
        },
        figure=fig.Figure(
            tuple(panels[::2] + panels[1::2]),
            "Descent (colour) lies on the closed solution (thin line): when a value is three quarters learnt, the "
            f"next one stands at {next_value[0].mean():.0%} of its target at depth 1 and at "
            f"{next_value[-1, -1]:.0%} at depth {settings.depths[-1]} from the small start.",
            4,
        ),
    )  # fmt: skip


def _diagonal(layers: models.Layers) -> jax.Array:
    product = layers[0]
    for layer in layers[1:]:
        product = layer @ product
    return jnp.diagonal(product)


_diagonal.__name__ = "diagonal"


def _panel(time: np.ndarray, run: np.ndarray, forecast: np.ndarray, depth: int, start: float) -> fig.Panel:
    marks = [fig.measured(time, run[:, i], f"σ* = {target}", i) for i, target in enumerate((12, 6, 4, 3))]
    marks += [fig.theory(time, forecast[:, i]) for i in range(4)]
    return fig.Panel(tuple(marks), "time t", "σ(t)", f"N = {depth}, σ₀ = {start:g}")
