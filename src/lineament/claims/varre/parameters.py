"""The theorem for the parameters: what both layers minimise, and the singular values they end with.

Layers are the poster's, the transposes of those of `theory`.
"""

import jax
import numpy as np

from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...theory import lambda_modes, log_det
from ..instances import generator
from ..sizes import Size
from . import setting


def minimisers(scale: Size, key: jax.Array) -> Evidence:
    """First-order conditions at the end of flow, then the value there against the global minimum and against rivals.

    In M = W1W1ᵀ and β the problem is convex, so that the first-order conditions settle it; random interpolators near and
    far are tried all the same. As printed the objective holds W1ᵀW1, which has l columns and rank at most d: for l > d it
    is infinite at every point.
    """
    instances, _ = setting.flows(scale, key)
    scales, names = setting.gammas(scale), setting.names(scale)
    conditions = [log_det.kkt(each.W1.T, each.W2.T, *each.data, each.gamma) for each in instances]
    stationarity = setting.by_shape(scale, [found.stationarity for found in conditions])
    value = np.array([log_det.objective(each.W1.T, each.W2.T, each.gamma) for each in instances])
    least = np.array([log_det.minimum(*each.data, each.gamma).value for each in instances])
    excess = np.abs(value - least) / (1 + np.abs(least))
    rng = generator(jax.random.fold_in(key, 1))
    rivals = np.array([_rivals(rng, each, 20) - low for each, low in zip(instances, least, strict=True)])
    wide = [each for each in instances if each.W1.shape[1] > each.W1.shape[0]]
    rank = [np.square(np.linalg.svd(each.W1, compute_uv=False)) for each in wide]
    printed = max(_least_eigenvalue(each.W1) / values[0] for each, values in zip(wide, rank, strict=True))
    return Evidence(
        checks=[
            at_most("worst residual of the first-order conditions, relative", stationarity.max(), 1e-6),
            at_most("worst misfit ‖XW1W2 − Y‖/‖Y‖", max(found.feasibility for found in conditions), 1e-6),
            at_most("worst gap of the objective to its global minimum, relative", excess.max(), 1e-6),
            at_least("least excess of a rival interpolator over the minimum", rivals.min(), -1e-9),
        ],
        printed=[
            at_least("least eigenvalue of W1ᵀW1 over the largest, l > d (log det is finite if positive)", printed, 1e-8)
        ],
        correction=r"(W_1^\infty,W_2^\infty)\in\mathrm{argmin}\ \|W_1\|_F^2+\|W_2\|_F^2-2\gamma\log\det W_1W_1^\top"
        r"\ \ \mathrm{s.t.}\ \ XW_1W_2=Y",
        numbers={"rival interpolators tried": float(rivals.size)},
        settings={"n, d, l, k": setting.SHAPES[scale], "γ": "1e-4 … 1e2", "rivals each": 20},
        figure=_objective_figure(scales, names, stationarity, scale, instances, rng),
        remarks=["The minimiser is unique in W1W1ᵀ and W1W2 only: hidden units may be turned by any orthogonal matrix."],
    )  # fmt: skip


def _least_eigenvalue(W1: np.ndarray) -> float:
    """The least eigenvalue of the l × l matrix W1ᵀW1; zero up to rounding where l > d."""
    return float(max(np.linalg.eigvalsh(W1.T @ W1)[0], 0.0))


def _rivals(rng: np.random.Generator, each: setting.Instance, count: int) -> np.ndarray:
    """The objective at random interpolators, in the convex variables, at all distances from the minimum."""
    found = []
    d = each.W1.shape[0]
    null = np.eye(d) - np.linalg.pinv(each.data.X) @ each.data.X
    best = log_det.minimum(*each.data, each.gamma)
    for size in 10 ** rng.uniform(-3, 0.5, count):
        beta = best.W.T + size * null @ rng.normal(size=best.W.T.shape)
        turn = np.eye(d) + size * rng.normal(size=(d, d)) / np.sqrt(d)
        found.append(log_det.convex_objective(_symmetric(turn @ best.M @ turn.T), beta.T, each.gamma))
    return np.array(found)


def _symmetric(M: np.ndarray) -> np.ndarray:
    return (M + M.T) / 2


