"""Rich and lazy: how scale and shape of the start decide the rank that the first layer ends with."""

import jax
import jax.numpy as jnp
import numpy as np

from ... import measure, models, problems, starts, train
from ...core import ensembles
from ...evidence import Evidence, at_least, at_most, within
from ...evidence import figure as fig
from ...theory import lambda_modes
from ..instances import effective_rank, generator, rotation, slope
from ..sizes import Size

FIRST_LAYER = train.Record("first", lambda model, problem, layers: measure.singular_values(layers[0]), ("value",))
SHAPES = ("isotropic", "along the target", "across the target", "random directions")


def regimes(scale: Size, key: jax.Array) -> Evidence:
    """Singular values of W1 along the flow and at its end, for γ from 1e-6 to 1e2 and starts W1W1ᵀ = 2γH of four shapes.

    H is the identity; ten times smaller across the target's inputs than along them; the other way round; or has a
    spectrum over two decades in random directions. In the first three every mode i keeps to itself, with λ = −2γh_i, and
    σi(W1) = (√(σi(β)² + γ²h_i²) + γh_i)^{1/2} holds at every time: the forecast. Rank is the exponential of the entropy
    of the singular values.
    """
    rng = generator(key)
    d, width, values = (8, 12, np.array([2.0, 1.0])) if scale == "quick" else (20, 30, np.array([3.0, 2.0, 1.0]))
    k, gammas = values.size, np.geomspace(1e-6, 1e2, 9 if scale == "quick" else 33)
    left, right = rotation(rng, k), rotation(rng, d)
    net, problem = models.DeepLinear((d, width, k)), problems.whitened((left * values) @ right[:, :k].T)
    heights = np.ones((3, d))
    heights[1, k:], heights[2, :k] = 0.1, 0.1  # along the target, and across it
    turned = rotation(rng, d)
    grams = [(right * h) @ right.T for h in heights] + [(turned * np.geomspace(0.1, 10, d)) @ turned.T]
    start = ensembles.ensemble(
        lambda gamma, H: starts.shaped(net, key, gamma, H),
        jnp.asarray(np.tile(gammas, len(grams))),
        jnp.asarray(np.repeat(grams, len(gammas), axis=0)),
    )
    times = np.r_[0.0, np.geomspace(1e-3, 100.0, 240)]
    run = train.flow(net, problem, start, times=times, record=(FIRST_LAYER,), rtol=1e-10, tolerance=1e-16)
    first = run.first.values.reshape(len(grams), len(gammas), len(times), d)

    scaled = gammas[None, :, None, None] * heights[:, None, None]  # γh_i: shape, γ, time, mode
    strengths = lambda_modes.trajectory(times[:, None], np.pad(values, (0, d - k)), 0.0, -2 * scaled)
    forecast = np.sort(np.sqrt(np.hypot(strengths, scaled) + scaled), axis=-1)[..., ::-1]
    ranks = effective_rank(first[:, :, -1])
    expected = effective_rank(forecast[:, :, -1])
    fine = np.geomspace(gammas[0], gammas[-1], 200)
    scaled = fine[:, None] * heights[:, None]
    curves = effective_rank(np.sqrt(np.hypot(np.pad(values, (0, d - k)), scaled) + scaled))
    left_over = first[0, :, -1, k] / first[0, :, -1, k - 1]
    rate, _ = slope(gammas[gammas <= 1e-3], left_over[gammas <= 1e-3])
    return Evidence(
        checks=[
            at_most("worst relative gap of a value along the flow", np.abs(first[:3] / forecast - 1).max(), 1e-6),
            at_most("worst gap of the rank to its forecast", np.abs(ranks[:3] - expected).max(), 1e-6),
            within("rank at γ = 1e-6, isotropic, less k", ranks[0, 0] - k, -0.15, 0.15),
            at_least("rank at γ = 100, isotropic, of d", ranks[0, -1] / d, 0.99),
            within("slope of σ_{k+1}/σ_k against γ, small γ", rate, 0.49, 0.51),
        ],
        numbers={
            f"rank at γ = {gammas[i]:.0e}, {name}": float(row[i])
            for name, row in zip(SHAPES, ranks, strict=True)
            for i in (0, len(gammas) // 2, len(gammas) - 1)
        },
        settings={"d, l, k": (d, width, k), "σ(β*)": list(values), "γ": "1e-6 … 1e2", "shapes": list(SHAPES)},
        figure=_figure(times, gammas, first, forecast, ranks, (fine, curves), k),
    )  # fmt: skip


def _figure(
    times: np.ndarray,
    gammas: np.ndarray,
    first: np.ndarray,
    forecast: np.ndarray,
    ranks: np.ndarray,
    curves: tuple[np.ndarray, np.ndarray],
    k: int,
) -> fig.Figure:
    """Singular values along three runs, and the rank at the end against γ."""
    panels, d = [], first.shape[-1]
    for shape, gamma in ((0, 1e-4), (0, 10.0), (3, 1e-2)):
        index = int(np.argmin(np.abs(np.log(gammas / gamma))))
        shown = times <= 40 / max(1.0, gamma)
        t, runs = times[shown][1:], first[shape, index, shown][1:]
        if shape == 3:
            marks = [fig.measured(t, runs[:, i], "all values" if i == 0 else "", 2) for i in range(d)]
        else:
            labels = {0: "learnt", k: "the others"}
            marks = [fig.measured(t, runs[:, i], labels.get(i, ""), int(i >= k)) for i in range(d)]
            marks += [fig.theory(t, forecast[shape, index, shown, i][1:], "closed form") for i in range(k + 1)]
        title = f"γ = {gammas[index]:g}, {SHAPES[shape]}"
        panels.append(fig.Panel(tuple(marks), "time t", "σ(W1)", title, "log", "linear", (0.0, 1.35 * runs.max())))
    marks = [fig.points(gammas, row, name, i) for i, (name, row) in enumerate(zip(SHAPES, ranks, strict=True))]
    marks += [fig.theory(curves[0], row, "closed form") for row in curves[1]]
    panels.append(fig.Panel(tuple(marks), "γ", "rank of W1 at the end", "", "log", "linear", (0.0, 1.25 * d)))
    return fig.Figure(
        tuple(panels),
        "A small start ends with rank k whatever its shape; a large one keeps the rank it began with, set by its shape.",
        2,
    )
