"""Convolutional networks against `lax.conv`, PyTorch and the printed one-layer formula."""

from dataclasses import replace
from functools import partial
from math import prod

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import lineament as la
from lineament.models import ConvNet, convnet, st_vgg, vgg19
from lineament.models import patches as patches_module
from lineament.models.activations import ACTIVATIONS
from lineament.models.patches import patches, pool

KEY = jax.random.key(0)


@settings(max_examples=12)
@given(st.tuples(st.integers(1, 4), st.integers(1, 4)), st.sampled_from(["zero", "circular"]), st.integers(1, 3))
def test_patches_times_a_matrix_are_a_convolution(kernel, padding, channels):
    rng = np.random.default_rng(0)
    h, W = rng.normal(size=(2, 4, 5, channels)), rng.normal(size=(2, prod(kernel) * channels))
    before = [(size - 1) // 2 for size in kernel]
    margins = [(0, 0), *((b, size - 1 - b) for b, size in zip(before, kernel, strict=True)), (0, 0)]
    padded = np.pad(h, margins, mode="constant" if padding == "zero" else "wrap")
    kernels = W.T.reshape(*kernel, channels, 2)
    layout = ("NHWC", "HWIO", "NHWC")
    expected = jax.lax.conv_general_dilated(padded, kernels, (1, 1), "VALID", dimension_numbers=layout)
    cut = jax.jit(lambda h: patches(h, kernel, padding))(h)
    np.testing.assert_allclose(np.asarray(cut) @ W.T, expected, atol=1e-12)


def test_pooling():
    h = jnp.arange(16.0).reshape(1, 4, 4, 1)
    np.testing.assert_array_equal(pool(h)[0, :, :, 0], [[5, 7], [13, 15]])
    np.testing.assert_array_equal(pool(h, "average")[0, :, :, 0], [[2.5, 4.5], [10.5, 12.5]])


def in_torch(net, params, X):
    """The same network written with PyTorch's layers (images become channels first)."""
    torch = pytest.importorskip("torch")
    F = torch.nn.functional
    phi = {"elu": F.elu, "relu": F.relu, "gelu": F.gelu, "erf": torch.erf, "linear": lambda z: z}[net.activation]
    tensor = lambda a: torch.from_numpy(np.array(a))  # noqa: E731
    h = tensor(X).reshape(-1, *net.image).permute(0, 3, 1, 2)
    for layer, W in enumerate(params.layers):
        c = W.shape[1] ** -0.5 if net.parameterisation == "ntk" else 1.0
        bias = tensor(params.biases[layer]) if net.bias else None
        if layer < len(net.filters):
            (above, left), side = [(s - 1) // 2 for s in net.sides[layer]], net.sides[layer]
            margins = (left, side[1] - 1 - left, above, side[0] - 1 - above)
            h = F.pad(h, margins, mode="constant" if net.padding == "zero" else "circular")
            kernel = tensor(W).reshape(W.shape[0], *side, -1).permute(0, 3, 1, 2)
            h = phi(F.conv2d(c * h, kernel, bias))
            if layer in net.pooled:
                h = F.max_pool2d(h, 2) if net.pooling == "max" else F.avg_pool2d(h, 2)
        else:
            if h.ndim == 4:
                h = h.permute(0, 2, 3, 1)
                h = h.mean((1, 2)) if net.readout == "average" else h.flatten(1)
            h = F.linear(c * h, tensor(W), bias)
            h = h if layer + 1 == len(params.layers) else phi(h)
    return h.numpy()


@pytest.mark.parametrize(
    "net",
    [
        ConvNet((4, 4, 3), (3, 2), (2,)),
        ConvNet((4, 6, 2), (3, 4), (5, 2), padding="circular", readout="average", bias=True),
        ConvNet(
            (4, 4, 1), (3, 2), (4, 3), kernels=(3, 2), pooled=(0, 1), parameterisation="standard", activation="elu"
        ),
        ConvNet((4, 1, 1), (2,), (1,), kernels=((3, 1),), pooling="average", padding="circular"),
        ConvNet((2, 2, 2), (), (4, 3), activation="relu"),
        ConvNet((4, 4, 2), (3,), (2,), pooled=(0,), pooling="average", activation="linear"),
        ConvNet((4, 4, 2), (3,), (2,), pooled=(0,), pooling="average", activation="elu"),
        ConvNet((4, 4, 2), (3,), (2,), pooled=(0,), activation="gelu"),
    ],
)
def test_the_map_is_that_of_pytorch(net):
    rng = np.random.default_rng(0)
    params = la.starts.gaussian(net, KEY, deviation=1.0)
    params = params._replace(biases=tuple(jnp.asarray(rng.normal(size=b.shape)) for b in params.biases))
    net.check(params)
    X = rng.normal(size=(3, net.shape[1]))
    found = jax.jit(lambda p, X: net.end_to_end(p)(X))(params, jnp.asarray(X))
    assert found.shape == (3, net.shape[0])
    np.testing.assert_allclose(found, in_torch(net, params, X), atol=1e-12)


def test_the_one_layer_network_is_the_printed_one():
    """Hu et al. 2020, eq. (12): filters reach forward from i; centring them renames positions only."""
    d, q, m = 7, 3, 5
    net = ConvNet((d, 1, 1), (m,), (1,), kernels=((q, 1),), padding="circular")
    params = la.starts.gaussian(net, KEY, deviation=1.0)
    W, V = np.asarray(params.layers[0]), np.asarray(params.layers[1]).reshape(d, m).T
    x = np.random.default_rng(0).normal(size=d)
    expected = 0.0
    for w, v in zip(W, V, strict=True):
        reached = np.array([sum(w[j] * x[(i + j) % d] for j in range(q)) for i in range(d)])
        expected += np.roll(v, -(q - 1) // 2) @ special.erf(reached / np.sqrt(q)) / np.sqrt(m * d)
    found = jax.jit(net.apply)(params, jnp.asarray(x[None]))
    np.testing.assert_allclose(found, [[expected]], atol=1e-13)


def test_st_vgg_is_the_described_one():
    net = st_vgg(5)
    assert net.shape == (5, 3072)
    assert net.features == 2 * 2 * 256
    assert list(net.layer_shapes) == [
        (32, 27), (32, 288), (64, 288), (64, 576), (128, 576), (128, 1152), (256, 512), (256, 1024), (512, 1024), (5, 512)
    ]  # fmt: skip
    params = la.starts.glorot(net, KEY, dtype=jnp.float32)
    net.check(params)
    X = np.random.default_rng(0).normal(size=(2, 3072)).astype(np.float32)
    found = jax.jit(net.apply)(params, jnp.asarray(X))
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, in_torch(net, params, X), atol=2e-5)
    assert jax.eval_shape(net.penultimate, params, X).shape == (2, 512)
    entries = np.asarray(params.layers[3])
    assert entries.std() == pytest.approx((2 / (9 * 64 + 9 * 64)) ** 0.5, rel=0.02)


def test_linear_st_vgg_is_linear_and_shares_parameters_with_the_other():
    net = st_vgg(2, "linear", image=(16, 16, 1))
    assert net.pooling == "average"
    params = la.starts.he(st_vgg(2, image=(16, 16, 1)), KEY, dtype=jnp.float32)
    net.check(params)
    assert net == replace(st_vgg(2, image=(16, 16, 1)), activation="linear", pooling="average")
    X = jax.random.normal(KEY, (2, 256), jnp.float32)
    both = jax.jit(net.apply)(params, jnp.concatenate([X, X[:1] + 2 * X[1:]]))
    np.testing.assert_allclose(both[2], both[0] + 2 * both[1], atol=1e-5)


def test_vgg19_has_its_sixteen_convolutions():
    net = vgg19(10)
    assert len(net.filters) == 16
    assert net.features == 512
    assert sum(out * fan_in + out for out, fan_in in net.layer_shapes) == 38_947_914  # 20,024,384 in convolutions
    start = partial(la.starts.he, net, dtype=jnp.float32)
    assert jax.eval_shape(net.apply, jax.eval_shape(start, KEY), jnp.zeros((2, 3072), jnp.float32)).shape == (
        2,
        10,
    )


def test_large_batches_go_through_in_parts(monkeypatch):
    net = ConvNet((2, 2, 1), (2,), (3,))
    params = la.starts.gaussian(net, KEY, deviation=1.0)
    X = jnp.asarray(np.random.default_rng(0).normal(size=(23, 4)))

    def everything():
        gradient = jax.grad(lambda p: jnp.sum(net.apply(p, X) ** 2))
        return jax.jit(lambda p: (net.apply(p, X), net.penultimate(p, X), gradient(p)))(params)

    whole = everything()
    monkeypatch.setattr(convnet, "CHUNK", 5 * 36)
    parts = everything()
    assert parts[0].shape == (23, 3)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-12), parts, whole)


