"""Tangent kernels against the Jacobian written out."""

import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lineament as la
from lineament.measure import kernels
from lineament.models import MLP, ConvNet, DeepLinear, Mirrored, TwoLayer

KEY = jax.random.key(0)


def naive(f, params, x, y):
    """`K_{ij,kl} = Σ_θ ∂f_k(x_i) ∂f_l(y_j)` from whole Jacobians."""
    J, L = (jax.tree.leaves(jax.jit(jax.jacrev(f))(params, z)) for z in (x, y))
    flat = lambda leaves, n: np.concatenate([np.asarray(leaf).reshape(n, leaf.shape[1], -1) for leaf in leaves], 2)  # noqa: E731
    return np.einsum("nkp,mlp->nmkl", flat(J, len(x)), flat(L, len(y)))


def rows(n, d, seed=0, dtype=jnp.float64):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(n, d)), dtype)


def shaken(net, dtype=jnp.float64):
    """Parameters with biases away from zero and, for mirrored networks, unequal copies."""
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape), dtype), net.layout())


NETS = [
    MLP((12, 9, 7, 3), "gelu", bias=True),
    ConvNet((2, 2, 3), (40,), (1,), pooled=(0,), parameterisation="standard", bias=True),  # pairs of positions pay
    ConvNet((4, 3, 1), (3, 2), (4, 2), padding="circular", bias=True, activation="elu", readout="average"),
    Mirrored(ConvNet((2, 2, 3), (3,), (2,), bias=True)),
    ConvNet((2, 1, 6), (12,), (3,), kernels=((2, 1),), padding="circular"),  # pairs of positions, several outputs
]


def close(found, expected):
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("net", NETS)
def test_networks_are_contracted_to_the_kernel_of_their_jacobian(net, monkeypatch):
    monkeypatch.setattr(kernels, "BATCH", 2)
    params, (k, d) = shaken(net), net.shape
    x, y = rows(7, d), rows(5, d, 1)
    both = jnp.concatenate([x, y])
    expected = naive(lambda params, x: net.end_to_end(params)(x), params, both, both)
    whole = kernels.empirical(net, params, x, y)
    close(whole, expected[:7, 7:, 0, 0] if k == 1 else expected[:7, 7:])
    close(kernels.empirical(net, params, x, y, outputs="mean"), expected[:7, 7:].trace(axis1=2, axis2=3) / k)
    diagonal = kernels.empirical(net, params, x, y, outputs="diagonal")
    close(diagonal.reshape(7, 5, k), expected[:7, 7:].diagonal(axis1=2, axis2=3))
    square = kernels.empirical(net, params, x)
    close(square, expected[:7, :7].reshape(square.shape))
    monkeypatch.setattr(kernels._Layers, "block", lambda self, memory: 3)  # halves are filled by symmetry
    close(kernels.empirical(net, params, x), square)
    close(kernels.empirical(net, params, x, y), whole)


def function(params, x):
    hidden = jnp.tanh(jnp.einsum("nij,ijh->nh", x, params["a"])) * params["c"][0]
    return hidden @ params["b"].T


@settings(max_examples=12)
@given(st.sampled_from([(1, 1), (4, 1), (2, 3)]), st.booleans(), st.sampled_from([1.0, 2e3, 1e9]))
def test_any_function_has_a_kernel(sizes, two, memory):
    n, m = sizes
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(2, 3, 4)), rng.normal(size=(1 + two, 4))
    params = {"a": jnp.asarray(a), "b": jnp.asarray(b), "c": (jnp.asarray(1.5),)}
    x, y = rng.normal(size=(n, 2, 3)), rng.normal(size=(m, 2, 3))
    t, u = (np.tanh(np.einsum("nij,ijh->nh", z, a)) for z in (x, y))
    slopes = np.einsum("kh,lh,nh,mh->nmkl", b, b, 1 - t**2, 1 - u**2)
    expected = 1.5**2 * slopes * np.einsum("nij,mij->nm", x, y)[:, :, None, None]
    expected += 1.5**2 * np.einsum("nh,mh,kl->nmkl", t, u, np.eye(1 + two))
    expected += np.einsum("nk,ml->nmkl", t @ b.T, u @ b.T)
    found = kernels.empirical(function, params, x, y, memory=memory)
    assert found.shape == ((n, m, 2, 2) if two else (n, m))
    np.testing.assert_allclose(found, expected.reshape(found.shape), atol=1e-11)
    square = kernels.empirical(function, params, x, outputs="mean", memory=memory)
    np.testing.assert_allclose(square, square.T, atol=1e-12)
    assert kernels.spectrum(square).min() > -1e-10 * max(1.0, square.max())


