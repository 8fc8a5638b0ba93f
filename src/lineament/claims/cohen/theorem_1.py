"""Theorem 1: from a balanced start the end-to-end matrix obeys an equation of its own."""

from typing import Any, NamedTuple

import jax
import numpy as np

from ... import models, train
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...theory import end_to_end
from ..instances import generator
from ..sizes import sizes
from .networks import LOSSES, STARTS, balanced_ensemble, gradient_of, maps_of_each_kind, random_problem

BAR = 1e-6
SQUARE, WIDE, TALL = (4, 4), (3, 5), (5, 3)


class Case(NamedTuple):
    """A network: its depth, its loss, and the shape (outputs, inputs) of its maps."""

    n: int
    loss: str
    shape: tuple[int, int]

    def __str__(self) -> str:
        return f"n = {self.n}, {self.loss}, {self.shape[0]}×{self.shape[1]}"


class Settings(NamedTuple):
    """What is run at each size."""

    cases: tuple[Case, ...]
    until: float = 2.0
    rtol: float = 1e-10


class Compared(NamedTuple):
    """What came of one case: gaps over time for each kind of start, the plain flow's gap, and curves to draw."""

    gaps: dict[str, np.ndarray]
    without: float
    panel: fig.Panel


@sizes(
    quick=Settings((Case(2, "cross-entropy", WIDE), Case(3, "square", SQUARE), Case(5, "completion", TALL))),
    full=Settings(
        tuple(
            Case(n, loss, shape)
            for n in range(1, 7)
            for k, loss in enumerate(LOSSES)
            for shape in (SQUARE, (WIDE, TALL)[(n + k) % 2])
        )
    ),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """The equation in W alone, integrated in NumPy, against the product of layers that follow their own gradients.

    Both solvers are held to 1e-10; what is compared is W at all times, relative to ‖W‖ at that time. Starts are
    generic, with all singular values equal, with one of 1e-7, and of deficient rank. Beside it runs the plain
    gradient flow Ẇ = −∇ℓ(W), to show how much of the motion the sum accounts for.
    """
    rng = generator(key)
    times = np.linspace(0, settings.until, 41)
    compared = {case: _compare(rng, case, times, settings.rtol) for case in settings.cases}
    deep = [outcome for case, outcome in compared.items() if case.n > 1]
    by_kind = {kind: np.max([outcome.gaps[kind] for outcome in compared.values()], axis=0) for kind in STARTS}
    return Evidence(
        checks=[
            at_most("worst relative gap between equation and layers", max(map(np.max, by_kind.values())), BAR,
                    "both solvers' accuracy 1e-10, times 10,000 for what adds up and for the nearly singular starts"),
            at_least("least gap that the plain gradient flow leaves", min(outcome.without for outcome in deep), 1e-2,
                     "ten thousand times the bar on the equation's own gap"),
        ],
        numbers={f"worst gap, {kind}": float(gap.max()) for kind, gap in by_kind.items()},
        protocol={
            "loss": ", ".join(dict.fromkeys(case.loss for case in settings.cases)) + ", on random data",
            "network": f"depths {', '.join(str(n) for n in sorted({case.n for case in settings.cases}))}, square and "
            "rectangular maps, hidden widths ≥ min(d₀, d_n)",
            "start": "balanced; generic, repeated, nearly vanishing and vanishing singular values",
            "training": f"gradient flow until t = {settings.until:g}",
        },
        figure=fig.Figure(
            (*[outcome.panel for outcome in deep[:3]], _gap_panel(times, by_kind)),
            "The equation in W alone (dark) is what the product of the layers does (colour), whatever the start.",
            2,
        ),
        remarks=(
            "The field is only Hölder continuous at maps that lack rank, for three or more layers; rank-deficient "
            "starts are therefore integrated on the set of maps of their rank, which the flow never leaves.",
        ),
    )  # fmt: skip


def _compare(rng: np.random.Generator, case: Case, times: np.ndarray, rtol: float) -> Compared:
    """One problem from one start of each kind: layers, the equation, and the plain gradient flow."""
    n, shape = case.n, case.shape
    widths = (shape[1], *rng.integers(min(shape), max(shape) + 2, n - 1).tolist(), shape[0])
    problem, maps = random_problem(rng, case.loss, shape), maps_of_each_kind(rng, shape)
    run: Any = train.flow(models.DeepLinear(widths), problem, balanced_ensemble(rng, maps, widths), times=times,
                          record=("end_to_end",), rtol=rtol, tolerance=0.0)  # fmt: skip
    measured, gradient = run.end_to_end.values, gradient_of(problem)
    forecasts = [end_to_end.trajectory(times, W0, gradient, n) for W0 in maps]
    gaps = {kind: _gap(W, forecast) for kind, W, forecast in zip(STARTS, measured, forecasts, strict=True)}
    plain = end_to_end.trajectory(times, maps[0], gradient, 1, rtol=1e-6)
    panel = _curves(times, measured[0], forecasts[0], f"n = {n}, {case.loss}")
    return Compared(gaps, float(_gap(measured[0], plain).max()), panel)


def _gap(measured: np.ndarray, forecast: np.ndarray) -> np.ndarray:
    return np.linalg.norm(measured - forecast, axis=(1, 2)) / np.linalg.norm(measured, axis=(1, 2))


def _curves(times: np.ndarray, measured: np.ndarray, forecast: np.ndarray, title: str) -> fig.Panel:
    """The six entries of W that move most along one flow."""
    flat = [W.reshape(len(times), -1) for W in (measured, forecast)]
    moved = np.argsort(-np.ptp(flat[0], axis=0))[:6]
    marks = [fig.measured(times, flat[0][:, k], "" if i else "layers", i) for i, k in enumerate(moved)]
    marks += [fig.theory(times, flat[1][:, k], "" if i else "equation (3)") for i, k in enumerate(moved)]
    return fig.Panel(tuple(marks), "time t", "entries of W", title)


def _gap_panel(times: np.ndarray, by_kind: dict[str, np.ndarray]) -> fig.Panel:
    """The worst gap over all cases against time, for each kind of start."""
    marks = [
        fig.measured(times[1:], np.maximum(gap[1:], 1e-17), kind, i) for i, (kind, gap) in enumerate(by_kind.items())
    ]
    marks.append(fig.reference(times[[1, -1]], [BAR, BAR], "bar"))
    return fig.Panel(tuple(marks), "time t", "worst relative gap", "equation against layers", y_scale="log")
