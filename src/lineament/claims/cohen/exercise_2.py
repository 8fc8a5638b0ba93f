"""Exercise 2: the symmetric product has dynamics of its own, without any balance."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ... import train
from ...core import AbstractModel, Parameter, ensembles
from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ...theory import end_to_end
from ..instances import generator
from ..sizes import sizes
from .networks import LOSSES, gradient_of, random_problem


class Settings(NamedTuple):
    """What is run at each size: pairs of a loss and the number of columns of W; accuracy of the flow, of the equation."""

    cases: tuple[tuple[str, int], ...]
    starts: int
    dimension: int = 4
    until: float = 2.0
    rtol: float = 1e-10
    equation_rtol: float = 1e-13


class _Symmetric(AbstractModel):
    """The network x ↦ WWᵀx with W of the given dimension and width; its parameter is W."""

    dimension: int = eqx.field(static=True)
    width: int = eqx.field(static=True)

    @property
    def shape(self) -> tuple[int, int]:
        return self.dimension, self.dimension

    def layout(self) -> Parameter:
        return Parameter((self.dimension, self.width), self.width, self.dimension)

    def end_to_end(self, parameters: Float[Array, "dimension width"]) -> Float[Array, "dimension dimension"]:
        return parameters @ parameters.T


@sizes(
    quick=Settings((("cross-entropy", 2), ("completion", 4)), starts=4),
    full=Settings(tuple((loss, width) for width in (1, 2, 4, 6) for loss in LOSSES), starts=16),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """The equation for W_s = WWᵀ alone, in NumPy, against gradient flow of W, on losses with unsymmetric gradients.

    W has fewer, as many, or more columns than rows; the gap is relative to ‖W_s‖ at each time. The flow keeps the rank
    of W_s by its form, the equation does not: an error of its solver that raises the rank grows like what is learnt, by
    up to five orders of magnitude here, so that it is solved more accurately by three.
    """
    rng, d = generator(key), settings.dimension
    times = np.linspace(0, settings.until, 41)
    gaps, panels, skew = {}, [], []
    for name, width in settings.cases:
        problem = random_problem(rng, name, (d, d))
        scales = 10 ** rng.uniform(-1.5, 0, size=(settings.starts, 1, 1)) / width**0.5
        starts = rng.normal(size=(settings.starts, d, width)) * scales
        run = train.flow(_Symmetric(d, width), problem, ensembles.Ensemble(jnp.asarray(starts)), times=times,
                         record=("end_to_end",), rtol=settings.rtol, tolerance=0.0)  # fmt: skip
        gradient, measured = gradient_of(problem), run.end_to_end.values
        rtol = settings.equation_rtol
        forecast = np.stack(
            [end_to_end.trajectory_symmetric(times, W @ W.T, gradient, rtol=rtol, atol=1e-4 * rtol) for W in starts]
        )
        gap = np.linalg.norm(measured - forecast, axis=(2, 3)) / np.linalg.norm(measured, axis=(2, 3))
        gaps[f"{name}, {d}×{width}"] = float(gap.max())
        G = gradient(measured[0, 0])
        skew.append(np.linalg.norm(G - G.T) / np.linalg.norm(G))
        panels.append(_panel(times, measured[0], forecast[0], f"{name}, W of {d}×{width}"))
    return Evidence(
        checks=[at_most("worst relative gap between equation and flow of W", max(gaps.values()), 1e-6,
                        "accuracy of the flow's solver, 1e-10, times 10,000 for what adds up")],
        numbers={f"gap, {case}": gap for case, gap in gaps.items()}
        | {"least skew part of ∇ℓ at the start": float(min(skew))},
        protocol={
            "loss": ", ".join(dict.fromkeys(name for name, _ in settings.cases)) + ", on random data",
            "network": f"x ↦ WWᵀx, W of {d} rows and "
            + ", ".join(str(width) for width in dict.fromkeys(width for _, width in settings.cases)) + " columns",
            "start": f"{settings.starts} Gaussian W of scales 0.03 … 1, none of them balanced in any sense",
            "training": f"gradient flow until t = {settings.until:g}",
        },
        figure=fig.Figure(
            tuple(panels[:2]), "The equation for Wₛ (dark) gives what gradient flow of W does (colour).", 2
        ),
        remarks=("Only the symmetric part of ∇ℓ enters, and nothing has to be balanced or square.",),
    )  # fmt: skip


def _panel(times: np.ndarray, measured: np.ndarray, forecast: np.ndarray, title: str) -> fig.Panel:
    """The entries of W_s on and below its diagonal."""
    lower = list(zip(*np.tril_indices(measured.shape[-1]), strict=True))
    marks = [fig.measured(times, measured[:, i, j], "" if k else "layers", k) for k, (i, j) in enumerate(lower)]
    marks += [fig.theory(times, forecast[:, i, j], "" if k else "equation for Wₛ") for k, (i, j) in enumerate(lower)]
    return fig.Panel(tuple(marks), "time t", "entries of Wₛ", title)