@pytest.mark.parametrize("outputs", ["all", "diagonal", "mean"])
@pytest.mark.parametrize("net", NETS[3:])
def test_off_the_host_the_kernel_is_the_same(net, outputs, monkeypatch):
    """All at once and by JAX alone, as on a GPU."""
    params, d = shaken(net), net.shape[1]
    x, y = rows(3, d), rows(2, d, 1)
    here = kernels.empirical(net, params, x, y, outputs=outputs)
    monkeypatch.setattr(kernels, "_on_cpu", lambda x: False)
    monkeypatch.setattr(kernels.np, "matmul", None)
    close(kernels.empirical(net, params, x, y, outputs=outputs), here)


def test_blocks_are_no_larger_than_memory_allows_and_half_of_a_square_is_enough(monkeypatch):
    net = MLP((3, 2))
    params, sizes = shaken(net), []
    prepare = kernels._Layers.prepare
    monkeypatch.setattr(kernels._Layers, "block", lambda self, memory: 3)
    monkeypatch.setattr(kernels._Layers, "prepare", lambda self, x: sizes.append(len(x)) or prepare(self, x))
    x = rows(7, 3)
    kernels.empirical(net, params, x)
    assert sizes == [3, 3, 1, 3, 1, 1]  # a block, and those to its right
    sizes.clear()
    kernels.empirical(net, params, x, x[:4])
    assert sizes == [3, 3, 1] * 2 + [1, 3, 1]


def test_functions_of_one_value_have_flat_kernels():
    kernel = kernels.empirical(lambda p, x: x @ p, jnp.ones(3), np.eye(3)[:2])
    np.testing.assert_allclose(kernel, np.eye(2))


def test_models_without_taps_go_the_general_way():
    net = TwoLayer(4, 6, outputs=2)
    layers = (rows(6, 4), rows(2, 6, 1))
    x = rows(5, 4, 2)
    W, a = map(np.asarray, layers)
    hidden = np.maximum(x @ W.T, 0)
    active = (x @ W.T > 0).astype(float)
    first = np.einsum("nm,nh,mh,kh,lh->nmkl", x @ x.T, active, active, a, a)
    expected = first + np.einsum("nm,kl->nmkl", hidden @ hidden.T, np.eye(2))
    np.testing.assert_allclose(kernels.empirical(net, layers, x), expected, atol=1e-11)


@pytest.mark.parametrize("net", [MLP((12, 30, 30, 2)), ConvNet((4, 3, 1), (6, 6), (1,))])
def test_single_precision_stays_single_and_is_nearly_right(net):
    params, x = la.starts.gaussian(net, KEY, deviation=1.0, dtype=jnp.float32), rows(6, 12, dtype=jnp.float32)
    found = kernels.empirical(net, params, x)
    assert found.dtype == np.float32
    exact = kernels.empirical(net, jax.tree.map(lambda leaf: leaf.astype(jnp.float64), params), x.astype(jnp.float64))
    assert exact.dtype == np.float64
    np.testing.assert_allclose(found, exact, atol=1e-5 * exact.max())


def test_a_linear_layer_has_the_kernel_of_its_data():
    x = rows(9, 4)
    net = MLP((4, 1), "linear")
    np.testing.assert_allclose(
        kernels.empirical(net, la.starts.gaussian(net, KEY, deviation=1.0), x),
        x @ x.T / 4,
        atol=1e-13,
    )


