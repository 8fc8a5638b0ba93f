"""The toy model has a closed solution at every depth: Theorem 1."""

from typing import NamedTuple

import jax
import numpy as np
from scipy.integrate import solve_ivp

from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ...theory import modes
from ..instances import generator
from ..sizes import sizes

TOLERANCE = 1e-12  # of the integrator, for one step
BAR = 1e-8


class Settings(NamedTuple):
    """How many random instances, when each is looked at, and their depths and starts."""

    instances: int
    times_each: int
    depths: tuple[float, ...]
    least_start_over_target: float
    largest_start_over_target: float


QUICK = Settings(60, 8, (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 10.0, 100.0, np.inf), 1e-12, 10.0)


@sizes(quick=QUICK, full=QUICK._replace(instances=1500))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """The closed solution and its inverse against SciPy's integrator and against the printed forms.

    Random targets and starts, σ0/σ* log-uniform from 1e-12 to 10, at depths 1 to 100 and infinity, whole and not. Each
    instance is looked at when it passes random values between start and target, so that plateau, rise and approach all
    count. A relative error ε in time is an error κε in σ, κ = t σ̇/σ, which reaches 10¹¹ in the rise of a deep mode and
    falls to nothing near the target: the gap in σ is therefore taken over 1 + κ and that in time over 1 + 1/κ, and the
    raw gap in σ is reported beside them. What is left to learn is compared as far as the integrator knows it. Below
    depth two zero is left at once, in a time that is an integral with an end at zero, which Gauss's rule takes in a
    variable that makes it smooth.
    """
    rng, count = generator(key), settings.instances
    least, largest = settings.least_start_over_target, settings.largest_start_over_target
    ratio = np.r_[least, largest, 10 ** rng.uniform(np.log10(least), np.log10(largest), count - 2)]
    target = 10 ** rng.uniform(-2, 2, count)
    start, depth = ratio * target, np.resize(settings.depths, count)
    passed = np.sort(rng.uniform(size=(count, settings.times_each)), axis=1)
    values = target[:, None] * ratio[:, None] ** (1 - passed)  # evenly in log σ
    target, start, depth = target[:, None], start[:, None], depth[:, None]
    times = modes.time_to(values, target, start, depth)

    forecast = modes.trajectory(times, target, start, depth)
    rows = zip(times, target[:, 0], start[:, 0], depth[:, 0], strict=True)
    measured = np.stack([_integrate(*row) for row in rows])
    kappa = times * measured ** (1 - 2 / depth) * np.abs(target - measured)
    gap = np.abs(forecast / measured - 1)
    time_gap = np.abs(modes.time_to(measured, target, start, depth) / times - 1) / (1 + 1 / kappa)
    share = np.abs(target - measured) / target  # the integrator knows it to its accuracy over this
    left = np.abs(modes.residual(times, target, start, depth) / (target - measured) - 1) * share
    steps = f"the integrator's {TOLERANCE:g} for a step, and fewer than 10⁴ steps"
    cancelling = "rounding, 1e-16, where the printed forms cancel down to σ0 = 1e-8 σ*"
    return Evidence(
        checks=[
            at_most("worst relative gap of σ(t) to the integrator, over 1 + κ", np.max(gap / (1 + kappa)), BAR, steps),
            at_most("worst relative gap of the time to a value, over 1 + 1/κ", time_gap.max(), BAR, steps),
            at_most(
                "worst gap of σ* − σ(t) to the integrator, of σ*, likewise", np.max(left / (1 + kappa)), BAR, steps
            ),
            at_most(
                "worst relative gap of the way out of zero to an integral, N < 2",
                _zero_gap(rng, count),
                1e-10,
                "Gauss's rule for a smooth integrand: rounding, 1e-16, × 10⁶",
            ),
            at_most("worst relative gap to the printed forms", _printed_gap(rng, count), BAR, cancelling),
        ],
        numbers={"worst raw relative gap of σ(t)": float(gap.max()), "largest κ": float(kappa.max())},
        protocol={
            "model": "the mode's differential equation, one value at a time",
            "loss": "depth-normalised squared loss over Gaussian inputs",
            "optimiser": "gradient flow, integrated in log σ by SciPy's DOP853",
            "depth": "1, 2 and infinity against the printed forms; 1 to 100, whole and not, against the integrator",
            "start": f"σ0/σ* from {least:g} to {largest:g}, below and above the target",
        },
        figure=_figure(ratio, depth[:, 0], np.max(gap / (1 + kappa), axis=1)),
        remarks=(
            "The text has no formula for 3 ≤ N < ∞; the solution checked there, for real depths too, is the "
            "inverse of a hypergeometric function, and tends to the printed forms at N = 2 and N = ∞.",
        ),
    )


