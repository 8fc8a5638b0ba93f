"""Deep diagonal classifiers find the sparse truth: Figure 6."""

import jax
import numpy as np

from ...evidence import Evidence
from ..sizes import sizes
from . import classification
from .classification import Settings


@sizes(
    quick=Settings((1, 2, 3), (1.0, 1e-1, 1e-3), 6, 1e-2, 100_000),
    full=Settings((1, 2, 3, 4, 5), (1.0, 1e-1, 1e-2, 1e-3, 1e-4), 100, 1e-2, 100_000),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Gradient descent until the loss is below 0.01, from several scales and at several depths.

    The correlation is the cosine of σ with the truth. Descent stops long before it has the largest margin, so that
    depth 1 must only end near that of the max-margin separator through the origin: within a quarter of the distance
    from there to the best network. Deeper ones must end above it at every start, and the higher the smaller the start,
    by three standard errors over repeats; from one start to the next smaller one, where the correlation has come close
    to 1, it must not fall by as much. At depth 1 the two halves cancel, and the start does not matter.
    """
    comparison = classification.compare(classification.diagonal, classification.sparse_truth(), settings, key)
    return Evidence(
        checks=[*classification.depth_checks(comparison), *classification.start_checks(comparison)],
        numbers=classification.numbers(comparison, settings),
        protocol=classification.protocol(
            settings, "diagonal, σ = w₊^N − w₋^N", "equal weights", "4 non-zero weights, ∝ 8, 4, 2, 1"
        ),
        figure=classification.figure(comparison, settings, np.abs, "largest weights |σ|"),
        remarks=(
            "The grid of starts is not given in the paper and is ours.",
            classification.on_divergence(comparison, settings),
        ),
    )