def test_the_kernel_settles_as_the_network_widens():
    """Fluctuations of the diagonal over starts fall as 1/√width."""
    x = rows(1, 5)
    spread = []
    widths = np.array([16, 64, 256])
    for width in widths:
        net = MLP((5, int(width), int(width), 1))
        start = jax.jit(lambda key, net=net: la.starts.gaussian(net, key, deviation=1.0))
        starts = [start(key) for key in jax.random.split(KEY, 40)]
        spread.append(np.std([kernels.empirical(net, params, x)[0, 0] for params in starts]))
    slope = np.polyfit(np.log(widths), np.log(spread), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.15)


def test_memory_bounds_the_block():
    net = ConvNet((8, 8, 3), (64,) * 4)
    parts = kernels._Layers(
        net, la.starts.gaussian(net, KEY, deviation=1.0, dtype=jnp.float32), rows(1, 192, dtype=jnp.float32)
    )
    assert [parts.paired(layer) for layer in range(parts.count)] == [False] * 4 + [True]
    block = parts.block(2**30)
    assert block >= 1000
    assert 2 * 4 * block * 9 * 64 * 64 <= 2**30  # the largest layer's Jacobian, for both sides
    assert parts.block(2**26) * 16 == pytest.approx(block, rel=0.1)


def test_memory_bounds_what_dense_layers_hold():
    """Inputs and derivatives of every layer, and those of the widest once more to be multiplied, on both sides."""
    net = MLP((500, 500, 1))
    parts = kernels._Layers(net, la.starts.gaussian(net, KEY, deviation=1.0), rows(1, 500))
    memory = 8 * 100_000
    example = 2 * 8 * ((500 + 500) + (500 + 1) + (500 + 500))
    assert example * parts.block(memory) <= memory < example * (parts.block(memory) + 1)


def test_memory_bounds_the_block_of_a_plain_function():
    """Three copies of the largest leaf's Jacobian, as many examples as fit: half the memory, half the examples."""
    parts = kernels._Leaves(lambda p, x: x @ p["a"] @ p["b"], {"a": rows(8, 50), "b": rows(50, 4)}, rows(1, 8))
    assert parts.block(3 * 8 * 4 * 400) == 1
    assert parts.block(3 * 8 * 4 * 400 * 64) == 64
    assert parts.block(3 * 8 * 4 * 400 * 32) == 32


@pytest.mark.parametrize(("net", "positions"), [(MLP((2, 2, 1)), 1), (NETS[1], 4), (NETS[4], 2)])
def test_memory_bounds_what_pairs_hold(net, positions):
    """With much memory and few numbers an example, six products for every pair of positions of a block."""
    parts = kernels._Layers(net, shaken(net), rows(1, net.shape[1]))
    memory = 2.0**40
    block = parts.block(memory)
    assert 6 * 8 * (positions * block) ** 2 <= memory < 6 * 8 * (positions * (block + 1)) ** 2


def test_memory_bounds_what_several_outputs_and_positions_hold():
    """Of the layer that needs most: for each output its inputs and derivatives, or its Jacobian; and what is held."""
    for net, most in ((MLP((30, 20, 5)), 5 * 50), (NETS[4], 3 * 2 * 24), (ConvNet((3, 3, 2), (2,), (1,)), 2 * 18)):
        parts = kernels._Layers(net, shaken(net), rows(1, net.shape[1]))
        taps = [positions * fan_out for positions, fan_out in net.tap_shapes]
        inputs, _ = jax.eval_shape(partial(kernels._factors, net), shaken(net), rows(1, net.shape[1]))
        held = sum(a.size for a in inputs) + net.shape[0] * sum(taps)
        memory = 8.0 * 2 * (most + held) * 5
        assert parts.block(memory) == 5, net
        assert parts.block(memory - 1) == 4


