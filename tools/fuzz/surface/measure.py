"""A valid call of every function of `measure`."""

import importlib

import jax.numpy as jnp
import numpy as np

from lineament import models, starts
from lineament.measure import compact, kernels, order

from . import Call, Is, call
from .theory import EYE, ONE, SCORES, TARGET, X

CHOSEN = {"predictions": Is("classes", [[0, 1], [1, 1]]), "labels": Is("classes", [1, 1])}
VALID = {
    "agreement.linear_phase": {"steps": [0.0, 1.0], "network": ONE, "twin": ONE, "threshold": 0.02, "scale": 1.0},
    "agreement.relative_mse": {"network": ONE, "twin": ONE, "scale": 1.0},
    "agreement.split": {"values": X.T, "features": X[:, :1]},
    "agreement.split_mse": {"values": X.T, "features": X[:, :1]},
    "critical.critical_frequency": CHOSEN | {"frequencies": [0.0, 1.0]},
    "critical.critical_pc": CHOSEN | {"sizes": [1.0, 2.0]},
    "critical.linear_predictions": {"weights": TARGET, "coordinates": X, "sizes": (1, 2), "offset": [0.0, 0.0]},
    "jumps.jump_times": {"times": [0.0, 1.0], "path": ONE, "points": EYE},
    "jumps.share_along": {"W": EYE, "direction": [1.0, 0.5]},
    "neighbours.neighbours": {"features": X, "k": 2},
    "order.accessibility": {"correct": Is("classes", np.ones((1, 1, 3), bool))},
    "order.constancy": {
        "a": SCORES, "b": SCORES[::-1], "confidence": 0.9, "method": "bootstrap", "resamples": 3, "seed": 0,
    },
    "order.discriminability": {"features": X, "labels": Is("classes", [0, 1, 0, 1, 0, 1]), "k": 2},
    "order.fastest": {"score": SCORES, "share": 0.5},
    "order.group_means": {"score": SCORES, "by": [1.0, 1.0, 2.0, 2.0]},
    "order.moving_average": {"values": SCORES, "width": 2},
    "neurons.concentration": {"W": jnp.asarray(TARGET), "weights": jnp.ones(2)},
    "neurons.cosines": {"W": jnp.asarray(TARGET), "others": jnp.asarray(ONE)},
    "neurons.directions": {"W": jnp.asarray(TARGET)},
    "neurons.effective_directions": {"W": jnp.asarray(TARGET), "weights": jnp.ones(2)},
    "neurons.spread": {"W": jnp.asarray(TARGET), "weights": jnp.ones(2)},
    "spectra.singular_values": {"W": jnp.asarray(TARGET)},
    "spectra.frobenius_norm": {"W": jnp.asarray(TARGET)},
    "spectra.nuclear_norm": {"W": jnp.asarray(TARGET)},
    "spectra.spectral_norm": {"W": jnp.asarray(TARGET)},
    "spectra.effective_rank": {"W": jnp.asarray(TARGET)},
    "spectra.stable_rank": {"W": jnp.asarray(TARGET)},
    "spectra.numerical_rank": {"W": jnp.asarray(TARGET), "threshold": 0.1},
    "alignment.alignment": {"W": jnp.asarray(TARGET), "target": jnp.asarray(ONE)},
    "alignment.mode_strengths": {"W": jnp.asarray(TARGET), "target": jnp.asarray(ONE)},
    "balance.conserved": {"layers": [jnp.asarray(EYE), jnp.asarray(ONE)]},
    "balance.unbalancedness": {"layers": [jnp.asarray(EYE), jnp.asarray(ONE)]},
}  # fmt: skip


def calls() -> dict[str, Call]:
    """By name."""
    found = {
        name: call(
            getattr(importlib.import_module(f"lineament.measure.{name.split('.')[0]}"), name.split(".")[1]), **given
        )
        for name, given in VALID.items()
    }
    net = models.DeepLinear((2, 2))
    parameters = starts.identity(net, 1.0)
    found["kernels.empirical"] = call(
        kernels.empirical,
        model=Is("maker", net),
        parameters=Is("any", parameters),
        x=X,
        y=X,
        outputs="all",
        memory=1e6,
    )
    found["kernels.spectrum"] = call(kernels.spectrum, kernel=EYE)
    found["compact.compact"] = call(
        compact.compact,
        map=lambda rows: rows @ TARGET,
        inputs=2,
        components=Is("object", _components()),
        batch=3,
        dtype=Is("any", float),
    )
    found["compact.tangent"] = call(compact.tangent, map=lambda rows: rows @ TARGET, at=X[0])
    found["compact.activation_free"] = call(compact.activation_free, model=models.MLP((2, 3, 2)))
    found["compact.principal"] = call(compact.principal, weights=TARGET, components=Is("object", _components()))
    found["order.Accessibility"] = call(order.Accessibility, examples=3)
    found["order.Accessibility.add"] = call(order.Accessibility(3).add, correct=np.ones((1, 1, 3), bool))
    found["order.Accessibility.merge"] = call(order.Accessibility(3).merge, other=order.Accessibility(3))
    return {f"measure.{name}": made for name, made in found.items()}


def _components():
    from lineament import data

    return data.fit(X)
