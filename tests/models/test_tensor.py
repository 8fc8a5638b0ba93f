"""Tensor factorisations against naive sums, gradients against differences, and the law of component norms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lineament as la
from lineament.models.tensor import CP, TreeTensor, matricisation_values

KEY = jax.random.key(0)


def random_factors(model, seed):
    rng = np.random.default_rng(seed)
    return tuple(jnp.asarray(rng.normal(size=shape)) for shape in model.parameter_shapes)


CPS = [CP((3, 2), 1), CP((2, 1, 4), 3), CP((2, 3, 2, 4), 2), CP((2, 1, 3, 2, 2), 4), CP((1, 1), 2)]
TREES = [TreeTensor((3, 2), 1), TreeTensor((2, 3, 1, 2), 2), TreeTensor((2,) * 8, 3), TreeTensor((3, 2), 3)]
# A model is static: one program for each, whatever the seed.
tensor = jax.jit(lambda model, factors: model.end_to_end(factors), static_argnums=0)
norms_of = jax.jit(lambda model, factors: model.component_norms(factors), static_argnums=0)


@settings(max_examples=15)
@given(st.sampled_from(CPS), st.integers(0, 99))
def test_cp_is_the_sum_of_outer_products(model, seed):
    shape, components = model.shape, model.components
    factors = random_factors(model, seed)
    naive, norms = np.zeros(shape), []
    for r in range(components):
        outer = np.ones(())
        for factor in factors:
            outer = np.multiply.outer(outer, np.asarray(factor)[:, r])
        naive += outer
        norms.append(np.linalg.norm(outer))
    np.testing.assert_allclose(tensor(model, factors), naive, atol=1e-12)
    np.testing.assert_allclose(norms_of(model, factors), sorted(norms, reverse=True), rtol=1e-12)


def naive_tree(leaves, nodes):
    """Node by node: T_q = Σ_r V[q, r] T_r^a ⊗ T_r^b."""
    level = [[leaf[:, r] for r in range(leaf.shape[1])] for leaf in map(np.asarray, leaves)]
    nodes = [np.asarray(V) for V in nodes]
    while len(level) > 1:
        level = [
            [sum(V[q, r] * np.multiply.outer(a[r], b[r]) for r in range(V.shape[1])) for q in range(V.shape[0])]
            for V, a, b in ((nodes.pop(0), level[i], level[i + 1]) for i in range(0, len(level), 2))
        ]
    return level[0][0]


@settings(max_examples=12)
@given(st.sampled_from(TREES), st.integers(0, 99))
def test_a_tree_is_joined_node_by_node(model, seed):
    shape, width = model.shape, model.width
    factors = random_factors(model, seed)
    naive = naive_tree(factors[: len(shape)], factors[len(shape) :])
    whole = tensor(model, factors)
    np.testing.assert_allclose(whole, naive, atol=1e-12)
    # The hierarchical rank at the root is at most the number of components there.
    values = matricisation_values(whole, range(len(shape) // 2))
    assert np.sum(np.asarray(values) > 1e-10 * values[0]) <= width


def test_component_norms_of_a_tree_are_products_of_their_weights():
    model = TreeTensor((2, 3, 4, 2), 3)
    w1, w2, w3, w4, left, right, root = map(np.asarray, random_factors(model, 1))
    norm = np.linalg.norm
    expected = (
        [norm(left[:, r]) * norm(w1[:, r]) * norm(w2[:, r]) for r in range(3)],
        [norm(right[:, r]) * norm(w3[:, r]) * norm(w4[:, r]) for r in range(3)],
        [abs(root[0, r]) * norm(left[r]) * norm(right[r]) for r in range(3)],
    )
    found = norms_of(model, random_factors(model, 1))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, sorted(other, reverse=True), rtol=1e-12)


def completion(shape, count, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=shape)
    indices = np.stack(np.unravel_index(rng.choice(truth.size, count, replace=False), shape), axis=1)
    return truth, indices, la.problems.tensor_completion(indices, truth[tuple(indices.T)], shape)


@pytest.mark.parametrize("model", [CP((2, 3, 2), 2), TreeTensor((2, 2, 3, 2), 2)])
def test_gradients_are_those_of_differences(model):
    from lineament.train.objective import value_and_gradient

    truth, indices, problem = completion(model.shape, 7)
    factors = random_factors(model, 2)
    value, gradient = jax.jit(lambda p: value_and_gradient(model, problem, p))(factors)
    at = tuple(indices.T)
    assert float(value) == pytest.approx(0.5 * np.mean((np.asarray(tensor(model, factors))[at] - truth[at]) ** 2))
    flat, unravel = jax.flatten_util.ravel_pytree(factors)
    losses = jax.jit(jax.vmap(lambda x: problem.loss(model.end_to_end(unravel(x)))))
    steps = 1e-6 * np.eye(flat.size)
    differences = (losses(np.asarray(flat) + steps) - losses(np.asarray(flat) - steps)) / 2e-6
    np.testing.assert_allclose(jax.flatten_util.ravel_pytree(gradient)[0], differences, atol=1e-7)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_component_norms_obey_the_law_of_the_paper(order):
    """From balanced vectors dσ_r/dt = N σ_r^{2−2/N} ⟨−∇ℓ, ŵ_r¹ ⊗ ··· ⊗ ŵ_rᴺ⟩ (Razin et al. 2021, Theorem 1)."""
    shape = (3, 2, 4, 2)[:order]
    model = CP(shape, 1)  # one component, so that sorting does not hide which is which
    _, _, problem = completion(shape, 5)
    factors = la.starts.balanced_components(model, KEY, 0.3)
    np.testing.assert_allclose(model.component_norms(factors), [0.3], rtol=1e-12)

    @jax.jit
    def rate_and_pull(factors):
        gradient = jax.grad(lambda w: problem.loss(model.end_to_end(w)))(factors)
        rate = jax.jvp(model.component_norms, (factors,), (jax.tree.map(jnp.negative, gradient),))[1][0]
        direction = model.end_to_end(factors) / 0.3
        return rate, -jnp.sum(problem.gradient(model.end_to_end(factors)) * direction)

    rate, pull = rate_and_pull(factors)
    assert float(rate) == pytest.approx(float(order * 0.3 ** (2 - 2 / order) * pull), rel=1e-10)


def test_flow_conserves_differences_of_squared_norms_and_fits():
    model = CP((3, 3, 3))
    assert model.components == 9
    truth = np.multiply.outer(np.multiply.outer([1.0, 2.0, 0.5], [1.0, -1.0, 0.3]), [0.5, 1.0, 1.0])
    indices = np.argwhere(np.ones((3, 3, 3)))[::2]
    problem = la.problems.tensor_completion(indices, truth[tuple(indices.T)], (3, 3, 3), reduction="sum")
    start = la.starts.gaussian(model, KEY, deviation=0.2)
    run = la.flow(model, problem, start, until=20.0, record=("loss",), tolerance=1e-6)
    last = run.final
    squares = lambda w: [np.sum(np.asarray(f) ** 2, axis=0) for f in w]  # noqa: E731
    drift = np.diff(squares(last), axis=0) - np.diff(squares(start), axis=0)
    np.testing.assert_allclose(drift, 0, atol=1e-6)
    assert run.loss.values[-1] < 1e-4 * run.loss.values[0]


def test_starts_have_their_deviation():
    factors = la.starts.gaussian(CP((50, 50), 40), KEY, deviation=0.01)
    assert np.std(np.concatenate([np.ravel(f) for f in factors])) == pytest.approx(0.01, rel=0.05)
    assert TreeTensor((2,) * 4, 3).parameter_shapes == ((2, 3),) * 4 + ((3, 3),) * 2 + ((1, 3),)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CP((3,)), "sizes must be at least 2"),
        (lambda: CP((3, 0)), "positive integers"),
        (lambda: CP((3, 3), 0), "components must be a positive integer"),
        (lambda: TreeTensor((2, 2, 2), 2), "2, 4, 8"),
        (lambda: TreeTensor((2, 2), 0), "width must be a positive integer"),
        (lambda: la.starts.gaussian(CP((3, 3)), KEY, deviation=-1.0), "deviation must be positive"),
        (
            lambda: CP((3, 3), 2).check(la.starts.gaussian(CP((3, 3), 1), KEY, deviation=1.0)),
            "start must have the shapes",
        ),
        (lambda: la.problems.tensor_completion([[0, 0], [0, 0]], [1.0, 1.0], (2, 2)), "more than once"),
        (lambda: la.problems.tensor_completion([[0, 2]], [1.0], (2, 2)), "row 0 is outside"),
        (lambda: la.problems.tensor_completion([[0]], [1.0], (2, 2)), "indices must be integers of shape"),
        (lambda: completion((2, 2), 2)[2].optimum(1), "rank 1 is not known"),
    ],
)
def test_bad_arguments_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
