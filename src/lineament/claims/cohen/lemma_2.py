"""Lemma 2: the sign of the determinant never changes."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems, train
from ...core import ensembles
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...theory.singular_flow import singular_flow
from ..instances import generator, rotation
from ..sizes import sizes
from . import extended_precision
from .networks import balanced_ensemble, gradient_of, map_with_values

RESOLVED = 1e-12  # σ_min/σ_max above which float64 layers know the sign of their determinant
SINGULAR = 4  # starts of deficient rank at each depth


SIGN = train.Record(
    "sign_and_log_det",
    lambda model, problem, layers: jnp.stack(
        [sum_of(jnp.stack([jnp.stack(jnp.linalg.slogdet(layer)) for layer in layers]))
         for sum_of in (lambda x: jnp.prod(x[:, 0]), lambda x: jnp.sum(x[:, 1]))]
    ),
    ("part",),
)  # fmt: skip


class Settings(NamedTuple):
    """What is run at each size.

    Attributes:
        flows: Balanced flows at each depth.
        depths: The depths.
        extended: At most how many of the flows that float64 cannot resolve are followed in extended precision, at
            each depth; those whose determinant falls lowest come first.
        dimension: Rows and columns of the maps.
        until: How long flows are followed.
        times: How often they are recorded.
        bits: Binary digits of the extended precision.
        rtol: Of the solver in float64.
    """

    flows: int
    depths: tuple[int, ...]
    extended: int
    dimension: int = 3
    until: float = 24.0
    times: int = 121
    bits: int = extended_precision.BITS
    rtol: float = 1e-9


class Faint(NamedTuple):
    """A flow whose determinant float64 layers cannot resolve: sign and log |det W| by three routes over time.

    The routes are layers in float64, logarithms of singular values (whose sign is constant by construction), and
    layers in extended precision, where that was done.
    """

    start: np.ndarray
    by_layers: tuple[np.ndarray, np.ndarray]
    by_logarithms: tuple[np.ndarray, np.ndarray]
    extended: tuple[np.ndarray, np.ndarray] | None


class Flows(NamedTuple):
    """All flows of one depth.

    Attributes:
        changed: Of flows that float64 resolves, whether the sign changed.
        faint: The others.
        drift: The largest σ_min/σ_max from starts of deficient rank.
        loose: The share of unbalanced flows that change the sign.
        panel: The determinant along some of them.
    """

    n: int
    changed: list[bool]
    faint: list[Faint]
    drift: float
    loose: float
    panel: fig.Panel


@sizes(quick=Settings(flows=80, depths=(2, 3), extended=3), full=Settings(flows=120, depths=(2, 3, 4, 6), extended=20))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Balanced networks pulled towards targets of the other sign, from well-conditioned and from near-singular starts.

    The determinant is taken layer by layer, so that it is not lost in rounding of the product. Where the least singular
    value falls so low that float64 layers cannot be trusted (below 1e-12 of the largest), the same layers are followed
    with 77 digits from a start that is balanced to as many: there the sign could change, and the logarithms of the
    singular values, in which it could not, are compared with it. Starts of deficient rank must stay so. The same maps
    in unbalanced layers are run beside them: for these the lemma does not hold.
    """
    rng = generator(key)
    times = np.linspace(0, settings.until, settings.times)
    flows = [_flows(rng, n, times, settings) for n in settings.depths]
    faint = [flow for group in flows for flow in group.faint]
    extended = [flow for flow in faint if flow.extended is not None]
    changed = sum(sum(group.changed) for group in flows)
    crossed = sum(bool((flow.extended[0] != flow.extended[0][0]).any()) for flow in extended)  # type: ignore[index]
    gaps = [np.abs(flow.by_logarithms[1] - flow.extended[1]).max() for flow in extended]  # type: ignore[index]
    none = "" if extended else "no determinant fell below what float64 resolves"
    exact = "an exact statement: no flow at all"
    return Evidence(
        checks=[
            at_least("balanced flows whose layers resolve the determinant",
                     sum(len(group.changed) for group in flows) + len(extended), 100,
                     "at least 100 by a route in which the sign could change"),
            at_most("changes of sign among those that float64 resolves", changed, 0, exact),
            at_most("changes of sign among those followed with 77 digits", crossed, 0, exact, void=none),
            at_most("largest gap in log|det| between those and the flow in logarithms", max(gaps, default=0.0), 1e-4,
                    "the logarithms' solver: 1e-8 relative, times 10,000 for what adds up until t = 24", void=none),
            at_most("largest σ_min/σ_max on flows from deficient rank", max(group.drift for group in flows), 1e-10,
                    "float64 rounding 2e-16 grown by the flow, a factor of 1e5 at most"),
        ],
        numbers={
            "flows that float64 does not resolve": float(len(faint)),
            "whose float64 layers falsely change sign": float(
                sum(bool((flow.by_layers[0] != flow.by_layers[0][0]).any()) for flow in faint)
            ),
            "followed with 77 digits": float(len(extended)),
            "least log₁₀|det W| among these": float(
                min((flow.extended[1].min() for flow in extended), default=np.nan) / np.log(10)  # type: ignore[index]
            ),
        }
        | {f"share of unbalanced flows that change it, n = {group.n}": group.loose for group in flows},
        protocol={
            "loss": "square loss on whitened inputs, the target's determinant of the other sign",
            "network": f"depths {', '.join(map(str, settings.depths))}, maps {settings.dimension}×{settings.dimension}",
            "start": f"balanced, {settings.flows} at each depth, every second one nearly singular",
            "training": f"gradient flow until t = {settings.until:g}",
        },
        figure=fig.Figure(
            (*[group.panel for group in flows[:2]], _vanishing_panel(times, extended)),
            "Balanced flows only approach det W = 0, which unbalanced layers cross; where it falls below what float64 "
            "layers resolve, layers of 77 digits keep its sign.",
        ),
        remarks=("Balance is needed: from the same maps split unevenly, most flows change the sign.",),
    )  # fmt: skip


