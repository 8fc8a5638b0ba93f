"""Exercises 1, 2 and 5: one output, the symmetric network, and singular values under constant alignment."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ... import models, problems, train
from ...core import ensembles
from ...evidence import Evidence, at_most, within
from ...evidence import figure as fig
from ...theory import constant_alignment, end_to_end
from ..instances import generator, rotation
from ..sizes import Size
from .networks import LOSSES, balanced_ensemble, balanced_layers, gradient_of, random_problem


def one_output(scale: Size, key: jax.Array) -> Evidence:
    """The simplified field against the general one of Theorem 1, and against the product rule on balanced layers.

    Random maps and gradients, depths 1 to 8, up to 50 inputs, ‖w‖ from 1e-6 to 1e6; errors relative to the field.
    """
    rng = generator(key)
    count = 200 if scale == "quick" else 5000
    general, ruled, speed = [], [], []
    for _ in range(count):
        n, d = int(rng.integers(1, 9)), int(rng.integers(1, 51))
        w, g = 10 ** rng.uniform(-6, 6) * rng.normal(size=d), rng.normal(size=d)
        field = end_to_end.field_one_output(w, g, n)
        size = np.linalg.norm(field)
        general.append(np.linalg.norm(field - end_to_end.field(w[None], g[None], n)[0]) / size)
        layers = balanced_layers(rng, w[None], (d, *rng.integers(1, 6, n - 1).tolist(), 1))
        velocity = _product_rule(layers, g[None])[0]
        ruled.append(np.linalg.norm(field - velocity) / size)
        unit, length = w / np.linalg.norm(w), np.linalg.norm(g)
        cosine = float(unit @ g / length)
        speed.append((n, cosine, np.linalg.norm(velocity) / length / np.linalg.norm(w) ** (2 - 2 / n)))
    found = np.array(speed)
    marks, cosines = [], np.linspace(-1, 1, 201)
    for i, n in enumerate((1, 2, 4, 8)):
        mine = found[found[:, 0] == n]
        marks.append(fig.points(mine[:, 1], mine[:, 2], f"n = {n}", i))
        marks.append(fig.theory(cosines, np.sqrt(1 + (n * n - 1) * cosines**2), "Exercise 1" if n == 1 else ""))
    return Evidence(
        checks=[
            at_most("worst relative gap to the general field", np.max(general), 1e-10),
            at_most("worst relative gap to the product rule on layers", np.max(ruled), 1e-10),
        ],
        settings={"instances": count, "depths": "1 … 8", "inputs": "1 … 50", "‖w‖": "1e-6 … 1e6"},
        figure=fig.Figure(
            (fig.Panel(tuple(marks), "cos ∠(w, ∇ℓ)", "speed of w (across w: 1)"),),
            "Layers move the map n times as fast along itself as across: depth favours directions already taken.",
            1,
        ),
    )


def _product_rule(layers: tuple[np.ndarray, ...], G: np.ndarray) -> np.ndarray:
    """The velocity of the product when each layer follows its own gradient."""
    total = np.zeros_like(G)
    for j in range(len(layers)):
        below, above = np.eye(G.shape[1]), np.eye(G.shape[0])
        for W in layers[:j]:
            below = W @ below
        for W in layers[:j:-1]:
            above = above @ W
        total -= above @ (above.T @ G @ below.T) @ below
    return total


@dataclass(frozen=True)
class _Symmetric:
    """The network x ↦ WWᵀx with W of the given size; its parameter is W."""

    size: int
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, self.size

    def end_to_end(self, W: Float[Array, "size width"]) -> Float[Array, "size size"]:
        return W @ W.T


def symmetric_network(scale: Size, key: jax.Array) -> Evidence:
    """The equation for W_s = WWᵀ alone, in NumPy, against gradient flow of W, on losses with unsymmetric gradients.

    W has fewer, as many, or more columns than rows; the gap is relative to ‖W_s‖ at each time.
    """
    rng = generator(key)
    d, times, count = 4, np.linspace(0, 2.0, 41), 4 if scale == "quick" else 16
    every = [(name, width) for width in (1, 2, 4, 6) for name in LOSSES]
    cases = [("cross-entropy", 2), ("completion", 4)] if scale == "quick" else every
    gaps, panels, skew = {}, [], []
    for name, width in cases:
        problem = random_problem(rng, name, (d, d))
        starts = rng.normal(size=(count, d, width)) * 10 ** rng.uniform(-1.5, 0, size=(count, 1, 1)) / width**0.5
        run = train.flow(_Symmetric(d, width), problem, ensembles.Ensemble(jnp.asarray(starts)), times=times,
                         record=("end_to_end",), rtol=1e-10, tolerance=0.0)  # fmt: skip
        gradient, measured = gradient_of(problem), run.end_to_end.values
        forecast = np.stack([end_to_end.trajectory_symmetric(times, W @ W.T, gradient) for W in starts])
        gap = np.linalg.norm(measured - forecast, axis=(2, 3)) / np.linalg.norm(measured, axis=(2, 3))
        gaps[name, width] = gap.max(axis=0)
        G = gradient(measured[0, 0])
        skew.append(np.linalg.norm(G - G.T) / np.linalg.norm(G))
        if len(panels) < 2:
            lower = np.tril_indices(d)
            marks = [fig.measured(times, measured[0][:, i, j], "" if k else "layers", k)
                     for k, (i, j) in enumerate(zip(*lower, strict=True))]  # fmt: skip
            marks += [fig.theory(times, forecast[0][:, i, j], "" if k else "equation for Wₛ")
                      for k, (i, j) in enumerate(zip(*lower, strict=True))]  # fmt: skip
            panels.append(fig.Panel(tuple(marks), "time t", "entries of Wₛ", f"{name}, W of {d}×{width}"))
    return Evidence(
        checks=[at_most("worst relative gap between equation and flow of W", max(map(np.max, gaps.values())), 1e-6)],
        numbers={f"gap, {name}, {d}×{width}": float(gap.max()) for (name, width), gap in gaps.items()}
        | {"least skew part of ∇ℓ at the start": float(min(skew))},
        settings={"losses and widths": [f"{name}, {d}×{width}" for name, width in cases], "starts": count},
        figure=fig.Figure(tuple(panels), "The equation for Wₛ (dark) gives what gradient flow of W does (colour).", 2),
        remarks=("Only the symmetric part of ∇ℓ enters, and nothing has to be balanced or square.",),
    )


class _Linear(problems.Problem):
    """The loss −⟨C, W⟩: on it alignment with shared singular vectors is constant for all time."""

    slope: Float[Array, "out in"]

    @property
    def shape(self) -> tuple[int, int]:
        return self.slope.shape[-2], self.slope.shape[-1]

    def loss(self, map: problems.Map) -> Float[Array, ""]:
        return -jnp.sum(self.slope * map)  # type: ignore[operator]

    def optimum(self, rank: int | None = None) -> problems.Optimum:
        return problems.Optimum(None, -np.inf)


def constant_alignment_ratios(scale: Size, key: jax.Array) -> Evidence:
    """Networks on the linear loss −⟨C, W⟩ from ε UVᵀ, on which the assumption holds exactly, against the closed forms.

    C has positive and negative singular coefficients c_r in random directions. Layers are followed to 1e-10, at n ≥ 3
    until the first value has grown five-hundredfold on its way to infinity. Rates of ratios are fitted to the runs.
    """
    rng = generator(key)
    shape, rising, falling = (4, 5), np.array([1.0, 0.6, 0.2, -0.5]), np.array([-0.25, -0.5, -0.75, -1.0])
    depths, scales = ((2, 3), (0.02, 0.2)) if scale == "quick" else ((1, 2, 3, 4, 5, 6), (1e-3, 0.02, 0.2))
    U, V = rotation(rng, shape[0]), rotation(rng, shape[1])[:, : shape[0]]
    gaps, panels, rates, ratios = {}, [], [], []
    for n in depths:
        for c, eps in [(rising, eps) for eps in scales] + [(falling, scales[-1])]:
            escape = float(constant_alignment.escape_time(c.max(), eps, n))
            until = 3.0 if n <= 2 else 12.0 if np.isinf(escape) else escape * (1 - 500 ** (2 / n - 1))
            times = np.linspace(0, until, 61)
            values = _followed(rng, U, V, c, eps, n, times)
            forecast = constant_alignment.trajectory(times[:, None], c, eps, n)
            gaps[n, eps, c is rising] = float(np.max(np.abs(values - forecast) / np.abs(forecast).clip(1e-3 * eps)))
            if n == 2:
                logs = np.log(values[:, :1] / values[:, 1:])
                rates += list(np.polyfit(times, logs, 1)[0] / (2 * (c[0] - c[1:])))
            if c is rising and eps == 0.02 and n in (2, 3):
                panels.append(_value_panel(times, values, forecast, n, eps))
            if c is falling and n in (2, 3):
                ratios.append((n, times, values[:, 1] / values[:, 3], forecast[:, 1] / forecast[:, 3]))
    panels.append(_ratio_panel(ratios, scales[-1]))
    return Evidence(
        checks=[
            at_most("worst relative gap between networks and closed form, n = 2",
                    max(g for (n, *_), g in gaps.items() if n == 2), 1e-6),
            at_most("worst relative gap at other depths", max(g for (n, *_), g in gaps.items() if n != 2), 1e-6),
            within("least fitted rate of a ratio at n = 2, over 2(c_r − c_r')", min(rates), 1 - 1e-6, 1 + 1e-6),
            within("largest such rate", max(rates), 1 - 1e-6, 1 + 1e-6),
        ],
        numbers={f"worst gap at n = {n}": max(g for case, g in gaps.items() if case[0] == n) for n in depths},
        settings={"alignments": [rising, falling], "depths": depths, "ε": scales, "shape": shape},
        figure=fig.Figure(
            tuple(panels),
            "Values part exponentially at two layers; deeper, rising ones escape in finite time and the ratio of "
            "falling ones levels off.",
        ),
        remarks=(
            "The law depends on depth. At n ≥ 3 a value with c > 0 reaches infinity at ε^{2/n−1}/((n−2)c), so ratios "
            "outgrow every exponential; the ratio of two falling values stays bounded, by (c_r'/c_r)^{n/(n−2)}.",
        ),
    )  # fmt: skip


def _followed(
    rng: np.random.Generator, U: np.ndarray, V: np.ndarray, c: np.ndarray, eps: float, n: int, times: np.ndarray
) -> np.ndarray:
    """The values along u_r, v_r of a network on the loss −⟨U diag(c) Vᵀ, W⟩ that starts at ε UVᵀ."""
    widths = (len(V), *[5] * (n - 1), len(U))
    run = train.flow(models.DeepLinear(widths), _Linear(jnp.asarray((U * c) @ V.T)),
                     balanced_ensemble(rng, [eps * U @ V.T], widths), times=times, record=("end_to_end",),
                     rtol=1e-10, atol=1e-15, tolerance=0.0)  # fmt: skip
    return np.einsum("or,toi,ir->tr", U, run.end_to_end.values[0], V)


def _value_panel(times: np.ndarray, values: np.ndarray, forecast: np.ndarray, n: int, eps: float) -> fig.Panel:
    # Below the top left corner there is room for a legend at n = 3 only; colours are the same at n = 2.
    marks = [fig.measured(times, column, f"r = {r + 1}" if n > 2 else "", r) for r, column in enumerate(values.T)]
    marks += [
        fig.theory(times, column, "closed form" if r == 0 and n > 2 else "") for r, column in enumerate(forecast.T)
    ]
    return fig.Panel(tuple(marks), "time t", "σᵣ", f"n = {n}, ε = {eps:g}", y_scale="log")


def _ratio_panel(ratios: list[tuple[int, np.ndarray, np.ndarray, np.ndarray]], eps: float) -> fig.Panel:
    """The ratio of two falling values, c = −½ and −1, against time, and its limit."""
    marks, longest = [], max(times[-1] for _, times, *_ in ratios)
    for i, (n, times, measured, forecast) in enumerate(ratios):
        marks += [fig.measured(times, measured, f"n = {n}", i + 4), fig.theory(times, forecast)]
        if n > 2:
            marks.append(fig.reference([0, longest], [2 ** (n / (n - 2))] * 2, "limit" if n == 3 else ""))
    return fig.Panel(tuple(marks), "time t", "ratio of values", f"c = −½ and −1, ε = {eps:g}", y_scale="log")
