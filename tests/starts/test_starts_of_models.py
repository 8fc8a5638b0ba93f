"""One way to start for every model: laws from the layout, structures that fit, and refusals that name both."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import lineament as la
from lineament.models import CP, MLP, Circular, Conv, ConvNet, DeepLinear, Diagonal, Mirrored, Quadratic, TwoLayer

MODELS = [
    DeepLinear((3, 4, 2)),
    TwoLayer(3, 4),
    MLP((3, 4, 2), "relu", "standard", bias=True),
    ConvNet((4, 4, 1), (2,), (3,), parameterisation="standard", bias=True),
    Conv((4, 4, 1), (2,), (3,), kernel=3, depth=2),
    Diagonal(3, 2),
    Circular(4, 2),
    Quadratic(3, bias=True),
    CP((2, 3, 4)),
    la.models.TreeTensor((2, 2, 2, 2), 3),
    Mirrored(MLP((3, 4, 2), "relu", "standard")),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_general_starts_fit_every_model(model, dtype):
    starts = la.starts.he, la.starts.glorot, la.starts.torch_default, partial(la.starts.gaussian, deviation=0.5)
    drawn = jax.jit(lambda key: [start(model, key, dtype=dtype) for start in starts])(jax.random.key(0))
    for parameters in drawn:
        model.check(parameters)
        assert {leaf.dtype for leaf in jax.tree.leaves(parameters)} == {jnp.dtype(dtype)}
    model.end_to_end(drawn[-1])


WIDE = Conv((4, 4, 30), (40,), (300, 200), kernel=3, depth=2)  # dense layers (300, 160), (200, 300) and squares


def drawn(start):
    """Every array of a wide start with its description, and the arrays that should be zero."""
    leaves = jax.tree.leaves(start(WIDE, 0))
    return list(zip(jax.tree.leaves(WIDE.layout()), map(np.asarray, leaves), strict=True))


def test_laws_are_those_of_their_authors():
    by_hand = {  # variances of kernels (270, 40), dense (300, 160) and (200, 300) with a square each
        la.starts.he: [2 / 270, 2 / 160, 1 / 300, 2 / 300, 1 / 200],
        la.starts.glorot: [2 / (270 + 9 * 40), 2 / 460, 2 / 600, 2 / 500, 2 / 400],
        la.starts.torch_default: [1 / (3 * fan) for fan in (270, 160, 300, 300, 200)],
    }
    for start, variances in by_hand.items():
        weights = [array for leaf, array in drawn(start) if leaf.kind == "weight"]
        for array, variance in zip(weights, variances, strict=True):
            edge = (3 * variance) ** 0.5
            law = stats.norm(0, variance**0.5) if start is la.starts.he else stats.uniform(-edge, 2 * edge)
            assert stats.kstest(array.ravel(), law.cdf).pvalue > 1e-3


def test_biases_are_zero_but_for_pytorch():
    for start in (la.starts.he, la.starts.glorot):
        assert all((array == 0).all() for leaf, array in drawn(start) if leaf.kind == "bias")
    biases = [(leaf, array) for leaf, array in drawn(la.starts.torch_default) if leaf.kind == "bias"]
    assert len(biases) == 3
    for leaf, array in biases:
        edge = leaf.fan_in**-0.5
        assert stats.kstest(array, stats.uniform(-edge, 2 * edge).cdf).pvalue > 1e-3


def test_starts_of_layers_are_dressed_as_the_network_wants_them():
    net = MLP((4, 5, 5, 3), "linear", "standard", bias=True)
    plain = DeepLinear(net.widths)
    for start in (la.starts.balanced, la.starts.isometric):
        ours, layers = start(net, 0), start(plain, 0)
        net.check(ours)
        jax.tree.map(np.testing.assert_array_equal, ours.layers, layers)
        assert all((np.asarray(bias) == 0).all() for bias in ours.biases)
    scaled = la.starts.gaussian(net, 0, start_scale=0.1)
    jax.tree.map(np.testing.assert_array_equal, scaled.layers, la.starts.gaussian(plain, 0, start_scale=0.1))


NTK = MLP((3, 4, 1))


@pytest.mark.parametrize(
    ("start", "model"),
    [
        (lambda model: la.starts.balanced(model, 0), Circular(4, 2)),
        (lambda model: la.starts.aligned(model, np.eye(1, 4), 0.1), Diagonal(4, 2)),
        (lambda model: la.starts.isometric(model, 0), NTK),
        (lambda model: la.starts.shaped(model, 0, 0.1), CP((2, 2))),
        (lambda model: la.starts.gaussian(model, 0, start_scale=0.1), Quadratic(3)),
        (lambda model: la.starts.gaussian(model, 0, start_scale=0.1), NTK),
        (lambda model: la.starts.he(model, 0), NTK),
        (lambda model: la.starts.glorot(model, 0), Mirrored(NTK)),
        (lambda model: la.starts.torch_default(model, 0), NTK),
        (lambda model: la.starts.identity(model, 0.1), Circular(4, 2)),
        (lambda model: la.starts.identity(model, 0.1, bias=1.0), DeepLinear((2, 2))),
        (lambda model: la.starts.orthogonal(model, 0, 0.1), DeepLinear((2, 2))),
        (lambda model: la.starts.circular(model, 0, 0.1), Diagonal(4, 2)),
        (lambda model: la.starts.balanced_components(model, 0, 0.1), DeepLinear((2, 2))),
        (lambda model: la.starts.mirrored(model, 0, la.starts.he), NTK),
    ],
)
def test_a_start_that_does_not_fit_is_refused_naming_both(start, model):
    with pytest.raises(ValueError, match=r"model must be .* for starts\.\w+.*; got " + type(model).__name__):
        start(model)
