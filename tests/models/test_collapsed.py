"""A linear network through its matrix has the outputs and the gradients of the network."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from lineament import models, problems, starts
from lineament.models.collapsed import Collapsed
from lineament.train.objective import value_and_gradient

NETWORKS = (
    models.MLP((48, 5, 3), "linear", "standard", bias=True),
    models.ConvNet(
        (4, 4, 3),
        (5,),
        (6, 3),
        pooled=(0,),
        pooling="average",
        activation="linear",
        parameterisation="standard",
        bias=True,
    ),
    models.st_vgg(3, "linear", (16, 16, 3), dropout=False),
)


@pytest.mark.parametrize("network", NETWORKS[:2])
def test_outputs_and_gradients_are_the_networks(network):
    rng = np.random.default_rng(0)
    parameters = starts.he(network, jax.random.key(0), dtype=jnp.float64)
    parameters = jax.tree.map(lambda leaf: leaf + 0.1 * jnp.asarray(rng.normal(size=leaf.shape)), parameters)
    X = jnp.asarray(rng.normal(size=(20, 48)))
    problem = problems.cross_entropy(X, rng.integers(0, 3, 20), 3)
    collapsed = Collapsed(network)

    @jax.jit
    def computed(p):
        outputs = collapsed.end_to_end(p)(X), network.apply(p, X)
        return outputs, value_and_gradient(collapsed, problem, p), value_and_gradient(network, problem, p)

    outputs, (loss, gradient), (expected_loss, expected) = computed(parameters)
    assert_allclose(*outputs, atol=1e-10)
    assert_allclose(loss, expected_loss, atol=1e-12)
    for got, wanted in zip(jax.tree.leaves(gradient), jax.tree.leaves(expected), strict=True):
        assert_allclose(got, wanted, atol=1e-10)


def test_the_matrix_of_st_vgg_is_its_derivative():
    network = NETWORKS[2]
    parameters = starts.glorot(network, jax.random.key(1), dtype=jnp.float64)
    M = jax.jit(Collapsed(network).matrix)(parameters)
    x = np.random.default_rng(2).normal(size=(3, 16 * 16 * 3))
    x[0] = 0
    outputs = np.asarray(jax.jit(network.apply)(parameters, jnp.asarray(x)))
    assert_allclose(x[1:] @ M.T, outputs[1:] - outputs[0], atol=1e-10)


def test_what_is_not_linear_is_refused():
    with pytest.raises(ValueError, match="activation 'linear'"):
        Collapsed(models.MLP((4, 3, 2), "relu", "standard"))
    with pytest.raises(ValueError, match="no dropout"):
        Collapsed(models.MLP((4, 3, 2), "linear", "standard", dropout=0.5))
