"""The first layer's singular values at the end of flow: the corollary."""

import jax
import numpy as np

from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ...theory import lambda_modes
from ..sizes import sizes
from . import setting
from .setting import FULL, QUICK, Settings

STEPS = "the integrator's 1e-10 for a step, and fewer than 10⁴ steps"


@sizes(quick=QUICK, full=FULL)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Singular values of W1 at the end of flow against the corrected form and the printed one, over γ and shapes.

    Flow conserves W1ᵀW1 − W2W2ᵀ = 2γPᵀP, which gives (W1W1ᵀ)² − 2γW1W1ᵀ = ββᵀ and so the *square* of σi(β∗) under the
    root. The printed form lacks it: it is wrong unless σi(β∗) is 0 or 1, and it does not scale as it must when units of
    the labels change.
    """
    instances, _ = setting.flows(settings, key)
    corrected, printed, second = [], [], []
    for instance in instances:
        values = np.linalg.svd(instance.data.least_norm, compute_uv=False)
        d = len(instance.W1)
        measured = np.linalg.svd(instance.W1, compute_uv=False)[:d]
        forecast = lambda_modes.final_layer_singular_values(values[:d], instance.gamma, d)
        corrected.append(np.abs(measured / forecast.W1 - 1).max())
        last = np.linalg.svd(instance.W2, compute_uv=False)[: values.size]
        second.append(np.abs(last - forecast.W2).max() / forecast.W2.max())
        printed.append(np.abs(measured / _as_printed(values[:d], instance.gamma, d) - 1).max())
    gaps, misprint = setting.by_shape(settings, corrected), setting.by_shape(settings, printed)
    return Evidence(
        checks=[
            at_most("worst relative gap of σ(W1) to the corrected form", gaps.max(), 1e-6, STEPS),
            at_most("worst gap of σ(W2) to σ(β)/σ(W1), of the largest", max(second), 1e-6, STEPS),
        ],
        printed=[at_most("worst relative gap of σ(W1) to the printed form", misprint.max(), 1e-6, STEPS)],
        correction=r"\sigma_i(W_1^\infty)=\left(\sqrt{\sigma_i(\beta_*)^2+\gamma^2}+\gamma\right)^{1/2},"
        r"\qquad\sigma_i(W_1^\infty)=(2\gamma)^{1/2}\ (k<i\le d)",
        numbers={"least gap of the printed form over all runs": float(min(printed))},
        protocol=setting.protocol(settings),
        figure=_figure(settings, instances, gaps, misprint),
        remarks=(
            "Counter-example to check by hand: all of n, d, l, k one, X = 1, β∗ = 2 and γ = 3/2. Flow keeps w1² − "
            "w2² = 2γ = 3 and ends at w1w2 = 2: so w1 = 2 and w2 = 1. The corrected form gives (√(4 + 9/4) + "
            "3/2)^½ = (5/2 + 3/2)^½ = 2, the printed one (√(2 + 9/4) + 3/2)^½ = 1.887.",
            "The two agree only where σi(β∗) is 0 or 1. The printed form also has no consistent units: scaling the "
            "labels and γ by c must scale σi(W1) by √c.",
        ),
    )


def _as_printed(values: np.ndarray, gamma: float, d: int) -> np.ndarray:
    return np.sqrt(np.sqrt(np.pad(values, (0, d - values.size)) + gamma**2) + gamma)


def _figure(
    settings: Settings, instances: list[setting.Instance], gaps: np.ndarray, misprint: np.ndarray
) -> fig.Figure:
    scales, names = settings.scales, settings.names
    partial = [k < d for _, d, _, k in settings.shapes]  # so that some values are (2γ)^{1/2}
    group = int(np.argmax(np.where(partial, misprint.max(axis=1), 0.0)))
    shown, fine = instances[group * len(scales) :][: len(scales)], np.geomspace(scales[0], scales[-1], 200)
    values, d = np.linalg.svd(shown[0].data.least_norm, compute_uv=False), len(shown[0].W1)
    measured = np.array([np.linalg.svd(instance.W1, compute_uv=False)[:d] for instance in shown])
    theory = np.array([lambda_modes.final_layer_singular_values(values, gamma, d).W1 for gamma in fine])
    wrong = np.array([_as_printed(values, gamma, d) for gamma in fine])
    labels = {0: "i ≤ k", len(values): "i > k"}
    marks = [fig.points(scales, measured[:, i], labels.get(i, ""), int(i >= len(values))) for i in range(d)]
    marks += [fig.theory(fine, theory[:, i], "corrected") for i in range(d)]
    marks += [fig.reference(fine, wrong[:, i], "as printed") for i in range(len(values))]
    points = [
        fig.points(scales, np.maximum(table.max(axis=0), 1e-16), label, group)
        for group, (label, table) in enumerate((("corrected", gaps), ("as printed", misprint)), start=2)
    ]
    title = names[group]
    return fig.Figure(
        (
            fig.Panel(tuple(marks), "γ", "σᵢ(W1) at the end", title, "log", "log"),
            fig.Panel(
                (*points, fig.reference(scales[[0, -1]], [1e-6, 1e-6], "bar")),
                "γ", "worst relative gap", "all data", "log", "log", (1e-16, 10.0),
            ),
        ),
        f"The first layer's singular values follow the form with σ(β)² under the root, to {gaps.max():.0e} at "
        f"worst; the printed form misses them by up to {misprint.max():.0%}.",
        2,
    )  # fmt: skip
