"""The loss vanishes from the isotropic start at every scale: the theorem's part (a)."""

import jax
import numpy as np

from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ...theory import lambda_modes
from ..sizes import sizes
from . import setting
from .setting import FULL, QUICK, Settings


@sizes(quick=QUICK, full=FULL)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Flow over γ from 1e-4 to 1e2, on data with more examples than inputs and with fewer, of several shapes.

    Every run must lose all but 1e-12 of its loss. Where inputs are white the whole curve is known in closed form, one
    mode with λ = −2γ for each singular value of the map, and is compared with the integrated one.
    """
    instances, run = setting.flows(settings, key)
    scales, names = settings.scales, settings.names
    share = run.loss.values / run.loss.values[:, :1]
    white = instances[: len(scales)]
    values = np.linalg.svd(white[0].data.least_norm, compute_uv=False)
    residual = lambda_modes.residual(setting.TIMES[:, None], values, 0.0, -2 * scales[:, None, None])
    forecast = np.sum(residual**2, axis=-1) / np.sum(values**2)
    learnt = setting.TIMES[np.argmax(share <= 1e-6, axis=1)]
    late = setting.by_shape(settings, learnt)
    times, last = setting.TIMES, 3 * late[0].max()
    shown = (times > 0) & (times <= last)
    drawn = np.linspace(0, len(scales) - 1, 4).astype(int)
    t = times[shown]
    curves = [
        fig.measured(t, np.maximum(share[i, shown], 1e-18), f"γ = {scales[i]:g}", group)
        for group, i in enumerate(drawn)
    ]
    lines = [fig.theory(t, np.maximum(forecast[i, shown], 1e-18), "closed form") for i in drawn]
    return Evidence(
        checks=[
            at_most("largest share of the loss that is left", share[:, -1].max(), 1e-12,
                    "rounding: residuals to 1e-6 of the labels, squared"),
            at_most("gap to the closed curve on white inputs, of the first loss",
                    np.abs(share[: len(scales)] - forecast).max(), 1e-6,
                    "the integrator's 1e-10 for a step, and fewer than 10⁴ steps"),
        ],
        numbers={"runs": float(len(instances)), "longest time to a millionth": float(learnt.max())},
        protocol=setting.protocol(settings),
        figure=fig.Figure(
            (
                fig.Panel((*curves, *lines), "time t", "L / L(0)", "white inputs", "log", "log", (1e-14, 3.0)),
                fig.Panel(
                    tuple(fig.measured(scales, row, names[g], g) for g, row in enumerate(late)),
                    "γ", "time to L = 1e-6 L(0)", "all data", "log", "log",
                ),
            ),
            f"The loss vanishes at every scale, to {share[:, -1].max():.0e} of itself at worst: after a plateau "
            "that grows with −log γ at small γ, at once at large γ.",
            2,
        ),
    )  # fmt: skip
