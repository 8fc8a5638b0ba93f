"""Single steps of gradient descent: when they do not overshoot (Lemma 1), how depth scales the first (Appendix C)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...evidence import Evidence, at_least, at_most, within
from ...evidence import figure as fig
from ..instances import generator, slope
from ..sizes import sizes

DEPTHS = np.array([2.0, 2.1, 2.5, 3.0, 3.5, 4.0, 6.0, 10.0, 30.0, 100.0])


def _loss(w: jax.Array, target: jax.Array, depth: jax.Array) -> jax.Array:
    """The depth-normalised loss of eq. 2, for one value."""
    return (w**depth - target) ** 2 / (2 * depth**2)


@jax.jit
def _update(w: jax.Array, target: jax.Array, step_size: jax.Array, depth: jax.Array) -> jax.Array:
    """One step of descent on eq. 2, the change of w, by automatic differentiation."""
    gradient = jnp.vectorize(jax.grad(_loss))(w, target, depth)
    return -step_size * gradient


@jax.jit
def _largest(start: jax.Array, target: jax.Array, step_size: jax.Array, depth: jax.Array, steps: int) -> jax.Array:
    """The largest σ/σ* seen in a run of descent from σ = start."""

    def advance(_: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        w, most = carry
        w = w + _update(w, target, step_size, depth)
        return w, jnp.maximum(most, w**depth / target)

    return jax.lax.fori_loop(0, steps, advance, (start ** (1 / depth), start / target))[1]


ROUNDING = "rounding of w^N at N = 100, 100 × 1e-16 × 100"
LEFT = "slope of the gap of the ratio of updates of ri to (1−ri)/(1−rj), in η"
RATE = "theory: the first neglected term is linear in the step, slope 1 ± 10 %"
SHARP = (
    "theory: to first order a step 1 % too large passes σ* by 1 % of the 0.001 that are left, 1e-5; a hundredth of it"
)


class Settings(NamedTuple):
    """How many runs of descent, and how long each is."""

    runs: int
    steps: int


@sizes(quick=Settings(4000, 300), full=Settings(200_000, 2000))
def check(settings: Settings, key: jax.Array) -> Evidence:
    r"""Descent on the normalised loss by automatic differentiation, over a grid of depths, ratios, starts and steps.

    Lemma 1 holds, and its step is the largest: at 1% above it starts just below the target pass it, at every depth.
    The normalisation is part of it: with the plain loss ½‖w^N − σ*‖² the same step is N² times too large.

    The factor of Appendix C does not belong to ri = σi/σi*. Both values start at σ0, so to first order in the step
    Δri = η σ0^{2−2/N}(1 − ri): the two updates are equal as σ0 → 0, at every depth. The printed factor is lost on
    the way from (r^{1/N} + r^{−(N−1)/N} x)^N to its first order in x, which is r + N x, not r + N r^{−(N−1)/N} x. The
    factor r^{(N−1)/N} does belong to the weights, wi/wi* = ri^{1/N}: since Δwi = (η/N) w0^{N−1}(σi* − σ0), their
    updates stand exactly as r^{(N−1)/N}(1 − ri)/(1 − rj), at any step and start.
    """
    rng, count, steps = generator(key), settings.runs, settings.steps
    depth = np.resize(DEPTHS, count)
    largest = 10 ** rng.uniform(-1, 1, count)
    target = largest * np.where(rng.uniform(size=count) < 0.5, 1.0, 10 ** rng.uniform(-3, 0, count))
    start = target * np.where(rng.uniform(size=count) < 0.5, 10 ** rng.uniform(-6, 0, count), rng.uniform(0, 1, count))
    step_size = largest ** -(2 - 2 / depth) * np.where(rng.uniform(size=count) < 0.5, 1.0, rng.uniform(0, 1, count))
    overshoot = np.asarray(_largest(*_arrays(start, target, step_size, depth), steps)) - 1

    ones = np.ones_like(DEPTHS)
    beyond = np.asarray(_largest(*_arrays(0.999 * ones, ones, 1.01 * ones, DEPTHS), 1)) - 1
    plain = np.asarray(_largest(*_arrays(0.5 * ones, ones, DEPTHS**2, DEPTHS), 1))
    ratios = 1 + 10 ** rng.uniform(-1, 2, count)
    first = 10 ** rng.uniform(-6, -0.1, count)
    weights, values = _first_updates(depth, ratios, first, rng.uniform(0.01, 1, count))
    exact = ratios ** ((depth - 1) / depth) * (1 - first / ratios) / (1 - first)
    small = _first_updates(depth, ratios, np.full(count, 1e-6), np.full(count, 1e-3))[1]
    rates = _rates(ratios[: DEPTHS.size])
    return Evidence(
        checks=[
            at_most("largest overshoot σ/σ* − 1 with the step of Lemma 1 or less", overshoot.max(), 1e-12, ROUNDING),
            at_least("least overshoot with a step 1% larger, from 0.999 σ*", beyond.min(), 1e-7, SHARP),
            at_most(
                "worst gap of the ratio of weight updates to r^{(N−1)/N}(1−ri)/(1−rj)",
                np.max(np.abs(weights / exact - 1)),
                1e-9,
                "rounding, 1e-16, of updates down to 1e-6 of the weight",
            ),
            within(f"least {LEFT}", min(rates), 0.9, 1.1, RATE),
            within(f"largest {LEFT}", max(rates), 0.9, 1.1, RATE),
        ],
        printed=[
            at_most(
                "worst gap of the ratio of updates of ri to r^{(N−1)/N}, small start and step",
                np.max(np.abs(small / ratios ** ((depth - 1) / depth) - 1)),
                0.01,
                "1 %: start and step are so small that higher orders are below it",
            )
        ],
        correction=r"\frac{r_i(1)-r_i(0)}{r_j(1)-r_j(0)}\to1\quad(\sigma_0,\eta\to0),\qquad "
        r"\frac{w_i(1)-w_i(0)}{w_i^*}:\frac{w_j(1)-w_j(0)}{w_j^*}="
        r"\left(\frac{\sigma_i^*}{\sigma_j^*}\right)^{\frac{N-1}N}\frac{1-r_i(0)}{1-r_j(0)}",
        numbers={
            "largest ratio of updates of ri, small start and step": float(small.max()),
            "least ratio of updates of ri, small start and step": float(small.min()),
            "largest ratio of updates of ri at any start and step": float(values.max()),
            "least σ/σ* after one step from 0.5 σ* without the 1/N² of the loss": float(plain.min()),
        },
        protocol={
            "model": "the toy model, one value at a time",
            "loss": "depth-normalised squared loss over Gaussian inputs",
            "optimiser": f"gradient descent, {steps} steps",
            "depth": "2 to 100, whole and not",
            "step size": "Lemma 1: up to (1/σ1*)^(2−2/N), and 1 % above; Appendix C: 1e-3 of it and more",
            "start": "σ0/σ* from 1e-6 to 1",
        },
        figure=_figure(),
        remarks=(
            "Counter-example to Appendix C to check by hand: N = 2, σi* = 4, σj* = 1, both from σ0 = 0.01 (w = "
            "0.1), step η = 0.01. One step adds (η/2) w (σ* − σ0) to w: wi = 0.101995 and wj = 0.100495. So ri = "
            "σi/4 grows by 1.0075e-4 and rj = σj by 0.9925e-4: a ratio of 1.015, where the text has r^{(N−1)/N} = "
            "2. The weights, over their targets 2 and 1, do grow in the ratio 2 · 3.99/3.96 = 2.015.",
            "So depth does not favour the large value in the first step of σ/σ*; the bias comes later, as each value "
            "grows in proportion to σ^{2−2/N} σ*.",
        ),
    )  # fmt: skip


def _arrays(*columns: np.ndarray) -> tuple[jax.Array, ...]:
    return tuple(jnp.asarray(column) for column in columns)


def _first_updates(
    depth: np.ndarray, ratio: np.ndarray, start: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How many times the first update of value i is that of value j: of w/w*, and of σ/σ*.

    Targets are (ratio, 1), both values begin at `start`, and the step is c times that of Lemma 1.
    """
    step_size, w = c / ratio ** (2 - 2 / depth), start ** (1 / depth)
    i, j = (np.asarray(_update(*_arrays(w, target, step_size, depth))) for target in (ratio, np.ones_like(ratio)))
    # σ(1) − σ(0) = σ0 ((1 + Δw/w)^N − 1) without cancellation
    grown_i, grown_j = (np.expm1(depth * np.log1p(change / w)) for change in (i, j))
    return i / j / ratio ** (1 / depth), grown_i / grown_j / ratio