def _flows(rng: np.random.Generator, n: int, times: np.ndarray, settings: Settings) -> Flows:
    """Balanced flows from full and from deficient rank, and the same maps unbalanced, as one ensemble."""
    d, count = settings.dimension, settings.flows
    widths = (d,) * (n + 1)
    target = _opposed(rng, d)
    problem, maps = problems.whitened(target), [_start(rng, d, k) for k in range(count)]
    singular = [map_with_values(rng, (d, d), 10 ** rng.uniform(-1, 0, d - 1)) for _ in range(SINGULAR)]
    balanced = balanced_ensemble(rng, [*maps, *singular], widths)
    start = ensembles.Ensemble(tuple(map(jnp.concatenate, zip(balanced.stacked, _unbalanced(maps, n), strict=True))))
    run = train.flow(models.DeepLinear(widths), problem, start, times=times, record=("singular_values", SIGN),
                     rtol=settings.rtol, tolerance=0.0)  # fmt: skip
    signs, logs = np.moveaxis(run.sign_and_log_det.values, -1, 0)
    ratio = run.singular_values.values[..., -1] / run.singular_values.values[..., 0]
    resolved = (ratio[:count] > RESOLVED).all(axis=1)
    changed = [bool((signs[k] != np.sign(np.linalg.det(maps[k]))).any()) for k in np.flatnonzero(resolved)]
    lowest = sorted(np.flatnonzero(~resolved), key=lambda k: logs[k].min())
    gradient = gradient_of(problem)
    faint = []
    for rank, k in enumerate(lowest):
        by_logarithms = singular_flow(times, maps[k], gradient, n, rtol=1e-8, atol=1e-10).sign_and_log_det
        precise = _extended(rng, maps[k], target, n, times, settings.bits) if rank < settings.extended else None
        faint.append(Faint(maps[k], (signs[k], logs[k]), by_logarithms, precise))
    free = signs[count + SINGULAR :]
    return Flows(
        n,
        changed,
        faint,
        drift=float(ratio[count : count + SINGULAR].max()),
        loose=float(np.mean((free != free[:, :1]).any(axis=1))),
        panel=_determinant_panel(times, signs, logs, count, n),
    )


def _extended(
    rng: np.random.Generator, W0: np.ndarray, target: np.ndarray, n: int, times: np.ndarray, bits: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sign and log |det W| of layers in extended precision, from a start balanced to the last bit."""
    U, values, Vt = np.linalg.svd(W0)
    turns = [Vt.T, *(rotation(rng, len(W0)) for _ in range(n - 1)), U]
    layers = extended_precision.balanced(turns, values, bits)
    loss = extended_precision.Quadratic(np.ones_like(W0), target, 1.0)
    return extended_precision.follow(times, layers, loss, bits=bits).sign_and_log_det


def _opposed(rng: np.random.Generator, d: int) -> np.ndarray:
    """A target of negative determinant."""
    T = map_with_values(rng, (d, d), np.linspace(1.5, 0.5, d))
    T[0] *= -np.sign(np.linalg.det(T))
    return T


def _start(rng: np.random.Generator, d: int, k: int) -> np.ndarray:
    """A map of positive determinant (of either sign for every fourth), near-singular for every second."""
    W = map_with_values(
        rng, (d, d), [*10 ** rng.uniform(-0.7, 0.3, d - 1), 10 ** rng.uniform(*((-8, -3), (-1, 0))[k % 2])]
    )
    W[0] *= np.sign(np.linalg.det(W)) if k % 4 else 1.0
    return W


def _unbalanced(maps: list[np.ndarray], n: int) -> list[Any]:
    """The same maps as W = W · I ⋯ I: one layer holds the map, the others are identities."""
    return [jnp.asarray(np.stack(maps)), *[jnp.tile(jnp.eye(maps[0].shape[0]), (len(maps), 1, 1))] * (n - 1)]


def _determinant_panel(times: np.ndarray, signs: np.ndarray, logs: np.ndarray, count: int, n: int) -> fig.Panel:
    """The determinant along some balanced and some unbalanced flows."""
    det = signs * np.exp(np.maximum(logs, -700))
    groups = (("unbalanced", slice(count + 5, count + 20, 2)), ("balanced", slice(1, min(count, 16), 2)))
    early = times <= times[-1] / 2
    marks = [
        fig.measured(times[early], row[early], "" if i else name, 1 - g)
        for g, (name, rows) in enumerate(groups)
        for i, row in enumerate(det[rows])
    ]
    return fig.Panel(tuple(marks), "time t", "det W", f"n = {n}")


def _vanishing_panel(times: np.ndarray, extended: list[Faint]) -> fig.Panel:
    """The logarithm of |det W| by float64 layers, by layers of 77 digits, and in logarithms."""
    marks = []
    for i, flow in enumerate(extended[:4]):
        assert flow.extended is not None
        marks.append(fig.measured(times, flow.by_layers[1] / np.log(10), "" if i else "float64 layers", 2))
        marks.append(fig.measured(times, flow.extended[1] / np.log(10), "" if i else "77 digits", 3))
        marks.append(fig.theory(times, flow.by_logarithms[1] / np.log(10), "" if i else "logarithms"))
    return fig.Panel(tuple(marks), "time t", "log₁₀ |det W|", "balanced, near-singular")