def test_memory_bounds_layers_and_leaves_together():
    params = {"a": rows(8, 50), "b": rows(1, 50), "c": rows(50, 4)}
    function = lambda p, x: (jnp.tanh(x @ p["a"]) + jnp.sin(p["b"])) @ p["c"]  # noqa: E731
    parts = kernels._any_function(function, params, rows(1, 8))
    assert parts.count == 3
    for memory in (1e4, 1e5, 1e6, 1e9):
        assert parts.block(memory) == min(parts.layers.block(memory), parts.leaves.block(memory))
    assert {parts.layers.block(m) < parts.leaves.block(m) for m in (1e4, 1e9)} == {True}
    params["b"] = rows(1, 1)  # and where leaves need more
    function = lambda p, x: jnp.tanh(x @ p["a"] @ p["c"]) + jnp.sum(jnp.sin(p["d"]) * p["b"])  # noqa: E731
    parts = kernels._any_function(function, params | {"d": rows(500, 50)}, rows(1, 8))
    assert parts.block(1e7) == parts.leaves.block(1e7) < parts.layers.block(1e7)


def test_the_kernel_of_a_model_whose_map_is_a_matrix():
    net = DeepLinear((3, 4, 2))
    params, x = shaken(net), rows(4, 3)
    expected = naive(lambda p, z: z @ net.end_to_end(p).T, params, x, x)
    close(kernels.empirical(net, params, x), expected)


def test_spectrum():
    K = np.array([[2.0, 1.0], [1.0, 2.0]])
    np.testing.assert_allclose(kernels.spectrum(K), [3, 1])
    both = np.einsum("nm,kl->nmkl", K, np.diag([1.0, 5.0]))
    np.testing.assert_allclose(kernels.spectrum(both), [15, 5, 3, 1])
    J = np.random.default_rng(0).normal(size=(3, 2, 9))
    whole = np.einsum("nkp,mlp->nmkl", J, J)
    np.testing.assert_allclose(kernels.spectrum(whole), np.linalg.svd(J.reshape(6, 9), compute_uv=False) ** 2)
    for shape in ((2, 3), (4,), (2, 2, 2), (2, 2, 2, 3), (2, 3, 2, 2), (2, 3, 3, 2), (1, 1, 1, 1, 1)):
        with pytest.raises(ValueError, match="kernel must have shape"):
            kernels.spectrum(np.ones(shape))
    with pytest.raises(ValueError, match="kernel must be finite"):
        kernels.spectrum([[1.0, np.nan], [np.nan, 1.0]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.zeros((0, 4))}, "x must hold at least one example"),
        ({"y": np.zeros((2, 3))}, "x and y must hold examples of one shape"),
        ({"x": np.full((2, 4), np.nan)}, "x must be finite"),
        ({"x": np.zeros((2, 2, 2))}, "x must have one row for each example"),
        ({"outputs": "sum"}, "outputs must be one of"),
        ({"memory": 0}, "memory must be a finite number above 0"),
        ({"parameters": {}}, "parameters must hold floating-point arrays"),
        ({"parameters": {"count": np.arange(3)}}, "parameters must hold floating-point arrays"),
        ({"parameters": {"a": np.ones(3), "count": np.arange(3)}}, "parameters must hold floating-point arrays"),
        ({"parameters": {"a": np.ones(3), "name": "b"}}, "parameters must hold floating-point arrays"),
        ({"parameters": la.starts.gaussian(MLP((4, 3)), KEY, deviation=1.0)}, "^parameters"),
        ({"x": 1.0}, "x must hold at least one example"),
        ({"y": np.array([[1.0, np.inf, 0.0, 0.0]])}, "y must be finite"),
        ({"model": lambda p, x: x @ jax.tree.leaves(p)[0].T, "x": np.full((2, 4), np.nan)}, "x must be finite"),
        ({"model": lambda p, x: jnp.ones((x.shape[0], 2, 2))}, r"model must return \(n,\) or \(n, k\)"),
        ({"model": lambda p, x: jnp.ones((2, 2))}, r"model must return \(n,\) or \(n, k\)"),
        ({"model": lambda p, x: (x, x)}, r"model must return \(n,\) or \(n, k\)"),
        ({"model": lambda parameters, x: jnp.sum(x)}, r"model must return \(n,\) or \(n, k\)"),
    ],
)
def test_bad_input_is_refused(change, message):
    net = MLP((4, 2))
    given = {
        "model": net,
        "parameters": la.starts.gaussian(net, KEY, deviation=1.0),
        "x": np.ones((2, 4)),
    } | change
    with pytest.raises(ValueError, match=message):
        kernels.empirical(**given)