def _rates(ratio: np.ndarray) -> list[float]:
    """At each depth, the slope in the step of what parts the ratio of updates of σ/σ* from its first order."""
    step_sizes, start = 2.0 ** -np.arange(6, 12)[:, None], np.full_like(DEPTHS, 1e-2)
    columns = np.broadcast_arrays(DEPTHS, ratio, start, step_sizes)
    gap = np.abs(_first_updates(*columns)[1] - (1 - start / ratio) / (1 - start))
    return [slope(step_sizes[:, 0], column)[0] for column in gap.T]


def _figure() -> fig.Figure:
    """One step from the worst start against its size; and the first updates against depth and against the start."""
    c, start = np.linspace(0.5, 1.5, 101), np.linspace(0.02, 0.999, 200)[:, None]
    marks = []
    for group, depth in enumerate((2.0, 3.0, 10.0)):
        columns = np.broadcast_arrays(start, 1.0, c, depth)
        most = np.max(np.asarray(_largest(*_arrays(*columns), 1)), axis=0)
        marks.append(fig.measured(c, most, f"N = {depth:g}", group))
    marks.append(fig.reference([1, 1], [0.99, max(mark.y.max() for mark in marks)], "Lemma 1"))
    overshoot = fig.Panel(tuple(marks), r"$\eta\,\sigma_1^{*\,2-2/N}$", "largest σ/σ* after a step", "overshoot")

    r, line = 4.0, np.geomspace(2, 100, 60)
    weights, values = _first_updates(*np.broadcast_arrays(DEPTHS, r, 1e-4, 0.01))
    by_depth = fig.Panel(
        (
            fig.points(DEPTHS, weights, "of w/w*", 3),
            fig.points(DEPTHS, values, "of σ/σ*", 4),
            fig.theory(line, r ** (1 - 1 / line), r"$r^{(N-1)/N}$"),
        ),
        "depth N", "ratio of first updates", "r = 4, σ₀ = 10⁻⁴ σⱼ*", "log", y_limits=(0, 5),
    )  # fmt: skip
    first = np.geomspace(1e-6, 0.5, 60)
    marks = []
    for group, depth in enumerate((2.0, 3.0, 10.0)):
        columns = np.broadcast_arrays(depth, r, first, 0.01)
        marks.append(fig.measured(first, _first_updates(*columns)[1], f"N = {depth:g}", group))
        marks.append(fig.reference(first[[0, -1]], [r ** (1 - 1 / depth)] * 2, "printed" if not group else ""))
    marks.append(fig.theory(first, (1 - first / r) / (1 - first), "(1 − rᵢ)/(1 − rⱼ)"))
    by_start = fig.Panel(tuple(marks), "σ₀ / σⱼ*", "ratio of first updates of σ/σ*", "r = 4", "log", y_limits=(0, 14))
    return fig.Figure(
        (overshoot, by_depth, by_start),
        "Steps up to the lemma's never overshoot and larger ones do; from a small start the first update of σ/σ* is "
        f"the same for large and small values at every depth (ratio {values.max():.2f}, all three lines on one another), "
        "and the printed factor is that of the weights.",
    )
