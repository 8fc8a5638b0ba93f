"""Rich and lazy: how scale and shape of the start decide the rank that the first layer ends with."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import measure, models, problems, starts, train
from ...core import ensembles
from ...evidence import Check, Evidence, at_least, at_most, within
from ...evidence import figure as fig
from ...theory import lambda_modes
from ..instances import effective_rank, generator, rotation, slope
from ..sizes import sizes

FIRST_LAYER = train.Record("first", lambda model, problem, layers: measure.singular_values(layers[0]), ("value",))
SHAPES = ("isotropic", "along the target", "across the target", "random directions")
TIMES = np.r_[0.0, np.geomspace(1e-3, 100.0, 240)]
STEPS = "the integrator's 1e-10 for a step, and fewer than 10⁴ steps"


class Settings(NamedTuple):
    """Inputs d, hidden units l, the target's k singular values, and the scales of the start, at equal ratios."""

    inputs: int
    width: int
    values: tuple[float, ...]
    least_gamma: float
    largest_gamma: float
    gammas: int

    @property
    def scales(self) -> np.ndarray:
        """The scales γ of the start."""
        return np.geomspace(self.least_gamma, self.largest_gamma, self.gammas)


class SingularValues(NamedTuple):
    """σ(W1) along the flow (shape, γ, time, value), and the heights h_i of the shapes that have a closed form."""

    first: np.ndarray
    heights: np.ndarray


