"""The mirrored start: zero output, the plain kernel, and Hu et al.'s pairs of neurons."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lineament as la
from lineament.measure import kernels
from lineament.models import MLP, Affine, ConvNet, Mirrored, Pair, TwoLayer

KEY = jax.random.key(0)
X = jnp.asarray(np.random.default_rng(0).normal(size=(7, 12)))
NETS = [MLP((12, 8, 2)), MLP((12, 5, 6, 1), "relu", "standard", True), ConvNet((2, 2, 3), (4, 3), (2,))]


@pytest.mark.parametrize("net", NETS)
def test_output_is_zero_and_the_kernel_that_of_the_plain_network(net):
    mirrored = Mirrored(net)
    params = la.starts.mirrored(mirrored, KEY, la.starts.gaussian, deviation=1.0)
    mirrored.check(params)
    np.testing.assert_array_equal(mirrored.end_to_end(params)(X), 0)
    plain = kernels.empirical(net, params.added, X)
    np.testing.assert_allclose(kernels.empirical(mirrored, params, X), plain, rtol=1e-12, atol=1e-12 * plain.max())


def test_two_layers_are_pairs_of_neurons():
    """Hu et al. 2020, eq. (3), written out, before and after training."""
    half = MLP((12, 6, 1))
    pairs = MLP((12, 12, 1))
    mirrored = Mirrored(half)
    params = la.starts.mirrored(mirrored, KEY, la.starts.gaussian, deviation=1.0)
    W, v = params.added.layers
    whole = Affine((jnp.concatenate([W, W]), jnp.concatenate([v, -v], axis=1)))
    np.testing.assert_allclose(pairs.apply(whole, X), 0, atol=1e-15)
    np.testing.assert_allclose(
        kernels.empirical(pairs, whole, X), kernels.empirical(mirrored, params, X), rtol=1e-12, atol=1e-14
    )
    problem = la.problems.regression(X, np.sin(np.arange(7.0)))
    settings = {"step_size": 0.3, "steps": 100, "record": ("loss",), "every": 10}
    ours, theirs = la.descend(mirrored, problem, params, **settings), la.descend(pairs, problem, whole, **settings)
    assert ours.loss.values[-1] < 0.5 * ours.loss.values[0]
    np.testing.assert_allclose(ours.loss.values, theirs.loss.values, rtol=1e-10)
    final, other = ours.final, theirs.final
    np.testing.assert_allclose(final.subtracted.layers[1], -other.layers[1][:, 6:], atol=1e-10)


def test_any_model_of_functions_can_be_mirrored():
    net = TwoLayer(12, 5)
    mirrored = Mirrored(net)
    params = la.starts.mirrored(mirrored, KEY, la.starts.gaussian, start_scale=1.0)
    mirrored.check(params)
    np.testing.assert_array_equal(mirrored.end_to_end(params)(X), 0)
    plain = kernels.empirical(net, params.added, X)
    np.testing.assert_allclose(kernels.empirical(mirrored, params, X), plain, rtol=1e-10, atol=1e-12)


def test_foreign_parameters_are_refused():
    mirrored = Mirrored(NETS[0])
    one, other = (la.starts.gaussian(net, KEY, deviation=1.0) for net in NETS[:2])
    for parameters in (one, Pair(one, other), (one, one)):
        with pytest.raises(ValueError, match="start must have the shapes"):
            mirrored.check(parameters)
