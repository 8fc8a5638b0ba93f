"""Beyond small γ: noise in the labels aligns neurons even from a large start."""

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from ... import measure, models, problems, starts, train
from ...core import ensembles
from ...evidence import Evidence, at_least, at_most, within
from ...evidence import figure as fig
from ...theory import label_noise, log_det
from ..instances import generator, rotation, slope
from ..sizes import Size

SPECTRUM = train.Record("spectrum", lambda model, problem, layers: measure.singular_values(layers[0]), ("value",))
DIRECTIONS = train.Record("directions", lambda model, problem, layers: measure.effective_directions(layers[0]))
COSINES = train.Record(
    "cosines", lambda model, problem, layers: measure.cosines(layers[0], problem.optimal_map)[:, 0], ("neuron",)
)
IMBALANCE = train.Record("imbalance", lambda model, problem, layers: jnp.sum(layers[0] ** 2) - jnp.sum(layers[1] ** 2))
RECORDS = 41


def alignment(scale: Size, key: jax.Array) -> Evidence:
    """Noisy descent from `W = √(2γ)P, a = 0` with γ = 2‖β∗‖, over seeds, with and without noise, for ‖β∗‖ from 1 on.

    The noise is the poster's: one unit in the diffusion, a standard deviation η^{−1/2} for each label and step. What
    counts is its size against the signal, which ‖β∗‖ sets. In the limit of weak noise the diffusion becomes a slow flow
    along the interpolators, derived in `theory.label_noise`: it forecasts the singular values, the rate of alignment and
    the end. Whether descent follows the diffusion is checked apart, on a small network: the error of the mean of
    tr WWᵀ − |a|² must fall in proportion to the step.
    """
    d, n, width, seeds = (5, 40, 20, 8) if scale == "quick" else (10, 80, 20, 16)
    sizes = 4.0 ** (np.array([0, 2, 4]) if scale == "quick" else np.arange(6))
    rng = generator(key)
    X, direction = rng.normal(size=(n, d)), rotation(rng, d)[0]
    S = X.T @ X
    rate = label_noise.line(direction, S).rates[0]
    times = np.linspace(0, 6 / rate, RECORDS)
    forecast = _forecast(times, direction, S, 2.0, width)
    net = models.DeepLinear((d, width, 1))
    first, second = ensembles.ensemble(lambda key: starts.shaped(net, key, 2.0), jax.random.split(key, seeds)).stacked

    def descend(index: int, noise: float) -> xr.Dataset:
        size, own = sizes[index], jax.random.fold_in(key, index)
        problem = problems.regression(X, X @ direction * size)
        start = ensembles.Ensemble((np.sqrt(size) * first, second))
        return _descend(net, problem, start, times, S, size, noise, own)

    runs = [descend(index, noise=1.0) for index in range(len(sizes))]
    quiet = descend(0, noise=0.0)  # without noise ‖β∗‖ changes nothing but the clock
    weak, later = runs[-1], times >= times[-1] / 10
    gaps = np.array([np.abs(run.spectrum.mean("member").values / np.sqrt(size) - forecast)[later].max() / forecast[-1, 0]
                     for run, size in zip(runs, sizes, strict=True)])  # fmt: skip
    half = RECORDS // 2
    ratio = np.log(weak.spectrum.values[:, :, 1] / weak.spectrum.values[:, :, 0]).mean(axis=0)
    measured_rate = -(ratio[-1] - ratio[half]) / (times[-1] - times[half])
    etas, errors, weak_slope = _weak_error(key, 20_000 if scale == "quick" else 100_000)
    return Evidence(
        checks=[
            at_most("effective directions at the end with noise, worst seed", weak.directions.values[:, -1].max(), 1.5),
            at_least("effective directions at the end without noise, least seed, of d",
                     quiet.directions.values[:, -1].min() / d, 0.9),
            at_most("gap of σ(W) to the slow flow at the weakest noise, of σ₁", gaps[-1], 0.05),
            within("rate of alignment over its closed form", measured_rate / rate, 0.85, 1.15),
            within("slope of the weak error of descent in η", weak_slope, 0.75, 1.25),
        ],
        numbers={f"effective directions, ‖β*‖ = {size:g}": float(run.directions.values[:, -1].mean())
                 for size, run in zip(sizes, runs, strict=True)}
        | {f"gap to the slow flow, ‖β*‖ = {size:g}": float(gap) for size, gap in zip(sizes, gaps, strict=True)},
        settings={"d, n, l": (d, n, width), "seeds": seeds, "‖β*‖": list(sizes), "γ": "2‖β*‖",
                  "time": float(times[-1])},
        figure=_figure(times, sizes, runs, quiet, forecast, etas, errors),
        remarks=[
            "Alignment to one line is complete where the noise is weak against the signal; at ‖β*‖ = 1 the noise is so "
            "strong that neurons keep wandering over two or more directions.",
            "In the limit of weak noise the rate of alignment, about half the least eigenvalue of XᵀX, does not depend "
            "on the scale of the start.",
        ],
    )  # fmt: skip


