"""Theorem D.1 (Section 3.3): with both layers training, a network follows its twin up to T, better as d grows."""

from typing import NamedTuple

import jax
import numpy as np

from ...evidence import Evidence
from ...evidence import figure as fig
from ..instances import generator
from ..sizes import sizes
from .rates import EIGHTH, EXAMPLES, NARROW, WIDE, against, along, falling, flat, gaps, kinds, rate, sweep

HALF = (0.5, 0.0)  # η = 1/2 at every d
MORE_EXAMPLES = (4.0, 1.5)


class Settings(NamedTuple):
    """What is run at each size.

    Attributes:
        erf: The dimensions d of erf networks; those of one group run as one program.
        relu: The same of ReLU networks.
        erf_copies: Networks of each law at each d.
        relu_copies: The same of ReLU networks.
        uneven: η2/η1 of the networks whose layers have different steps.
    """

    erf: tuple[tuple[int, ...], ...]
    relu: tuple[tuple[int, ...], ...]
    erf_copies: int
    relu_copies: int
    uneven: float = 0.25


@sizes(
    quick=Settings(erf=((8, 16, 32),), relu=((6, 11), (20,)), erf_copies=3, relu_copies=3),
    full=Settings(erf=((16,), (32,), (64,), (128,)), relu=((8,), (16,), (32,), (64,)), erf_copies=6, relu_copies=2),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Erf networks with m = 4d^{5/4}, n = 2d^{3/2}, η = d/8, and ReLU ones with m = d^{9/4}, n = 4d^{3/2}, η = 1/2.

    Laws, fits and gaps as for Theorem 3.2; the conditions are those of Theorem 3.5, since the kernels add. Networks with
    η1 ≠ η2 (erf, η2 = η1/4) are set against the twin of the weighted kernels.
    """
    rng = generator(key)
    erf_d, relu_d = flat(settings.erf), flat(settings.relu)
    laws = kinds(width=NARROW, examples=EXAMPLES, step_size=EIGHTH)
    uneven = [law._replace(second=settings.uneven) for law in laws[:2]]
    erf = sweep(rng, settings.erf, (*laws, *uneven), activation="erf", trains=(True, True), copies=settings.erf_copies)
    asked = kinds(width=WIDE, examples=MORE_EXAMPLES, step_size=HALF)
    relu = sweep(rng, settings.relu, asked, activation="relu", trains=(True, True), copies=settings.relu_copies)
    alike, weighted = np.split(gaps(erf), [3], axis=2)
    tables = {"erf": (erf_d, alike), "ReLU": (relu_d, gaps(relu)), "erf, η2 = η1/4": (erf_d, weighted)}
    checks, numbers = [], {}
    for name, (d, table) in tables.items():
        further, slopes = falling(name, d, table)
        checks, numbers = checks + further, numbers | slopes
    return Evidence(
        checks=checks,
        numbers=numbers,
        settings={"d, erf": erf_d, "d, ReLU": relu_d},
        protocol={
            "inputs": "white Gaussian; Gaussian with eigenvalues of Σ from ½ to 3/2; corners of the cube",
            "labels": "±1: of a teacher, of a teacher with non-zero mean, of pure chance",
            "activation": "erf (ϑ0 = 0) and ReLU (ϑ0 ≠ 0)",
            "width": "m = 4d^1.25 (erf), d^2.25 (ReLU)",
            "examples": "n = 2d^1.5 (erf), 4d^1.5 (ReLU)",
            "step size": "η1 = η2 = d/8 (erf), 1/2 (ReLU); η2 = η1/4 beside it",
            "time": "t ≤ T = d log d/η, so c = 1",
        },
        figure=fig.Figure(
            (
                along(erf, erf_d, "erf along the run"),
                along(relu, relu_d, "ReLU along the run"),
                against(erf_d, {"erf": alike[1], "η2 = η1/4": weighted[1]}, "erf, fresh examples"),
                against(relu_d, dict(zip(("training", "fresh"), gaps(relu), strict=True)), "ReLU"),
            ),
            f"With both layers training the gap on fresh examples goes as d^{rate(erf_d, alike[1])[0]:.2f} for erf, "
            f"as d^{rate(relu_d, gaps(relu)[1])[0]:.2f} for ReLU.",
            2,
        ),
        remarks=[
            "The ReLU slope on training examples is the least certain: with one network for each law and size, not "
            "several, its interval reaches above 0 on some seeds.",
        ],
    )  # fmt: skip
