"""The two-layer network with an activation: what it computes, how it trains, what it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lineament as la
from lineament.models.two_layer import TwoLayer

KEY = jax.random.key(0)
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
PROBLEM = la.problems.regression(X, Y)


@settings(max_examples=10)
@given(st.sampled_from([(1, 1, 1), (3, 5, 2), (4, 2, 3)]), st.sampled_from(["relu", "linear"]))
def test_it_computes_a_sum_of_neurons(sizes, activation):
    inputs, hidden, outputs = sizes
    net = TwoLayer(inputs, hidden, activation, outputs)
    W, a = la.starts.gaussian(net, KEY, start_scale=1.0)
    net.check((W, a))
    W, a = np.asarray(W), np.asarray(a)
    examples = np.random.default_rng(1).normal(size=(5, inputs))
    bend = (lambda z: max(z, 0.0)) if activation == "relu" else (lambda z: z)
    naive = [[sum(a[k, j] * bend(W[j] @ x) for j in range(hidden)) for k in range(outputs)] for x in examples]
    np.testing.assert_allclose(
        net.end_to_end((jnp.asarray(W), jnp.asarray(a)))(jnp.asarray(examples)), naive, atol=1e-12
    )
    assert net.shape == (outputs, inputs)


def test_without_activation_it_trains_as_the_linear_network():
    net = TwoLayer(3, 4, "linear", 2)
    start = la.starts.gaussian(net, KEY, start_scale=0.5)
    models = net, la.models.DeepLinear((3, 4, 2))
    runs = [la.descend(model, PROBLEM, start, step_size=0.05, steps=50, every=10) for model in models]
    np.testing.assert_allclose(runs[0].loss, runs[1].loss, rtol=1e-12)


def test_relu_descent_is_the_loop_by_hand():
    net = TwoLayer(3, 4, outputs=2)
    start = la.starts.gaussian(net, KEY, start_scale=0.5)
    run = la.descend(net, PROBLEM, start, step_size=0.05, steps=30)
    W, a = (np.array(layer) for layer in start)
    for _ in range(30):
        hidden = np.maximum(X @ W.T, 0)
        error = (hidden @ a.T - Y) / len(X)
        W, a = W - 0.05 * ((error @ a) * (hidden > 0)).T @ X, a - 0.05 * error.T @ hidden
    found = run.final
    np.testing.assert_allclose(found[0], W, atol=1e-12)
    np.testing.assert_allclose(found[1], a, atol=1e-12)


def test_relu_flow_conserves_each_neurons_imbalance():
    """ReLU is homogeneous: ‖w_j‖² − ‖a_j‖² is conserved neuron by neuron."""
    net = TwoLayer(3, 5, outputs=2)
    start = la.starts.gaussian(net, KEY, start_scale=0.5)
    run = la.flow(net, PROBLEM, start, until=3.0, rtol=1e-9)
    imbalance = [np.sum(W**2, axis=1) - np.sum(a**2, axis=0) for W, a in (start, run.final)]
    np.testing.assert_allclose(imbalance[1], imbalance[0], atol=1e-6)
    assert float(run.loss[-1]) < 0.9 * float(run.loss[0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TwoLayer(3, 4, "tanh"), "activation must be one of 'relu', 'linear'; got 'tanh'"),
        (lambda: TwoLayer(0, 4), "inputs must be a positive integer; got 0"),
        (lambda: TwoLayer(3, 4, outputs=-1), "outputs must be a positive integer; got -1"),
        (lambda: la.descend(TwoLayer(3, 4), PROBLEM, (jnp.ones((4, 3)), jnp.ones((1, 4))), step_size=0.1, steps=1),
         r"\(outputs, inputs\) = \(2, 3\); got \(1, 3\)"),
        (lambda: TwoLayer(3, 4).check((jnp.ones((3, 4)), jnp.ones((1, 4)))), "start must have the shapes"),
    ],
)  # fmt: skip
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
