"""Where training is lazy and where it is rich: learning time, laziness and rank over the plane of λ and target."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

from ... import models, problems, starts, train
from ...core import ensembles
from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ...theory import lambda_modes
from ..instances import effective_rank, generator, rotation
from ..sizes import sizes

INPUTS, HIDDEN, OUTPUTS = 6, 8, 2
SHARES = np.array([1.0, 0.5])  # of the target's two singular values
CHANGE = 0.1  # of the kernel, up to which training counts as lazy
TIMES = np.r_[0.0, np.geomspace(1e-6, 1e5, 500)]
CUBIC = "a cubic between 500 records over 11 decades: (11 ln 10/500)⁴/384 ≈ 1e-8 of a mode, steepened up to 10⁴ times"
STEPS = "the integrator's 1e-12 for a step, and fewer than 10⁴ steps"
GRAMS = (
    "end_to_end",
    train.Record("first", lambda model, problem, layers: layers[0].T @ layers[0], ("i", "j")),
    train.Record("second", lambda model, problem, layers: layers[1] @ layers[1].T, ("o", "p")),
)


class Settings(NamedTuple):
    """How many |λ|, from 1e-3 to 1e2, how many sizes σ* of the target, from 1e-2 to 10, how many modes from any start."""

    balances: int
    targets: int
    modes: int


class Map(NamedTuple):
    """What is read off each run, (sign of λ, target, |λ|): of the weaker mode where a mode is meant."""

    time: np.ndarray
    laziness: np.ndarray
    rank: np.ndarray


@sizes(quick=Settings(21, 13, 60), full=Settings(41, 25, 1000))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Flow of two-layer networks over λ and the size of the target, with the closed form's contours over it.

    One layer starts at zero, the other as √|λ| times an isometry: the first for λ < 0 (Varre et al.'s start, λ = −2γ),
    the second for λ > 0. Measured are the time at which the weaker mode is half learnt, the share of it that is learnt
    before its tangent kernel has changed by a tenth, and the effective rank of W1 at the end. The equation stated holds
    from any start: single modes from starts of either sign, beyond the target too, are integrated as two weights.
    """
    rng = generator(key)
    balances = np.geomspace(1e-3, 1e2, settings.balances)
    targets = np.geomspace(1e-2, 10, settings.targets)
    left, right = rotation(rng, OUTPUTS), rotation(rng, INPUTS)[:, :OUTPUTS]
    measured = _measure(_run(balances, targets, left, right, key), balances, targets, left, right)
    weaker = SHARES.min() * targets[:, None]
    time = lambda_modes.time_to(weaker / 2, weaker, 0.0, balances)
    lazy = lambda_modes.laziness(weaker, 0.0, balances, CHANGE)
    rank = np.stack([effective_rank(_first_layer(sign * balances, targets)) for sign in (-1, 1)])
    away, left, timed, shares = _from_any_start(rng, settings.modes)
    return Evidence(
        checks=[
            at_most("worst relative gap of the learning time", np.abs(measured.time / time - 1).max(), 1e-3, CUBIC),
            at_most("worst gap of laziness", np.abs(measured.laziness - lazy).max(), 1e-3, CUBIC),
            at_most(
                "worst gap of the first layer's rank",
                np.abs(measured.rank - rank).max(),
                1e-6,
                "the integrator's 1e-9 for a step, and fewer than 10³ steps",
            ),
            at_most("worst gap of σ(t) from any start to two weights integrated", away, 1e-8, STEPS),
            at_most("worst gap of what is left to learn, likewise", left, 1e-8, STEPS),
            at_most("worst gap of the time to a value, likewise, as what is learnt meanwhile", timed, 1e-8, STEPS),
            at_most(
                "worst gap of laziness from any start to the kernel along the way",
                shares,
                1e-7,
                "rounding of the kernel, 1e-16, of which a root near its least value keeps half the digits, × 10",
            ),
        ],
        numbers={
            "largest rank, first layer large": float(measured.rank[0].max()),
            "largest rank, second layer large": float(measured.rank[1].max()),
            "runs": float(measured.time.size),
        },
        settings={"inputs, hidden, outputs": (INPUTS, HIDDEN, OUTPUTS)},
        protocol={
            "network": f"two linear layers, {INPUTS} inputs, {HIDDEN} hidden units, {OUTPUTS} outputs",
            "data": "white inputs; a target of two values, σ* and σ*/2, σ* from 1e-2 to 10",
            "start": "one layer √|λ| times an isometry, the other zero; |λ| from 1e-3 to 1e2, both signs",
            "optimiser": "gradient flow",
            "measure": "time to half of the weaker mode, share of it learnt lazily, effective rank of W1; single modes "
            "from any start",
        },
        figure=_figure(balances, targets, measured),
        remarks=[
            "Speed and laziness know only |λ|. The first layer's rank knows its sign: with the second layer large, W1 "
            "holds the target's directions alone, however large λ is."
        ],
    )