def _taps(net, n):
    return [jnp.zeros((n, *shape)) for shape in net.tap_shapes]


def test_taps_are_added_to_the_products():
    """Moving a tap by what a change of the weights adds to the product moves the output as that change does."""
    net = ConvNet((4, 4, 2), (3, 2), (4, 2), pooled=(0,), bias=True, activation="elu")
    params = la.starts.gaussian(net, KEY, deviation=1.0)
    X = jnp.asarray(np.random.default_rng(0).normal(size=(3, 32)))
    taps = _taps(net, 3)
    apply, with_taps = jax.jit(net.apply), jax.jit(net.tapped)
    outputs, inputs = with_taps(params, X, taps)
    np.testing.assert_allclose(outputs, apply(params, X), atol=1e-14)
    for layer, a in enumerate(inputs):
        W, b = params.layers[layer], params.biases[layer]
        dW, db = np.cos(W), np.sin(1.0 + np.arange(b.shape[0]))
        rows = np.asarray(jax.jit(partial(net.rows, layer))(a))
        change = jnp.asarray(rows @ np.concatenate([dW, db[:, None]], axis=1).T)
        assert change.shape == (3, *net.tap_shapes[layer])
        moved = params._replace(
            layers=tuple(V + dW if i == layer else V for i, V in enumerate(params.layers)),
            biases=tuple(c + db if i == layer else c for i, c in enumerate(params.biases)),
        )
        tapped = with_taps(params, X, [change if i == layer else t for i, t in enumerate(taps)])[0]
        np.testing.assert_allclose(tapped, apply(moved, X), atol=1e-12)