def _descend(
    net: models.DeepLinear,
    problem: problems.Regression,
    start: ensembles.Ensemble,
    times: np.ndarray,
    S: np.ndarray,
    size: float,
    noise: float,
    key: jax.Array,
) -> xr.Dataset:
    """Noisy descent in the units of the summed loss: step η there is nη on the mean."""
    eta = 0.2 / (np.linalg.eigvalsh(S)[-1] * 4 * size)
    every = int(np.ceil(times[1] / eta))
    n, eta = problem.examples, times[1] / every
    return train.noisy_descend(
        net, problem, start, step=n * eta, steps=every * (RECORDS - 1), every=every, noise=noise * eta**-0.5, key=key,
        record=(SPECTRUM, DIRECTIONS, COSINES),
    )  # fmt: skip


def _forecast(times: np.ndarray, direction: np.ndarray, S: np.ndarray, ratio: float, width: int) -> np.ndarray:
    """σ(W)/√‖β∗‖ along the slow flow, from where flow without noise ends: W1ᵀW1 = M(β∗) at γ = ratio · ‖β∗‖."""
    M = log_det.best_gram(direction[None], ratio)
    root = np.linalg.cholesky(M).T
    W1 = np.pad(root, ((0, width - len(root)), (0, 0)))  # any frame of hidden units will do
    a = np.pad(np.linalg.solve(root.T, direction), (0, width - len(root)))
    path = label_noise.slow_flow(times, W1, a[None], S)
    return np.linalg.svd(path.W1, compute_uv=False)


def _weak_error(key: jax.Array, members: int) -> tuple[np.ndarray, np.ndarray, float]:
    """How far the mean imbalance of descent is from that of the diffusion, over step sizes, on a small network."""
    rng = generator(jax.random.fold_in(key, 7))
    n, until, reference = 4, 0.5, 256
    X = rotation(rng, n)[:, :2] * [1.0, 1.5]
    problem = problems.regression(X, X @ rotation(rng, 2)[0])
    net = models.DeepLinear((2, 3, 1))
    start = ensembles.Ensemble(
        tuple(jnp.broadcast_to(layer, (members, *layer.shape)) for layer in starts.shaped(net, key, 1.0))
    )
    options = {"record": (IMBALANCE,), "key": jax.random.fold_in(key, 8)}
    exact = train.noisy_flow(
        net,
        problem,
        start,
        intensity=np.sqrt(n),
        step=n * until / reference,
        times=np.array([0.0, n * until]),
        **options,
    ).imbalance.values[:, -1]
    counts, errors = np.array([16, 32, 64]), []
    for steps in map(int, counts):
        eta = until / steps
        run = train.noisy_descend(
            net, problem, start, step=n * eta, steps=steps, at=[0, steps], noise=eta**-0.5, **options
        )
        errors.append(abs(run.imbalance.values[:, -1].mean() - exact.mean()) / exact.mean())
    etas = until / counts
    return etas, np.array(errors), slope(etas - until / reference, errors)[0]


def _figure(
    times: np.ndarray,
    sizes: np.ndarray,
    runs: list[xr.Dataset],
    quiet: xr.Dataset,
    forecast: np.ndarray,
    etas: np.ndarray,
    errors: np.ndarray,
) -> fig.Figure:
    """Directions with and without noise, singular values on the slow flow, the count over noise, and the weak error."""
    weak = runs[-1]
    cosines = [
        fig.measured(times, np.abs(run.cosines.values[0, :, j]), label if j == 0 else "", group)
        for group, (run, label) in enumerate(((quiet, "without noise"), (weak, "with noise")))
        for j in range(run.sizes["neuron"])
    ]
    values, drawn = weak.spectrum.values / np.sqrt(sizes[-1]), range(forecast.shape[1])
    bands = [fig.band(times, values[:, :, i].min(0), values[:, :, i].max(0), "", i) for i in drawn]
    lines = [fig.measured(times, values[:, :, i].mean(0), "", i) for i in drawn]
    lines += [fig.theory(times, forecast[:, i], "slow flow" if i == 0 else "") for i in drawn]
    counts = [
        fig.measured(times, run.directions.values.mean(0), f"‖β*‖ = {size:g}", group + 2)
        for group, (size, run) in enumerate(zip(sizes, runs, strict=True))
    ]
    counts.append(fig.measured(times, quiet.directions.values.mean(0), "without noise", 0))
    return fig.Figure(
        (
            fig.Panel(tuple(cosines), "time t", "|cos| of neurons with β*", f"one seed, ‖β*‖ = {sizes[-1]:g}"),
            fig.Panel((*bands, *lines), "time t", "σ(W) / √‖β*‖", f"all seeds, ‖β*‖ = {sizes[-1]:g}", "linear", "log",
                      (1e-4, 5.0)),
            fig.Panel(tuple(counts), "time t", "effective directions", "from weak to strong noise"),
            fig.Panel(
                (
                    fig.points(etas, errors, "descent", 1),
                    fig.reference(etas, errors[-1] * etas / etas[-1], "slope 1"),
                ),
                "step η", "error of the mean, relative", "descent against diffusion", "log", "log",
            ),
        ),
        "With noise all neurons turn to one line, along the slow flow of weak noise; without it they stay put.",
        2,
    )  # fmt: skip
