"""Beyond small γ: noise in the labels aligns neurons even from a large start."""

from typing import NamedTuple

import jax
import numpy as np

from ... import measure, models, problems, starts, train
from ...core import Run, ensembles
from ...evidence import Check, Evidence, at_least, at_most, within
from ...evidence import figure as fig
from ...theory import label_noise, log_det
from ..instances import generator, rotation
from ..sizes import sizes
from .diffusion import WeakError, weak_error

SPECTRUM = train.Record("spectrum", lambda model, problem, layers: measure.singular_values(layers[0]), ("value",))
DIRECTIONS = train.Record("directions", lambda model, problem, layers: measure.effective_directions(layers[0]))
COSINES = train.Record(
    "cosines", lambda model, problem, layers: measure.cosines(layers[0], problem.optimal_map)[:, 0], ("neuron",)
)
RECORDS = 41
RATIO = 2.0  # γ/‖β∗‖: a large start


class Settings(NamedTuple):
    """What is run.

    Attributes:
        inputs: d.
        examples: n, at least d: what X does not span never moves.
        width: l.
        seeds: Starts and noises, on the same data.
        targets: The sizes ‖β∗‖, from strong to weak noise.
        paths: Of the small network on which descent is compared with the diffusion.
        sharpness: The step size times the largest eigenvalue of the Hessian at the start; stable below 2.
    """

    inputs: int
    examples: int
    width: int
    seeds: int
    targets: tuple[float, ...]
    paths: int
    sharpness: float = 0.2


class Forecast(NamedTuple):
    """σ(W)/√‖β∗‖ along the slow flow, (time, value), and what its end is away from one line, relative."""

    values: np.ndarray
    away: float


class Data(NamedTuple):
    """Inputs, the direction of β∗, XᵀX, and the times at which runs are recorded, up to six times of alignment."""

    X: np.ndarray
    direction: np.ndarray
    S: np.ndarray
    times: np.ndarray