def test_dropout_needs_a_key_and_is_unbiased():
    rates = {"pooled_dropout": 0.25, "dense_dropout": 0.5}
    net = ConvNet((4, 4, 1), (8,), (6, 1), pooled=(0,), pooling="average", activation="linear", **rates)
    params = la.starts.gaussian(net, KEY, deviation=1.0)
    X = jnp.asarray(np.random.default_rng(0).normal(size=(1, 16)))
    whole = float(net.apply(params, X)[0, 0])
    assert whole == float(replace(net, pooled_dropout=0.0, dense_dropout=0.0).apply(params, X, KEY)[0, 0])
    many = jax.jit(jax.vmap(lambda key: net.apply(params, X, key)))
    dropped = np.array(many(jax.random.split(KEY, 4000)))[:, 0, 0]
    assert dropped.std() > 0
    assert abs(dropped.mean() - whole) < 4 * dropped.std() / np.sqrt(4000)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"image": (4, 4)}, "image must be at least 3"),
        ({"image": (6, 4, 1), "pooled": (0, 1)}, "divisible by 4"),
        ({"filters": (0, 2)}, "filters must be"),
        ({"dense": ()}, "dense must be at least 1"),
        ({"kernels": (3,)}, "kernels must be a positive size, or 2 of them"),
        ({"kernels": 0}, "kernels must be"),
        ({"kernels": 5, "padding": "circular"}, "fit into the image"),
        ({"pooled": (2,)}, r"pooled must number convolutions, 0\.\.1"),
        ({"pooling": "sum"}, "pooling must be one of"),
        ({"padding": "valid"}, "padding must be one of"),
        ({"readout": "max"}, "readout must be one of"),
        ({"activation": "swish"}, "activation must be one of"),
        ({"parameterisation": "mup"}, "parameterisation must be one of"),
        ({"dense_dropout": -0.1}, "dense_dropout must lie in"),
    ],
)
def test_bad_networks_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ConvNet(**{"image": (4, 4, 1), "filters": (2, 2)} | arguments)


