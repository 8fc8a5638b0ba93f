"""The largest incremental start under gradient descent: exact, and against the printed bounds (Theorem 3)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems, starts, train
from ...core import ensembles
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...theory import phase_bounds, phase_descent, phases, units
from ..instances import generator
from ..sizes import sizes

LONGEST = 1500  # steps of the runs by which the thresholds are confirmed
ASIDE = np.array([-1e-7, 1e-7, 0.01, 0.1, 0.5, 1.0])  # relative distance of their starts from the threshold
DRAWN = {"ratio": 1.5, "s": 0.2, "f": 0.8, "c": 0.6}  # the setting of the figure's runs


SIMPLE = {"ratio": 2.0, "s": 0.2, "f": 0.8, "c": 0.5}  # the counter-example
THRESHOLD = r"$\log_{10}\ \sigma_0^{th}/\sigma_j^*$"  # a label
BOUND = "the bound itself"
NONE = "theory: the decision is exact, and the starts are 1e-7 and more from the threshold, 10⁸ times rounding"


class Settings(NamedTuple):
    """At how many settings the bounds are compared, and how many instances descent confirms."""

    bound_settings: int
    instances: int


@sizes(quick=Settings(2500, 150), full=Settings(150_000, 1000))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """The exact upper end of the incremental starts, confirmed by descent, against both printed bounds.

    Each step of descent is a rising function of the start, so the incremental starts are a union of windows, one for
    each step, whose ends follow by running the two modes backwards; the largest start is the top of the first window
    that is not empty. It is confirmed by gradient descent of diagonal networks that start in this window, at most a
    relative 1e-7 below its top (incremental), at several distances above it (not), and in the gap below it (not). A
    third of the instances have thresholds below e^−37, where steps are no longer counted one by one. Both bounds are
    set beside their values by hand at one setting, since a bound that is loose forgives what is wrong in it.

    The upper bound holds. The lower bound needs A > 1, which the theorem does not say: as A falls to 1 the exponent
    grows without limit, and below it changes sign, so that a number under one raised to it exceeds any threshold. By
    the definition of A, A > 1 means c Ri < 4r(r−1)/(4r²+1); under this condition the bound holds, also for the smaller
    steps that the theorem allows and although steps are whole numbers (`theory.phase_bounds` has the argument).
    """
    rng, sampled = generator(key), settings.bound_settings
    ratio, s, f, c, share = _anywhere(rng, sampled)
    steps = c * np.where(rng.uniform(size=sampled) < 0.5, 1.0, rng.uniform(0.3, 1.0, sampled))  # η ≤ c/σ1*
    exact = phase_descent.log_threshold_descent(ratio, s, f, steps, share)
    low, high = phase_bounds.log_bounds_descent(ratio, s, f, c, share)
    proper = c * share < phase_bounds.largest_step(ratio)
    margin = exact - low
    wrong, inside, gaps, sweep = _confirm(rng, settings.instances)
    value, bound = phase_descent.threshold_descent(**SIMPLE), np.exp(phase_bounds.log_bounds_descent(**SIMPLE)[0])
    by_hand = np.abs(np.subtract(phase_bounds.log_bounds_descent(**SIMPLE, target=3.0), _by_hand())).max()
    return Evidence(
        checks=[
            at_least("least log(upper bound / σ₀th)", np.min(high - exact), 0, BOUND),
            at_least("least log(σ₀th / lower bound) where A > 1", np.min(margin[proper]), 0, BOUND),
            at_most("largest log(σ₀th / lower bound) where A < 1", np.max(margin[~proper]), 0, BOUND),
            at_most("runs about the threshold that descent decides otherwise", wrong, 0, NONE),
            at_most("runs in the gap below the first window that are incremental", inside, 0, NONE),
            at_most(
                "worst gap of the logarithms of both bounds to those by hand, r = 2, s = 0.2, f = 0.8, c = 0.5",
                by_hand,
                1e-12,
                "rounding of logarithms of some tens",
            ),
        ],
        printed=[at_least("least log(σ₀th / printed lower bound)", np.min(margin), 0, BOUND)],
        correction=r"cR_i<\frac{4r(r-1)}{4r^2+1}\ (\Leftrightarrow A>1):\quad "
        r"\frac12\frac{s}{1-s}\sigma_j^*\left(\frac{1-f}{2rf}\frac{s}{1-s}\right)^{\frac1{A-1}}\le\sigma_0^{th}",
        numbers={
            "exact threshold at r = 2, s = 0.2, f = 0.8, c = 0.5": float(value),
            "printed lower bound there": float(bound),
            "share of settings with A < 1": float(np.mean(~proper)),
            "share of instances with a gap below the threshold": gaps / settings.instances,
        },
        protocol={
            "depth": "2",
            "targets": "r − 1 from 0.03 to 100, σi*/σ1* from 0.05 to 1",
            "fractions": "s and 1 − f from 2.5e-5 to 1/4",
            "step size": "c from 0.03 to 2(√2 − 1), and 0.3 to 1 times c/σ1*",
            "start": "the exact threshold, and starts beside it",
            "optimiser": "gradient descent of diagonal networks",
        },
        figure=_descent_figure(*sweep),
        remarks=(
            "Counter-example to check by hand: r = 2, s = 1/5, f = 4/5, c = 1/2 and σi* the largest value. Then A "
            "= ln(3/4)/ln(47/64) = 0.932, the base of the power is 1/64, and the printed lower bound is (1/8) "
            f"64^14.7 ≈ {bound:.1g} σj*. Yet a start above sσj* = σj*/5 is never incremental, by Definition 1; the "
            f"threshold is {value:.4f} σj*.",
            "This is so wherever A < 1: the base is below 1/(18r) and the exponent below −1, so that the printed "
            "lower bound exceeds 9rsσj*, and no start above sσj* is incremental. The condition A > 1 is thus "
            "necessary, and it is sufficient.",
            "The incremental starts are not an interval under descent: below the threshold there are gaps, narrower "
            "than what one step spans.",
        ),
    )


def _by_hand() -> tuple[float, float]:
    """The logarithms of both printed bounds at the counter-example, of a target 3: from fractions.

    There cRi = 1/2 and cRj = 1/4, so that A = ln(3/4)/ln(47/64) and B = ln(7/16)/ln(13/16); s/(1 − s) = (1 − f)/f = 1/4.
    """
    A, B = np.log(3 / 4) / np.log(47 / 64), np.log(7 / 16) / np.log(13 / 16)
    return np.log(3 / 8) - np.log(64) / (A - 1), np.log(3 / 4) - np.log(16) / (B - 1)


def _anywhere(rng: np.random.Generator, count: int) -> tuple[np.ndarray, ...]:
    """Ratio, s, f, c and share over the range of Theorem 3, dense at its ends."""
    ratio = 1 + 10 ** rng.uniform(-1.5, 2, count)
    s, left = 0.25 * 10 ** np.where(rng.uniform(size=(2, count)) < 0.5, rng.uniform(-4, 0, (2, count)), -1e-6)
    c = phase_bounds.LARGEST_STEP * 10 ** np.where(rng.uniform(size=count) < 0.8, rng.uniform(-1.4, 0, count), -1e-6)
    share = np.where(rng.uniform(size=count) < 0.5, 1.0, rng.uniform(0.05, 1, count))
    return ratio, s, 1 - left, c, share


def _descend(
    start: np.ndarray, ratio: np.ndarray, s: np.ndarray, f: np.ndarray, step_size: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient descent of diagonal networks with targets (ratio, 1), one run for each entry.

    Returns whether Definition 1 holds at some step, and σj/σj* at the first step at which σi has reached fσi*.
    """
    model = models.Diagonal(2, 2)
    targets = np.stack([ratio, np.ones_like(ratio)], axis=1)
    run = train.descend(
        model,
        ensembles.ensemble(problems.whitened, jnp.asarray(targets[:, None, :])),
        ensembles.ensemble(lambda s: starts.identity(model, s), jnp.asarray(start)),
        step_size=step_size / units.clock_rate(2, "shared"),
        steps=LONGEST,
        every=1,
        record=("end_to_end",),
    )
    sigma = run.end_to_end.values[:, :, 0] / targets[:, None]
    learnt = sigma[..., 0] >= f[:, None]
    early = np.argmax(learnt, axis=1)[:, None]
    return np.any(learnt & (sigma[..., 1] <= s[:, None]), axis=1), np.take_along_axis(sigma[..., 1], early, 1)[:, 0]