@sizes(
    quick=Settings(5, 40, 20, 8, (1.0, 16.0, 256.0), 20_000),
    full=Settings(10, 80, 20, 16, (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0), 100_000),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Noisy descent from `W = √(2γ)P, a = 0` with γ = 2‖β∗‖, over seeds, with and without noise, for ‖β∗‖ from 1 on.

    The noise is the poster's: one unit in the diffusion, a standard deviation η^{−1/2} for each label and step. What
    counts is its size against the signal, which the poster does not state and ‖β∗‖ sets. Neurons must take fewer
    directions than without noise at every ‖β∗‖; that they come to one line is judged where the noise is weakest. There
    the diffusion becomes a slow flow along the interpolators, derived in `theory.label_noise`: it forecasts the
    singular values, the rate of alignment and the end. Whether descent follows the diffusion is checked apart, on a
    small network: the error of the mean of tr WWᵀ − |a|² must fall in proportion to the step.
    """
    data, targets = _data(settings, key), np.array(settings.targets)
    forecast, away = _forecast(data, settings.width)
    runs = [_descend(settings, data, index, 1.0, key) for index in range(len(targets))]
    quiet = _descend(settings, data, 0, 0.0, key)  # without noise ‖β∗‖ changes nothing but the clock
    weak = weak_error(key, settings.paths)
    gaps = _gaps(runs, targets, forecast, data.times)
    closed = label_noise.line(data.direction, data.S).rates[0]
    slow = _rate(np.log(forecast), data.times)
    rates = [_rate(np.log(run.spectrum.values), data.times) / slow for run in runs]
    return Evidence(
        checks=[
            *_aligned(runs, quiet, settings),
            at_most("gap of the slow flow's end to one line in closed form, of either layer", away, 1e-3,
                    "theory: (σ₂/σ₁)² after six times of alignment, e^−12 × 100"),
            within("rate of the slow flow over its closed form", slow / closed, 0.95, 1.05, "theory ± 5 %"),
            at_most("gap of σ(W) to the slow flow at the weakest noise, of σ₁", gaps[-1], 0.05,
                    "theory, and ‖β*‖^(−½) ≤ 6 % for what noise of finite strength changes"),
            within("rate of alignment over that of the slow flow", rates[-1], 0.95, 1.05, "theory ± 5 %"),
            within("slope of the weak error of descent in η", weak.slope, 0.75, 1.25,
                   "theory: slope 1; ± 25 % for the sampling error of the means"),
        ],
        numbers=_numbers(runs, quiet, targets, gaps)
        | {f"rate of alignment over that of the slow flow, ‖β*‖ = {norm:g}": rate
           for norm, rate in zip(targets, rates, strict=True)},
        settings={"time": float(data.times[-1])},
        protocol={
            "data": f"Gaussian inputs, d = {settings.inputs}, n = {settings.examples}, one output",
            "network": f"two linear layers, l = {settings.width}",
            "start": f"W = √(2γ)P, a = 0, γ = {RATIO:g}‖β∗‖",
            "signal": "‖β∗‖ = " + ", ".join(f"{target:g}" for target in targets),
            "optimiser": "descent with fresh label noise of standard deviation η^(−½) in each step: the diffusion's unit",
            "repeats": f"{settings.seeds} starts and noises",
            "measure": "directions of neurons along training",
        },
        figure=_figure(data, targets, runs, quiet, forecast, weak),
        remarks=[
            f"Alignment needs noise that is weak against the signal: at ‖β*‖ = {targets[0]:g} neurons keep "
            f"wandering over {runs[0].directions.values[:, -1].mean():.1f} directions, at ‖β*‖ = {targets[-1]:g} "
            f"they take {runs[-1].directions.values[:, -1].mean():.2f}. The poster states neither its noise nor its "
            "‖β*‖.",
            "In the limit of weak noise the rate of alignment, about half the least eigenvalue of XᵀX, does not "
            "depend on the scale of the start.",
        ],
    )  # fmt: skip


def _data(settings: Settings, key: jax.Array) -> Data:
    rng = generator(key)
    X, direction = rng.normal(size=(settings.examples, settings.inputs)), rotation(rng, settings.inputs)[0]
    S = X.T @ X
    return Data(X, direction, S, np.linspace(0, 6 / label_noise.line(direction, S).rates[0], RECORDS))


def _descend(settings: Settings, data: Data, index: int, noise: float, key: jax.Array) -> Run:
    """Noisy descent of all seeds, in the units of the summed loss: step η there is nη on the mean."""
    norm = settings.targets[index]
    model = models.DeepLinear((settings.inputs, settings.width, 1))
    keys = jax.random.split(key, settings.seeds)
    first, second = ensembles.ensemble(lambda key: starts.shaped(model, key, RATIO), keys).stacked
    eta = settings.sharpness / (np.linalg.eigvalsh(data.S)[-1] * 2 * RATIO * norm)
    per_record = int(np.ceil(data.times[1] / eta))
    n, eta = settings.examples, data.times[1] / per_record
    return train.noisy_descend(
        model,
        problems.regression(data.X, data.X @ data.direction * norm),
        ensembles.Ensemble((np.sqrt(norm) * first, second)),
        step_size=n * eta,
        steps=per_record * (RECORDS - 1),
        every=per_record,
        noise=noise * eta**-0.5,
        key=jax.random.fold_in(key, index),
        record=(SPECTRUM, DIRECTIONS, COSINES),
    )


def _forecast(data: Data, width: int) -> Forecast:
    """The slow flow from where flow without noise ends: W1ᵀW1 = M(β∗) at γ = RATIO · ‖β∗‖."""
    M = log_det.best_gram(data.direction[None], RATIO)
    root = np.linalg.cholesky(M).T
    W1 = np.pad(root, ((0, width - len(root)), (0, 0)))  # any frame of hidden units will do
    a = np.pad(np.linalg.solve(root.T, data.direction), (0, width - len(root)))
    path = label_noise.slow_flow(data.times, W1, a[None], data.S)
    values, line = np.linalg.svd(path.W1, compute_uv=False), label_noise.line(data.direction, data.S)
    ends = values[-1, 0] / line.first, np.linalg.norm(path.W2[-1]) / line.second
    return Forecast(values, float(np.abs(np.subtract(ends, 1)).max()))


def _gaps(runs: list[Run], targets: np.ndarray, forecast: np.ndarray, times: np.ndarray) -> np.ndarray:
    """How far the mean of σ(W)/√‖β∗‖ is from the slow flow after the first tenth of the time, as a share of σ₁."""
    later = times >= times[-1] / 10
    means = [run.spectrum.mean("member").values / np.sqrt(norm) for run, norm in zip(runs, targets, strict=True)]
    return np.array([np.abs(mean - forecast)[later].max() / forecast[-1, 0] for mean in means])


def _rate(logarithms: np.ndarray, times: np.ndarray) -> float:
    """How fast σ₂/σ₁ falls over the later half of the time, from log σ (…, time, value), on average over the rest."""
    ratio = logarithms[..., 1] - logarithms[..., 0]
    half = RECORDS // 2
    return float(-np.mean(ratio[..., -1] - ratio[..., half]) / (times[-1] - times[half]))


def _aligned(runs: list[Run], quiet: Run, settings: Settings) -> list[Check]:
    """Fewer directions than without noise at every ‖β∗‖, and one where noise is weak."""
    still, weakest = quiet.directions.values[:, -1], runs[-1].directions.values[:, -1]
    fewer = np.array([still - run.directions.values[:, -1] for run in runs])
    errors = fewer.mean(axis=1) / (fewer.std(axis=1, ddof=1) / np.sqrt(settings.seeds))
    return [
        at_least("fewer effective directions with noise than without, in standard errors, any ‖β*‖", errors.min(), 3,
                 "three standard errors over seeds, from the same starts"),
        at_most("effective directions at the end at the weakest noise, worst seed", weakest.max(), 1.5,
                "nearer to one direction than to two"),
        at_least("effective directions at the end without noise, least seed, of d", still.min() / settings.inputs, 0.9,
                 "theory: at γ = 2‖β∗‖ the largest of the d values is 1.03 times the others; 0.9 for l neurons"),
        at_most("effective directions at the end without noise, largest seed, of d", still.max() / settings.inputs,
                1 + 1e-9, "theory: d directions at most, exact up to rounding"),
    ]  # fmt: skip


def _numbers(runs: list[Run], quiet: Run, targets: np.ndarray, gaps: np.ndarray) -> dict[str, float]:
    rows = list(zip(targets, runs, gaps, strict=True))
    return (
        {f"effective directions, ‖β*‖ = {norm:g}": float(run.directions.values[:, -1].mean()) for norm, run, _ in rows}
        | {"effective directions without noise": float(quiet.directions.values[:, -1].mean())}
        | {f"gap to the slow flow, ‖β*‖ = {norm:g}": float(gap) for norm, _, gap in rows}
    )


def _figure(
    data: Data,
    targets: np.ndarray,
    runs: list[Run],
    quiet: Run,
    forecast: np.ndarray,
    weak: WeakError,
) -> fig.Figure:
    """Directions with and without noise, singular values on the slow flow, the count over noise, and the weak error."""
    times, last = data.times, runs[-1]
    cosines = [
        fig.measured(times, np.abs(run.cosines.values[0, :, j]), label if j == 0 else "", group)
        for group, (run, label) in enumerate(((quiet, "without noise"), (last, "with noise")))
        for j in range(run.data.sizes["neuron"])
    ]
    values, drawn = last.spectrum.values / np.sqrt(targets[-1]), range(forecast.shape[1])
    bands = [fig.band(times, values[:, :, i].min(0), values[:, :, i].max(0), "", 1) for i in drawn]
    lines = [fig.measured(times, values[:, :, i].mean(0), "with noise" if i == 0 else "", 1) for i in drawn]
    lines += [fig.theory(times, forecast[:, i], "slow flow" if i == 0 else "") for i in drawn]
    counts = [fig.measured(times, quiet.directions.values.mean(0), "without noise", 0)]
    counts += [
        fig.measured(times, run.directions.values.mean(0), f"‖β*‖ = {norm:g}", 1 if run is last else group + 2)
        for group, (norm, run) in enumerate(zip(targets, runs, strict=True))
    ]
    error = (
        fig.points(weak.etas, weak.errors, "descent", 1),
        fig.reference(weak.etas, weak.errors[-1] * weak.etas / weak.etas[-1], "slope 1"),
    )
    end = last.directions.values[:, -1].mean()
    return fig.Figure(
        (
            fig.Panel(tuple(cosines), "time t", "|cos| of neurons with β*", f"one seed, ‖β*‖ = {targets[-1]:g}"),
            fig.Panel((*bands, *lines), "time t", "σ(W) / √‖β*‖", f"all seeds, ‖β*‖ = {targets[-1]:g}", "linear", "log",
                      (1e-4, 5.0)),
            fig.Panel(tuple(counts), "time t", "effective directions", "from strong to weak noise"),
            fig.Panel(error, "step η", "error of the mean, relative", "descent against diffusion", "log", "log"),
        ),
        f"With noise that is weak against the signal all neurons turn to one line ({end:.2f} effective directions), "
        f"along the slow flow; with strong noise to {runs[0].directions.values[:, -1].mean():.1f}; without it they "
        "stay put.",
        2,
    )  # fmt: skip
