"""A valid call of everything that sets up and runs a training: models, problems, starts, flows and descents."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import optax

import lineament as la
from lineament import models, problems, starts, train
from lineament.core import ensembles, keys, model, run
from lineament.models import activations
from lineament.problems import base
from lineament.train import noise, records

from . import Call, Is, call
from .theory import EYE, TARGET, X, Y

NET = models.DeepLinear((2, 2))
LABELS = [0, 1, 0, 1, 0, 1]
SIGNS = [1.0, -1.0, 1.0, -1.0, 1.0, 1.0]


def calls() -> dict[str, Call]:
    """By name."""
    return {**_models(), **_problems(), **_starts(), **_training()}


def _models() -> dict[str, Call]:
    image = {"image": (4, 4, 1), "filters": (2,), "dense": (2,)}
    net = {"activation": "relu", "parameterisation": "standard", "bias": True}
    return {
        "core.model.Parameter": call(
            model.Parameter, shape=(2, 2), fan_in=2, fan_out=2, kind=Is("any", "weight"), gain=Is("any", 1.0)
        ),
        "core.keys.as_key": call(keys.as_key, key=Is("key", 0)),
        "core.ensembles.Ensemble": call(ensembles.Ensemble, stacked=Is("any", jnp.ones((3, 2)))),
        "core.ensembles.ensemble": call(_ensemble, make=lambda scale: (jnp.sum(scale) * jnp.eye(2),), axes=jnp.ones(3)),
        "core.ensembles.stack": call(ensembles.stack, members=Is("any", [(jnp.eye(2),), (jnp.eye(2),)])),
        "models.activations.activation": call(activations.activation, name="relu"),
        "models.linear.DeepLinear": call(models.DeepLinear, widths=(2, 2)),
        "models.diagonal.Diagonal": call(models.Diagonal, features=3, depth=2.0, shared=True, signed=False),
        "models.circular.Circular": call(models.Circular, length=4, depth=2),
        "models.quadratic.Quadratic": call(models.Quadratic, inputs=2, bias=True),
        "models.tensor.CP": call(models.CP, sizes=(2, 2, 2), components=3),
        "models.tensor.TreeTensor": call(models.TreeTensor, sizes=(2, 2, 2, 2), width=2),
        "models.conv.Conv": call(models.Conv, **image, kernel=3, depth=1),
        "models.two_layer.TwoLayer": call(models.TwoLayer, inputs=2, hidden=3, activation="relu", outputs=1),
        "models.mlp.MLP": call(models.MLP, widths=(2, 3, 1), **net, dropout=0.1),
        "models.convnet.ConvNet": call(
            models.ConvNet, **image, kernels=Is("count", 3), pooled=(0,), pooling="max", padding="zero",
            readout="flatten", **net, pooled_dropout=0.1, dense_dropout=0.1,
        ),
        "models.convnet.st_vgg": call(models.st_vgg, classes=2, activation="elu", image=(16, 16, 3), dropout=True),
        "models.convnet.vgg19": call(
            models.vgg19, classes=2, activation="relu", image=(32, 32, 3), hidden=(8,), dropout=True
        ),
        "models.mirrored.Mirrored": call(models.Mirrored, plain=models.MLP((2, 3, 1))),
    }  # fmt: skip


def _ensemble(make, axes):
    return ensembles.ensemble(make, axes)


def _problems() -> dict[str, Call]:
    return {
        "problems.base.predict": call(base.predict, map=jnp.asarray(TARGET), X=jnp.asarray(X)),
        "problems.regression.regression": call(problems.regression, X=X, Y=Y),
        "problems.regression.regression_from_moments": call(
            problems.regression_from_moments, sxx=EYE, syx=TARGET, syy=TARGET @ TARGET.T
        ),
        "problems.regression.whitened": call(problems.whitened, target=TARGET),
        "problems.regression.lp_regression": call(problems.lp_regression, X=X, Y=Y, p=4),
        "problems.sensing.sensing": call(
            problems.sensing, A=np.stack([EYE, TARGET]), y=[1.0, 0.5], reduction="mean"
        ),
        "problems.sensing.completion": call(
            problems.completion, rows=Is("number", [0, 1]), columns=Is("number", [0, 1]), values=[1.0, 0.5], shape=(2, 2),
            reduction="sum",
        ),
        "problems.classification.logistic": call(problems.logistic, X=X, y=SIGNS),
        "problems.classification.exponential": call(problems.exponential, X=X, y=SIGNS),
        "problems.classification.cross_entropy": call(
            problems.cross_entropy, X=X, labels=Is("number", LABELS), classes=2
        ),
        "problems.max_margin.max_margin": call(problems.max_margin, X=X, y=np.sign(X[:, 0])),
        "problems.quadratic.quadratic_squared": call(problems.quadratic_squared, target=EYE, bias=0.5),
        "problems.quadratic.quadratic_variance": call(problems.quadratic_variance, target=EYE),
        "problems.quadratic.quadratic_regression": call(problems.quadratic_regression, X=X, y=SIGNS),
        "problems.tensor.tensor_completion": call(
            problems.tensor_completion, indices=Is("number", [[0, 0, 1], [1, 1, 0]]), values=[1.0, 0.5], shape=(2, 2, 2),
            reduction="mean",
        ),
    }  # fmt: skip


def _starts() -> dict[str, Call]:
    key, deep = Is("key", 0), models.DeepLinear((2, 2, 2))
    plain = models.MLP((2, 3, 1), parameterisation="standard")
    quadratic = models.Quadratic(2, bias=True)
    return {
        "starts.layers.balanced": call(starts.balanced, model=deep, key=key, start_scale=0.1, map=EYE),
        "starts.layers.aligned": call(starts.aligned, model=deep, target=TARGET, start_scale=0.1),
        "starts.layers.isometric": call(starts.isometric, model=deep, key=key),
        "starts.layers.shaped": call(starts.shaped, model=deep, key=key, start_scale=0.1, shape=[1.0, 0.5]),
        "starts.multiples.identity": call(starts.identity, model=quadratic, start_scale=0.1, bias=0.1),
        "starts.multiples.orthogonal": call(starts.orthogonal, model=quadratic, key=key, start_scale=0.1, bias=0.1),
        "starts.multiples.circular": call(starts.circular, model=models.Circular(4, 2), key=key, start_scale=0.1),
        "starts.multiples.balanced_components": call(
            starts.balanced_components, model=models.CP((2, 2, 2), 3), key=key, start_scale=0.1
        ),
        "starts.normal.gaussian": call(starts.gaussian, model=deep, key=key, start_scale=0.1, dtype=Is("any", None)),
        "starts.normal.gaussian.deviation": call(starts.gaussian, model=deep, key=key, deviation=0.1),
        "starts.normal.gaussian.variances": call(starts.gaussian, model=deep, key=key, variances=[0.1, 0.2]),
        "starts.normal.he": call(starts.he, model=plain, key=key, dtype=Is("any", None)),
        "starts.normal.glorot": call(
            starts.glorot, model=plain, key=key, distribution="uniform", dtype=Is("any", None)
        ),
        "starts.normal.torch_default": call(starts.torch_default, model=plain, key=key, dtype=Is("any", None)),
        "starts.copies.mirrored": call(
            starts.mirrored,
            model=models.Mirrored(models.MLP((2, 3, 1))),
            key=key,
            start=starts.gaussian,
            deviation=1.0,
        ),
        "starts.frames.orthonormal": call(starts.orthonormal, key=key, rows=3, columns=2),
    }


def _training() -> dict[str, Call]:
    problem, start, key = problems.regression(X, Y), (jnp.asarray(0.1 * EYE),), Is("key", 0)
    set_up = {"model": NET, "problem": problem, "start": Is("any", start)}
    taken = {"step_size": 0.1, "steps": 3}
    trained = la.descend(NET, problem, start, record=("loss", "outputs"), step_size=0.1, steps=3)
    return {
        "train.flow.flow": call(
            train.flow, True, **set_up, times=[0.0, 1.0], record=Is("names", ("loss",)), tolerance=1e-6, rtol=1e-5,
            atol=1e-8, stiff=False, max_steps=100,
        ),
        "train.flow.flow.until": call(
            train.flow, True, **set_up, until=1.0, event=Is("function", lambda parameters: jnp.asarray(False))
        ),
        "train.descend.descend.at": call(
            train.descend, True, **set_up, **taken, at=Is("number", [0, 3]), optimiser=Is("function", optax.sgd),
            progress=Is("function", lambda share: None),
        ),
        "train.descend.descend": call(
            train.descend, True, **set_up, **taken, record=Is("names", ("loss",)), every=1, momentum=0.5, batch_size=3,
            key=key, tolerance=1e-6, on_divergence="raise", precision="float32",
        ),
        "train.noise.noisy_descend": call(
            noise.noisy_descend, True, **set_up, **taken, noise=0.1, key=key, record=Is("names", ("loss",)), every=1
        ),
        "train.noise.noisy_descend.at": call(
            noise.noisy_descend, True, **set_up, **taken, noise=0.1, key=key, at=Is("number", [0, 3])
        ),
        "train.noise.noisy_flow": call(
            noise.noisy_flow, True, **set_up, intensity=0.1, step_size=0.1, times=[0.0, 1.0], key=key,
            record=Is("names", ("loss",)),
        ),
        "train.normalised.normalised": call(
            train.normalised, step_size=Is("any", 0.1), decay=0.9, eps=1e-4
        ),
        "train.records.Record": call(
            records.Record, name=Is("any", "mine"), measure=Is("any", lambda *_: 0.0), dims=Is("any", ()),
            reads=Is("any", "anything"),
        ),
        "core.run.Run": call(run.Run, data=Is("object", trained.data), final=Is("any", start), settings=Is("any", {})),
        "core.run.Run.to_recording": call(
            trained.to_recording, labels=Is("number", Y), inputs=X, member=Is("any", None)
        ),
        "core.run.Run.save": call(trained.save, path=Path("run.nc")),
        "core.run.Run.load": call(run.Run.load, path=trained.save("kept.nc"), model=Is("any", NET)),
        "core.run.Run.__getitem__": call(trained.__getitem__, name="loss"),
    }  # fmt: skip
