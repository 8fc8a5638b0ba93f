"""Figures 1 and 2: a two-layer network beside its twin, over d, and what becomes of the twin without the norm."""

from collections.abc import Sequence

import jax
import numpy as np

from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...measure import agreement
from ...theory.twin import Twin
from ..instances import generator
from ..sizes import Size
from . import setting
from .rates import Series, against, gaps, rate, sweep
from .setting import Course, Task

WIDTH = 256
FIXED, GROWN = (float(WIDTH), 0.0), (4.0, 1.25)
STEP = 0.25  # η/d
NORM_DIMENSION = 20


def losses(course: Course) -> tuple[np.ndarray, np.ndarray]:
    """The network's training and test loss along the run."""
    task = course.task
    return (
        np.mean((course.network - task.y) ** 2, axis=1) / 2,
        np.mean((course.network_fresh - task.fresh_y) ** 2, axis=1) / 2,
    )


def twin_losses(course: Course) -> tuple[np.ndarray, np.ndarray]:
    """The twin's training and test loss along the run."""
    return course.twin.loss(course.steps), course.twin.loss(course.steps, course.task.fresh, course.task.fresh_y)


def loss_gap(course: Course) -> float:
    """The largest gap between the losses of network and twin up to T, over the loss at the start."""
    pairs = zip(losses(course), twin_losses(course), strict=True)
    return max(float(np.max(np.abs(f - g)[course.inside]) / f[0]) for f, g in pairs)


def phase(course: Course) -> agreement.LinearPhase:
    """Where network and twin part on the fresh examples, at 2 % of E[y²]."""
    twin = course.twin.predict(course.steps, course.task.fresh)
    return agreement.linear_phase(course.steps, course.network_fresh, twin, scale=float(np.mean(course.task.y**2)))


def indistinguishable(scale: Size, key: jax.Array) -> Evidence:
    """Fig. 1a and b: networks at d = 50, m = 256 with both layers training; 1c: others over d, to T = d log d/η.

    The step η = d/4 is ours, as the paper does not tell its own; only ηt matters as long as η ≪ d. The gaps are means
    over the networks, which share their data, of the largest value up to T, on training and fresh examples. For 1c the
    width is once the paper's 256 at every d and once 4d^{5/4}, as the theorem asks.
    """
    quick = scale == "quick"
    n, fresh, steps, count = (2000, 1000, 45, 8) if quick else (20_000, 2000, 600, 4)
    sizes = [12, 25, 50] if quick else [25, 50, 100]
    rng = generator(key)
    task = setting.task(rng, 50, n, fresh)
    at = np.unique(np.r_[0:20, np.geomspace(20, steps, 12 if quick else 40).astype(int)])
    nets = setting.follow(rng, [(task, WIDTH)] * count, activation="erf", first=STEP * 50, second=STEP * 50, at=at)
    law = Series("gaussian", "teacher", FIXED, (1000.0 if quick else 8000.0, 0.0), (STEP, 1.0))
    courses = sweep(rng, [sizes] if quick else [(d,) for d in sizes], (law, law._replace(width=GROWN)),
                            activation="erf", trains=(True, True), copies=3, fresh=fresh,
                            reach=1.0 if quick else 8.0, count=7 if quick else 65)  # fmt: skip
    fixed, grown = np.split(gaps(courses), 2, axis=2)
    last = np.array([[[each.gaps()[1][-1] for each in row[0]]] for row in courses])
    worst = np.array([each.worst() for each in nets])
    apart = float(np.mean([loss_gap(each) for each in nets]))
    slopes = {"m = 256": rate(sizes, fixed[1]), "m = 4d^1.25": rate(sizes, grown[1])}
    phases = [phase(each) for each in nets]
    relative = [agreement.relative_mse(c.network_fresh, c.twin.predict(at, c.task.fresh))[1] for c in nets]
    ends = {f"step at which the MSE passes {name}": float(np.median([getattr(each, field) for each in phases]))
            for name, field in (("1 %", "at_half"), ("2 %", "end"), ("4 %", "at_double"))}  # fmt: skip
    return Evidence(
        checks=[
            at_most("largest MSE up to T over E[y²], training", worst[:, 0].mean(), 0.02),
            at_most("largest MSE up to T over E[y²], fresh", worst[:, 1].mean(), 0.02),
            at_most("largest gap of the losses up to T over the first loss", apart, 0.03),
            at_most("width 4d^1.25: upper end of the slope of the MSE in d", slopes["m = 4d^1.25"][2], 0.0),
        ],
        numbers={"T": nets[0].twin.horizon()}
        | {name: value for name, value in ends.items() if np.isfinite(value)}
        | {"gap of the losses, worst network": max(loss_gap(each) for each in nets),
           "MSE after one step, relative to the twin's output": float(np.mean(relative)), "d/m": 50 / WIDTH,
           "training loss at the end, network over twin": float(np.mean([losses(c)[0][-1] / twin_losses(c)[0][-1]
                                                                         for c in nets])),
           "m = 256: slope at the last look": rate(sizes, last)[0]}
        | {f"{name}: slope in d{end}": value for name, found in slopes.items()
           for end, value in zip(("", ", lower end", ", upper end"), found, strict=True)},
        settings={"d, n, m": (50, n, WIDTH), "η": STEP * 50, "steps": steps, "networks": count, "d of 1c": sizes,
                  "n of 1c": int(law.examples[0])},
        figure=_figure_one(nets, phases, sizes, {"m = 256": fixed[1], "4d^1.25": grown[1]}),
        remarks=[
            "At a width of 256 for every d the largest MSE up to T does not fall as d grows: the noise of finite width, "
            "of order d/m, rises. It falls when the width grows as the theorem asks.",
            "Single networks of this width stray further than the mean: their gap of the losses comes from how fast they "
            "learn, which varies with their start.",
            "Relative to the twin's own output, which is still tiny, the gap is largest at first, of order d/m.",
        ],
    )  # fmt: skip


