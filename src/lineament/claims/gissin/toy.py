"""The toy model: Theorem 1 and its figure, and the deep matrix model that follows it exactly (Theorem 4)."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from ... import models, problems, starts, train
from ...core import ensembles
from ...evidence import Evidence, at_most, within
from ...evidence import figure as fig
from ...theory import modes, units
from ..instances import generator, rotation, slope
from ..sizes import Size

DEPTHS = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 10.0, 100.0, np.inf)


def _integrate(times: np.ndarray, target: float, start: float, depth: float) -> np.ndarray:
    """The mode's equation by SciPy, in log σ, where a start of 1e-12 and a plateau are both easy to follow."""
    power = 1 - 2 / depth
    field = lambda t, u: np.exp(power * u) * (target - np.exp(u))  # noqa: E731
    with np.errstate(over="ignore", invalid="ignore"):  # in trial steps that the solver then rejects
        found = solve_ivp(field, (0, times[-1]), [np.log(start)], "DOP853", times, rtol=1e-12, atol=1e-13)
    return np.exp(found.y[0])


def closed_solution(scale: Size, key: jax.Array) -> Evidence:
    """The closed solution and its inverse against SciPy's integrator and against the printed forms.

    Random targets and starts, σ0/σ* log-uniform from 1e-12 to 10, at depths 1 to 100 and infinity, whole and not. Each
    instance is looked at when it passes random values between start and target, so that plateau, rise and approach all
    count. A relative error ε in time is an error κε in σ, κ = t σ̇/σ, which reaches 10¹¹ in the rise of a deep mode and
    falls to nothing near the target: the gap in σ is therefore taken over 1 + κ and that in time over 1 + 1/κ, and the
    raw gap in σ is reported beside them.
    """
    rng = generator(key)
    count = 60 if scale == "quick" else 1500
    ratio = np.r_[1e-12, 10.0, 10 ** rng.uniform(-12, 1, count - 2)]
    target = 10 ** rng.uniform(-2, 2, count)
    start, depth = ratio * target, np.resize(DEPTHS, count)
    passed = np.sort(rng.uniform(size=(count, 8)), axis=1)
    values = target[:, None] * ratio[:, None] ** (1 - passed)  # evenly in log σ
    target, start, depth = target[:, None], start[:, None], depth[:, None]
    times = modes.time_to(values, target, start, depth)

    forecast = modes.trajectory(times, target, start, depth)
    rows = zip(times, target[:, 0], start[:, 0], depth[:, 0], strict=True)
    measured = np.stack([_integrate(*row) for row in rows])
    kappa = times * measured ** (1 - 2 / depth) * np.abs(target - measured)
    gap = np.abs(forecast / measured - 1)
    time_gap = np.abs(modes.time_to(measured, target, start, depth) / times - 1) / (1 + 1 / kappa)
    return Evidence(
        checks=[
            at_most("worst relative gap of σ(t) to the integrator, over 1 + κ", np.max(gap / (1 + kappa)), 1e-8),
            at_most(
                "worst relative gap of the time to reach the integrator's value, over 1 + 1/κ", time_gap.max(), 1e-8
            ),
            at_most("worst relative gap to the printed forms", _printed_gap(rng, count), 1e-8),
        ],
        numbers={"worst raw relative gap of σ(t)": float(gap.max()), "largest κ": float(kappa.max())},
        settings={"instances": count, "times each": 8, "depths": list(DEPTHS), "start/target": "1e-12 … 10"},
        figure=_solution_figure(ratio, depth[:, 0], np.max(gap / (1 + kappa), axis=1)),
    )