def _objective_figure(
    scales: np.ndarray,
    names: list[str],
    stationarity: np.ndarray,
    scale: Size,
    instances: list[setting.Instance],
    rng: np.random.Generator,
) -> fig.Figure:
    """Residuals against γ, and the objective along random lines of interpolators through the end of flow."""
    group = next(g for g, (n, d, *_) in enumerate(setting.SHAPES[scale]) if n < d)
    chosen = [instances[group * len(scales) + i] for i in (0, len(scales) // 2, len(scales) - 1)]
    steps = np.linspace(-1, 1, 81)
    marks = []
    for index, each in enumerate(chosen):
        best = log_det.minimum(*each.data, each.gamma)
        d = len(best.M)
        null = np.eye(d) - np.linalg.pinv(each.data.X) @ each.data.X
        shift, tilt = null @ rng.normal(size=best.W.T.shape), _symmetric(rng.normal(size=(d, d)) / d)
        root = np.linalg.cholesky(each.W1 @ each.W1.T)
        along = [
            log_det.convex_objective(
                _symmetric(root @ (np.eye(d) + 0.8 * s * tilt) @ root.T), (each.W1 @ each.W2 + s * shift).T, each.gamma
            )
            for s in steps
        ]
        rise = np.array(along) - log_det.objective(each.W1.T, each.W2.T, each.gamma)
        marks.append(fig.measured(steps, rise / rise.max(), f"γ = {each.gamma:g}", index))
    return fig.Figure(
        (
            fig.Panel(
                (
                    *(fig.points(scales, np.maximum(row, 1e-17), name, g)
                      for g, (row, name) in enumerate(zip(stationarity, names, strict=True))),
                    fig.reference(scales[[0, -1]], [1e-6, 1e-6], "bar"),
                ),
                "γ", "residual of first-order conditions", "", "log", "log", (1e-17, 1e-4),
            ),
            fig.Panel(tuple(marks), "distance along a line of interpolators", "rise of the objective (scaled)"),
        ),
        "At the end of flow the first-order conditions hold to rounding, and the objective rises along every line of "
        "interpolators through it.",
        2,
    )  # fmt: skip


def singular_values(scale: Size, key: jax.Array) -> Evidence:
    """Singular values of W1 at the end of flow against the corrected form and the printed one, over γ and shapes.

    Flow conserves W1ᵀW1 − W2W2ᵀ = 2γPᵀP, which gives (W1W1ᵀ)² − 2γW1W1ᵀ = ββᵀ and so the *square* of σi(β∗) under the
    root. The printed form lacks it: it is wrong unless σi(β∗) is 0 or 1, and it does not scale as it must when units of
    the labels change.
    """
    instances, _ = setting.flows(scale, key)
    scales, names = setting.gammas(scale), setting.names(scale)
    corrected, printed, second = [], [], []
    for each in instances:
        values = np.linalg.svd(each.data.least_norm, compute_uv=False)
        d = len(each.W1)
        measured = np.linalg.svd(each.W1, compute_uv=False)[:d]
        forecast = lambda_modes.final_layer_singular_values(values[:d], each.gamma, d)
        corrected.append(np.abs(measured / forecast.W1 - 1).max())
        last = np.linalg.svd(each.W2, compute_uv=False)[: values.size]
        second.append(np.abs(last - forecast.W2).max() / forecast.W2.max())
        printed.append(np.abs(measured / _as_printed(values[:d], each.gamma, d) - 1).max())
    gaps, misprint = setting.by_shape(scale, corrected), setting.by_shape(scale, printed)
    return Evidence(
        checks=[
            at_most("worst relative gap of σ(W1) to the corrected form", gaps.max(), 1e-6),
            at_most("worst gap of σ(W2) to σ(β)/σ(W1), of the largest", max(second), 1e-6),
        ],
        printed=[at_most("worst relative gap of σ(W1) to the printed form", misprint.max(), 1e-6)],
        correction=r"\sigma_i(W_1^\infty)=\left(\sqrt{\sigma_i(\beta_*)^2+\gamma^2}+\gamma\right)^{1/2},"
        r"\qquad\sigma_i(W_1^\infty)=(2\gamma)^{1/2}\ (k<i\le d)",
        numbers={"least gap of the printed form over all runs": float(min(printed))},
        settings={"n, d, l, k": setting.SHAPES[scale], "γ": "1e-4 … 1e2", "repeats": setting.REPEATS[scale]},
        figure=_values_figure(scale, instances, scales, names, gaps, misprint),
    )


def _as_printed(values: np.ndarray, gamma: float, d: int) -> np.ndarray:
    return np.sqrt(np.sqrt(np.pad(values, (0, d - values.size)) + gamma**2) + gamma)


def _values_figure(
    scale: Size,
    instances: list[setting.Instance],
    scales: np.ndarray,
    names: list[str],
    gaps: np.ndarray,
    misprint: np.ndarray,
) -> fig.Figure:
    partial = [k < d for _, d, _, k in setting.SHAPES[scale]]  # so that some values are (2γ)^{1/2}
    group = int(np.argmax(np.where(partial, misprint.max(axis=1), 0.0)))
    shown, fine = instances[group * len(scales) :][: len(scales)], np.geomspace(scales[0], scales[-1], 200)
    values, d = np.linalg.svd(shown[0].data.least_norm, compute_uv=False), len(shown[0].W1)
    measured = np.array([np.linalg.svd(each.W1, compute_uv=False)[:d] for each in shown])
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
        "The first layer's singular values follow the form with σ(β)² under the root; the printed form misses them.",
        2,
    )  # fmt: skip
