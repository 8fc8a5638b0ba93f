"""The exact flow of two-layer networks, which contains the poster's start and the balanced ones as special cases."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems, train
from ...core import ensembles
from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ...theory import two_layer
from ..instances import generator, rotation
from ..padding import pad
from ..sizes import sizes

EARLY = np.r_[0.0, np.geomspace(1e-2, 30.0, 40)]
STEPS = "the integrator's 1e-12 (implicit: 1e-10) for a step, and fewer than 10⁴ (10²) steps"


class Settings(NamedTuple):
    """How many problems and up to which inputs, hidden units and outputs; how many slow ones, and when they are seen."""

    problems: int
    largest: tuple[int, int, int]
    slow_problems: int
    slow_largest: tuple[int, int, int]
    ends: tuple[float, ...]


class Case(NamedTuple):
    """A λ-balanced start and a target."""

    W1: np.ndarray
    W2: np.ndarray
    target: np.ndarray
    balance: float


@sizes(
    quick=Settings(20, (30, 20, 25), 4, (4, 4, 4), (1e2, 1e4, 1e6)),
    full=Settings(160, (30, 20, 25), 40, (4, 4, 4), (1e2, 1e3, 1e4, 1e5, 1e6)),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """The exact product W2W1 against the integrated flow, on random problems of random shapes.

    Up to 30 inputs, 20 hidden units and 25 outputs, narrow and wide, λ in [−10, 10] with 0 among them, starts over four
    orders of magnitude, by an explicit solver up to t = 30. Then small problems whose singular values run from 1e-5 to
    1, by an implicit solver up to t = 10⁶, when e^{ft} of the fastest mode has hundreds of thousands of digits. The gap
    is the norm of the difference over the larger of the norms of product and target.
    """
    rng = generator(key)
    large = [_random(rng, settings.largest) for _ in range(settings.problems)]
    small = [_random(rng, settings.slow_largest, decades=5.0) for _ in range(settings.slow_problems)]
    runs = _integrated(large, settings.largest, EARLY, stiff=False)
    gaps = np.array([_gap(case, EARLY, maps) for case, maps in zip(large, runs, strict=True)])
    # An implicit solver takes long steps; between them its values are interpolated, and only its ends are exact.
    ends = np.array(settings.ends)
    by_end = [_integrated(small, settings.slow_largest, np.array([0.0, end]), stiff=True) for end in ends]
    maps = [np.stack([products[m][-1] for products in by_end]) for m in range(len(small))]
    late = np.array([_gap(case, ends, products) for case, products in zip(small, maps, strict=True)])
    return Evidence(
        checks=[
            at_most("worst relative gap up to t = 30, sizes up to 30×20×25", gaps.max(), 1e-8, STEPS),
            at_most("worst relative gap up to t = 10⁶, slow modes", late.max(), 1e-8, STEPS),
        ],
        numbers={"median of the worst gaps": float(np.median(gaps.max(axis=1)))},
        protocol={
            "network": "two linear layers, up to 30 inputs, 20 hidden units and 25 outputs, narrow and wide",
            "data": "white inputs; targets with singular values from 0.05 to 1, and from 1e-5 to 1",
            "start": "λ-balanced: W2ᵀW2 − W1W1ᵀ = λΠ, λ from −10 to 10 and 0, sizes from 1e-4 to 1",
            "optimiser": "gradient flow, integrated up to t = 30, and up to 10⁶ where modes are slow",
        },
        figure=_figure(large, gaps, small, ends, maps, late),
    )


def _random(rng: np.random.Generator, largest: tuple[int, ...], decades: float = 0.0) -> Case:
    """A problem of random shape; with decades, a target whose singular values are spread that far below 1."""
    i, h, o = (int(rng.integers(1, most + 1)) for most in largest)
    values = 10 ** -rng.uniform(0, decades, min(i, o)) if decades else rng.uniform(0.05, 1, min(i, o))
    target = (rotation(rng, o)[:, : min(i, o)] * values) @ rotation(rng, i)[:, : min(i, o)].T
    balance = rng.choice([0.0, rng.uniform(-10, 10), rng.choice([-1, 1]) * 10 ** rng.uniform(-6, 0)])
    return Case(*balanced_start(rng, (i, h, o), float(balance), 10 ** rng.uniform(-4, 0)), target, float(balance))


def balanced_start(
    rng: np.random.Generator, shape: tuple[int, int, int], balance: float, scale: float
) -> tuple[np.ndarray, np.ndarray]:
    """Random layers with W2ᵀW2 − W1W1ᵀ = λΠ, where Π projects on as many hidden directions as the shape allows.

    Args:
        rng: The source of randomness.
        shape: Inputs, hidden units, outputs.
        balance: λ.
        scale: Of the smaller layer's singular values.
    """
    i, h, o = shape
    if balance < 0:
        W1, W2 = balanced_start(rng, (o, h, i), -balance, scale)
        return W2.T, W1.T
    rank = min(h, o) if balance > 0 else min(h, o, i)
    values = np.pad(scale * rng.uniform(0.5, 1.5, min(rank, i)), (0, max(rank - i, 0)))
    hidden, right = rotation(rng, h)[:, :rank], np.pad(rotation(rng, i), ((0, 0), (0, max(rank - i, 0))))[:, :rank]
    turn = rotation(rng, rank)
    W1 = hidden @ (turn * values) @ right.T
    return W1, rotation(rng, o)[:, :rank] @ (turn * np.hypot(values, np.sqrt(balance))).T @ hidden.T


def _integrated(cases: list[Case], largest: tuple[int, ...], times: np.ndarray, stiff: bool) -> list[np.ndarray]:
    """The products W2W1 at the times, all problems padded with zeros and integrated together."""
    i, h, o = largest
    start = ensembles.Ensemble(
        (jnp.asarray(pad([case.W1 for case in cases], (h, i))), jnp.asarray(pad([case.W2 for case in cases], (o, h))))
    )
    problem = ensembles.ensemble(problems.whitened, jnp.asarray(pad([case.target for case in cases], (o, i))))
    run = train.flow(models.DeepLinear((i, h, o)), problem, start, times=times, record=("end_to_end",),
                     rtol=1e-10 if stiff else 1e-12, atol=1e-15, tolerance=0.0, stiff=stiff)  # fmt: skip
    shapes = [case.target.shape for case in cases]
    return [maps[:, :rows, :columns] for maps, (rows, columns) in zip(run.end_to_end.values, shapes, strict=True)]


def _gap(case: Case, times: np.ndarray, maps: np.ndarray) -> np.ndarray:
    """The norm of the difference at each time, over the larger of the norms of product and target."""
    exact = two_layer.trajectory(times, case.W1, case.W2, case.target)
    norm = np.maximum(np.linalg.norm(exact, axis=(1, 2)), np.linalg.norm(case.target))
    return np.linalg.norm(maps - exact, axis=(1, 2)) / norm


def _figure(
    large: list[Case], gaps: np.ndarray, small: list[Case], ends: np.ndarray, maps: list[np.ndarray], late: np.ndarray
) -> fig.Figure:
    """Worst gaps against λ and over time, and one run whose modes are learnt late, one by one."""
    balances = np.array([case.balance for case in large])
    worst = gaps.max(axis=1)
    by_balance = fig.Panel(
        (
            fig.points(balances[balances != 0], worst[balances != 0], "λ ≠ 0", 0),
            fig.points(balances[balances == 0], worst[balances == 0], "λ = 0", 1),
            fig.reference([-10.0, 10.0], [1e-8, 1e-8], "bar"),
        ),
        "λ", "worst relative gap", "up to 30×20×25, t ≤ 30", "linear", "log", (1e-17, 1e-6),
    )  # fmt: skip
    by_time = fig.Panel(
        (
            fig.measured(EARLY[1:], np.maximum(gaps[:, 1:].max(axis=0), 1e-17), "large, worst", 0),
            fig.measured(EARLY[1:], np.maximum(np.median(gaps[:, 1:], axis=0), 1e-17), "large, median", 2),
            fig.points(np.tile(ends, len(small)), np.maximum(late, 1e-17).ravel(), "slow modes", 3),
            fig.reference([EARLY[1], ends[-1]], [1e-8, 1e-8], "bar"),
        ),
        "time t", "relative gap", "over time", "log", "log", (1e-17, 1e-1),
    )  # fmt: skip
    chosen = max(
        range(len(small)), key=lambda m: (min(len(small[m].W1), *small[m].target.shape), -abs(small[m].balance))
    )
    slow = small[chosen]
    U, s, Vt = np.linalg.svd(slow.target, full_matrices=False)
    share = lambda products: np.einsum("om,toi,mi->tm", U, products, Vt) / s  # noqa: E731
    t = np.geomspace(1e-1, 1e7, 300)
    exact, integrated = share(two_layer.trajectory(t, slow.W1, slow.W2, slow.target)), share(maps[chosen])
    curves = fig.Panel(
        (
            *(fig.points(ends, integrated[:, m], "integrated" if m == 0 else "", m) for m in range(len(s))),
            *(fig.theory(t, exact[:, m], "exact") for m in range(len(s))),
        ),
        "time t", "share of each mode learnt", f"slow modes, λ = {slow.balance:.3g}", "log",
    )  # fmt: skip
    return fig.Figure(
        (by_balance, by_time, curves),
        "The exact solution and integrated flow agree for every λ, shape and time, to "
        f"{max(gaps.max(), late.max()):.0e} at worst: the integrator's accuracy.",
    )