def _printed_gap(rng: np.random.Generator, count: int) -> float:
    """The printed formulas for N = 1 and N = 2 at random times, and for N → ∞ as time against value."""
    target = 10 ** rng.uniform(-1, 1, count)
    start = target * 10 ** rng.uniform(-8, -0.1, count)
    t1 = rng.uniform(0, 5, count)
    one = target + (start - target) * np.exp(-t1)
    t2 = t1 / target
    two = start * target * np.exp(target * t2) / (start * np.expm1(target * t2) + target)
    value = start + rng.uniform(0.01, 0.99, count) * (target - start)
    infinite = np.log(value * (target - start) / (start * (target - value))) / target**2
    infinite += (1 / start - 1 / value) / target
    gaps = (
        modes.trajectory(t1, target, start, 1) / one - 1,
        modes.trajectory(t2, target, start, 2) / two - 1,
        modes.time_to(value, target, start, np.inf) / infinite - 1,
    )
    return float(np.max(np.abs(gaps)))


def _solution_figure(ratio: np.ndarray, depth: np.ndarray, gap: np.ndarray) -> fig.Figure:
    families = (("N < 2", depth < 2), ("N = 2", depth == 2), ("2 < N < ∞", (depth > 2) & (depth < np.inf)),
                ("N = ∞", np.isinf(depth)))  # fmt: skip
    marks = [
        fig.points(ratio[those], np.maximum(gap[those], 1e-17), label, group)
        for group, (label, those) in enumerate(families)
    ]
    bar = fig.reference([1e-12, 10], [1e-8, 1e-8], "bar")
    panel = fig.Panel(
        (*marks, bar), "σ₀ / σ*", "worst relative gap over 1 + κ", x_scale="log", y_scale="log", y_limits=(1e-17, 1e-7)
    )
    return fig.Figure((panel,), "The closed solution and an integrator agree to rounding at every depth and scale.", 1)


