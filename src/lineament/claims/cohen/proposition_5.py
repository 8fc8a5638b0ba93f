"""Proposition 5 and Exercise 4: fitting the observed entries drives every norm of the map to infinity."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from ... import models, problems, starts, train
from ...core import ensembles
from ...evidence import Check, Evidence, at_least, at_most, within
from ...evidence import figure as fig
from ...theory import layers as layers_theory
from ...theory import two_by_two
from ...theory.singular_flow import singular_flow
from ..instances import generator, rotation, slope
from ..sizes import sizes
from . import extended_precision

NORMS: tuple[two_by_two.Norm, ...] = ("spectral", "frobenius", "nuclear")
DEPTHS = (2, 3)
SLOPE = (-0.51, -0.49)  # theory: −½ ± 2 %
LATE = (1e-8, 1e-6)  # the losses between which slopes are read
# In units of the observations m: how long layers are followed by the package's flow, before rounding takes their least
# singular value at depth 2, and how long it takes until the loss is below 1e-8.
LAYERS_UNTIL = 30.0
VANISHING = {2: 2e10, 3: 1e9}

LAYERS = train.Record("layers", lambda model, problem, layers: jnp.stack(layers), ("layer", "row", "column"))


class Settings(NamedTuple):
    """What is run at each size; cases are (dimension, depth, sign of the determinant).

    Attributes:
        flows: Balanced flows of layers, for each dimension and depth; the last quarter from the wrong sign.
        dimensions: Of those flows.
        in_logarithms: Cases followed to a loss of 1e-8 in the logarithms of singular values.
        by_layers: Cases followed to a loss of 1e-8 by layers with a stiff solver, depth 3.
        extended: Cases followed by layers with 77 digits, depth 2, until `extended_until` m.
        extended_until: See there.
    """

    flows: int
    dimensions: tuple[int, ...]
    in_logarithms: tuple[tuple[int, int, two_by_two.Sign], ...]
    by_layers: tuple[tuple[int, int, two_by_two.Sign], ...]
    extended: tuple[tuple[int, int, two_by_two.Sign], ...]
    extended_until: float = 12.0


class Path(NamedTuple):
    """One flow: its start, the task's sign, and the map with its loss at recorded times."""

    depth: int
    sign: two_by_two.Sign
    start: np.ndarray
    time: np.ndarray
    W: np.ndarray
    loss: np.ndarray
    kept: bool

    def excess(self, norm: two_by_two.Norm) -> np.ndarray:
        """By how much the norm exceeds its bound; the theory refuses a start of the wrong sign."""
        return two_by_two.size(self.W, norm) - two_by_two.norm_bound(self.start, self.loss, norm, self.sign)


