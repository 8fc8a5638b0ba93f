"""Remark 1: the end-to-end dynamics are no gradient flow of any objective, under mild conditions."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...theory import circulation, end_to_end
from ..instances import generator, slope
from ..sizes import sizes
from .losses import EPS, random_loss


class Settings(NamedTuple):
    """What is run at each size: closed curves in each case."""

    loops: int


def _spectral(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Callable, Callable]:
    """∇ℓ and its derivative for ℓ(W) = ½‖W‖² + ¼ tr (WᵀW)², a function of the singular values alone."""

    def gradient(W: np.ndarray) -> np.ndarray:
        return W + W @ W.T @ W

    def hvp(W: np.ndarray, D: np.ndarray) -> np.ndarray:
        return D + D @ W.T @ W + W @ D.T @ W + W @ W.T @ D

    return gradient, hvp


def _linear_and_radial(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Callable, Callable]:
    """∇ℓ and its derivative for ℓ(w) = ⟨c, w⟩ + ½‖w‖² + ¼‖w‖⁴; whitened regression is of this kind."""
    c = rng.normal(size=shape)
    return (
        lambda w: c + (1 + np.sum(w**2)) * w,
        lambda w, d: (1 + np.sum(w**2)) * d + 2 * np.sum(w * d) * w,
    )


def _ridge(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Callable, Callable]:
    loss = random_loss(rng, "logistic", shape)
    return loss.gradient, loss.hvp


# Losses with the shapes and depths for which the field is, or is not, a gradient field.
GRADIENT_CASES = (
    ("n = 1", _ridge, ((3, 4),), (1,)),
    ("1×1", _ridge, ((1, 1),), (2, 3, 5)),
    ("function of σ", _spectral, ((3, 3), (2, 4), (1, 3)), (2, 3, 5)),
    ("⟨c,w⟩+h(‖w‖), n = 2", _linear_and_radial, ((1, 3), (4, 1)), (2,)),
)
OTHER_CASES = (
    ("generic", _ridge, ((3, 3), (2, 4), (1, 3), (3, 1)), (2, 3, 5)),
    ("⟨c,w⟩+h(‖w‖), n ≥ 3", _linear_and_radial, ((1, 3), (4, 1)), (3, 5)),
    ("⟨C,W⟩+h(‖W‖), d ≥ 2", _linear_and_radial, ((2, 2), (3, 2)), (2, 3)),
)


@sizes(quick=Settings(loops=3), full=Settings(loops=40))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Line integrals of the field around random parallelograms, against the error of their quadrature.

    Each case takes the largest of several loops, relative to the integral of |field| along it. Where the field is said
    to be a gradient field all loops must vanish. As parallelograms shrink, the integral per area must approach the
    curl, which is computed exactly by differentiating the matrix powers.
    """
    rng = generator(key)
    conservative, circulating = (
        {name: [_loops(rng, make, shape, n, settings.loops) for shape in shapes for n in depths]
         for name, make, shapes, depths in cases} for cases in (GRADIENT_CASES, OTHER_CASES)
    )  # fmt: skip
    vanishing = max(value for rows in conservative.values() for value, _ in rows)
    least = min(value / max(error, EPS) for rows in circulating.values() for value, error in rows)
    panel, rate = _shrinking(rng)
    return Evidence(
        checks=[
            at_least("least circulation over quadrature error, where it is no gradient field", least, 1e3,
                     "a thousand times the error of its own quadrature"),
            at_most("largest relative circulation, where it is one", vanishing, 1e-12,
                    "float64 rounding 2e-16, times the few thousand points of the quadrature"),
            at_least("least slope at which circulation per area approaches the curl", rate, 0.9,
                     "theory: slope at least 1, − 10 %"),
        ],
        numbers={f"least relative circulation, {name}": min(v for v, _ in rows) for name, rows in circulating.items()}
        | {f"largest relative circulation, {name}": max(v for v, _ in rows) for name, rows in conservative.items()},
        protocol={
            "loss": "ridge functions at random; functions of the singular values; ⟨C, W⟩ + h(‖W‖)",
            "network": "depths 1, 2, 3, 5; maps 1×1 … 3×3, 2×4, 1×3, 3×1, 4×1",
            "measure": f"line integrals around {settings.loops} random parallelograms in each case",
        },
        figure=fig.Figure(
            (_cases_panel(circulating, conservative), panel),
            "Cases 1–3 (" + ", ".join(circulating) + ") circulate; cases 4–7 (" + ", ".join(conservative) + ") do not.",
            2,
        ),
        remarks=(
            "The mild conditions exclude something: the field is a gradient field in at least four cases. For n = 1; "
            "for maps 1×1; for losses that are functions of the singular values, at every depth; and for n = 2 with "
            "one output or one input if ℓ(w) = ⟨c, w⟩ + h(‖w‖), which includes the square loss on whitened inputs.",
            "With one output (or one input) and n ≥ 2 there are no others. In polar coordinates w = rθ the field is "
            "the form r^{2−2/n}(n ℓ_r dr + ℓ_θ dθ), which is closed if and only if r ∂_r ℓ_θ = (2/n) ℓ_θ, that is "
            "ℓ = h(r) + r^{2/n} k(θ); ℓ being differentiable at 0, k is linear for n = 2 and constant for n ≥ 3. For "
            "larger maps no such list is claimed.",
        ),
    )  # fmt: skip


