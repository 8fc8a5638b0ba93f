"""A completion task on which every norm grows without bound: Proposition 5 and Exercise 4."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems, starts, train
from ...core import ensembles
from ...evidence import Evidence, at_least, at_most, within
from ...evidence import figure as fig
from ...theory import two_by_two
from ...theory.singular_flow import singular_flow
from ..instances import generator, slope
from ..sizes import Size

NORMS: tuple[two_by_two.Norm, ...] = ("spectral", "frobenius", "nuclear")
DEPTHS = (2, 3)
# In units of the observations m: how long layers are followed, before rounding takes their least singular value at
# depth 2, and how long the flow of singular values, until the loss is below 1e-8.
LAYERS_UNTIL = 30.0
VALUES_UNTIL = {2: 2e10, 3: 1e9}

LAYERS = train.Record("layers", lambda model, problem, layers: jnp.stack(layers), ("layer", "row", "column"))


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


def norms_diverge(scale: Size, key: jax.Array) -> Evidence:
    """Balanced flows on the task of the proof, norms against c ℓ^{−1/2} + c' with c = (2m)^{−1/2}, c' = −1.

    These constants serve spectral, Frobenius and nuclear norm, every d and both signs of the determinant (Exercise 4),
    and are sharper than those of the notes; `theory.two_by_two` derives them. Layers of depth 2 and 3 are followed by
    gradient flow while float64 knows the sign of their determinants. At depth 2 that is soon over, as σ₂ falls
    exponentially, so the loss is then followed down to 1e-8 in the logarithms of the singular values, a flow that is
    compared with that of the layers where both are known. Starts of the wrong sign show that the sign is needed.
    """
    rng = generator(key)
    count, dimensions, trials = (8, (2,), 1) if scale == "quick" else (64, (2, 3), 4)
    trained = {(d, n): _train(rng, d, n, count, key) for d in dimensions for n in DEPTHS}
    paths = [path for runs in trained.values() for path in runs]
    right = [path for path in paths if _agrees(path)]
    wrong = [path for path in paths if not _agrees(path)]
    gap = max(_gap(next(path for path in trained[2, n] if _agrees(path))) for n in DEPTHS)
    signs: tuple[two_by_two.Sign, ...] = (1, -1)
    cases: list[tuple[int, int, two_by_two.Sign]]
    cases = [(d, n, sign) for d in (2, 3) for n in DEPTHS for sign in signs for _ in range(trials)]
    if scale == "quick":  # of the four of size 3 × 3, two
        cases = cases[:4] + cases[4::3]
    followed = [_follow(rng, d, n, sign) for d, n, sign in cases]
    excess = {norm: min(float(path.excess(norm).min()) for path in right + followed) for norm in NORMS}
    slopes = [_slope(path, norm) for path in followed for norm in NORMS]
    return Evidence(
        checks=[
            *(at_least(f"least of norm − bound, {norm}", excess[norm], 0) for norm in NORMS),
            at_most("determinants that changed sign", sum(not path.kept for path in right + followed), 0),
            at_most("largest of the losses reached", max(path.loss[-1] for path in followed), 1e-8),
            within("least slope of log norm in log loss, loss 1e-8 … 1e-6", min(slopes), -0.51, -0.49),
            within("largest slope of log norm in log loss, loss 1e-8 … 1e-6", max(slopes), -0.51, -0.49),
            at_most("worst relative gap of the two flows", gap, 1e-5),
            at_most("starts of the wrong sign that are not refused", sum(not _refused(path) for path in wrong), 0),
        ],
        numbers={
            "largest nuclear norm reached from starts of the wrong sign": max(
                float(two_by_two.size(p.W[-1], "nuclear")) for p in wrong
            ),
            "largest loss they end with": max(float(path.loss[-1]) for path in wrong),
            "largest |w₁₁|√(6ℓ) at the end, 2 × 2": max(
                float(abs(path.W[-1, 0, 0]) * np.sqrt(6 * path.loss[-1])) for path in followed if path.W.shape[-1] == 2
            ),
        },
        settings={
            "flows of layers": len(right),
            "of the wrong sign": len(wrong),
            "flows of singular values": len(followed),
            "dimensions": [2, 3],
            "depths": list(DEPTHS),
            "scales of the starts": "0.05 … 0.5",
        },
        figure=_figure(right, wrong, followed),
        remarks=(
            "The printed c, ‖e₁e₁ᵀ‖/(2√6), is half of what the proof gives; no larger c than (2m)^{−1/2} would do: "
            "along the flows |w₁₁|√(2mℓ) tends to 1.",
            "With one layer the unobserved corner never moves, and every norm stays bounded.",
        ),
    )


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
    net = models.DeepLinear((d,) * (n + 1))
    signs: list[two_by_two.Sign] = [1 if member % 2 == 0 else -1 for member in range(count)]
    away = [1 if member < 3 * count // 4 else -1 for member in range(count)]
    maps = np.stack([_start(rng, d, s * a) for s, a in zip(signs, away, strict=True)])
    split = ensembles.ensemble(
        lambda key, W: starts.balanced(net, key, map=W), jax.random.split(key, count), jnp.asarray(maps)
    )
    m = d * d - 1
    times = m * np.r_[0, np.geomspace(1e-2, LAYERS_UNTIL, 120)]
    records = ("loss", "end_to_end", LAYERS)
    run = train.flow(
        net,
        ensembles.stack([_problem(d, s) for s in signs]),
        split,
        times=times,
        record=records,
        rtol=1e-9,
        atol=1e-13,
        tolerance=1e-12,
    )
    sign = np.prod(np.sign(np.linalg.det(run.layers.values)), axis=-1)
    # Once the least value has been near the solver's accuracy, float64 layers no longer know the sign. There the
    # logarithms of the values are followed instead.
    values = np.linalg.svd(run.end_to_end.values, compute_uv=False)
    known = np.logical_and.accumulate(values[..., -1] > 1e-6 * values[..., 0], axis=1)
    kept = np.all((sign == sign[:, :1]) | ~known, axis=1)
    return [
        Path(n, signs[i], maps[i], times, run.end_to_end.values[i], run.loss.values[i], bool(kept[i]))
        for i in range(count)
    ]


def _follow(rng: np.random.Generator, d: int, n: int, sign: two_by_two.Sign) -> Path:
    """One flow of singular values and vectors until the loss is below 1e-8.

    The coordinates are singular where values coincide, which from d = 3 on they often nearly do on the way; from near
    a diagonal map they stay apart.
    """
    observed, values = two_by_two.completion(d, sign)
    m, start = d * d - 1, _start(rng, d, sign)
    if d > 2:
        start = np.diag(np.linspace(0.5, 0.65, d)) + 0.05 * rng.normal(size=(d, d))
        start[0] *= sign
    times = m * np.r_[0, np.geomspace(1e-2, VALUES_UNTIL[n], 160)]
    flow = singular_flow(times, start, lambda W: np.where(observed, W - values, 0) / m, n, rtol=1e-7, atol=1e-9)
    kept = bool(np.all(flow.sign_and_log_det[0] == sign))
    return Path(n, sign, start, times, flow.W, two_by_two.loss(flow.W, sign), kept)


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
    late = (path.loss > 1e-8) & (path.loss < 1e-6)
    return slope(path.loss[late], two_by_two.size(path.W[late], norm))[0]


def _figure(right: list[Path], wrong: list[Path], followed: list[Path]) -> fig.Figure:
    """Norm against loss for the layers, for the singular values, and for starts of the wrong sign."""

    def bound(d: int, least: float) -> fig.Mark:
        losses = np.geomspace(least, 0.03, 100)
        return fig.theory(losses, two_by_two.norm_bound(np.eye(d), losses), "bound")

    def drawn(paths: list[Path], group: int, label: str) -> list[fig.Mark]:
        return [
            fig.measured(path.loss, two_by_two.size(path.W, "spectral"), label if i == 0 else "", group)
            for i, path in enumerate(paths)
        ]

    def panel(marks: list[fig.Mark], title: str, top: float, y_label: str = "spectral norm") -> fig.Panel:
        return fig.Panel(tuple(marks), "loss ℓ", y_label, title, "log", "log", y_limits=(0.1, top))

    layers = [
        mark
        for group, n in enumerate(DEPTHS)
        for mark in drawn([p for p in right if p.depth == n and p.W.shape[-1] == 2][:4], group, f"n = {n}")
    ]
    values = [
        fig.measured(path.loss, two_by_two.size(path.W, norm), f"{norm}" if i == 0 else "", group)
        for group, norm in enumerate(NORMS)
        for i, path in enumerate([p for p in followed if p.W.shape[-1] == 3])
    ]
    return fig.Figure(
        (
            panel([*layers, bound(2, 2e-3)], "layers, 2 × 2", 30),
            panel([*values, bound(3, 2e-9)], "singular values, 3 × 3", 2e4, "norm"),
            panel(
                [*drawn([p for p in wrong if p.W.shape[-1] == 2][:4], 3, "wrong sign"), bound(2, 1e-8)],
                "determinant of the wrong sign",
                2e4,
            ),
        ),
        "As the loss vanishes every norm grows as ℓ^(−1/2), along the bound; from a wrong sign none does.",
    )
