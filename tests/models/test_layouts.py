"""What every model says of its parameters, its activations by their formulas, and what is left out of a call."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf

from lineament import models
from lineament.models import conv, convnet
from lineament.models.activations import ACTIVATIONS, activation, gain
from lineament.models.layered import drop
from lineament.models.quadratic import QuadraticForm


def told(model):
    return [(p.shape, p.fan_in, p.fan_out, p.kind, p.gain) for p in jax.tree.leaves(model.layout())]


W, B = "weight", "bias"
LAYOUTS = {
    "linear": (models.DeepLinear((3, 5, 2)), (2, 3), [((5, 3), 3, 5, W, 1), ((2, 5), 5, 2, W, 1)]),
    "two layers": (models.TwoLayer(3, 5, outputs=2), (2, 3), [((5, 3), 3, 5, W, 1), ((2, 5), 5, 2, W, 1)]),
    "one output": (models.TwoLayer(3, 5), (1, 3), [((5, 3), 3, 5, W, 1), ((1, 5), 5, 1, W, 1)]),
    "MLP": (
        models.MLP((3, 5, 2), "relu", bias=True), (2, 3),
        [((5, 3), 3, 5, W, 2), ((2, 5), 5, 2, W, 2), ((5,), 3, 5, B, 1), ((2,), 5, 2, B, 1)],
    ),
    "tanh": (models.MLP((3, 2), "tanh"), (2, 3), [((2, 3), 3, 2, W, 1)]),
    "ConvNet": (
        models.ConvNet((4, 6, 2), (5,), (3,), kernels=((3, 1),), pooled=(0,), activation="relu", bias=True), (3, 48),
        [((5, 6), 6, 15, W, 2), ((3, 30), 30, 3, W, 2), ((5,), 6, 15, B, 1), ((3,), 30, 3, B, 1)],
    ),
    "average": (
        models.ConvNet((4, 4, 1), (5, 7), (3,), readout="average"), (3, 16),
        [((5, 9), 9, 45, W, 1), ((7, 45), 45, 63, W, 1), ((3, 7), 7, 3, W, 1)],
    ),
    "Conv": (
        models.Conv((4, 4, 2), (3,), (5, 2), kernel=3, depth=2), (2, 32),
        [((18, 3), 18, 27, W, 2), ((3,), 18, 27, B, 1), ((5, 12), 12, 5, W, 2), ((5, 5), 5, 5, W, 1),
         ((2, 5), 5, 2, W, 2), ((2, 2), 2, 2, W, 1), ((5,), 12, 5, B, 1), ((2,), 5, 2, B, 1)],
    ),
    "diagonal": (models.Diagonal(3, 2.5), (1, 3), [((3,), 1, 1, W, 1)]),
    "signed": (models.Diagonal(3, 2, shared=False, signed=True), (1, 3), [((2, 2, 3), 1, 1, W, 1)]),
    "circular": (models.Circular(6, 3), (1, 6), [((3, 6), 6, 6, W, 1)]),
    "quadratic": (models.Quadratic(3, bias=True), (1, 3), [((3, 3), 3, 3, W, 1), ((), 3, 1, B, 1)]),
    "plain quadratic": (models.Quadratic(3), (1, 3), [((3, 3), 3, 3, W, 1)]),
    "CP": (models.CP((2, 3, 4), 5), (2, 3, 4), [((2, 5), 5, 2, W, 1), ((3, 5), 5, 3, W, 1), ((4, 5), 5, 4, W, 1)]),
    "tree": (
        models.TreeTensor((2, 3, 4, 5), 6), (2, 3, 4, 5),
        [((n, 6), 6, n, W, 1) for n in (2, 3, 4, 5)] + [((6, 6), 6, 6, W, 1)] * 2 + [((1, 6), 6, 1, W, 1)],
    ),
    "mirrored": (models.Mirrored(models.MLP((3, 2), "tanh")), (2, 3), [((2, 3), 3, 2, W, 1)] * 2),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_by_hand(name):
    model, shape, expected = LAYOUTS[name]
    assert model.shape == shape
    assert told(model) == expected


def test_what_is_left_out():
    assert models.MLP((3, 2)) == models.MLP((3, 2), "erf", "ntk", False, 0.0)
    assert not models.MLP((3, 2)).drops
    assert models.MLP((3, 2), dropout=0.1).drops
    assert models.ConvNet((4, 4, 1), (2,)) == models.ConvNet(
        (4, 4, 1), (2,), (1,), 3, (), "max", "zero", "flatten", "erf", "ntk", False, 0.0, 0.0
    )
    assert models.TwoLayer(3, 4) == models.TwoLayer(3, 4, "relu", 1)
    assert models.CP((2, 3, 4)).components == 6, "the product of all sizes but the largest"
    assert models.Diagonal(3, 2) == models.Diagonal(3, 2, True, False)
    assert models.DeepLinear((5, 2, 3)).rank == 2


def test_the_networks_of_the_papers():
    vgg = convnet.st_vgg(10)
    assert vgg == models.ConvNet(
        (32, 32, 3), (32, 32, 64, 64, 128, 128, 256, 256), (512, 10), (3, 3, 3, 3, 3, 3, 2, 2), (1, 3, 5, 7), "max",
        "zero", "flatten", "elu", "standard", True, 0.25, 0.5,
    )  # fmt: skip
    plain = convnet.st_vgg(10, "linear", dropout=False)
    assert (plain.pooling, plain.pooled_dropout, plain.dense_dropout, plain.drops) == ("average", 0, 0, False)
    large = convnet.vgg19(10)
    assert large == models.ConvNet(
        (32, 32, 3), (64,) * 2 + (128,) * 2 + (256,) * 4 + (512,) * 8, (4096, 4096, 10), 3, (1, 3, 7, 11, 15), "max",
        "zero", "flatten", "relu", "standard", True, 0.0, 0.5,
    )  # fmt: skip
    assert convnet.vgg19(10, "linear", dropout=False).pooling == "average"
    assert convnet.vgg19(10, dropout=False).dense_dropout == 0
    assert (
        sum(np.prod(p.shape) for p in jax.tree.leaves(convnet.vgg19(1000, image=(224, 224, 3)).layout()))
        == 143_667_240
    )


def test_what_a_convolutional_network_sees_on_its_way():
    net = models.ConvNet((8, 4, 2), (3, 5, 7), (6, 2), kernels=(3, (1, 3), 5), pooled=(0, 2))
    assert net._images == [(8, 4, 2), (4, 2, 3), (4, 2, 5)]
    assert net.sides == ((3, 3), (1, 3), (5, 5))
    assert net.kernel_areas == (9, 3, 25, 1, 1)
    assert net.features == 7 * 2 * 1
    assert net.tap_shapes == ((32, 3), (8, 5), (8, 7), (1, 6), (1, 2))
    assert net.layer_shapes == ((3, 18), (5, 9), (7, 125), (6, 14), (2, 6))
    assert models.ConvNet((2, 2, 3), (), (1,)).features == 12
    assert not net.large
    assert models.ConvNet((32, 32, 1), (8,)).large
    for drops in ({"pooled_dropout": 0.1}, {"dense_dropout": 0.1}):
        assert models.ConvNet((8, 4, 2), (3,), **drops).drops
    assert models.ConvNet((4, 4, 2), (3,), kernels=4, padding="circular").sides == ((4, 4),)


def test_convolutions_that_do_not_fit_are_refused():
    for bad in ((3, 3), (3, 3, 3, 3), 0, (3, 3, 0), (3, 3, (1, 2, 3))):
        with pytest.raises(ValueError, match="kernels must be a positive size, or 3 of them"):
            models.ConvNet((8, 4, 2), (3, 5, 7), kernels=bad)
    for bad in ({"pooled": (3,)}, {"image": (8, 6, 2), "pooled": (0, 1)}, {"image": (8, 4)}):
        with pytest.raises(ValueError, match="must"):
            models.ConvNet(**({"image": (8, 4, 2), "filters": (3, 5, 7)} | bad))
    with pytest.raises(
        ValueError, match=r"kernels must fit into the image under circular padding; got \(5, 5\) on 8×4"
    ):
        models.ConvNet((8, 4, 2), (3,), kernels=5, padding="circular")


def test_thin_factors_or_the_matrix_whichever_is_smaller():
    assert conv.dense_parameters([(10, 20), (4, 4)], [2, 3]) == 60 + 16
    with pytest.raises(ValueError, match="kernel must be odd"):
        models.Conv((4, 4, 1), (2,), (3,), kernel=4)
    with pytest.raises(ValueError, match="divisible by 4"):
        models.Conv((6, 8, 1), (2, 2), (3,), kernel=3)
    assert models.Conv((4, 4, 1), (2,), (3,)).kernel == 5


Z = np.linspace(-3, 3, 13)
FORMULAS = {
    "erf": erf(Z), "relu": np.maximum(Z, 0), "leaky_relu": np.maximum(Z, 0.01 * Z), "tanh": np.tanh(Z),
    "sigmoid": 1 / (1 + np.exp(-Z)), "softplus": np.log1p(np.exp(Z)), "gelu": Z * (1 + erf(Z / 2**0.5)) / 2,
    "elu": np.where(Z > 0, Z, np.expm1(Z)), "linear": Z,
}  # fmt: skip


def test_activations_by_their_formulas():
    assert set(ACTIVATIONS) == set(FORMULAS)
    for name, values in FORMULAS.items():
        np.testing.assert_allclose(activation(name)(jnp.asarray(Z)), values, atol=1e-14)
        assert gain(name) == (2 if name in ("relu", "leaky_relu", "gelu", "elu") else 1)
    for call in (activation, gain):
        with pytest.raises(ValueError, match="must be one of"):
            call("swish")


def test_dropout_keeps_the_mean_and_drops_the_share_asked_for():
    h, key = jnp.ones((40, 50)), jax.random.key(0)
    found = np.asarray(drop(h, 0.25, key))
    np.testing.assert_allclose(np.unique(found), [0, 1 / 0.75])
    assert np.mean(found == 0) == pytest.approx(0.25, abs=5 * np.sqrt(0.25 * 0.75 / 2000))
    assert drop(h, 0.25, None) is h
    assert drop(h, 0.0, key) is h


@pytest.mark.parametrize("parameterisation", ["ntk", "standard"])
@pytest.mark.parametrize("bias", [True, False])
def test_layers_written_out(parameterisation, bias):
    rng = np.random.default_rng(0)
    net = models.MLP((3, 4, 2), "tanh", parameterisation, bias)
    parameters = jax.tree.map(lambda p: jnp.asarray(rng.normal(size=p.shape)), net.layout())
    X = rng.normal(size=(5, 3))
    first, second = map(np.asarray, parameters.layers)
    b, c = map(np.asarray, parameters.biases) if bias else (np.zeros(4), np.zeros(2))
    scale = (3**-0.5, 4**-0.5) if parameterisation == "ntk" else (1.0, 1.0)
    hidden = np.tanh(scale[0] * X @ first.T + b)
    np.testing.assert_allclose(
        net.end_to_end(parameters)(jnp.asarray(X)), scale[1] * hidden @ second.T + c, atol=1e-13
    )
    np.testing.assert_allclose(net.penultimate(parameters, jnp.asarray(X)), hidden, atol=1e-14)
    rows = np.asarray(net.rows(1, jnp.asarray(hidden)))
    expected = scale[1] * hidden[:, None]
    np.testing.assert_allclose(
        rows, np.concatenate([expected, np.ones((5, 1, 1))], 2) if bias else expected, atol=1e-14
    )


def test_forms_and_tensors_written_out():
    rng = np.random.default_rng(0)
    M, X = rng.normal(size=(3, 3)), rng.normal(size=(4, 3))
    found = QuadraticForm(jnp.asarray(M), jnp.asarray(0.7))(jnp.asarray(X))
    np.testing.assert_allclose(found[:, 0], [x @ M @ x + 0.7 for x in X], rtol=1e-12)
    net = models.TreeTensor((2, 3, 4, 5), 6)
    a, b, c, d, left, right, root = (rng.normal(size=shape) for shape in net.parameter_shapes)
    naive = np.einsum("r,rs,as,bs,rt,ct,dt->abcd", root[0], left, a, b, right, c, d, optimize=True)
    np.testing.assert_allclose(
        net.end_to_end(tuple(map(jnp.asarray, (a, b, c, d, left, right, root)))), naive, atol=1e-11
    )
    norms = net.component_norms(tuple(map(jnp.asarray, (a, b, c, d, left, right, root))))
    length = lambda A, axis: np.linalg.norm(A, axis=axis)  # noqa: E731
    for value, parts in zip(
        norms,
        ((length(a, 0), length(b, 0), length(left, 0)), (length(c, 0), length(d, 0), length(right, 0)),
         (length(left, 1), length(right, 1), length(root, 0))),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_allclose(value, np.sort(np.prod(parts, axis=0))[::-1], rtol=1e-12)
    T = rng.normal(size=(2, 3, 4))
    np.testing.assert_allclose(
        models.tensor.matricisation_values(jnp.asarray(T), [2, 0]),
        np.linalg.svd(np.transpose(T, (2, 0, 1)).reshape(8, 3), compute_uv=False),
    )
    with pytest.raises(ValueError, match="2, 4, 8, … axes"):
        models.TreeTensor((2, 2, 2), 3)


@pytest.mark.parametrize("name", LAYOUTS)
def test_models_hold_no_arrays(name):
    """All that they hold is static, so that a model is a constant of a compiled program."""
    model = LAYOUTS[name][0]
    assert jax.tree.leaves(model) == []
    assert hash(model) == hash(model)