def test_foreign_parameters_are_refused():
    other = la.starts.gaussian(ConvNet((4, 4, 2), (2,)), KEY, deviation=1.0)
    with pytest.raises(ValueError, match="start must have the shapes"):
        ConvNet((4, 4, 1), (2,)).check(other)


@pytest.mark.parametrize("padding", ["zero", "circular"])
@pytest.mark.parametrize(("kernel", "images"), [((1, 1), 7), ((2, 2), 7), ((3, 3), 7), ((3, 3), 4), ((2, 3), 3)])
def test_convolution_is_the_product_of_patches_forwards_and_backwards(kernel, images, padding, monkeypatch):
    # Three images fit: two parts of them and one left over, two parts of two, or one part.
    monkeypatch.setattr(patches_module, "IN_CACHE", 3 * 5 * 4 * 2 * prod(kernel))
    rng, n = np.random.default_rng(0), images
    h, K, g = rng.normal(size=(n, 5, 4, 2)), rng.normal(size=(3, 2 * prod(kernel))), rng.normal(size=(n, 5, 4, 3))

    def both_ways(convolution):
        def run(h, K, g):
            value, back = jax.vjp(convolution, h, K)
            return value, *back(g)

        return jax.jit(run)(h, K, g)

    naive = both_ways(lambda h, K: patches_module.patches(h, kernel, padding) @ K.T)
    found = both_ways(lambda h, K: patches_module.convolve(h, K, kernel, padding))
    for ours, theirs in zip(found, naive, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize(
    ("images", "fit", "parts", "left"),
    [(100, 37, 4, 0), (100, 3, 50, 0), (97, 10, 9, 7), (7, 3, 2, 1), (6, 20, 1, 0), (5, 0, 5, 0)],
)
def test_images_go_in_even_parts_where_half_of_what_fits_divides_them(images, fit, parts, left, monkeypatch):
    monkeypatch.setattr(patches_module, "IN_CACHE", 4 * 8 * fit)
    whole, rest = jax.eval_shape(lambda h: patches_module._parts(h, 4), jnp.zeros((images, 2, 2, 2)))
    assert (whole.shape[0], rest.shape[0]) == (parts, left)
    assert whole.shape[0] * whole.shape[1] + left == images


def test_convolution_of_an_ensemble_and_its_second_derivative():
    h, K = jax.random.normal(jax.random.key(0), (3, 2, 4, 4, 1)), jax.random.normal(jax.random.key(1), (3, 2, 9))
    one = lambda h, K: jnp.sum(patches_module.convolve(h, K, (3, 3), "zero") ** 3)  # noqa: E731
    naive = lambda h, K: jnp.sum((patches_module.patches(h, (3, 3)) @ K.T) ** 3)  # noqa: E731
    second = lambda f: jax.jit(jax.vmap(jax.jacrev(jax.grad(f, 1), 1)))(h, K)  # noqa: E731
    np.testing.assert_allclose(second(one), second(naive), rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_greatest_is_taken_first_only_of_activations_that_never_fall(name):
    values = np.asarray(ACTIVATIONS[name](jnp.linspace(-6.0, 6.0, 2001)))
    net = ConvNet((2, 2, 1), (1,), (1,), pooled=(0,), activation=name)
    assert net._pools_first == (np.diff(values) > -1e-12).all()