def _run(
    balances: np.ndarray, targets: np.ndarray, left: np.ndarray, right: np.ndarray, key: jax.Array
) -> list[np.ndarray]:
    """Products and Grams of both layers at the times, (sign, target, balance, time, …), and W1 at the end."""
    model = models.DeepLinear((INPUTS, HIDDEN, OUTPUTS))
    first, last_layer = (np.asarray(layer) for layer in starts.shaped(model, key, 0.5))
    second = np.asarray(starts.orthonormal(jax.random.fold_in(key, 1), OUTPUTS, HIDDEN))
    root = np.sqrt(np.tile(balances, targets.size))[:, None, None]
    zero = np.zeros((root.size, *first.shape)), np.zeros((root.size, *last_layer.shape))
    start = ensembles.Ensemble(
        (
            jnp.asarray(np.concatenate([root * first, zero[0]])),
            jnp.asarray(np.concatenate([zero[1], root * second])),
        )
    )
    maps = np.tile(np.repeat(targets, balances.size), 2)[:, None, None] * ((left * SHARES) @ right.T)
    problem = ensembles.ensemble(problems.whitened, jnp.asarray(maps))
    run = train.flow(model, problem, start, times=TIMES, record=GRAMS, rtol=1e-9, tolerance=1e-18)
    lead = (2, targets.size, balances.size, TIMES.size)
    grams = [run[name].values.reshape(*lead, *run[name].shape[2:]) for name in ("end_to_end", "first", "second")]
    return [*grams, np.asarray(run.final.stacked[0]).reshape(*lead[:3], HIDDEN, INPUTS)]


def _measure(
    grams: list[np.ndarray], balances: np.ndarray, targets: np.ndarray, left: np.ndarray, right: np.ndarray
) -> Map:
    """Read the weaker mode, its kernel and the rank of W1 off the runs."""
    product, first, second, end = grams
    u, v = left[:, -1], right[:, -1]
    strength = np.einsum("o,...oi,i->...", u, product, v) / (SHARES.min() * targets[:, None, None])
    kernel = np.einsum("i,...ij,j->...", v, first, v) + np.einsum("o,...op,p->...", u, second, u)
    time, lazy = np.empty(strength.shape[:3]), np.empty(strength.shape[:3])
    for index in np.ndindex(*time.shape):
        time[index] = np.exp(_crossing(np.log(TIMES[1:]), strength[index][1:], 0.5))
        grown = kernel[index] / kernel[index][0]
        lazy[index] = 1.0 if grown[-1] < 1 + CHANGE else _crossing(strength[index], grown, 1 + CHANGE)
    return Map(time, lazy, effective_rank(np.linalg.svd(end, compute_uv=False)))


def _crossing(x: np.ndarray, y: np.ndarray, level: float) -> float:
    """Where y, rising with x, crosses the level: by a cubic through the points around it."""
    after = int(np.argmax(y >= level))
    near = slice(max(after - 4, 0), after + 4)
    roots = CubicSpline(x[near], y[near]).solve(level, extrapolate=False)
    inside = roots[(roots >= x[after - 1]) & (roots <= x[after])]
    return float(inside[0])