class Tokens(eqx.Module):
    """An equinox module as one writes them: one example, whole numbers in, something that is no array inside."""

    table: eqx.nn.Embedding
    head: eqx.nn.Linear
    name: str = "tokens"

    def __call__(self, tokens):
        return self.head(jnp.tanh(jax.vmap(self.table)(tokens)).mean(0))


def test_an_equinox_module_is_taken_as_it_is_and_whole_numbers_stay_whole():
    first, second = jax.random.split(KEY)
    module = Tokens(eqx.nn.Embedding(7, 4, key=first), eqx.nn.Linear(4, 3, key=second))
    tokens = np.random.default_rng(0).integers(7, size=(6, 5))
    moving, fixed = eqx.partition(module, eqx.is_inexact_array)
    f = lambda p, x: jax.vmap(eqx.combine(p, fixed))(x)  # noqa: E731
    expected = naive(f, moving, jnp.asarray(tokens), jnp.asarray(tokens))
    close(kernels.empirical(module, None, tokens), expected)
    close(
        kernels.empirical(module, None, tokens, tokens[:2], outputs="diagonal"),
        np.einsum("nmkk->nmk", expected[:, :2]),
    )


class Shuffled(eqx.Module):
    """A module that holds whole numbers in an array, which do not train."""

    order: jax.Array
    head: eqx.nn.Linear

    def __call__(self, x):
        return self.head(x[self.order])


def test_a_module_may_hold_arrays_that_do_not_train():
    module = Shuffled(jnp.array([2, 0, 1]), eqx.nn.Linear(3, 2, key=KEY))
    x = rows(4, 3)
    moving, fixed = eqx.partition(module, eqx.is_inexact_array)
    expected = naive(lambda p, z: jax.vmap(eqx.combine(p, fixed))(z), moving, x, x)
    close(kernels.empirical(module, None, x), expected)


class Named(Shuffled):
    """One that holds something else beside them."""

    activation: Callable[[jax.Array], jax.Array] = jnp.tanh

    def __call__(self, x):
        return self.head(self.activation(x[self.order]))


def test_a_module_may_hold_arrays_beside_functions():
    module, x = Named(jnp.array([2, 0, 1]), eqx.nn.Linear(3, 2, key=KEY)), rows(4, 3)
    moving, fixed = eqx.partition(module, eqx.is_inexact_array)
    expected = naive(lambda p, z: jax.vmap(eqx.combine(p, fixed))(z), moving, x, x)
    close(kernels.empirical(module, None, x), expected)


def test_a_function_cannot_do_without_its_parameters():
    with pytest.raises(ValueError, match="parameters must be a tree of floating-point arrays; got None"):
        kernels.empirical(lambda p, x: x, None, np.eye(2))
    with pytest.raises(ValueError, match=r"model must be a model or a function of parameters and examples; got 3\.0"):
        kernels.empirical(3.0, {"a": jnp.ones(2)}, np.eye(2))


class Dense:
    """What a linen module looks like from outside: a class of flax, and variables that `apply` takes."""

    def apply(self, variables, x):
        return jnp.tanh(x @ variables["params"]["kernel"]) * variables["scale"]["by"]


@pytest.mark.parametrize(
    "mixed", [lambda v: v - v.mean(axis=0, keepdims=True), lambda v: jax.nn.softmax(v, axis=0), lambda v: v * len(v)]
)
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_a_function_that_mixes_examples_is_refused(mixed, dtype):
    x, W = (
        jax.random.normal(key, shape, dtype)
        for key, shape in zip(jax.random.split(KEY), [(4, 3), (3, 2)], strict=True)
    )
    with pytest.raises(ValueError, match="same value whatever else is in its batch"):
        kernels.empirical(lambda W, x: mixed(jnp.tanh(x @ W)), W, x)
    # Values that are large or no numbers are not taken for that, nor is an example by itself.
    alone = kernels.empirical(lambda W, x: jnp.tanh(x @ W), W, x)
    assert kernels.empirical(lambda W, x: 1e6 + jnp.tanh(x @ W), W, x) == pytest.approx(alone, rel=1e-5)
    assert kernels.empirical(lambda W, x: jnp.nan * (x @ W), W, x).shape == (4, 4, 2, 2)
    assert kernels.empirical(lambda W, x: mixed(x @ W), W, x[:1]).shape == (1, 1, 2, 2)