def _figure_one(
    nets: Sequence[Course],
    phases: Sequence[agreement.LinearPhase],
    sizes: Sequence[int],
    tables: dict[str, np.ndarray],
) -> fig.Figure:
    one = nets[0]
    at, T = one.steps, one.twin.horizon()
    shown = at > 0
    marks = []
    for group, (name, f, g) in enumerate(zip(("training", "test"), losses(one), twin_losses(one), strict=True)):
        marks.append(fig.measured(at[shown], f[shown], name, group))
        marks.append(fig.theory(at[shown], g[shown], "twin" if group == 0 else "", group))
    end = fig.reference([T, T], [0.0, 0.5], "T")
    loss = fig.Panel((*marks, end), "step", "loss", "a: losses", "log", "linear", (0.0, 0.55))
    outputs, model = one.network_fresh[:, :5], one.twin.predict(at, one.task.fresh[:5])
    top = 1.2 * float(max(np.abs(outputs).max(), np.abs(model).max()))
    lines = [fig.measured(at[shown], outputs[shown, i], "", i) for i in range(5)]
    thin = [fig.theory(at[shown], model[shown, i], "", i) for i in range(5)]
    single = fig.Panel(
        (*lines, *thin, fig.reference([T, T], [-top, top])), "step", "output f(x)", "b: five fresh examples", "log",
        "linear", (-top, top),
    )  # fmt: skip
    gap = np.array([each.gap for each in phases])[:, shown]
    apart = fig.Panel(
        (fig.band(at[shown], gap.min(axis=0), gap.max(axis=0), "", 3),
         fig.measured(at[shown], gap.mean(axis=0), "mean", 3),
         fig.reference(at[shown], np.full(int(shown.sum()), 0.02), "2 %")),
        "step", "MSE over E[y²]", "all networks, fresh examples", "log", "linear", (0.0, 1.4 * max(0.02, gap.max())),
    )  # fmt: skip
    return fig.Figure(
        (loss, single, apart, against(sizes, tables, "c: over d")),
        "Losses and single outputs of network and twin coincide up to T; the gap falls with d if the width grows.", 2,
    )  # fmt: skip


