"""Deep matrix sensing moves each singular value as one scalar mode: Theorem 4."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems, starts, train
from ...core import ensembles
from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ...theory import modes, units
from ..instances import generator, rotation
from ..sizes import sizes

BAR = 1e-6


class Settings(NamedTuple):
    """Depths, how many targets at each, and the size d of the matrices."""

    depths: tuple[int, ...]
    targets: int
    dimension: int


class Flow(NamedTuple):
    """Singular values along the flow (target, time, mode), their forecast, and the worst share off the directions."""

    time: np.ndarray
    measured: np.ndarray
    forecast: np.ndarray
    outside: float
    start: float


@sizes(quick=Settings((2, 3, 5), 4, 6), full=Settings((1, 2, 3, 4, 5, 6, 8), 24, 12))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Gradient flow of full matrices from the identity, against the closed solution of each mode.

    Targets are dense, positive semi-definite, with random spectra, among them repeated values and zeros. What is
    measured are the singular values of the product; directions are checked too, by the share of the product outside
    the target's eigenvectors.
    """
    rng = generator(key)
    flows = [_flow(rng, settings, depth) for depth in settings.depths]
    worst = [float(np.max(np.abs(flow.measured / flow.forecast - 1))) for flow in flows]
    origin = "the integrator's 1e-10 for a step, and fewer than 10⁴ steps"
    panels = [_panel(flow, depth) for flow, depth in zip(flows, settings.depths, strict=True)]
    return Evidence(
        checks=[
            at_most("worst relative gap of a singular value", max(worst), BAR, origin),
            at_most(
                "share of the product outside the target's eigenvectors", max(flow.outside for flow in flows), BAR, origin
            ),
        ],
        numbers={f"gap at N = {depth}": gap for depth, gap in zip(settings.depths, worst, strict=True)},
        protocol={
            "model": f"product of N square matrices, d = {settings.dimension}",
            "target": "positive semi-definite, dense, with repeated values and a zero",
            "start": "a multiple of the identity in every layer, σ0 from 1e-4 to 1e-1",
            "loss": "depth-normalised squared loss over all Gaussian measurements",
            "optimiser": "gradient flow",
            "depth": ", ".join(map(str, settings.depths)),
        },
        figure=fig.Figure(
            tuple(panels[:4]),
            f"Every singular value of the deep product (colour) moves as one scalar mode (thin line), to "
            f"{max(worst):.0e} at worst.",
            min(len(panels), 4),
        ),
    )  # fmt: skip


def _flow(rng: np.random.Generator, settings: Settings, depth: int) -> Flow:
    members, d = settings.targets, settings.dimension
    spectra = np.sort(10 ** rng.uniform(-0.5, 0.7, (members, d)), axis=1)[:, ::-1].copy()
    spectra[:, -1] = 0.0  # rank deficient
    spectra[1::2, 1] = spectra[1::2, 0]  # repeated
    Q = np.stack([rotation(rng, d) for _ in range(members)])
    targets = np.einsum("mij,mj,mkj->mik", Q, spectra, Q)
    first = 10 ** rng.uniform(-4, -1, members)
    model = models.DeepLinear((d,) * (depth + 1))
    start = ensembles.ensemble(lambda s: starts.identity(model, s), jnp.asarray(first))
    end = float(np.max(modes.time_to(0.999 * spectra[:, :-1], spectra[:, :-1], first[:, None], depth)))
    time = np.linspace(0, end, 200)
    run = train.flow(
        model,
        ensembles.stack([problems.whitened(target) for target in targets]),
        start,
        times=time / units.clock_rate(depth),
        record=("end_to_end",),
        rtol=1e-10,
        tolerance=0.0,
    )
    maps = run.end_to_end.values
    forecast = modes.trajectory(time[:, None], spectra[:, None, :], first[:, None, None], depth)
    rotated = np.einsum("mji,mtjk,mkl->mtil", Q, maps, Q)
    across = rotated - np.einsum("mtii->mti", rotated)[..., None] * np.eye(d)
    outside = float(np.max(np.linalg.norm(across, axis=(2, 3)) / np.linalg.norm(maps, axis=(2, 3))))
    measured = np.linalg.svd(maps, compute_uv=False)
    return Flow(time, measured, np.sort(forecast, axis=-1)[..., ::-1], outside, first[0])


def _panel(flow: Flow, depth: int) -> fig.Panel:
    measured, forecast = flow.measured[0], flow.forecast[0]
    marks = [fig.measured(flow.time, measured[:, i], "", i) for i in range(measured.shape[1])]
    marks += [fig.theory(flow.time, forecast[:, i]) for i in range(measured.shape[1])]
    return fig.Panel(tuple(marks), "time t", "singular values", f"N = {depth}, σ₀ = {flow.start:.1e}")