def _confirm(rng: np.random.Generator, count: int) -> tuple[int, int, int, tuple[np.ndarray, ...]]:
    """Runs about random thresholds, in the gaps below them, and for the figure, all as one ensemble.

    Returns how many about the threshold come out otherwise than forecast, how many in gaps are incremental, how many
    gaps there are, and the figure's starts with their outcome and σj/σj* when σi is learnt.
    """
    ratio, s, f = 1 + 10 ** rng.uniform(-0.5, 1, count), rng.uniform(0.01, 0.25, count), rng.uniform(0.75, 0.99, count)
    c, share = rng.uniform(0.2, phase_bounds.LARGEST_STEP, count), rng.uniform(0.5, 1.0, count)
    deep = count // 3
    ratio[:deep], s[:deep] = rng.uniform(1.04, 1.08, deep), rng.uniform(0.01, 0.1, deep)
    c[:deep], share[:deep] = rng.uniform(0.5, phase_bounds.LARGEST_STEP, deep), rng.uniform(0.8, 1.0, deep)
    low, high = phase_descent.windows(LONGEST, ratio, s, f, c, share)
    first, column = np.argmax(low <= high, axis=0), np.arange(count)
    bottom, top = high[first + 1, column], low[first, column]  # the gap below the first window, where there is one
    gap = np.flatnonzero(bottom < top)

    about = phase_descent.threshold_descent(ratio, s, f, c, share)[:, None] * (1 + ASIDE)
    about[:, 0] = np.maximum(about[:, 0], np.sqrt(top * high[first, column]))  # the window may be narrower still
    sweep = phase_descent.threshold_descent(**DRAWN) * np.geomspace(0.04, 4, 160)
    start = np.concatenate([np.ravel(about), np.sqrt(bottom * top)[gap], sweep])
    draws = np.concatenate([np.repeat(column, ASIDE.size), gap])
    columns = zip((ratio, s, f, c * share / ratio), (1.5, 0.2, 0.8, DRAWN["c"] / DRAWN["ratio"]), strict=True)
    incremental, slower = _descend(
        start, *(np.concatenate([x[draws], np.full(sweep.size, drawn)]) for x, drawn in columns)
    )
    near, inside, shown = np.split(incremental, [about.size, about.size + gap.size])
    wrong = np.sum(near.reshape(about.shape) != (ASIDE < 0))
    return int(wrong), int(np.sum(inside)), gap.size, (sweep, shown, slower[-sweep.size :])


