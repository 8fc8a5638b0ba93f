"""Exercise 5: under constant alignment the ratios of singular values grow exponentially at two layers."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ... import models, problems, train
from ...evidence import Evidence, at_most, within
from ...evidence import figure as fig
from ...theory import constant_alignment
from ..instances import generator, rotation
from ..sizes import sizes
from .networks import balanced_ensemble

DRAWN = (2, 3)  # the depths that are drawn


class Settings(NamedTuple):
    """What is run at each size; alignments are the singular coefficients c of the slope of the loss."""

    depths: tuple[int, ...]
    start_scales: tuple[float, ...]
    shape: tuple[int, int] = (4, 5)
    rising: tuple[float, ...] = (1.0, 0.6, 0.2, -0.5)
    falling: tuple[float, ...] = (-0.25, -0.5, -0.75, -1.0)
    growth: float = 500.0
    rtol: float = 1e-10


class Followed(NamedTuple):
    """One network: its depth, start and alignments, and its values over time with their forecast."""

    n: int
    start_scale: float
    c: np.ndarray
    times: np.ndarray
    values: np.ndarray
    forecast: np.ndarray

    @property
    def grown(self) -> float:
        """How many times its start the first value is at the end."""
        return float(self.values[-1, 0] / self.start_scale)

    @property
    def gap(self) -> float:
        """The worst relative gap between network and closed form."""
        floor = np.abs(self.forecast).clip(1e-3 * self.start_scale)
        return float(np.max(np.abs(self.values - self.forecast) / floor))

    @property
    def rates(self) -> np.ndarray:
        """The fitted rates of the ratios to the first value, over what Exercise 5 says."""
        logs = np.log(self.values[:, :1] / self.values[:, 1:])
        return np.polyfit(self.times, logs, 1)[0] / (2 * (self.c[0] - self.c[1:]))


@sizes(
    quick=Settings(depths=(2, 3), start_scales=(0.02, 0.2)),
    full=Settings(depths=(1, 2, 3, 4, 5, 6), start_scales=(1e-3, 0.02, 0.2)),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Networks on the linear loss −⟨C, W⟩ from ε UVᵀ, on which the assumption holds exactly, against the closed forms.

    C has positive and negative singular coefficients c_r in random directions. Layers are followed to 1e-10, at n ≥ 3
    until the first value has grown five-hundredfold on its way to infinity, which it has only if it reaches that when it
    is said to. Rates of ratios are fitted to the runs.
    """
    rng, shape = generator(key), settings.shape
    U, V = rotation(rng, shape[0]), rotation(rng, shape[1])[:, : shape[0]]
    cases = [(settings.rising, scale) for scale in settings.start_scales]
    cases.append((settings.falling, settings.start_scales[-1]))
    runs = [_follow(rng, U, V, np.array(c), scale, n, settings) for n in settings.depths for c, scale in cases]
    gaps = {n: max(run.gap for run in runs if run.n == n) for n in settings.depths}
    escaping = [run.grown / settings.growth - 1 for run in runs if run.n > 2 and run.c[0] > 0]
    rates = np.concatenate([run.rates for run in runs if run.n == 2])
    solver = "solver's accuracy 1e-10, times 10,000 for five-hundredfold growth and what adds up"
    fitted = "theory: 1, to the bar on the values"
    return Evidence(
        checks=[
            at_most("worst relative gap between networks and closed form, n = 2", gaps[2], 1e-6, solver),
            at_most("worst relative gap at other depths", max(gap for n, gap in gaps.items() if n != 2), 1e-6, solver),
            at_most("worst relative gap of the growth at the end to that which the time of escape gives, n ≥ 3",
                    np.abs(escaping).max(), 1e-6, solver),
            within("least fitted rate of a ratio at n = 2, over 2(c_r − c_r')", rates.min(), 1 - 1e-6, 1 + 1e-6,
                   fitted),
            within("largest such rate", rates.max(), 1 - 1e-6, 1 + 1e-6, fitted),
        ],
        numbers={f"worst gap at n = {n}": gap for n, gap in gaps.items()},
        protocol={
            "loss": "−⟨C, W⟩, on which the alignments are constant for all time",
            "network": f"depths {', '.join(map(str, settings.depths))}, maps {shape[0]}×{shape[1]}",
            "start": "σ_r(0) = ε for every r, ε = " + ", ".join(f"{scale:g}" for scale in settings.start_scales),
            "training": "gradient flow",
        },
        figure=_figure(runs, settings),
        remarks=(
            "The law depends on depth. At n ≥ 3 a value with c > 0 reaches infinity at ε^{2/n−1}/((n−2)c), so ratios "
            "outgrow every exponential; the ratio of two falling values stays bounded, by (c_r'/c_r)^{n/(n−2)}.",
        ),
    )  # fmt: skip


