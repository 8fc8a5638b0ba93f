"""What both layers minimise among interpolators: the theorem's part (b) for the parameters.

Layers are the poster's, the transposes of those of `theory`.
"""

from typing import NamedTuple

import jax
import numpy as np

from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...theory import log_det
from ..instances import generator
from ..sizes import sizes
from . import setting

STEPS = "the integrator's 1e-10 for a step, and fewer than 10⁴ steps"


class Settings(NamedTuple):
    """The flows of the theorem, and how many rivals each end is compared with."""

    flows: setting.Settings
    rivals: int


@sizes(quick=Settings(setting.QUICK, 20), full=Settings(setting.FULL, 20))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """First-order conditions at the end of flow, then the value there against the global minimum and against rivals.

    In M = W1W1ᵀ and β the problem is convex, so that the first-order conditions settle it; random interpolators near and
    far are tried all the same. As printed the objective holds W1ᵀW1, which has l columns and rank at most d: for l > d it
    is infinite at every point.
    """
    flows = settings.flows
    instances, _ = setting.flows(flows, key)
    conditions = [log_det.kkt(instance.W1.T, instance.W2.T, *instance.data, instance.gamma) for instance in instances]
    stationarity = setting.by_shape(flows, [condition.stationarity for condition in conditions])
    value = np.array([log_det.objective(instance.W1.T, instance.W2.T, instance.gamma) for instance in instances])
    minima = [log_det.minimum(*instance.data, instance.gamma) for instance in instances]
    least = np.array([minimum.value for minimum in minima])
    convex, gram = zip(*(_at_the_end(*pair) for pair in zip(instances, minima, strict=True)), strict=True)
    excess = np.abs(value - least) / (1 + np.abs(least))
    rng = generator(jax.random.fold_in(key, 1))
    rivals = np.array(
        [_rivals(rng, instance, settings.rivals) - low for instance, low in zip(instances, least, strict=True)]
    )
    wide = [instance for instance in instances if instance.W1.shape[1] > instance.W1.shape[0]]
    rank = [np.square(np.linalg.svd(instance.W1, compute_uv=False)) for instance in wide]
    printed = max(_least_eigenvalue(instance.W1) / values[0] for instance, values in zip(wide, rank, strict=True))
    misfit = max(condition.feasibility for condition in conditions)
    return Evidence(
        checks=[
            at_most("worst residual of the first-order conditions, relative", stationarity.max(), 1e-6, STEPS),
            at_most("worst misfit ‖XW1W2 − Y‖/‖Y‖", misfit, 1e-6, STEPS),
            at_most("worst gap of the objective to its global minimum, relative", excess.max(), 1e-6, STEPS),
            at_most("worst gap of the convex objective at the end of flow to the minimum, relative",
                    (np.abs(convex - least) / (1 + np.abs(least))).max(), 1e-6, STEPS),
            at_most("worst gap of W1W1ᵀ to that of the minimum, relative", max(gram), 1e-6, STEPS),
            at_least("least excess of a rival interpolator over the minimum", rivals.min(), -1e-9,
                     "theory: not below zero, up to rounding of objectives of some thousands"),
        ],
        printed=[
            at_least("least eigenvalue of W1ᵀW1 over the largest, l > d (log det is finite if positive)", printed, 1e-8,
                     "rounding of the eigenvalues of a singular matrix, 1e-16, × 10⁸ in reserve")
        ],
        correction=r"(W_1^\infty,W_2^\infty)\in\mathrm{argmin}\ \|W_1\|_F^2+\|W_2\|_F^2-2\gamma\log\det W_1W_1^\top"
        r"\ \ \mathrm{s.t.}\ \ XW_1W_2=Y",
        numbers={"rival interpolators tried": float(rivals.size)},
        protocol=setting.protocol(flows),
        figure=_figure(flows, stationarity, instances, rng),
        remarks=[
            "Counter-example to check by hand: one input and two hidden units, W1 = (p, q). Then W1ᵀW1 has the "
            "rows (p², pq) and (pq, q²), and its determinant p²q² − (pq)² is zero whatever p and q are: as printed "
            "the objective is +∞ at every point, and has no minimiser. The same is so whenever l > d. W1W1ᵀ = p² + "
            "q² has no such fault; for l = d the two determinants are equal.",
            "The minimiser is unique in W1W1ᵀ and W1W2 only: hidden units may be turned by any orthogonal matrix.",
        ],
    )  # fmt: skip


def _at_the_end(instance: setting.Instance, minimum: log_det.Minimum) -> tuple[float, float]:
    """The objective in M = W1W1ᵀ and β at the end of flow, and how far M is there from that of the minimum."""
    M = instance.W1 @ instance.W1.T
    convex = log_det.convex_objective(M, (instance.W1 @ instance.W2).T, instance.gamma)
    return convex, float(np.linalg.norm(M - minimum.M) / np.linalg.norm(M))


def _least_eigenvalue(W1: np.ndarray) -> float:
    """The least eigenvalue of the l × l matrix W1ᵀW1; zero up to rounding where l > d."""
    return float(max(np.linalg.eigvalsh(W1.T @ W1)[0], 0.0))


def _rivals(rng: np.random.Generator, instance: setting.Instance, count: int) -> np.ndarray:
    """The objective at random interpolators, in the convex variables, at all distances from the minimum."""
    objectives = []
    d = instance.W1.shape[0]
    null = np.eye(d) - np.linalg.pinv(instance.data.X) @ instance.data.X
    best = log_det.minimum(*instance.data, instance.gamma)
    for distance in 10 ** rng.uniform(-3, 0.5, count):
        beta = best.W.T + distance * null @ rng.normal(size=best.W.T.shape)
        turn = np.eye(d) + distance * rng.normal(size=(d, d)) / np.sqrt(d)
        objectives.append(log_det.convex_objective(_symmetric(turn @ best.M @ turn.T), beta.T, instance.gamma))
    return np.array(objectives)


def _symmetric(M: np.ndarray) -> np.ndarray:
    return (M + M.T) / 2


def _figure(
    flows: setting.Settings,
    stationarity: np.ndarray,
    instances: list[setting.Instance],
    rng: np.random.Generator,
) -> fig.Figure:
    """Residuals against γ, and the objective along random lines of interpolators through the end of flow."""
    scales, names = flows.scales, flows.names
    group = next(g for g, (n, d, *_) in enumerate(flows.shapes) if n < d)
    chosen = [instances[group * len(scales) + i] for i in (0, len(scales) // 2, len(scales) - 1)]
    steps = np.linspace(-1, 1, 81)
    marks = []
    for index, instance in enumerate(chosen):
        best = log_det.minimum(*instance.data, instance.gamma)
        d = len(best.M)
        null = np.eye(d) - np.linalg.pinv(instance.data.X) @ instance.data.X
        shift, tilt = null @ rng.normal(size=best.W.T.shape), _symmetric(rng.normal(size=(d, d)) / d)
        root = np.linalg.cholesky(instance.W1 @ instance.W1.T)
        along = [
            log_det.convex_objective(
                _symmetric(root @ (np.eye(d) + 0.8 * s * tilt) @ root.T),
                (instance.W1 @ instance.W2 + s * shift).T,
                instance.gamma,
            )
            for s in steps
        ]
        rise = np.array(along) - log_det.objective(instance.W1.T, instance.W2.T, instance.gamma)
        marks.append(fig.measured(steps, rise / rise.max(), f"γ = {instance.gamma:g}", index))
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
        f"At the end of flow the first-order conditions hold, to {stationarity.max():.0e} at worst, and the "
        "objective rises along every line of interpolators through it.",
        2,
    )  # fmt: skip