def _integrate(times: np.ndarray, target: float, start: float, depth: float) -> np.ndarray:
    """The mode's equation by SciPy, in log σ, where a start of 1e-12 and a plateau are both easy to follow."""
    power = 1 - 2 / depth
    field = lambda t, u: np.exp(power * u) * (target - np.exp(u))  # noqa: E731
    with np.errstate(over="ignore", invalid="ignore"):  # in trial steps that the solver then rejects
        run = solve_ivp(field, (0, times[-1]), [np.log(start)], "DOP853", times, rtol=TOLERANCE, atol=1e-13)
    return np.exp(run.y[0])


def _printed_gap(rng: np.random.Generator, count: int) -> float:
    """The printed formulas for N = 1 and N = 2 at random times, and for N → ∞ as time against value."""
    target = 10 ** rng.uniform(-1, 1, count)
    start = target * 10 ** rng.uniform(-8, -0.1, count)
    t1 = rng.uniform(0, 5, count)
    depth_one = target + (start - target) * np.exp(-t1)
    t2 = t1 / target
    depth_two = start * target * np.exp(target * t2) / (start * np.expm1(target * t2) + target)
    value = start + rng.uniform(0.01, 0.99, count) * (target - start)
    infinite = np.log(value * (target - start) / (start * (target - value))) / target**2
    infinite += (1 / start - 1 / value) / target
    gaps = (
        modes.trajectory(t1, target, start, 1) / depth_one - 1,
        modes.trajectory(t2, target, start, 2) / depth_two - 1,
        modes.time_to(value, target, start, np.inf) / infinite - 1,
    )
    return float(np.max(np.abs(gaps)))


def _zero_gap(rng: np.random.Generator, count: int) -> float:
    """Depths below two from a start at zero: times to values, and the values at these times.

    With p = 2/N − 1 the time is ∫ dσ/(σ^{1−p}(σ* − σ)); in σ = v w^m it is ∫ m v^p w^{mp−1}/(σ* − v w^m) dw up to 1.
    """
    node, weight = np.polynomial.legendre.leggauss(300)
    w, weight = (1 + node) / 2, weight / 2
    target, depth = 10 ** rng.uniform(-2, 2, (count, 1)), rng.uniform(1, 1.9, (count, 1))
    value, p = target * 10 ** rng.uniform(-20, -0.05, (count, 1)), 2 / depth - 1
    m = np.ceil(8 / p)
    time = (m * value**p * w ** (m * p - 1) / (target - value * w**m)) @ weight[:, None]
    gaps = (
        modes.time_to(value, target, 0.0, depth) / time - 1,
        modes.trajectory(time, target, 0.0, depth) / value - 1,
        (target - modes.residual(time, target, 0.0, depth)) / target - value / target,
    )
    return float(np.max(np.abs(gaps)))


def _figure(ratio: np.ndarray, depth: np.ndarray, gap: np.ndarray) -> fig.Figure:
    families = (("N < 2", depth < 2), ("N = 2", depth == 2), ("2 < N < ∞", (depth > 2) & (depth < np.inf)),
                ("N = ∞", np.isinf(depth)))  # fmt: skip
    marks = [
        fig.points(ratio[members], np.maximum(gap[members], 1e-17), label, group)
        for group, (label, members) in enumerate(families)
    ]
    bar = fig.reference([1e-12, 10], [BAR, BAR], "bar")
    panel = fig.Panel(
        (*marks, bar), "σ₀ / σ*", "worst relative gap over 1 + κ", x_scale="log", y_scale="log", y_limits=(1e-17, 1e-7)
    )
    caption = (
        f"The closed solution and an integrator agree at every depth and scale, to {gap.max():.0e} at worst: the "
        "integrator's accuracy."
    )
    return fig.Figure((panel,), caption, 1)
