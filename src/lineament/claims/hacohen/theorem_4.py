"""Theorem 4: under Definition 3 the spread of the gradient scale matrices falls as one over the width."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np

from ...evidence import Evidence, at_most, within
from ...evidence import figure as fig
from ...theory import pc_bias
from ..instances import generator, slope
from ..sizes import sizes
from .scales import LAWS, draw, scales_of

UNEVEN = (0, 3, 1, 2)  # hidden widths m, m + 3, m + 1, m + 2


class Settings(NamedTuple):
    """What is run at each size.

    Attributes:
        widths: The least hidden width m.
        starts: At most so many.
        work: Starts times m^1.5: more of them where networks are narrow.
        depths: L.
        inputs: q.
        outputs: K.
        laws: Of the entries.
    """

    widths: tuple[int, ...]
    starts: int
    work: float
    depths: tuple[int, ...] = (2, 3, 5)
    inputs: int = 6
    outputs: int = 4
    laws: tuple[str, ...] = ("normal", "uniform")


@sizes(
    quick=Settings(widths=(16, 32, 64, 128, 256), starts=1200, work=1.3e6),
    full=Settings(widths=(16, 32, 64, 128, 256, 512, 1024), starts=4000, work=1.3e7),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Variances of the entries of A_l and B_l over many starts of Definition 3 at rising width, on and off the diagonal.

    Hidden widths m, m + 3, m + 1, …, depths 2, 3 and 5, normal and uniform entries. The slope against the least width m
    must be −1, and the variances must agree with the exact ones, which theory finds by a recursion of fourth moments.
    """
    rng = generator(key)
    cases = [(depth, law) for depth in settings.depths for law in settings.laws]
    tables = {case: _variances(rng, settings, *case) for case in cases}  # measured, exact: (width, kind, layer)
    rates = [
        slope(settings.widths, measured[:, i, j])[0]
        for measured, _ in tables.values()
        for i in range(measured.shape[1])
        for j in range(measured.shape[2])
    ]
    gaps = np.concatenate([np.abs(measured / exact - 1).max(axis=(0, 2)) for measured, exact in tables.values()])
    bar = (-1.15, -0.85, "theory: slope −1 ± 15 %")
    return Evidence(
        checks=[
            within("least slope of a variance against the width", min(rates), *bar),
            within("largest slope of a variance against the width", max(rates), *bar),
            at_most("worst relative gap to the exact variance", float(np.max(gaps)), 0.2,
                    "theory: exact; 20 % is four standard errors of a variance over the fewest starts"),
        ],
        numbers={"mean slope": float(np.mean(rates)), "median relative gap": float(np.median(gaps))},
        settings={"starts at the largest width": _count(settings, settings.widths[-1])},
        protocol={
            "network": f"linear, L = {', '.join(map(str, settings.depths))}, hidden widths m to m + 3, "
            f"m = {settings.widths[0]} … {settings.widths[-1]}",
            "start": f"Definition 3, {' and '.join(settings.laws)} entries",
            "measure": "variances over starts of the entries of A_l and B_l, on and off the diagonal",
        },
        figure=fig.Figure(
            tuple(_spread_panel(settings, tables[depth, settings.laws[0]][0], depth) for depth in settings.depths),
            f"Variances of the entries of A and B fall as m^{np.mean(rates):.2f} in the mean, with a constant that "
            f"grows "
            "with the number of factors.",
            3,
        ),
    )  # fmt: skip


def _count(settings: Settings, m: int) -> int:
    return int(min(settings.starts, settings.work / m**1.5))


def _variances(rng: np.random.Generator, settings: Settings, depth: int, law: str) -> tuple[np.ndarray, np.ndarray]:
    """Measured and exact variances of A and B on and off the diagonal, each (width, kind, layer)."""
    measured, exact = [], []
    for m in settings.widths:
        widths = (settings.inputs, *(m + UNEVEN[i] for i in range(depth - 1)), settings.outputs)
        variances = pc_bias.isometric_variances(widths)
        A, B = _chunked(rng, widths, variances, law, _count(settings, m))
        measured.append([*_spread(A[:-1]), *_spread(B[1:])])
        theory = pc_bias.scale_variances(widths, variances, LAWS[law][1])
        exact.append([theory.A_diagonal[:-1], theory.A_off[:-1], theory.B_diagonal[1:], theory.B_off[1:]])
    return np.array(measured), np.array(exact)


def _chunked(
    rng: np.random.Generator, widths: Sequence[int], variances: np.ndarray, law: str, count: int
) -> tuple[np.ndarray, np.ndarray]:
    chunk = max(1, int(4e6 / max(widths) ** 2))
    parts = [
        scales_of(draw(rng, widths, variances, law, min(chunk, count - begin))) for begin in range(0, count, chunk)
    ]
    return np.concatenate([p[0] for p in parts], axis=1), np.concatenate([p[1] for p in parts], axis=1)


def _spread(scales: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean variance over starts of the entries on the diagonal, and off it, each (layer,)."""
    variance = scales.var(axis=1, ddof=1)
    on = np.eye(variance.shape[-1], dtype=bool)
    return variance[:, on].mean(axis=1), variance[:, ~on].mean(axis=1)


def _spread_panel(settings: Settings, measured: np.ndarray, depth: int) -> fig.Panel:
    """The variances of A₁ and of the last B, which have most factors, and the exact ones for equal widths."""
    grid = settings.widths
    names = ("A₁ diagonal", "A₁ off diagonal", "last B diagonal", "last B off diagonal")
    marks = [fig.points(grid, measured[:, i, 0 if i < 2 else -1], names[i], i) for i in range(4)]
    fine = np.unique(np.geomspace(9, 1.4 * grid[-1], 40).astype(int))
    exact = []
    for m in map(int, fine):
        widths = (settings.inputs, *(m,) * (depth - 1), settings.outputs)
        exact.append(pc_bias.scale_variances(widths, pc_bias.isometric_variances(widths)))
    lines = [[e.A_diagonal[0] for e in exact], [e.A_off[0] for e in exact]]
    marks += [fig.theory(fine, line, "exact, equal widths") for line in lines]
    return fig.Panel(tuple(marks), "width m", "variance of an entry", f"L = {depth}", "log", "log")
