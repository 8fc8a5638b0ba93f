"""Fully connected networks against the written-out formula, and what they start from."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

import lineament as la
from lineament.models import MLP, Affine
from lineament.models.activations import ACTIVATIONS, activation

KEY = jax.random.key(0)
WRITTEN = {
    "erf": special.erf,
    "relu": lambda z: np.maximum(z, 0),
    "leaky_relu": lambda z: np.where(z > 0, z, z / 100),
    "tanh": np.tanh,
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "softplus": lambda z: np.log(1 + np.exp(z)),
    "gelu": lambda z: z * stats.norm.cdf(z),
    "elu": lambda z: np.where(z > 0, z, np.exp(np.minimum(z, 0)) - 1),
    "linear": lambda z: z,
}


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_activations_are_what_their_names_say(name, dtype):
    z = np.linspace(-6, 6, 101)
    found = activation(name)(jnp.asarray(z, dtype))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, WRITTEN[name](z), atol=1e-12 if dtype == jnp.float64 else 2e-6)


def written_out(net, params, x):
    h = x
    for layer, W in enumerate(params.layers):
        W = np.asarray(W)
        z = W @ h / (np.sqrt(W.shape[1]) if net.parameterisation == "ntk" else 1)
        z = z + (np.asarray(params.biases[layer]) if net.bias else 0)
        h = z if layer + 1 == len(params.layers) else WRITTEN[net.activation](z)
    return h


@pytest.mark.parametrize(
    "net",
    [
        MLP((3, 2)),
        MLP((4, 7, 5, 2), "gelu", "ntk", bias=True),
        MLP((1, 1, 1), "relu", "standard"),
        MLP([5, 6, 3], "elu", "standard", True),
    ],
)
def test_the_map_is_the_formula(net):
    rng = np.random.default_rng(0)
    params = la.starts.gaussian(net, KEY, deviation=1.0)
    params = params._replace(biases=tuple(jnp.asarray(rng.normal(size=b.shape)) for b in params.biases))
    net.check(params)
    X = rng.normal(size=(6, net.shape[1]))
    expected = np.array([written_out(net, params, x) for x in X])
    found = jax.jit(lambda p, X: net.end_to_end(p)(X))(params, jnp.asarray(X))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert net.shape == (net.widths[-1], net.widths[0])


def test_a_penultimate_layer_is_what_the_last_one_multiplies():
    net = MLP((3, 4, 5, 2), "tanh")
    params = la.starts.gaussian(net, KEY, deviation=1.0)
    X = jnp.asarray(np.random.default_rng(0).normal(size=(6, 3)))
    features, outputs = jax.jit(lambda p, X: (net.penultimate(p, X), net.apply(p, X)))(params, X)
    assert features.shape == (6, 5)
    np.testing.assert_allclose(np.asarray(features) @ np.asarray(params.layers[-1]).T / 5**0.5, outputs, atol=1e-14)


def test_both_parameterisations_are_one_function_with_different_gradients():
    ntk, standard = MLP((4, 6, 2), "tanh"), MLP((4, 6, 2), "tanh", "standard")
    params = la.starts.gaussian(ntk, KEY, deviation=1.0)
    same = Affine(tuple(W / W.shape[1] ** 0.5 for W in params.layers))
    X = jnp.asarray(np.random.default_rng(0).normal(size=(5, 4)))

    def outputs_and_gradients(net, params):
        return jax.jit(lambda p: (net.apply(p, X), jax.grad(lambda p: jnp.sum(net.apply(p, X)))(p).layers))(params)

    (ours, slopes), (theirs, other) = outputs_and_gradients(ntk, params), outputs_and_gradients(standard, same)
    np.testing.assert_allclose(ours, theirs, atol=1e-14)
    for a, b in zip(slopes, other, strict=True):
        np.testing.assert_allclose(a, b / a.shape[1] ** 0.5, atol=1e-14)


@pytest.mark.parametrize(
    ("net", "start", "variances"),
    [
        (MLP((300, 200, 100)), partial(la.starts.gaussian, deviation=1.0), (1, 1)),
        (MLP((300, 200, 100), "tanh", "standard"), la.starts.he, (1 / 300, 1 / 200)),
        (MLP((300, 200, 100), "relu", "standard"), la.starts.he, (2 / 300, 2 / 200)),
        (MLP((300, 200, 100), "linear", "standard", True), la.starts.glorot, (2 / 500, 2 / 300)),
    ],
)
def test_starts_have_the_stated_law(net, start, variances):
    params = start(net, KEY, dtype=jnp.float32)
    for W, variance in zip(params.layers, variances, strict=True):
        entries = np.asarray(W).ravel()
        assert W.dtype == jnp.float32
        family = stats.norm(0, variance**0.5)
        if start is la.starts.glorot:
            family = stats.uniform(-((3 * variance) ** 0.5), 2 * (3 * variance) ** 0.5)
        assert stats.kstest(entries, family.cdf).pvalue > 1e-3
    assert all((np.asarray(b) == 0).all() for b in params.biases)
    assert len(params.biases) == 2 * net.bias


def test_dropout_is_unbiased_and_only_with_a_key():
    net = MLP((3, 400, 1), "linear", "standard", dropout=0.5)
    params = la.starts.gaussian(net, KEY, deviation=1.0)
    X = jnp.ones((1, 3))
    whole = net.apply(params, X)
    np.testing.assert_array_equal(whole, net.end_to_end(params)(X))
    many = jax.jit(jax.vmap(lambda key: net.apply(params, X, key)))
    dropped = np.array(many(jax.random.split(KEY, 4000)))[:, 0, 0]
    products = np.asarray(net.penultimate(params, X)[0] * params.layers[1][0])
    assert dropped.std() == pytest.approx(np.sqrt((products**2).sum()), rel=0.05)  # variance x²p/(1−p) at p = ½
    assert abs(dropped.mean() - float(whole[0, 0])) < 4 * dropped.std() / np.sqrt(4000)


def test_an_ensemble_trains():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    problem = la.problems.regression(X, np.sign(X[:, :1]))
    net = MLP((5, 32, 1), bias=True)
    start = la.ensemble(lambda key: la.starts.gaussian(net, key, deviation=1.0), jax.random.split(KEY, 3))
    run = la.descend(net, problem, start, step_size=0.5, steps=200)
    assert (run.loss.values[:, -1] < 0.35 * run.loss.values[:, 0]).all()
    members = run.final
    loss = problem.loss(net.end_to_end(members[1]))
    assert float(loss) == pytest.approx(run.loss.values[1, -1], rel=1e-10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((3,),), "widths must be at least 2"),
        (((3, 0, 1),), "widths must be"),
        (((3, 1), "swish"), "activation must be one of"),
        (((3, 1), "erf", "mup"), "parameterisation must be one of"),
        (((3, 1), "erf", "ntk", False, 1.0), "dropout must lie in"),
    ],
)
def test_bad_networks_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        MLP(*arguments)


def test_bad_parameters_and_laws_are_refused():
    net = MLP((3, 4, 1))
    for other in (MLP((3, 5, 1)), MLP((3, 4, 1), bias=True)):
        with pytest.raises(ValueError, match="start must have the shapes"):
            net.check(la.starts.gaussian(other, KEY, deviation=1.0))
    for start in (la.starts.he, la.starts.glorot, la.starts.torch_default):
        with pytest.raises(ValueError, match="must be in standard parameterisation"):
            start(net, KEY)
