"""The theorem for the map: the loss vanishes, and what is learnt is the interpolator of least norm."""

import jax
import numpy as np

from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...theory import lambda_modes
from ..instances import generator, rotation
from ..sizes import Size
from . import setting


def convergence(scale: Size, key: jax.Array) -> Evidence:
    """Flow over γ from 1e-4 to 1e2, on data with more examples than inputs and with fewer, of several shapes.

    Every run must lose all but 1e-12 of its loss. Where inputs are white the whole curve is known in closed form, one
    mode with λ = −2γ for each singular value of the map, and is compared with the integrated one.
    """
    instances, run = setting.flows(scale, key)
    scales, names = setting.gammas(scale), setting.names(scale)
    share = run.loss.values / run.loss.values[:, :1]
    white = instances[: len(scales)]
    values = np.linalg.svd(white[0].data.least_norm, compute_uv=False)
    residual = lambda_modes.residual(setting.TIMES[:, None], values, 0.0, -2 * scales[:, None, None])
    forecast = np.sum(residual**2, axis=-1) / np.sum(values**2)
    learnt = setting.TIMES[np.argmax(share <= 1e-6, axis=1)]
    late = setting.by_shape(scale, learnt)
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
            at_most("largest share of the loss that is left", share[:, -1].max(), 1e-12),
            at_most("gap to the closed curve on white inputs, of the first loss",
                    np.abs(share[: len(scales)] - forecast).max(), 1e-6),
        ],
        numbers={"runs": float(len(instances)), "longest time to a millionth": float(learnt.max())},
        settings={"n, d, l, k": setting.SHAPES[scale], "γ": "1e-4 … 1e2", "repeats": setting.REPEATS[scale]},
        figure=fig.Figure(
            (
                fig.Panel((*curves, *lines), "time t", "L / L(0)", "white inputs", "log", "log", (1e-14, 3.0)),
                fig.Panel(
                    tuple(fig.measured(scales, row, names[g], g) for g, row in enumerate(late)),
                    "γ", "time to L = 1e-6 L(0)", "all data", "log", "log",
                ),
            ),
            "The loss vanishes at every scale: after a plateau that grows with −log γ at small γ, at once at large γ.",
            2,
        ),
    )  # fmt: skip


def least_norm(scale: Size, key: jax.Array) -> Evidence:
    """The product at the end of flow against the pseudo-inverse, over γ from 1e-4 to 1e2 and data of several shapes.

    That the start is isotropic matters where examples are fewer than inputs: from `W1W1ᵀ = 2γH` with another H the flow
    interpolates too, yet elsewhere. The same flow is run with the eigenvalues of H between 1/r and r, to show how far.
    """
    instances, _ = setting.flows(scale, key)
    scales, names = setting.gammas(scale), setting.names(scale)
    gaps = setting.by_shape(scale, [_gap(each.data, each.W1 @ each.W2) for each in instances])
    few = [g for g, (n, d, _, _) in enumerate(setting.SHAPES[scale]) if n < d]
    spreads, bent, missed = _other_shapes(scale, key, min(len(instances), 84))
    return Evidence(
        checks=[
            at_most("worst relative gap to the pseudo-inverse", gaps.max(), 1e-6),
            at_most("worst misfit from an uneven start, of ‖Y‖", missed, 1e-6),
            at_least("gap to the pseudo-inverse from the most uneven start, middle run", np.median(bent[-1]), 1e-2),
        ],
        numbers={"worst gap with fewer examples than inputs": float(gaps[few].max())}
        | {f"median gap at r − 1 = {r - 1:.2g}": float(np.median(row)) for r, row in zip(spreads, bent, strict=True)},
        settings={"n, d, l, k": setting.SHAPES[scale], "γ": "1e-4 … 1e2", "uneven starts": "γ = 1"},
        figure=fig.Figure(
            (
                fig.Panel(
                    (
                        *(fig.points(scales, np.maximum(row, 1e-16), name, g)
                          for g, (row, name) in enumerate(zip(gaps, names, strict=True))),
                        fig.reference(scales[[0, -1]], [1e-6, 1e-6], "bar"),
                    ),
                    "γ", "relative gap to X⁺Y", "isotropic start", "log", "log", (1e-16, 1e-4),
                ),
                fig.Panel(
                    (
                        fig.points(np.repeat(spreads - 1, bent.shape[1]), bent.ravel(), "single runs", 0),
                        fig.measured(spreads - 1, np.median(bent, axis=1), "median", 0),
                        fig.reference(spreads[:4] - 1, 0.3 * (spreads[:4] - 1), "slope 1"),
                    ),
                    "r − 1, unevenness of the start", "relative gap to X⁺Y", "n < d, uneven start", "log", "log",
                ),
            ),
            "An isotropic start of any scale leads to the interpolator of least norm; an uneven one leads elsewhere.",
            2,
        ),
        remarks=[
            "The isotropy of the start is essential when n < d: an uneven W1W1ᵀ mixes the row space of X with its "
            "complement. The map then still interpolates, but not with the least norm."
        ],
    )  # fmt: skip


def _gap(data: setting.Data, beta: np.ndarray) -> float:
    best = data.least_norm
    return float(np.linalg.norm(beta - best) / np.linalg.norm(best))


def _other_shapes(scale: Size, key: jax.Array, members: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Gaps to X⁺Y from `W1W1ᵀ = 2γH`, over the unevenness r of H, and the worst misfit ‖XW1W2 − Y‖/‖Y‖."""
    rng = generator(jax.random.fold_in(key, 1))
    shapes = [shape for shape in setting.SHAPES[scale] if shape[0] < shape[1]]
    spreads = 1 + np.geomspace(1e-3, 10.0, 7)
    data, first = [], []
    for member in range(members):
        n, d, width, k = shapes[(member // len(spreads)) % len(shapes)]
        values = 2 * spreads[member % len(spreads)] ** np.linspace(-1, 1, d)
        data.append(setting.draw(rng, n, d, k))
        first.append((rotation(rng, d) * np.sqrt(values)) @ rotation(rng, width)[:d])
    sizes = tuple(np.max(setting.SHAPES[scale], axis=0).tolist())
    # From uneven starts rounding can hold the loss above 1e-18 of itself for good; the misfit is asked for to 1e-6.
    ends, _ = setting.follow(sizes, data, first, left=1e-14)
    whole = members // len(spreads) * len(spreads)
    gaps = [_gap(each, W1 @ W2) for each, (W1, W2) in zip(data[:whole], ends[:whole], strict=True)]
    misfits = [np.linalg.norm(x @ A @ B - y) / np.linalg.norm(y) for (x, y), (A, B) in zip(data, ends, strict=True)]
    return spreads, np.reshape(gaps, (-1, len(spreads))).T, float(max(misfits))
