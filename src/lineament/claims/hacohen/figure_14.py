"""Figure 14: images with some of their principal components amplified."""

from typing import NamedTuple

import jax
import numpy as np

from ... import data
from ...data.tasks import Task
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ..sizes import sizes
from ..stand_in import judged
from .pictures import correlations, drawn_rows, images, strip


class Settings(NamedTuple):
    """What is run."""

    data: str
    share: float
    factor: float


@sizes(quick=Settings("photographs", 0.015, 10.0), full=Settings("small-mammals", 0.015, 10.0))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """The highest or the lowest 1.5 % of the components amplified tenfold, then every channel normalised.

    The paper says that the factor is significantly smaller than the ratio of the first to the last singular value:
    the ratio must be at least a hundred times the factor. Then the last components stay small even when amplified: a
    test image must still correlate with itself at 0.9 or more, and less so when the first are amplified, which hide
    what is fine in it. At full size everything is measured on small mammals, and drawn on patches of photographs.
    """
    task = images(settings.data, key)
    components = data.fit(task.X)
    parts = {"first": components.highest(settings.share), "last": components.lowest(settings.share)}
    alike = {
        name: correlations(task.tests, _amplified(task.tests, task, components, part, settings.factor))
        for name, part in parts.items()
    }
    rows = drawn_rows(task, settings.data, key)
    number = parts["first"].stop
    shown = [("test images" if settings.data == "photographs" else "photographs", rows)]
    for name, part in parts.items():
        changed = _amplified(rows, task, components, part, settings.factor)
        shown.append((f"{name} {number} components × {settings.factor:g}", changed))
    d, last, first = components.variances, float(alike["last"].mean()), float(alike["first"].mean())
    caption = (
        f"Amplified first components blur the images (r = {first:.2f} with the original); amplified last "
        f"components, tiny "
        f"before, leave them as they are (r = {last:.2f})."
    )
    return Evidence(
        checks=judged(
            [
                at_least(
                    "d₁/d_q over the factor",
                    d[0] / d[-1] / settings.factor,
                    100,
                    "“significantly smaller”: a hundredth",
                ),
                at_least(
                    "mean correlation with the original, last amplified",
                    last,
                    0.9,
                    "nine tenths, set before these runs",
                ),
                at_most(
                    "the same, first amplified, over last amplified",
                    first / last,
                    1,
                    "the order that the pictures show",
                ),
            ],
            settings.data,
        ),
        numbers={"d₁/d_q": float(d[0] / d[-1]), "correlation with the original, first amplified": first},
        settings=task.sizes | {"components": components.count},
        protocol={
            "data": task.name,
            "amplified": f"{settings.share:.1%} of the components, by {settings.factor:g}",
            "measure": "correlation over pixels of a test image with its changed self",
        },
        figure=fig.Figure(tuple(fig.Panel((fig.image(strip(x, task), label),)) for label, x in shown), caption, 3),
    )


def _amplified(rows: np.ndarray, task: Task, components: data.Components, part: slice, factor: float) -> np.ndarray:
    changed = [components.amplify(X, part, factor).reshape(-1, *task.image) for X in (task.X, rows)]
    return data.normalise_channels(*changed)[1].reshape(rows.shape)