class _Linear(problems.AbstractProblem):
    """The loss −⟨C, W⟩: on it alignment with shared singular vectors is constant for all time."""

    slope: Float[Array, "out in"]

    @property
    def shape(self) -> tuple[int, int]:
        return self.slope.shape[-2], self.slope.shape[-1]

    def loss(self, map: problems.Map) -> Float[Array, ""]:
        return -jnp.sum(self.slope * map)  # type: ignore[operator]

    def optimum(self, rank: int | None = None) -> problems.Optimum:
        return problems.Optimum(None, -np.inf)


def _follow(
    rng: np.random.Generator, U: np.ndarray, V: np.ndarray, c: np.ndarray, scale: float, n: int, settings: Settings
) -> Followed:
    """The values along u_r, v_r of a network on the loss −⟨U diag(c) Vᵀ, W⟩ that starts at ε UVᵀ."""
    escape = float(constant_alignment.escape_time(c.max(), scale, n))
    until = 3.0 if n <= 2 else 12.0 if np.isinf(escape) else escape * (1 - settings.growth ** (2 / n - 1))
    times = np.linspace(0, until, 61)
    widths = (len(V), *[5] * (n - 1), len(U))
    run = train.flow(models.DeepLinear(widths), _Linear(jnp.asarray((U * c) @ V.T)),
                     balanced_ensemble(rng, [scale * U @ V.T], widths), times=times, record=("end_to_end",),
                     rtol=settings.rtol, atol=1e-15, tolerance=0.0)  # fmt: skip
    values = np.einsum("or,toi,ir->tr", U, run.end_to_end.values[0], V)
    return Followed(n, scale, c, times, values, constant_alignment.trajectory(times[:, None], c, scale, n))


def _figure(runs: list[Followed], settings: Settings) -> fig.Figure:
    """Values that rise, at two depths, and the ratio of two that fall."""
    rising = [
        run for run in runs if run.c.max() > 0 and run.start_scale == settings.start_scales[-2] and run.n in DRAWN
    ]
    falling = [run for run in runs if run.c.max() < 0 and run.n in DRAWN]
    return fig.Figure(
        (*map(_value_panel, rising), _ratio_panel(falling)),
        "Values part exponentially at two layers; deeper, rising ones escape in finite time and the ratio of "
        "falling ones levels off.",
    )


def _value_panel(run: Followed) -> fig.Panel:
    # Below the top left corner there is room for a legend at n = 3 only; colours are the same at n = 2.
    named = run.n > 2
    marks = [fig.measured(run.times, y, f"r = {r + 1}" if named else "", r) for r, y in enumerate(run.values.T)]
    marks += [
        fig.theory(run.times, y, "closed form" if r == 0 and named else "") for r, y in enumerate(run.forecast.T)
    ]
    return fig.Panel(tuple(marks), "time t", "σᵣ", f"n = {run.n}, ε = {run.start_scale:g}", y_scale="log")


def _ratio_panel(runs: list[Followed]) -> fig.Panel:
    """The ratio of two falling values, c = −½ and −1, against time, and its limit."""
    marks, longest = [], max(run.times[-1] for run in runs)
    for i, run in enumerate(runs):
        marks.append(fig.measured(run.times, run.values[:, 1] / run.values[:, 3], f"n = {run.n}", i + 4))
        marks.append(fig.theory(run.times, run.forecast[:, 1] / run.forecast[:, 3]))
        if run.n > 2:
            limit = 2 ** (run.n / (run.n - 2))
            marks.append(fig.reference([0, longest], [limit, limit], "limit" if run.n == 3 else ""))
    title = f"c = −½ and −1, ε = {runs[0].start_scale:g}"
    return fig.Panel(tuple(marks), "time t", "ratio of values", title, y_scale="log")