def toy_curves(scale: Size, key: jax.Array) -> Evidence:
    """Gradient descent on diagonal deep networks, with the closed solution over it, in the paper's eight panels.

    Descent follows the flow up to an error proportional to its step, so the gap is measured at three step sizes and
    must fall in proportion.
    """
    values = np.array([12.0, 6.0, 4.0, 3.0])
    problem = problems.whitened(np.diag(values))
    scales = np.array([0.1, 0.001])
    counts = np.array([16000, 32000, 64000]) * (1 if scale == "quick" else 8)
    panels, gaps = [], np.zeros((4, len(counts)))
    for depth in (1, 2, 3, 4):
        net = models.DeepLinear((4,) * (depth + 1))
        start = ensembles.ensemble(lambda s, net=net: starts.identity(net, s), jnp.asarray(scales))
        end = modes.time_to(0.99 * values.min(), values.min(), scales, depth)
        time = end[:, None] * np.linspace(0, 1, 401)
        forecast = modes.trajectory(time[..., None], values, scales[:, None, None], depth)
        curves = []
        for steps in map(int, counts):
            step = end / steps / units.clock_rate(depth)
            run = train.descend(net, problem, start, step=step, steps=steps, every=steps // 400, record=(_diagonal,))
            curves.append(run.diagonal.values)
        gaps[depth - 1] = [np.max(np.abs(curve - forecast) / values) for curve in curves]
        panels += [_curves(time[m], curves[-1][m], forecast[m], depth, scales[m]) for m in (0, 1)]
    rates = [slope(1 / counts, gap)[0] for gap in gaps]
    return Evidence(
        checks=[
            at_most("worst gap at the smallest step, as a share of σ*", gaps[:, -1].max(), 0.01),
            within("least slope of the gap against the step", min(rates), 0.85, 1.15),
            within("largest slope of the gap against the step", max(rates), 0.85, 1.15),
        ],
        numbers={f"gap at N = {n + 1}": float(gap[-1]) for n, gap in enumerate(gaps)},
        settings={"targets": list(values), "starts": list(scales), "steps of descent": [int(c) for c in counts]},
        figure=fig.Figure(
            tuple(panels[::2] + panels[1::2]),
            "Descent (colour) lies on the closed solution (thin line): shallow networks learn together, deep ones "
            "from a small start learn one value after the other.",
            4,
        ),
    )


def _diagonal(layers: models.Layers) -> jax.Array:
    product = layers[0]
    for layer in layers[1:]:
        product = layer @ product
    return jnp.diagonal(product)


_diagonal.__name__ = "diagonal"


def _curves(time: np.ndarray, run: np.ndarray, forecast: np.ndarray, depth: int, start: float) -> fig.Panel:
    marks = [fig.measured(time, run[:, i], f"σ* = {target}", i) for i, target in enumerate((12, 6, 4, 3))]
    marks += [fig.theory(time, forecast[:, i]) for i in range(4)]
    return fig.Panel(tuple(marks), "time t", "σ(t)", f"N = {depth}, σ₀ = {start:g}")


def sensing_follows_the_modes(scale: Size, key: jax.Array) -> Evidence:
    """Gradient flow of full matrices from the identity, against the closed solution of each mode.

    Targets are dense, positive semi-definite, with random spectra, among them repeated values and zeros. What is
    measured are the singular values of the product; directions are checked too, by the share of the product outside
    the target's eigenvectors.
    """
    rng = generator(key)
    depths, members, size = ((2, 3, 5), 4, 6) if scale == "quick" else ((1, 2, 3, 4, 5, 6, 8), 24, 12)
    worst, outside, panels = [], 0.0, []
    for depth in depths:
        spectra = np.sort(10 ** rng.uniform(-0.5, 0.7, (members, size)), axis=1)[:, ::-1].copy()
        spectra[:, -1] = 0.0  # rank deficient
        spectra[1::2, 1] = spectra[1::2, 0]  # repeated
        Q = np.stack([rotation(rng, size) for _ in range(members)])
        targets = np.einsum("mij,mj,mkj->mik", Q, spectra, Q)
        first = 10 ** rng.uniform(-4, -1, members)
        net = models.DeepLinear((size,) * (depth + 1))
        start = ensembles.ensemble(lambda s, net=net: starts.identity(net, s), jnp.asarray(first))
        end = float(np.max(modes.time_to(0.999 * spectra[:, :-1], spectra[:, :-1], first[:, None], depth)))
        problem = ensembles.stack([problems.whitened(target) for target in targets])
        time = np.linspace(0, end, 200)
        run = train.flow(
            net,
            problem,
            start,
            times=time / units.clock_rate(depth),
            record=("end_to_end",),
            rtol=1e-10,
            tolerance=0.0,
        )
        maps = run.end_to_end.values
        measured = np.linalg.svd(maps, compute_uv=False)
        forecast = modes.trajectory(time[:, None], spectra[:, None, :], first[:, None, None], depth)
        forecast = np.sort(forecast, axis=-1)[..., ::-1]
        worst.append(np.max(np.abs(measured / forecast - 1)))
        rotated = np.einsum("mji,mtjk,mkl->mtil", Q, maps, Q)
        across = rotated - np.einsum("mtii->mti", rotated)[..., None] * np.eye(size)
        outside = max(outside, float(np.max(np.linalg.norm(across, axis=(2, 3)) / np.linalg.norm(maps, axis=(2, 3)))))
        panels.append(_sensing_panel(time, measured[0], forecast[0], depth, first[0]))
    return Evidence(
        checks=[
            at_most("worst relative gap of a singular value", max(worst), 1e-6),
            at_most("share of the product outside the target's eigenvectors", outside, 1e-6),
        ],
        numbers={f"gap at N = {depth}": float(gap) for depth, gap in zip(depths, worst, strict=True)},
        settings={"depths": list(depths), "targets each": members, "size": size, "starts": "1e-4 … 1e-1"},
        figure=fig.Figure(
            tuple(panels[:4]),
            "Every singular value of the deep product (colour) moves as one scalar mode (thin line).",
            min(len(panels), 4),
        ),
    )


def _sensing_panel(time: np.ndarray, run: np.ndarray, forecast: np.ndarray, depth: int, start: float) -> fig.Panel:
    marks = [fig.measured(time, run[:, i], "", i) for i in range(run.shape[1])]
    marks += [fig.theory(time, forecast[:, i]) for i in range(run.shape[1])]
    return fig.Panel(tuple(marks), "time t", "singular values", f"N = {depth}, σ₀ = {start:.1e}")
