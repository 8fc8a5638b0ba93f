"""Silent alignment: small networks turn to the target before the loss moves, large ones do not."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems, train
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ...measure import jumps
from ...theory import silent_alignment
from ..instances import generator
from ..sizes import sizes

INPUTS, HIDDEN, RECORDS = 8, 16, 800
MOVED, EARLY = 0.05, 0.01
LAYERS = (
    "end_to_end",
    train.Record("first", lambda model, problem, layers: layers[0], ("h", "i")),
)


class Settings(NamedTuple):
    """How many random starts of each size."""

    starts: int


@sizes(quick=Settings(4), full=Settings(40))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Flow of two linear layers on white inputs from Gaussian starts of three sizes.

    Measured are the share of the first layer along the target over time, and that share when the loss has fallen by 5 %.
    """
    rng = generator(key)
    worst, learnt, aligned = 0.0, 0.0, {scale: [] for scale in (1e-4, 1e-2, 1.0)}
    drawn: dict[float, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = {}
    for _ in range(settings.starts):
        beta = rng.standard_normal(INPUTS)
        beta *= 2 / np.linalg.norm(beta)
        W, a = rng.standard_normal((HIDDEN, INPUTS)) / np.sqrt(HIDDEN), rng.standard_normal(HIDDEN) / np.sqrt(HIDDEN)
        for scale in aligned:
            time, share, along, loss = _run(scale * W, scale * a, beta, scale)
            expected = silent_alignment.early(time, scale * W, scale * a, beta)
            if scale == 1e-4:
                silent = expected.learnt <= EARLY
                worst = max(worst, float(np.abs(share - expected.alignment)[silent].max()))
                grown = silent & (expected.learnt > EARLY / 100)
                learnt = max(learnt, float(np.abs(along / expected.learnt - 1)[grown].max()))
            aligned[scale].append(float(share[np.argmax(loss <= (1 - MOVED) * loss[0])]))
            drawn.setdefault(scale, (time, share, loss / loss[0], expected.alignment))
    return Evidence(
        checks=[
            at_most(
                "worst gap of the alignment until 1 % is learnt",
                worst,
                2 * EARLY,
                "the flow is linear up to the share of the target that the map holds",
            ),
            at_most(
                "worst relative gap of what is learnt, from 0.01 % to 1 %",
                learnt,
                2 * EARLY,
                "the flow is linear up to that share",
            ),
            at_least(
                "least alignment when the loss has fallen by 5 %, start 1e-4",
                min(aligned[1e-4]),
                0.999,
                "what is orthogonal is (1e-4)² of what is learnt, over a few hundredths",
            ),
            at_most(
                "largest alignment then, start 1",
                max(aligned[1.0]),
                0.9,
                "a large start need not turn: its kernel is that of the start",
            ),
        ],
        numbers={f"mean alignment, start {scale:g}": float(np.mean(found)) for scale, found in aligned.items()},
        settings={"inputs, hidden": (INPUTS, HIDDEN)},
        protocol={
            "network": f"two linear layers, {INPUTS} inputs, {HIDDEN} hidden units, one output",
            "data": "white inputs, a random target of length 2",
            "start": "Gaussian, 1e-4, 1e-2 and 1 times one of order 1",
            "optimiser": "gradient flow",
            "measure": "share of the first layer along the target",
        },
        figure=_figure(drawn),
    )


def _run(W: np.ndarray, a: np.ndarray, beta: np.ndarray, scale: float) -> tuple[np.ndarray, ...]:
    """Times, share of the first layer along the target, share of the target that the map holds, and loss."""
    size = float(np.linalg.norm(beta))
    model = models.DeepLinear((INPUTS, HIDDEN, 1))
    times = np.linspace(0, (np.log(10 / min(scale, 1.0)) + 3) / size, RECORDS)
    run = train.flow(
        model, problems.whitened(jnp.asarray(beta[None])), (jnp.asarray(W), jnp.asarray(a[None])), times=times,
        record=LAYERS, tolerance=0.0,
    )  # fmt: skip
    maps = np.asarray(run.end_to_end.values)[:, 0]
    share = jumps.share_along(np.asarray(run["first"].values), beta)
    return times, share, maps @ beta / size**2, 0.5 * np.sum((maps - beta) ** 2, axis=1)


def _figure(drawn: dict[float, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]) -> fig.Figure:
    panels = []
    for scale, (time, share, loss, expected) in drawn.items():
        valid = loss > 1 - MOVED
        marks = [
            fig.measured(time, share, "share along the target", 0),
            fig.measured(time, loss, "loss / first loss", 1),
            fig.theory(time[valid], expected[valid], "forecast while silent"),
        ]
        panels.append(fig.Panel(tuple(marks), "time", "share", f"start {scale:g}", y_limits=(-0.05, 1.3)))
    return fig.Figure(
        tuple(panels), "A small start turns to the target before its loss moves; a large one learns unaligned.", 3
    )