@pytest.mark.parametrize("seed", range(6))
def test_outputs_that_cancel_are_not_taken_for_those_of_a_function_that_mixes(seed):
    """A mirrored network gives zero, but for rounding, which is another in batches of another size."""
    rng = np.random.default_rng(seed)
    X, W, signs = (jnp.asarray(rng.normal(size=size)) for size in ((24, 10), (16, 10), 16))
    network = lambda W, x: jax.nn.softplus(x @ W.T) @ jnp.concatenate([signs, -signs])  # noqa: E731
    found = kernels.empirical(network, jnp.concatenate([W, W]), X)
    slopes = jax.nn.sigmoid(X @ W.T) * signs[None]
    np.testing.assert_allclose(found, 2 * (slopes @ slopes.T) * (X @ X.T), rtol=1e-11, atol=1e-11)
    with pytest.raises(ValueError, match="same value whatever else is in its batch"):
        kernels.empirical(lambda W, x: network(W, x) - network(W, x).mean(keepdims=True), jnp.concatenate([W, W]), X)


def test_a_linen_module_takes_its_variables():
    module = type("Mine", (Dense, type("Module", (), {"__module__": "flax.linen.module"})), {})()
    x, W = rows(4, 3), rows(3, 2, seed=1)
    variables = {"params": {"kernel": W}, "scale": {"by": jnp.asarray(2.0)}}
    expected = naive(lambda p, x: 2.0 * jnp.tanh(x @ p), W, x, x)
    close(kernels.empirical(module, variables, x), expected)
    assert variables["params"] is kernels.as_function(module, variables)[1]


def test_a_linen_module_takes_its_parameters_alone():
    module = type("Mine", (Plain, type("Module", (), {"__module__": "flax.linen.module"})), {})()
    function, parameters = kernels.as_function(module, {"kernel": jnp.ones((2, 1))})
    np.testing.assert_array_equal(function(parameters, jnp.ones((3, 2))), 2 * np.ones((3, 1)))


class Plain:
    """A linen module without other variables."""

    def apply(self, variables, x):
        return x @ variables["params"]["kernel"]


class Held:
    """What an nnx module looks like: it holds its own parameters."""

    def __init__(self, kernel, scale):
        self.kernel, self.scale = kernel, scale

    def __call__(self, x):
        return self.scale * jnp.tanh(x @ self.kernel)

    def eval(self):
        self.scale = 3.0


def test_a_module_of_nnx_is_split_into_its_parameters_and_the_rest(monkeypatch):
    home = type("Mine", (Held, type("Module", (), {"__module__": "flax.nnx.module"})), {})
    nnx = SimpleNamespace(
        Param="Param",
        split=lambda module, *kinds: (type(module), module.kernel, module.scale),
        merge=lambda graph, held, others: graph(held, others),
    )
    monkeypatch.setitem(sys.modules, "flax", SimpleNamespace(nnx=nnx))
    monkeypatch.setitem(sys.modules, "flax.nnx", nnx)
    x, W = rows(4, 3), rows(3, 2, seed=1)
    expected = naive(lambda p, x: 3.0 * jnp.tanh(x @ p), W, x, x)
    module = home(W, -1.0)
    close(kernels.empirical(module, None, x), expected)
    assert module.scale == -1.0  # the one given still trains


def test_a_module_of_equinox_is_taken_without_its_dropout():
    first, last = (eqx.nn.Linear(3, 3, key=jax.random.key(seed)) for seed in range(2))
    module, x = eqx.nn.Sequential([first, eqx.nn.Dropout(0.5), last]), rows(4, 3)
    close(kernels.empirical(module, None, x), kernels.empirical(eqx.nn.Sequential([first, last]), None, x))
    assert not module.layers[1].inference