def _first_layer(balance: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The closed singular values of W1 at the end, (target, balance, value); inputs beyond the target have σ* = 0."""
    sigma = np.pad(SHARES, (0, INPUTS - SHARES.size)) * targets[:, None, None]
    c = balance[:, None] / 2
    return np.where(c < 0, np.sqrt(np.hypot(sigma, c) - c), sigma / np.sqrt(np.hypot(sigma, c) + np.abs(c)))


def _from_any_start(rng: np.random.Generator, count: int) -> tuple[float, float, float, float]:
    """Random modes whose weights start anywhere: worst gaps of σ(t), of σ* − σ(t), of times, and of laziness.

    The weights follow ȧ = b(σ* − ab), ḃ = a(σ* − ab), up to seven times the decay at the end. Gaps are relative to
    |σ*| + |σ₀|; one in time is taken as what the mode moves in it.
    """
    a, b = rng.choice([-1.0, 1.0], (2, count)) * 10 ** rng.uniform(-2, 0.5, (2, count))
    target = rng.choice([-1.0, 1.0], count) * 10 ** rng.uniform(-1, 1, count)
    start, balance = a * b, a**2 - b**2
    until = 7 / np.hypot(balance, 2 * target)

    def field(_: float, weights: np.ndarray) -> np.ndarray:
        first, second = weights.reshape(2, count)
        error = until * (target - first * second)
        return np.concatenate([second * error, first * error])

    shares = np.linspace(0, 1, 13)
    run = solve_ivp(field, (0, 1), np.concatenate([a, b]), "DOP853", shares, rtol=1e-12, atol=1e-14)
    sigma = np.prod(run.y.reshape(2, count, shares.size), axis=0)
    t, goal, begin, known = until[:, None] * shares, target[:, None], start[:, None], balance[:, None]
    size = np.abs(goal) + np.abs(begin)
    forecast = lambda_modes.trajectory(t, goal, begin, known)
    away = np.abs(forecast - sigma) / size
    left = np.abs(lambda_modes.residual(t, goal, begin, known) - (goal - sigma)) / size
    late = lambda_modes.time_to(forecast, goal, begin, known)
    timed = np.abs(late - t) * np.hypot(known, 2 * sigma) * np.abs(goal - sigma) / size
    lazy = _lazy_share(target, start, balance)
    gap = np.abs(lambda_modes.laziness(target, start, balance, CHANGE) - lazy)
    return float(away.max()), float(left.max()), float(timed.max()), float(gap.max())


def _lazy_share(target: np.ndarray, start: np.ndarray, balance: np.ndarray) -> np.ndarray:
    """The share of the way at which the kernel √(λ² + 4σ²) first is no longer within a factor 1 + CHANGE of its start.

    On the way it falls until the mode passes zero, if it does, and rises from there: on either part it is bisected.
    """
    turn = np.clip(start / (start - target), 0, 1)

    def within(share: np.ndarray) -> np.ndarray:
        ratio = np.hypot(balance, 2 * (start + share * (target - start))) / np.hypot(balance, 2 * start)
        return (ratio <= 1 + CHANGE) & (ratio >= 1 / (1 + CHANGE))

    fallen = within(turn)
    low, high = np.where(fallen, turn, 0.0), np.where(fallen, 1.0, turn)
    for _ in range(60):
        middle = (low + high) / 2
        inside = within(middle)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.where(fallen & within(np.ones_like(start)), 1.0, low)


def _figure(balances: np.ndarray, targets: np.ndarray, measured: Map) -> fig.Figure:
    rank_of = lambda balance, target: effective_rank(_first_layer(balance, target))  # noqa: E731
    fine = np.geomspace(balances[0], balances[-1], 80), np.geomspace(targets[0], targets[-1], 60)
    weaker = SHARES.min() * fine[1][:, None]
    fields = (
        (
            "learning time",
            "log₁₀ time to half",
            np.log10(measured.time[0]),
            np.log10(lambda_modes.time_to(weaker / 2, weaker, 0.0, fine[0])),
        ),
        ("laziness", "share learnt lazily", measured.laziness[0], lambda_modes.laziness(weaker, 0.0, fine[0], CHANGE)),
        # Just below full rank, or rounding would draw a contour.
        (
            "rank of W1, first layer large",
            "rank of W1",
            measured.rank[0],
            np.minimum(rank_of(-fine[0], fine[1]), INPUTS - 1e-3),
        ),
    )
    panels = [
        fig.Panel(
            (fig.heat(balances, targets, seen, bar), fig.contour(*fine, forecast)), "|λ|", "σ*", title, "log", "log"
        )
        for title, bar, seen, forecast in fields
    ]  # fmt: skip
    ratio, line = (balances / targets[:, None]).ravel(), np.geomspace(1e-4, 1e4, 200)
    marks = [
        fig.points(
            ratio, measured.rank[index].ravel(), ("first layer large" if index == 0 else "second layer large"), index
        )
        for index in (0, 1)
    ]
    marks += [fig.theory(line, rank_of(sign * line, np.ones(1))[0], "closed form") for sign in (-1, 1)]
    panels.append(
        fig.Panel(
            tuple(marks),
            "|λ| / σ*",
            "rank of W1 at the end",
            "rank of W1, either layer large",
            "log",
            "linear",
            (0.0, INPUTS + 1.0),
        )
    )
    return fig.Figure(
        tuple(panels),
        "Learning time, laziness and rank (colour, points) lie on the closed form (lines) all over the plane; only a "
        f"large first layer stays of high rank, up to {measured.rank[0].max():.1f}: with a large second one it is "
        f"{measured.rank[1].max():.1f} at most.",
        2,
    )