def _cases_panel(circulating: dict, conservative: dict) -> fig.Panel:
    """The relative circulation of every case, first those that circulate."""
    marks = []
    for i, rows in enumerate((circulating, conservative)):
        offset = len(circulating) if i else 0
        at = np.concatenate([np.full(len(row), offset + k + 1) for k, row in enumerate(rows.values())])
        values = np.concatenate([[value for value, _ in row] for row in rows.values()])
        marks.append(fig.points(at, np.maximum(values, 1e-18), ("circulates", "gradient field")[i], i))
    return fig.Panel(tuple(marks), "case", "relative circulation", "seven kinds of loss", y_scale="log")


def _loops(
    rng: np.random.Generator, make: Callable, shape: tuple[int, int], n: int, count: int
) -> tuple[float, float]:
    """The largest relative circulation among random parallelograms away from rank deficiency, and its error."""
    gradient, _ = make(rng, shape)

    def field(W: np.ndarray) -> np.ndarray:
        return end_to_end.field(W, gradient(W), n)

    circulations = []
    for _ in range(count):
        corner = 2 * np.eye(*shape) + 0.2 * rng.normal(size=shape)
        A, B = (0.4 * D / np.linalg.norm(D) for D in rng.normal(size=(2, *shape)))
        value, error = circulation.circulation(field, corner, A, B)
        scale = 2 * np.linalg.norm(field(corner)) * (np.linalg.norm(A) + np.linalg.norm(B))
        circulations.append((abs(value) / scale, error / scale))
    return max(circulations)


def _shrinking(rng: np.random.Generator) -> tuple[fig.Panel, float]:
    """Circulation per area against the side of the parallelogram, with the exact curl, at three depths."""
    sides, shape, marks, rates = np.geomspace(1e-3, 1, 13), (2, 3), [], []
    gradient, hvp = _ridge(rng, shape)
    corner, (A, B) = 2 * np.eye(*shape) + 0.3 * rng.normal(size=shape), rng.normal(size=(2, *shape)) / 2
    for i, n in enumerate((2, 3, 5)):

        def field(W: np.ndarray, n: int = n) -> np.ndarray:
            return end_to_end.field(W, gradient(W), n)

        limit = circulation.curl(corner, A, B, gradient, hvp, n)
        per_area = [circulation.circulation(field, corner, side * A, side * B).value / side**2 for side in sides]
        away = np.abs(np.array(per_area) - limit)
        rates.append(slope(sides[:6], away[:6])[0])
        marks += [fig.points(sides, away / abs(limit), f"n = {n}", i)]
    marks.append(fig.reference(sides, sides, "slope 1"))
    return fig.Panel(tuple(marks), "side of the loop", "|circulation/area − curl| / |curl|", "a 2×3 map, logistic",
                     "log", "log"), min(rates)  # fmt: skip