@sizes(
    quick=Settings(
        flows=8,
        dimensions=(2, 3),
        in_logarithms=((2, 2, 1), (2, 3, 1), (2, 2, -1), (3, 2, 1)),
        by_layers=((2, 3, -1), (3, 3, 1)),
        extended=((2, 2, 1),),
    ),
    full=Settings(
        flows=64,
        dimensions=(2, 3),
        in_logarithms=tuple((d, n, sign) for d in (2, 3) for n in DEPTHS for sign in (1, -1)) * 4,
        by_layers=tuple((d, 3, sign) for d in (2, 3) for sign in (1, -1)) * 3,
        extended=tuple((d, 2, sign) for d in (2, 3) for sign in (1, -1)) * 2,
    ),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Balanced flows on the task of the proof, norms against c ℓ^{−1/2} + c' with c = (2m)^{−1/2}, c' = −1.

    These constants serve spectral, Frobenius and nuclear norm, every d and both signs of the determinant (Exercise 4),
    and are sharper than those of the notes; `theory.two_by_two` derives them. Layers of depth 2 and 3 are followed by
    gradient flow while float64 knows the sign of their determinants, and by a stiff solver at depth 3 down to a loss of
    1e-8. At depth 2 σ₂ falls exponentially: there the logarithms of the singular values are followed to that loss, and
    layers with 77 digits, in which the sign could change, show that these logarithms are right. Starts of the wrong
    sign show that the sign is needed.
    """
    rng = generator(key)
    paths = [path for d in settings.dimensions for n in DEPTHS for path in _train(rng, d, n, settings.flows, key)]
    right, wrong = ([path for path in paths if _agrees(path) == agrees] for agrees in (True, False))
    logarithms = [_in_logarithms(rng, *case) for case in settings.in_logarithms]
    stiff = [_by_layers(rng, *case) for case in settings.by_layers]
    extended = [_extended(rng, *case, settings.extended_until) for case in settings.extended]
    gap = max(_gap(next(path for path in right if path.depth == n)) for n in DEPTHS)
    everything = right + logarithms + stiff + [path for path, _ in extended]
    return Evidence(
        checks=[
            *(at_least(f"least of norm − bound, {norm}", min(float(p.excess(norm).min()) for p in everything), 0,
                       "theory: the bound with the constants derived here, above those printed") for norm in NORMS),
            at_most("determinants that changed sign", sum(not path.kept for path in everything), 0,
                    "Lemma 2: none at all"),
            at_most("largest of the losses reached", max(path.loss[-1] for path in logarithms + stiff), LATE[0],
                    "the loss to which slopes are read"),
            *_slopes(stiff, "layers of depth 3"),
            *_slopes(logarithms, "flow in logarithms"),
            at_most("worst relative gap of the maps of layers and of the flow in logarithms", gap, 1e-5,
                    "the layers' solver: 1e-9 relative, times 10,000 for what adds up"),
            at_most("worst gap in log σ_min of layers with 77 digits and of the flow in logarithms",
                    max(gap for _, gap in extended), 1e-5, "the logarithms' solver: 1e-10, times 100,000"),
            at_most("starts of the wrong sign that are not refused", sum(not _refused(path) for path in wrong), 0,
                    "the control: the bound must refuse them"),
        ],
        numbers=_numbers(wrong, logarithms, extended),
        settings={"flows of layers": len(right), "of the wrong sign": len(wrong)},
        protocol={
            "data": f"the proof's completion task, d = {' and '.join(map(str, settings.dimensions))}, and that of "
            "Exercise 4 for the other sign",
            "loss": "mean squared error over the observed entries (Equation 9)",
            "network": "depths 2 and 3, widths d",
            "start": "balanced, det W(0) of the right sign, scales 0.05 … 0.5",
            "training": "gradient flow",
        },
        figure=_figure(right, wrong, logarithms, stiff),
        remarks=(
            "The printed c, ‖e₁e₁ᵀ‖/(2√6), is half of what the proof gives; no larger c than (2m)^{−1/2} would do: "
            "along the flows |w₁₁|√(2mℓ) tends to 1.",
            "With one layer the unobserved corner never moves, and every norm stays bounded.",
        ),
    )  # fmt: skip


def _slopes(paths: list[Path], route: str) -> list[Check]:
    """The least and the largest slope of a norm against the loss, late."""
    slopes = [_slope(path, norm) for path in paths for norm in NORMS]
    return [
        within(f"{which} slope of log norm in log loss, loss 1e-8 … 1e-6, {route}", read(slopes), *SLOPE,
               "theory: −½ ± 2 %")
        for which, read in (("least", min), ("largest", max))
    ]  # fmt: skip


def _numbers(wrong: list[Path], logarithms: list[Path], extended: list[tuple[Path, float]]) -> dict[str, float]:
    return {
        "largest nuclear norm reached from starts of the wrong sign": max(
            float(two_by_two.size(path.W[-1], "nuclear")) for path in wrong
        ),
        "largest loss they end with": max(float(path.loss[-1]) for path in wrong),
        "largest |w₁₁|√(6ℓ) at the end, 2 × 2": max(
            float(abs(path.W[-1, 0, 0]) * np.sqrt(6 * path.loss[-1])) for path in logarithms if path.W.shape[-1] == 2
        ),
        "least loss reached with 77 digits": min(float(path.loss[-1]) for path, _ in extended),
    }


def _start(rng: np.random.Generator, d: int, sign: int) -> np.ndarray:
    """A random map whose determinant has the given sign, of random scale."""
    W = 10 ** rng.uniform(np.log10(0.05), np.log10(0.5)) * rng.normal(size=(d, d))
    if np.linalg.det(W) * sign < 0:
        W[rng.integers(d)] *= -1
    return W


def _problem(d: int, sign: two_by_two.Sign) -> problems.Completion:
    observed, values = two_by_two.completion(d, sign)
    rows, columns = np.nonzero(observed)
    return problems.completion(rows, columns, values[rows, columns], (d, d))


def _train(rng: np.random.Generator, d: int, n: int, count: int, key: jax.Array) -> list[Path]:
    """Balanced networks on both tasks by gradient flow; the last quarter starts with the wrong sign."""
    model = models.DeepLinear((d,) * (n + 1))
    signs: list[two_by_two.Sign] = [1 if member % 2 == 0 else -1 for member in range(count)]
    away = [1 if member < 3 * count // 4 else -1 for member in range(count)]
    maps = np.stack([_start(rng, d, s * a) for s, a in zip(signs, away, strict=True)])
    split = ensembles.ensemble(
        lambda key, W: starts.balanced(model, key, map=W), jax.random.split(key, count), jnp.asarray(maps)
    )
    times = (d * d - 1) * np.r_[0, np.geomspace(1e-2, LAYERS_UNTIL, 120)]
    run = train.flow(
        model, ensembles.stack([_problem(d, s) for s in signs]), split, times=times,
        record=("loss", "end_to_end", LAYERS), rtol=1e-9, atol=1e-13, tolerance=1e-12,
    )  # fmt: skip
    sign = np.prod(np.sign(np.linalg.det(run.layers.values)), axis=-1)
    # Once the least value has been near the solver's accuracy, float64 layers no longer know the sign.
    values = np.linalg.svd(run.end_to_end.values, compute_uv=False)
    known = np.logical_and.accumulate(values[..., -1] > 1e-6 * values[..., 0], axis=1)
    kept = np.all((sign == sign[:, :1]) | ~known, axis=1)
    return [
        Path(n, signs[i], maps[i], times, run.end_to_end.values[i], run.loss.values[i], bool(kept[i]))
        for i in range(count)
    ]


def _away_from_crossings(rng: np.random.Generator, d: int, sign: two_by_two.Sign) -> np.ndarray:
    """A start on whose way singular values stay apart, as coordinates in singular values need it from d = 3 on."""
    if d == 2:
        return _start(rng, d, sign)
    start = np.diag(np.linspace(0.5, 0.65, d)) + 0.05 * rng.normal(size=(d, d))
    start[0] *= sign
    return start


def _late_times(d: int, n: int) -> np.ndarray:
    return (d * d - 1) * np.r_[0, np.geomspace(1e-2, VANISHING[n], 160)]


def _in_logarithms(rng: np.random.Generator, d: int, n: int, sign: two_by_two.Sign) -> Path:
    """One flow of singular values and vectors until the loss is below 1e-8."""
    observed, values = two_by_two.completion(d, sign)
    m, start, times = d * d - 1, _away_from_crossings(rng, d, sign), _late_times(d, n)
    flow = singular_flow(times, start, lambda W: np.where(observed, W - values, 0) / m, n, rtol=1e-7, atol=1e-9)
    kept = bool(np.all(flow.sign_and_log_det[0] == sign))
    return Path(n, sign, start, times, flow.W, two_by_two.loss(flow.W, sign), kept)


def _by_layers(rng: np.random.Generator, d: int, n: int, sign: two_by_two.Sign) -> Path:
    """One flow of layers in float64, each along its own gradient, by a stiff solver until the loss is below 1e-8."""
    observed, values = two_by_two.completion(d, sign)
    m, start, times = d * d - 1, _away_from_crossings(rng, d, sign), _late_times(d, n)

    def velocity(_: float, flat: np.ndarray) -> np.ndarray:
        layers = flat.reshape(n, d, d)
        below = [np.eye(d)]
        for W in layers:
            below.append(W @ below[-1])
        G, above, moves = np.where(observed, below[-1] - values, 0) / m, np.eye(d), np.empty_like(layers)
        for j in reversed(range(n)):
            moves[j] = -above.T @ G @ below[j].T
            above = above @ layers[j]
        return moves.ravel()

    begin = np.stack(layers_theory.balanced(start, (d,) * (n + 1))).ravel()
    run = solve_ivp(velocity, (0, times[-1]), begin, "LSODA", times, rtol=1e-10, atol=1e-13)
    layers = run.y.T.reshape(-1, n, d, d)
    W = np.stack([layers_theory.product(list(split)) for split in layers])
    kept = bool(np.all(np.prod(np.sign(np.linalg.det(layers)), axis=1) == sign)) and run.success
    return Path(n, sign, start, times, W, two_by_two.loss(W, sign), kept)


def _extended(rng: np.random.Generator, d: int, n: int, sign: two_by_two.Sign, until: float) -> tuple[Path, float]:
    """One flow of layers with 77 digits, and how far its log σ_min is from that of the flow in logarithms."""
    observed, values = two_by_two.completion(d, sign)
    m, start = d * d - 1, _away_from_crossings(rng, d, sign)
    times = m * np.r_[0, np.geomspace(1e-2, until, 30)]
    U, s, Vt = np.linalg.svd(start)
    turns = [Vt.T, *(rotation(rng, d) for _ in range(n - 1)), U]
    loss = extended_precision.Quadratic(observed, values, 1 / m)
    run = extended_precision.follow(times, extended_precision.balanced(turns, s), loss)
    flow = singular_flow(times, start, lambda W: np.where(observed, W - values, 0) / m, n)
    signs, log_det = run.sign_and_log_det
    others = np.log(np.linalg.svd(run.maps, compute_uv=False)[:, :-1]).sum(axis=1)
    gap = np.abs(log_det - others - flow.log_s.min(axis=1)).max()
    return Path(n, sign, start, times, run.maps, two_by_two.loss(run.maps, sign), bool((signs == sign).all())), gap


def _agrees(path: Path) -> bool:
    return np.linalg.det(path.start) * path.sign > 0


def _refused(path: Path) -> bool:
    try:
        path.excess("spectral")
    except ValueError:
        return True
    return False


def _gap(path: Path) -> float:
    """How far the flow of the layers is from that of the singular values."""
    observed, values = two_by_two.completion(path.start.shape[0], path.sign)
    m = observed.size - 1
    other = singular_flow(path.time, path.start, lambda W: np.where(observed, W - values, 0) / m, path.depth).W
    return float(np.max(np.linalg.norm(path.W - other, axis=(1, 2)) / np.linalg.norm(other, axis=(1, 2))))


def _slope(path: Path, norm: two_by_two.Norm) -> float:
    late = (path.loss > LATE[0]) & (path.loss < LATE[1])
    return slope(path.loss[late], two_by_two.size(path.W[late], norm))[0]


def _figure(right: list[Path], wrong: list[Path], logarithms: list[Path], stiff: list[Path]) -> fig.Figure:
    """Norm against loss for the layers, for the singular values, and for starts of the wrong sign."""

    def bound(d: int, least: float) -> fig.Mark:
        losses = np.geomspace(least, 0.03, 100)
        return fig.theory(losses, two_by_two.norm_bound(np.eye(d), losses), "bound")

    def drawn(paths: list[Path], group: int, label: str) -> list[fig.Mark]:
        return [
            fig.measured(path.loss, two_by_two.size(path.W, "spectral"), label if i == 0 else "", group)
            for i, path in enumerate(paths)
        ]

    def panel(marks: list[fig.Mark], title: str, top: float) -> fig.Panel:
        return fig.Panel(tuple(marks), "loss ℓ", "spectral norm", title, "log", "log", y_limits=(0.1, top))

    def of(paths: list[Path], d: int, n: int | None = None) -> list[Path]:
        return [path for path in paths if path.W.shape[-1] == d and n in (None, path.depth)][:4]

    early = [mark for group, n in enumerate(DEPTHS) for mark in drawn(of(right, 2, n), group, f"n = {n}")]
    late = drawn(of(logarithms, 3), 2, "logarithms, n = 2") + drawn(of(stiff, 3), 1, "layers, n = 3")
    return fig.Figure(
        (
            panel([*early, bound(2, 2e-3)], "layers, 2 × 2", 30),
            panel([*late, bound(3, 2e-9)], "to a loss of 1e-8, 3 × 3", 2e4),
            panel([*drawn(of(wrong, 2), 3, "wrong sign"), bound(2, 1e-8)], "determinant of the wrong sign", 2e4),
        ),
        "As the loss vanishes every norm grows as ℓ^(−1/2), along the bound; from a wrong sign none does.",
    )