def _descent_figure(sweep: np.ndarray, incremental: np.ndarray, slower: np.ndarray) -> fig.Figure:
    """The threshold against r and c between its bounds, where the lower one exists, and runs in and out of windows."""
    most = phase_bounds.LARGEST_STEP
    ratio, c = 1 + np.geomspace(0.08, 30, 150), np.linspace(0.01, most, 150, endpoint=False)
    limit = phase_bounds.largest_step(ratio)
    against_ratio = fig.Panel(
        _curves(ratio - 1, ratio, 0.2 * np.ones_like(ratio)), "r − 1", THRESHOLD, "c = 0.2", "log",
        y_limits=(-25, 1),
    )  # fmt: skip
    against_step = fig.Panel(_curves(c, 2 * np.ones_like(c), c), "c", THRESHOLD, "r = 2", y_limits=(-12, 4))
    proper = fig.Panel(
        (
            fig.band(ratio - 1, 0 * ratio, np.minimum(limit, most), "lower bound holds", 3),
            fig.theory(ratio - 1, limit, "A = 1"),
            fig.reference(ratio[[0, -1]] - 1, [most, most], "c = 2(√2 − 1)"),
        ),
        "r − 1", "c Rᵢ", "allowed steps", "log", y_limits=(0, 1.5),
    )  # fmt: skip
    low, high = phase_descent.windows(80, **DRAWN)
    s = DRAWN["s"]
    shown = np.flatnonzero((low <= high) & (high > sweep[0]))
    marks = [fig.theory([low[t], high[t]], [s, s], "windows" if t == shown[0] else "") for t in shown]
    marks += [
        fig.points(sweep[incremental], slower[incremental], "incremental", 0),
        fig.points(sweep[~incremental], slower[~incremental], "not", 1),
    ]
    outcome = fig.Panel(
        tuple(marks), "σ₀ / σⱼ*", "σⱼ / σⱼ* when σᵢ is learnt", "runs, r = 1.5, c = 0.6", "log", y_limits=(0, 0.5)
    )
    return fig.Figure(
        (against_ratio, against_step, proper, outcome),
        "The exact threshold of descent lies below the upper bound, and above the lower one wherever A > 1; runs are "
        "incremental exactly in the windows, which leave gaps (s = 0.2, f = 0.8).",
        2,
    )


def _curves(x: np.ndarray, ratio: np.ndarray, c: np.ndarray) -> tuple[fig.Mark, ...]:
    """Thresholds and bounds at s = 0.2 and f = 0.8, in powers of ten; the lower bound only where it is one."""
    s, f, tens = DRAWN["s"], DRAWN["f"], np.log(10)
    low, high = phase_bounds.log_bounds_descent(ratio, s, f, c)
    low = np.where(c < phase_bounds.largest_step(ratio), np.maximum(low, -60 * tens), np.nan)
    return (
        fig.measured(x, phases.log_threshold(2, ratio, s, f) / tens, "flow", 2),
        fig.theory(x, phase_descent.log_threshold_descent(ratio, s, f, c) / tens, "descent"),
        fig.reference(x, low / tens, "printed bounds"),
        fig.reference(x, high / tens),
    )
