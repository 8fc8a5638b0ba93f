"""Instances with a certificate of convergence, as one ensemble: for Theorem 2 and Remark 2."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from ... import problems
from ...core import ensembles
from ...theory import certificates as theory
from ...theory import layers as layers_theory


class Instance(NamedTuple):
    """A strongly convex loss ½ tr (W − target) Σxx (W − target)ᵀ and layers to begin with."""

    sxx: np.ndarray
    target: np.ndarray
    layers: layers_theory.Layers
    certificate: theory.Certificate


def stack(instances: list[Instance]) -> tuple[ensembles.Ensemble, ensembles.Ensemble]:
    """The instances as one ensemble of problems and one of starts."""
    problem = ensembles.ensemble(
        lambda sxx, target: problems.Regression(sxx, target, jnp.zeros(())),
        jnp.asarray(np.stack([i.sxx for i in instances])),
        jnp.asarray(np.stack([i.target for i in instances])),
    )
    start = tuple(jnp.asarray(np.stack(W)) for W in zip(*(i.layers for i in instances), strict=True))
    return problem, ensembles.Ensemble(start)
