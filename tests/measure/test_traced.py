"""Dense layers found in the trace of a function: which they are, and that the kernel is that of whole Jacobians."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lineament.measure.kernels import as_function, empirical
from lineament.measure.traced import traced

N = 3


def naive(function, parameters, x):
    """Inner products of the rows of the whole Jacobian, one example at a time."""
    jacobian = jax.jit(jax.jacrev(lambda p, one: function(p, one[None]).reshape(-1)))
    flat = lambda J: np.concatenate([np.asarray(leaf).reshape(leaf.shape[0], -1) for leaf in jax.tree.leaves(J)], 1)  # noqa: E731
    J = np.stack([flat(jacobian(parameters, one)) for one in x])
    return np.einsum("xip,yjp->xyij", J, J)


def draws(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [jnp.asarray(rng.normal(size=shape)) for shape in shapes]


def plain(p, x):
    """Two layers, the first from the left, the second turned; biases are no layers."""
    A, b, B = p
    return jnp.tanh(x @ A + b[None]) @ B.T


def twice(p, x):
    """One matrix in two places, positions in the second axis."""
    (A,) = p
    return jnp.tanh(jnp.tanh(x @ A) @ A).sum(1)


def tied(p, x):
    """Once as it is and once turned over: no single layer, and a matrix that is one."""
    A, B = p
    return jnp.tanh(x @ B @ A) @ A.T


def squared(p, x):
    """A matrix that something else reads too."""
    A, B = p
    return jnp.tanh(x @ A) @ B + jnp.sum(A**2)


@jax.jit
def attending(p, x):
    """Heads in a third axis of the weights, within a compiled function."""
    Q, K, out = p
    q, k = jnp.einsum("nti,ihd->nthd", x, Q), jnp.einsum("nti,ihd->nthd", x, K)
    weight = jax.nn.softmax(jnp.einsum("nthd,nshd->nhts", q, k))
    return jnp.einsum("nhd,hdo->no", jnp.einsum("nhts,nshd->nhd", weight, k), out)


def time_first(p, x):
    """Examples along the second axis while the layer sees them."""
    A, B = p
    return jnp.tanh(x.swapaxes(0, 1) @ A).sum(0) @ B


def flattened(p, x):
    """Examples and positions in one axis: cannot be told apart, so differentiated as a whole."""
    (A,) = p
    return jnp.tanh(x.reshape(-1, 4) @ A).reshape(x.shape[0], -1)[:, :2]


def one_output(p, x):
    A, b = p
    return jax.nn.relu(x @ A) @ b


def by_number(p, x):
    """Another way for one example than for several: nothing can be said of its layers."""
    A, B = p
    hidden = jnp.tanh(x @ A)
    return hidden @ B if x.shape[0] == 1 else jnp.tanh(hidden @ A) @ B


def weights_first(p, x):
    """The weights as the first factor, examples last."""
    A, B = p
    return (B @ jnp.tanh(A @ x.T)).T


def batched(p, x):
    """A matrix for each of two groups, contracted along with them: no dense layer; and weights times weights."""
    A, B, C = p
    return jnp.einsum("ngi,gio->no", x.reshape(-1, 2, 2), jnp.einsum("gij,gjk->gik", A, B)) @ C


def handed_on(p, x):
    """A leaf that the outputs hold as it is, and one that a compiled function takes beside it."""
    A, B = p
    return jax.jit(lambda A, x: x @ A)(A, x) + B[None]


ROW, SEQUENCE = draws((N, 4), (N, 5, 4), seed=1)
CASES = {
    "plain": (plain, draws((4, 6), (6,), (2, 6)), ROW, (0, 2)),
    "twice": (twice, draws((4, 4)), SEQUENCE, (0,)),
    "tied": (tied, draws((4, 3), (4, 4)), ROW, (1,)),
    "squared": (squared, draws((4, 6), (6, 2)), ROW, (1,)),
    "attending": (attending, draws((4, 2, 3), (4, 2, 3), (2, 3, 2)), SEQUENCE, (0, 1, 2)),
    "time first": (time_first, draws((4, 6), (6, 2)), SEQUENCE, (0, 1)),
    "flattened": (flattened, draws((4, 3)), SEQUENCE, ()),
    "weights first": (weights_first, draws((6, 4), (2, 6)), ROW, (0, 1)),
    "batched": (batched, draws((2, 2, 3), (2, 3, 3), (3, 2)), ROW, (2,)),
    "handed on": (handed_on, draws((4, 2), (2,)), ROW, (0,)),
    "one output": (one_output, draws((4, 6), (6,)), ROW, (0, 1)),
}


@pytest.mark.parametrize("case", CASES)
def test_layers_are_found_and_the_kernel_is_the_same(case):
    function, parameters, x, layers = CASES[case]
    found = traced(function, parameters, x)
    assert (() if found is None else found.leaves) == layers
    kernel = empirical(function, parameters, x)
    wanted = naive(function, parameters, x)
    np.testing.assert_allclose(kernel.reshape(wanted.shape), wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max())


def test_a_function_that_takes_another_way_for_another_number_of_examples():
    assert traced(by_number, draws((4, 4), (4, 2)), ROW) is None


def test_modules_of_equinox_and_tokens():
    """An embedding is no layer and stays a leaf; what is looked up in it is whole."""

    class Reader(eqx.Module):
        table: eqx.nn.Embedding
        body: eqx.nn.MLP

        def __call__(self, tokens):
            return self.body(jax.vmap(self.table)(tokens).mean(0))

    keys = jax.random.split(jax.random.key(0))
    model = Reader(eqx.nn.Embedding(7, 4, key=keys[0]), eqx.nn.MLP(4, 2, 5, 1, key=keys[1]))
    tokens = jnp.asarray(np.random.default_rng(0).integers(7, size=(N, 3)))
    function, parameters = as_function(model)
    found = traced(function, parameters, tokens)
    assert found is not None
    assert [jax.tree.leaves(parameters)[leaf].shape for leaf in found.leaves] == [(5, 4), (2, 5)]
    np.testing.assert_allclose(empirical(model, None, tokens), naive(function, parameters, tokens), rtol=1e-6)


def test_layers_need_no_jacobian(monkeypatch):
    monkeypatch.setattr("lineament.measure.kernels._leaf_jacobian", None)
    function, parameters, x, _ = CASES["one output"]
    A, b, x = map(np.asarray, (*parameters, x))
    hidden, on = np.maximum(x @ A, 0), (x @ A > 0) * b
    np.testing.assert_allclose(empirical(function, parameters, x), hidden @ hidden.T + (x @ x.T) * (on @ on.T))


@pytest.mark.parametrize(
    "function",
    [
        lambda p, x: jnp.tanh(x @ (p["a"] @ p["b"])),  # a product of two leaves
        lambda p, x: jnp.tanh(x @ p["a"]) @ (p["a"].T @ p["b"]),
        lambda p, x: jnp.tanh(jnp.einsum("ngi,gij->ngj", x.reshape(len(x), 2, 2), p["c"])).reshape(len(x), -1),
        lambda p, x: x @ p["a"] + jnp.einsum("gi,gij->j", jnp.ones((2, 2)), p["c"])[None],
    ],
    ids=["leaves", "a leaf twice", "groups", "without examples"],
)
def test_products_that_are_no_layer_of_every_example(function):
    a, b, c, x = draws((4, 4), (4, 4), (2, 2, 4), (5, 4))
    params = {"a": a, "b": b, "c": c}
    expected = naive(function, params, x)
    np.testing.assert_allclose(empirical(function, params, x), expected, atol=1e-10 * np.abs(expected).max())