@sizes(quick=Settings(8, 12, (2.0, 1.0), 1e-6, 1e2, 9), full=Settings(20, 30, (3.0, 2.0, 1.0), 1e-6, 1e2, 33))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Singular values of W1 along the flow and at its end, for γ from 1e-6 to 1e2 and starts W1W1ᵀ = 2γH of four shapes.

    H is the identity; ten times smaller across the target's inputs than along them; the other way round; or has a
    spectrum over two decades in random directions. In the first three every mode i keeps to itself, with λ = −2γh_i, and
    σi(W1) = (√(σi(β)² + γ²h_i²) + γh_i)^{1/2} holds at every time: the forecast. From random directions no closed form is
    known, but flow conserves W1ᵀW1 − W2W2ᵀ, and W2W2ᵀ has rank k: so at every time σi(W1) is at least its first value,
    and σ_{i+k}(W1) at most that of σi. Rank is the exponential of the entropy of the singular values.
    """
    k, scales, runs = len(settings.values), settings.scales, _runs(settings, key)
    forecast = _closed(runs.heights, settings, scales, TIMES)
    ranks = effective_rank(runs.first[:, :, -1])
    return Evidence(
        checks=[
            at_most("worst relative gap of a value along the flow to its closed form",
                    np.abs(runs.first[:3] / forecast - 1).max(), 1e-6, STEPS),
            at_most("worst gap of the rank to its closed form",
                    np.abs(ranks[:3] - effective_rank(forecast[:, :, -1])).max(), 1e-6, STEPS),
            *_conserved(runs.first, k),
            *_regimes(runs.first, ranks, scales, k),
        ],
        numbers={
            f"rank at γ = {scales[i]:.0e}, {name}": float(row[i])
            for name, row in zip(SHAPES, ranks, strict=True)
            for i in (0, len(scales) // 2, len(scales) - 1)
        },
        settings={"shapes": SHAPES},
        protocol={
            "network": f"two linear layers, d = {settings.inputs}, l = {settings.width}, k = {k}",
            "data": "white inputs, target of singular values " + ", ".join(f"{value:g}" for value in settings.values),
            "start": f"W1W1ᵀ = 2γH, W2 = 0; γ from {settings.least_gamma:g} to {settings.largest_gamma:g}; H isotropic, "
            "along the target, across it, in random directions",
            "optimiser": "gradient flow",
            "measure": "singular values of W1 along training, and the effective rank at the end",
        },
        figure=_figure(runs, settings, forecast, ranks),
    )  # fmt: skip


def _runs(settings: Settings, key: jax.Array) -> SingularValues:
    """Flow from every shape and scale."""
    rng, d, values = generator(key), settings.inputs, np.array(settings.values)
    k = values.size
    left, right = rotation(rng, k), rotation(rng, d)
    model, problem = models.DeepLinear((d, settings.width, k)), problems.whitened((left * values) @ right[:, :k].T)
    heights = np.ones((3, d))
    heights[1, k:], heights[2, :k] = 0.1, 0.1  # along the target, and across it
    turned = rotation(rng, d)
    grams = [(right * h) @ right.T for h in heights] + [(turned * np.geomspace(0.1, 10, d)) @ turned.T]
    start = ensembles.ensemble(
        lambda gamma, H: starts.shaped(model, key, gamma, H),
        jnp.asarray(np.tile(settings.scales, len(grams))),
        jnp.asarray(np.repeat(grams, settings.gammas, axis=0)),
    )
    run = train.flow(model, problem, start, times=TIMES, record=(FIRST_LAYER,), rtol=1e-10, tolerance=1e-16)
    return SingularValues(run.first.values.reshape(len(grams), settings.gammas, len(TIMES), d), heights)


def _closed(heights: np.ndarray, settings: Settings, gammas: np.ndarray, times: np.ndarray) -> np.ndarray:
    """σ(W1) along the flow in closed form (shape, γ, time, value)."""
    values = np.pad(settings.values, (0, settings.inputs - len(settings.values)))
    scaled = gammas[None, :, None, None] * heights[:, None, None]  # γh_i: shape, γ, time, mode
    strengths = lambda_modes.trajectory(times[:, None], values, 0.0, -2 * scaled)
    return np.sort(np.sqrt(np.hypot(strengths, scaled) + scaled), axis=-1)[..., ::-1]


def _conserved(first: np.ndarray, k: int) -> list[Check]:
    """What conservation allows from any start, random directions among them, at every time."""
    begun = first[:, :, :1]
    return [
        at_most("worst fall of a value below its first, relative", np.max(1 - first / begun), 1e-6, STEPS),
        at_most(
            "worst excess of σ_{i+k} over the first σ_i, relative",
            np.max(first[..., k:] / begun[..., : first.shape[-1] - k] - 1), 1e-6, STEPS,
        ),
    ]  # fmt: skip


def _regimes(first: np.ndarray, ranks: np.ndarray, gammas: np.ndarray, k: int) -> list[Check]:
    """Rank k from small starts and the rank of the start from large ones, whatever their shape."""
    begun = effective_rank(first[:, -1, 0])
    change = np.abs(ranks[:, -1] / begun - 1).max()
    small = gammas <= 1e-3
    rate, _ = slope(gammas[small], first[0, small, -1, k] / first[0, small, -1, k - 1])
    low = "theory: the closed form at γ = 1e-6 is within 0.1 of k, and half as much again"
    kept = "theory: by conservation σ(W1)² moves by σ(β)²/(2γh) at most, 1 % to 5 % of a single value at γ = 100"
    return [
        at_most("largest distance of the rank from k at γ = 1e-6, any shape", np.abs(ranks[:, 0] - k).max(), 0.15, low),
        at_most(
            "largest change of the rank at γ = 100, relative, any shape", change, 0.01, kept
        ),
        at_least("rank at γ = 100, isotropic, of d", ranks[0, -1] / first.shape[-1], 0.99, kept),
        within("slope of σ_{k+1}/σ_k against γ, small γ", rate, 0.49, 0.51, "theory: (2γ/σ_k)^½, slope ½ ± 2 %"),
    ]  # fmt: skip


def _figure(runs: SingularValues, settings: Settings, forecast: np.ndarray, ranks: np.ndarray) -> fig.Figure:
    """Singular values along three runs, and the rank at the end against γ."""
    panels, k, gammas = [], len(settings.values), settings.scales
    d = settings.inputs
    for shape, gamma in ((0, 1e-4), (0, 10.0), (3, 1e-2)):
        index = int(np.argmin(np.abs(np.log(gammas / gamma))))
        shown = 40 / max(1.0, gamma) >= TIMES
        t, path = TIMES[shown][1:], runs.first[shape, index, shown][1:]
        labels = {0: f"the first {k}", k: "the others"}
        marks = [fig.measured(t, path[:, i], labels.get(i, ""), int(i >= k)) for i in range(d)]
        if shape < 3:
            marks += [fig.theory(t, forecast[shape, index, shown, i][1:], "closed form") for i in range(k + 1)]
        title = f"γ = {gammas[index]:g}, {SHAPES[shape]}"
        # A large start hardly moves: its axis shows no more than that, or all lines would be one.
        lazy, reach = gamma > 1, np.ptp(path)
        limits = (path.min() - reach / 4, path.max() + reach) if lazy else (path.min() / 2, 8 * path.max())
        panels.append(fig.Panel(tuple(marks), "time t", "σ(W1)", title, "log", "linear" if lazy else "log", limits))
    fine = np.geomspace(gammas[0], gammas[-1], 200)
    scaled = fine[:, None] * runs.heights[:, None]
    values = np.pad(settings.values, (0, d - k))
    curves = effective_rank(np.sqrt(np.hypot(values, scaled) + scaled))
    marks = [fig.points(gammas, row, name, i + 2) for i, (name, row) in enumerate(zip(SHAPES, ranks, strict=True))]
    marks += [fig.theory(fine, row, "closed form") for row in curves]
    panels.append(
        fig.Panel(tuple(marks), "γ", "rank of W1 at the end", "all starts", "log", "linear", (0.0, 1.25 * d))
    )
    return fig.Figure(
        tuple(panels),
        f"A small start ends with rank {k}, whatever its shape (within {np.abs(ranks[:, 0] - k).max():.2f}); a "
        f"large one keeps the rank it began with, from {ranks[:, -1].min():.1f} to {ranks[:, -1].max():.1f} of {d} "
        "by its shape.",
        2,
    )
