"""Proposition 2: the unbalancedness magnitude is constant along gradient flow."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, starts, train
from ...core import ensembles
from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ..instances import generator
from ..sizes import sizes
from .networks import random_problem
from .unbalanced import WEIGHT, unbalanced_ensemble


class Settings(NamedTuple):
    """What is run at each size."""

    shapes: tuple[tuple[int, ...], ...]
    members: int
    until: float = 30.0
    rtol: float = 1e-9


@sizes(
    quick=Settings(((3, 4, 3), (4, 6, 5, 5)), members=6),
    full=Settings(((3, 4, 3), (4, 6, 5, 5), (5,) * 6, (6, 9, 8, 9, 8, 9, 4)), members=32),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Networks of several depths, from nearly balanced to strongly unbalanced, until long after learning.

    The change is taken relative to the largest squared layer norm, to which a nearly balanced start is compared too.
    """
    rng = generator(key)
    times = np.r_[0, np.geomspace(1e-2, settings.until, 200)]
    panels, worst = [], {}
    for widths in settings.shapes:
        model = models.DeepLinear(widths)
        problem = random_problem(rng, "square", (widths[-1], widths[0]))
        run = train.flow(model, problem, _starts(model, key, settings.members), times=times,
                         record=("unbalancedness", WEIGHT), rtol=settings.rtol, tolerance=0.0)  # fmt: skip
        magnitude = run.unbalancedness.values
        change = np.abs(magnitude - magnitude[:, :1]) / run.weight.values
        worst[f"n = {model.depth}"] = float(change.max())
        marks = [fig.measured(times[1:], np.maximum(row[1:], 1e-17), "", i) for i, row in enumerate(magnitude[:6])]
        marks += [fig.theory(times[[1, -1]], [row[0], row[0]]) for row in magnitude[:6]]
        panels.append(fig.Panel(tuple(marks), "time t", "unbalancedness", f"widths {widths}", "log", "log"))
    return Evidence(
        checks=[
            at_most("worst relative change of the unbalancedness magnitude", max(worst.values()), 1e-6,
                    "solver's relative accuracy 1e-9, times 1000 for what adds up over a run")
        ],
        numbers={f"change at {name}": value for name, value in worst.items()},
        protocol={
            "loss": "square loss on random, correlated inputs",
            "network": ", ".join(map(str, settings.shapes)),
            "start": f"{settings.members} each, from a millionth of a random unbalance to all of it",
            "training": f"gradient flow until t = {settings.until:g}",
        },
        figure=fig.Figure(
            tuple(panels), "From nearly balanced to far from it, unbalancedness (colour) stays where it began.", 2
        ),
    )  # fmt: skip


def _starts(model: models.DeepLinear, key: jax.Array, count: int) -> ensembles.Ensemble:
    """Balanced layers plus ever more of unbalanced ones."""
    mixing = jnp.asarray(10 ** np.linspace(-6, 0, count))
    near = starts.balanced(model, key, start_scale=0.3)
    rough = unbalanced_ensemble(model, key, count)
    return ensembles.Ensemble(
        tuple(b[None] + mixing[:, None, None] * r for b, r in zip(near, rough.stacked, strict=True))
    )