def norm_feature(scale: Size, key: jax.Array) -> Evidence:
    """ReLU networks of several widths with both layers training at d = 20, η = 1, beside both twins, to 1.5T.

    The gap is the mean square of network − twin on fresh examples, as a mean over networks and over 0 < t ≤ T. Every
    network has data of its own, ‖a‖ = 1.
    """
    quick = scale == "quick"
    n, groups = (1000, [(64, 256), (1024,)]) if quick else (10_000, [(64,), (128,), (256,), (512,), (1024,), (4096,)])
    copies: dict[int, int] = {64: 6, 256: 6, 1024: 2} if quick else dict.fromkeys((64, 128, 256, 512, 1024, 4096), 8)
    d, eta, rng = NORM_DIMENSION, 1.0, generator(key)
    T = d * np.log(d) / eta
    at = np.unique(np.r_[0, np.linspace(1, T, 20), np.linspace(T, 1.5 * T, 8)].astype(int))
    curves, courses = {}, {}
    for widths in groups:
        members = [(_norm_task(rng, d, n), width) for width in widths for _ in range(copies[width])]
        for course in setting.follow(rng, members, activation="relu", first=eta, second=eta, at=at):
            courses.setdefault(course.width, course)
            curves.setdefault(course.width, []).append(_curves(course))
    found = {
        width: np.array(each) for width, each in curves.items()
    }  # copy, (MSE full, naive, |Δloss| full, naive), time
    inside = (at > 0) & (at <= T)
    mean = {width: each[..., inside].mean(axis=(0, 2)) for width, each in found.items()}
    largest = {width: each[..., inside].mean(axis=0).max(axis=1) for width, each in found.items()}
    checked = [width for width in found if width >= 256]
    ratios = {width: float(each[1] / each[0]) for width, each in mean.items()}
    return Evidence(
        checks=[at_least(f"naive twin's gap over full twin's, m = {width}", ratios[width], 3.0) for width in checked]
        + [at_least(f"that ratio at m = {max(found)} over its value at m = {min(found)}",
                    ratios[max(found)] / ratios[min(found)], 1.0)],
        numbers={f"ratio of the gaps, m = {width}": ratio for width, ratio in ratios.items()}
        | {f"ratio of the gaps at T, m = {w}": float(np.divide(*v[:, 1::-1, inside].mean(axis=0)[:, -1]))
           for w, v in found.items()}
        | {f"ratio of the largest gaps up to T, m = {w}": float(v[1] / v[0]) for w, v in largest.items()}
        | {f"ratio of the gaps of the test loss, m = {w}": float(v[3] / v[2]) for w, v in mean.items()}
        | {f"full twin's gap, m = {w}": float(v[0]) for w, v in mean.items()}
        | {f"naive twin's gap, m = {w}": float(v[1]) for w, v in mean.items()},
        settings={"d, n": (d, n), "η": eta, "T": T, "widths": list(found), "networks": list(copies.values())},
        figure=_figure_two(courses[256], found, mean, at, T),
        remarks=[
            "What the full twin lacks falls with the width, as noise of order 1/m does; what the naive twin lacks stays.",
        ],
    )  # fmt: skip


def _norm_task(rng: np.random.Generator, d: int, n: int, fresh: int = 1000) -> Task:
    X, a = rng.normal(size=(n + fresh, d)), rng.normal(size=d)
    y = np.linalg.norm(X, axis=1) / np.sqrt(d) + np.maximum(X @ (a / np.linalg.norm(a)), 0)
    return Task(X[:n], y[:n], X[n:], y[n:], 1.0)


def _naive(course: Course) -> Twin:
    return Twin(course.task.X, course.task.y, course.twin.features.naive(), step_size=course.twin.step_size)


def _curves(course: Course) -> list[np.ndarray]:
    """Along the run: mean square of network − twin for full and naive twin, and the gaps of their test losses."""
    fresh, y, at = course.task.fresh, course.task.fresh_y, course.steps
    twins = (course.twin, _naive(course))
    apart = [np.mean((course.network_fresh - each.predict(at, fresh)) ** 2, axis=1) for each in twins]
    return apart + [np.abs(losses(course)[1] - each.loss(at, fresh, y)) for each in twins]


def _figure_two(
    course: Course, found: dict[int, np.ndarray], mean: dict[int, np.ndarray], at: np.ndarray, T: float
) -> fig.Figure:
    shown = at > 0
    fresh, y = course.task.fresh, course.task.fresh_y
    test = losses(course)[1][shown]
    full, naive = (each.loss(at[shown], fresh, y) for each in (course.twin, _naive(course)))
    low, top = 0.6 * float(min(test.min(), full.min())), 2 * float(max(test.max(), naive.max()))
    one = fig.Panel(
        (fig.measured(at[shown], test, "network, m = 256", 0), fig.theory(at[shown], full, "twin"),
         fig.reference(at[shown], naive, "naive twin")),
        "step", "test loss", "one network", "log", "log", (low, top),
    )  # fmt: skip
    both = found[256].mean(axis=0)
    apart = fig.Panel(
        (fig.measured(at[shown], both[0, shown], "twin", 1), fig.measured(at[shown], both[1, shown], "naive twin", 2),
         fig.reference([T, T], [0.0, 1.9 * both[1].max()], "T")),
        "step", "MSE, fresh", "m = 256, mean of networks", y_limits=(0.0, 1.9 * float(both[1].max())),
    )  # fmt: skip
    widths = np.array(sorted(mean))
    gap = np.array([mean[width] for width in widths])
    over = fig.Panel(
        (fig.points(np.log2(widths), gap[:, 0], "twin", 1), fig.measured(np.log2(widths), gap[:, 0], "", 1),
         fig.points(np.log2(widths), gap[:, 1], "naive twin", 2), fig.measured(np.log2(widths), gap[:, 1], "", 2)),
        "log₂ m", "mean MSE up to T", "over the width", "linear", "log",
        (0.5 * float(gap[:, 0].min()), 4 * float(gap.max())),
    )  # fmt: skip
    return fig.Figure(
        (one, apart, over), "Without the norm among its features the twin misses what the network learns."
    )