def test_examples_may_be_lists_and_whole_numbers_are_numbers_to_a_network():
    net = MLP((2, 3, 1))
    params = shaken(net)
    expected = kernels.empirical(net, params, jnp.array([[1.0, 2.0], [3.0, -1.0]]))
    close(kernels.empirical(net, params, [[1, 2], [3, -1]]), expected)
    close(kernels.empirical(net, params, jnp.array([[1, 2], [3, -1]])), expected)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 70])
def test_batches_are_of_one_size_and_leave_nothing_out(n):
    batches = kernels._batches(n)
    assert {batch.stop - batch.start for batch in batches} == {min(n, 32)}
    assert {row for batch in batches for row in range(batch.start, batch.stop)} == set(range(n))
    assert len(batches) == -(-n // 32)


def test_groups_of_leaves_are_neighbours_and_no_larger_than_the_largest():
    for sizes in ([5], [1, 1, 1], [3, 2, 1, 6, 1, 1], [1, 6, 6, 2, 4, 1]):
        groups = kernels._groups(sizes)
        assert [leaf for group in groups for leaf in group] == list(range(len(sizes)))
        totals = [sum(sizes[leaf] for leaf in group) for group in groups]
        assert max(totals) <= max(sizes)
        assert all(total + sizes[after[0]] > max(sizes) for total, after in zip(totals, groups[1:], strict=False))


def test_the_spectrum_of_what_is_no_kernel_is_refused():
    with pytest.raises(ValueError, match=r"kernel must be symmetric; its entries differ .* by up to 5"):
        kernels.spectrum([[1.0, 5.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="kernel must be of one example at least"):
        kernels.spectrum(np.zeros((0, 0)))
    np.testing.assert_allclose(kernels.spectrum(np.array([[2.0, 1.0], [1.000001, 2.0]], np.float32)), [3.0, 1.0], 1e-5)


@pytest.mark.parametrize("scale", [1e-30, 1.0, -1.0, 1e30])
def test_rounding_of_single_precision_is_no_asymmetry_at_any_scale(scale):
    K = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, -9.0]])  # the largest entry is below zero
    noise = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    for sign in (-1, 1):
        found = kernels.spectrum(scale * (K + sign * 8e-4 * noise))
        np.testing.assert_allclose(
            found / abs(scale), np.sort(np.sign(scale) * np.array([3.0, 1.0, -9.0]))[::-1], rtol=1e-3
        )
        with pytest.raises(ValueError, match="kernel must be symmetric"):
            kernels.spectrum(scale * (K + sign * 10e-4 * noise))


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 2, 3, 3)])
def test_a_kernel_of_zeros_has_a_spectrum_of_zeros(shape):
    """As where no parameter moves any output."""
    assert not kernels.spectrum(np.zeros(shape)).any()


@pytest.mark.parametrize(("widths", "largest"), [((5, 7, 3, 1), 35), ((2, 3, 9, 4), 36), ((8, 2, 2, 3), 16)])
def test_one_piece_of_memory_serves_every_layer(widths, largest, monkeypatch):
    """Large enough for the largest layer from the first on, and another for the other side."""
    monkeypatch.setattr(kernels._Layers, "paired", lambda self, layer: False)
    net = MLP(widths, "gelu")
    parts = kernels._Layers(net, shaken(net), rows(1, widths[0]))
    assert parts.largest == largest
    sizes = [6 * widths[-1] * a * b for a, b in pairwise(widths)]
    pieces = [parts._space(0, (6, widths[-1], size // (6 * widths[-1]))) for size in sizes]
    assert [piece.size for piece in pieces] == sizes
    assert all(np.shares_memory(piece, pieces[0]) for piece in pieces)
    assert parts.space[0].size == 6 * widths[-1] * largest
    assert not np.shares_memory(parts._space(1, (6, widths[-1], 4)), pieces[0])


def test_more_memory_is_asked_for_where_there_is_too_little():
    """Layers whose positions are paired have no part in it."""
    net = MLP((3, 4, 2))
    parts = kernels._Layers(net, shaken(net), rows(1, 3))
    assert parts.largest == 0
    for shape in ((2, 2, 3), (5, 2, 3), (1, 2, 3)):
        assert parts._space(0, shape).shape == shape
    assert parts.space[0].size == 30
