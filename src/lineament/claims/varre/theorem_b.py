"""What is learnt is the interpolator of least norm, whatever the scale: the theorem's part (b) for the map."""

from typing import NamedTuple

import jax
import numpy as np

from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ..instances import generator, rotation
from ..sizes import sizes
from . import setting

STEPS = "the integrator's 1e-10 for a step, and fewer than 10⁴ steps"


class Settings(NamedTuple):
    """The flows of the theorem, and how many more from uneven starts."""

    flows: setting.Settings
    uneven: int


@sizes(quick=Settings(setting.QUICK, 28), full=Settings(setting.FULL, 84))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """The product at the end of flow against the pseudo-inverse, over γ from 1e-4 to 1e2 and data of several shapes.

    That the start is isotropic matters where examples are fewer than inputs: from `W1W1ᵀ = 2γH` with another H the flow
    interpolates too, yet elsewhere. The same flow is run with the eigenvalues of H between 1/r and r, to show how far.
    """
    flows = settings.flows
    instances, _ = setting.flows(flows, key)
    scales, names = flows.scales, flows.names
    gaps = setting.by_shape(flows, [_gap(instance.data, instance.W1 @ instance.W2) for instance in instances])
    few = [g for g, (n, d, _, _) in enumerate(flows.shapes) if n < d]
    spreads, bent, missed = _other_shapes(flows, key, settings.uneven)
    protocol = setting.protocol(flows)
    return Evidence(
        checks=[
            at_most("worst relative gap to the pseudo-inverse", gaps.max(), 1e-6, STEPS),
            at_most("worst misfit from an uneven start, of ‖Y‖", missed, 1e-6, STEPS),
            at_least("gap to the pseudo-inverse from the most uneven start, middle run", np.median(bent[-1]), 1e-2,
                     "10⁴ times the bar above: a gap that no solver makes"),
        ],
        numbers={"worst gap with fewer examples than inputs": float(gaps[few].max())}
        | {f"median gap at r − 1 = {r - 1:.2g}": float(np.median(row)) for r, row in zip(spreads, bent, strict=True)},
        protocol=protocol | {"start": protocol["start"] + "; as a control, uneven starts at γ = 1"},
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
            f"An isotropic start of any scale leads to the interpolator of least norm, to {gaps.max():.0e} at "
            f"worst; an uneven one leads elsewhere, by {np.median(bent[-1]):.0%} in the middle run of the most "
            "uneven.",
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


def _other_shapes(flows: setting.Settings, key: jax.Array, members: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Gaps to X⁺Y from `W1W1ᵀ = 2γH`, over the unevenness r of H, and the worst misfit ‖XW1W2 − Y‖/‖Y‖."""
    rng = generator(jax.random.fold_in(key, 1))
    shapes = [shape for shape in flows.shapes if shape[0] < shape[1]]
    spreads = 1 + np.geomspace(1e-3, 10.0, 7)
    data, first = [], []
    for member in range(members):
        n, d, width, k = shapes[(member // len(spreads)) % len(shapes)]
        values = 2 * spreads[member % len(spreads)] ** np.linspace(-1, 1, d)
        data.append(setting.draw(rng, n, d, k))
        first.append((rotation(rng, d) * np.sqrt(values)) @ rotation(rng, width)[:d])
    sizes = tuple(np.max(flows.shapes, axis=0).tolist())
    # From uneven starts rounding can hold the loss above 1e-18 of itself for good; the misfit is asked for to 1e-6.
    ends, _ = setting.follow(sizes, data, first, left=1e-14)
    whole = members // len(spreads) * len(spreads)
    gaps = [_gap(member, W1 @ W2) for member, (W1, W2) in zip(data[:whole], ends[:whole], strict=True)]
    misfits = [np.linalg.norm(x @ A @ B - y) / np.linalg.norm(y) for (x, y), (A, B) in zip(data, ends, strict=True)]
    return spreads, np.reshape(gaps, (-1, len(spreads))).T, float(max(misfits))
